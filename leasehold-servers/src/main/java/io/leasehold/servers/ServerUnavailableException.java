package io.leasehold.servers;

/**
 * There is no server binary that could be started on this machine; nothing was started.
 *
 * <p>Tests turn it into a visible skip, since it speaks of the machine and not of the code under test.
 */
public final class ServerUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ServerUnavailableException(String message) {
        super(message);
    }
}
