package io.leasehold.engine;

import io.leasehold.LockName;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The grant behind a lease, as the lease and its handle see it. */
interface LeaseOwner {

    LockName name();

    WaitSettings settings();

    EngineContext context();

    /** The validity left for this lease, which must be the current one; checks for a suspension first. */
    long remainingNanos(ActiveLease lease);

    void on(GrantMachine.Event event);

    CompletableFuture<Void> renewByHand();

    /** A check of this lease waits for a renewal; it is answered exactly once, on any thread. */
    void ask(ActiveLease lease, WaitingChecks.Check check);

    /** This check waits no longer. */
    void withdraw(WaitingChecks.Check check);

    /** Why the last renewal failed, if it did. */
    @Nullable
    Throwable renewalFailure();

    /** Binds the current lease to a thread: once that has died, there is no holder left to release it. */
    void bindTo(Thread thread);

    /** The holder of this lease is done with it. */
    void giveBack(ActiveLease lease);
}
