package io.leasehold.testkit.tck;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A front between the store and the clients that are opened through it, which injects faults into their exchanges. It
 * is a proxy in front of servers ({@code ProxyFront} of {@code leasehold-simulator}), or a gate inside the process if
 * there is no socket ({@link GateFront}).
 *
 * <p>Create a new one for each test. Safe for use by any thread.
 */
public interface StoreFront extends AutoCloseable {

    /** Opens a client side of the shared store whose exchanges all pass this front. The TCK closes it. */
    LockStore open(LockRuntime runtime);

    /** The URI with which another JVM reaches the shared store through this front; null if none can. */
    default @Nullable String uriForOtherProcesses() {
        return null;
    }

    /** Delays each later reply and each unrequested message. Requests are not delayed. */
    void delayReplies(Duration delay);

    /** Holds back all later replies. Requests are carried out. */
    void holdReplies();

    /** Holds back all later requests before they reach the store. */
    void holdRequests();

    /** Ends all faults: delivers the messages that were held back. */
    void resume();

    /**
     * Makes each exchange that begins within this span, or is in progress, fail once with an unknown outcome: holds the
     * replies back, and then resets the connections. Replies to later exchanges are delayed.
     */
    void breakWhatBeginsWithin(Duration span, Duration thenDelay);

    /** A number that grows with each request that passes. */
    long requests();

    @Override
    void close();
}
