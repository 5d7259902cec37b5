package io.leasehold.engine;

import io.leasehold.LockName;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The grant behind a lease, as seen by the lease and its handle. */
interface LeaseOwner {

    LockName name();

    WaitSettings settings();

    EngineContext context();

    /** Returns the validity left for this lease, which must be the current one; checks for a suspension first. */
    long remainingNanos(ActiveLease lease);

    void on(GrantMachine.Event event);

    /** Returns what the machine of the grant answers. */
    <T extends @Nullable Object> T ask(Function<GrantMachine, T> question);

    /** Whether the grant has not ended. */
    boolean isHeld();

    CompletableFuture<Void> renewByHand();

    /** Adds a check of this lease that waits for a renewal. The check is answered exactly once, on any thread. */
    void ask(ActiveLease lease, WaitingChecks.Check check);

    /** Withdraws this check, which no longer waits. */
    void withdraw(WaitingChecks.Check check);

    /** Returns why the last renewal failed, if it did. */
    @Nullable
    Throwable renewalFailure();

    /** Binds the current lease to a thread. Once that thread has died, no holder is left to release the lease. */
    void bindTo(Thread thread);

    /** Takes the lease back when its holder is done with it. */
    void giveBack(ActiveLease lease);
}
