package io.leasehold.simulator.proxy;

/**
 * The counts of the connections of a proxy so far.
 *
 * @param accepted connections that clients opened
 * @param open of these, how many still have at least one live side
 * @param unreachable connections that were reset because the target did not accept its side
 * @param reset connections that the proxy reset on purpose
 * @param halfOpened connections of which the proxy reset one side only
 * @param requestsLost requests that were withheld from the server
 * @param repliesLost replies that were withheld from the client
 */
public record Connections(
        long accepted, int open, long unreachable, long reset, long halfOpened, long requestsLost, long repliesLost) {}
