package io.leasehold.testkit.tck;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import org.jspecify.annotations.Nullable;

/**
 * The contribution of a backend to its TCK: a shared store that several clients can open, each on its own.
 *
 * <p>Create one for the whole test class. Each test uses its own lock names, so that tests do not disturb each other.
 */
public interface StoreFixture {

    /** The name of the backend in the TCK's output: {@code sqlite}, {@code redis 7.0}. */
    String name();

    /** Opens a new client side of the shared store, as another process would. The TCK closes it. */
    LockStore open(LockRuntime runtime);

    /**
     * The URI with which another JVM, with the same class path, reaches the shared store; null only for a store
     * whose scope is one process.
     */
    default @Nullable String uriForOtherProcesses() {
        return null;
    }

    /**
     * Opens a new client side that deletes unused data at once, if clients delete such data at all; null for a store
     * that removes it on its own.
     */
    default @Nullable LockStore openForgetful(LockRuntime runtime) {
        return null;
    }

    /**
     * Whether the store detects at once that a holder's process has died; if not, other clients acquire its locks after
     * their ttl.
     */
    default boolean noticesDeath() {
        return false;
    }

    /** Whether {@link #restart} can restart the store with its data. */
    default boolean canRestart() {
        return false;
    }

    /** Restarts the store with its data, and returns when it answers again. Clients stay open meanwhile. */
    default void restart() throws Exception {
        throw new IllegalStateException(name() + " cannot be restarted");
    }
}
