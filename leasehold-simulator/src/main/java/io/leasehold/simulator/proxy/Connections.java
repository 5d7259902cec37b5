package io.leasehold.simulator.proxy;

/**
 * The counts of a proxy's connections so far.
 *
 * @param accepted the connections that clients opened
 * @param open the number of these with at least one live side
 * @param unreachable the connections that were reset because the target did not accept its side
 * @param reset the connections that the proxy reset deliberately
 * @param halfOpened the connections of which the proxy reset only one side
 * @param requestsLost the requests that were withheld from the server
 * @param repliesLost the replies that were withheld from the client
 */
public record Connections(
        long accepted, int open, long unreachable, long reset, long halfOpened, long requestsLost, long repliesLost) {}
