package io.leasehold.engine;

import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One reader's share of a hold, as the owner of that reader's lease: its validity is that of the hold, its end is its own.
 */
final class ReadShare implements LeaseOwner {

    private final SharedLease hold;
    private final ActiveLease lease;
    private volatile @Nullable Thread holdingThread;
    /** Whether the reader considers its lease lost, although the hold may continue. */
    private volatile boolean over;

    ReadShare(SharedLease hold, long token, long acquiredAtNanos) {
        this.hold = hold;
        this.lease = new ActiveLease(this, token, acquiredAtNanos);
    }

    ActiveLease lease() {
        return lease;
    }

    /** Whether the thread to which the reader was bound has died. */
    boolean isThreadDead() {
        Thread thread = holdingThread;
        return thread != null && !thread.isAlive();
    }

    @Override
    public LockName name() {
        return hold.name();
    }

    @Override
    public WaitSettings settings() {
        return hold.owner().settings();
    }

    @Override
    public EngineContext context() {
        return hold.owner().context();
    }

    @Override
    public long remainingNanos(ActiveLease asked) {
        return over ? 0 : hold.owner().remainingNanos(hold);
    }

    @Override
    public void on(GrantMachine.Event event) {
        if (event instanceof GrantMachine.Abandoned abandoned) {
            hold.abandon(this, abandoned.cause());
        } else if (event instanceof GrantMachine.TakenAway away) {
            over = true;
            lease.lost(away.cause(), List.of());
        } else {
            hold.owner().on(event);
        }
    }

    @Override
    public <T extends @Nullable Object> T ask(Function<GrantMachine, T> question) {
        return hold.owner().ask(question);
    }

    @Override
    public boolean isHeld() {
        return hold.owner().isHeld();
    }

    @Override
    public CompletableFuture<Void> renewByHand() {
        return hold.owner().renewByHand().whenComplete((renewed, error) -> {
            if (error instanceof LeaseLostException) {
                lease.lossReported();
            }
        });
    }

    @Override
    public void ask(ActiveLease asked, WaitingChecks.Check check) {
        hold.owner().ask(hold, check);
    }

    @Override
    public void withdraw(WaitingChecks.Check check) {
        hold.owner().withdraw(check);
    }

    @Override
    public @Nullable Throwable renewalFailure() {
        return hold.owner().renewalFailure();
    }

    @Override
    public void bindTo(Thread thread) {
        holdingThread = thread;
    }

    @Override
    public void giveBack(ActiveLease returned) {
        hold.leave(this);
    }
}
