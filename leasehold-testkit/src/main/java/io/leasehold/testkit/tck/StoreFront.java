package io.leasehold.testkit.tck;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A front between the store and the clients that are opened through it. It does to their exchanges what a test asks for:
 * proxies in front of servers ({@code ProxyFront} of {@code leasehold-simulator}), or a gate inside the process where there is no socket ({@link GateFront}).
 *
 * <p>Made anew for each test. Safe for use by any thread.
 */
public interface StoreFront extends AutoCloseable {

    /** Opens a client side of the shared store whose exchanges all pass here. The TCK closes it. */
    LockStore open(LockRuntime runtime);

    /** With which another JVM reaches the shared store through this front; null where none can. */
    default @Nullable String uriForOtherProcesses() {
        return null;
    }

    /** From now on each reply, and each unrequested message, comes so much later. Requests are not delayed. */
    void delayReplies(Duration delay);

    /** From now on no reply comes. Requests are carried out. */
    void holdReplies();

    /** From now on no request reaches the store. */
    void holdRequests();

    /** Ends what was done to exchanges: what was held back is delivered. */
    void resume();

    /**
     * Lets each exchange that begins within this span, or is under way then, fail once, its outcome unknown: the replies are
     * held back, and then the connections are reset. Replies to what begins later come so much later.
     */
    void breakWhatBeginsWithin(Duration span, Duration thenDelay);

    /** A number that grows with each request that passes. */
    long requests();

    @Override
    void close();
}
