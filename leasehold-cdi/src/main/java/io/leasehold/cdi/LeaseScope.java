package io.leasehold.cdi;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A body that runs while something is held, and the bodies around it.
 *
 * <p>Immutable. The scope that a thread is in is known to that thread only.
 */
final class LeaseScope {

    private static final ThreadLocal<@Nullable LeaseScope> CURRENT = new ThreadLocal<>();

    private final AskedLocks locks;
    private final Hold hold;
    private final Duration commitGuard;
    private final Transactions transactions;
    private final @Nullable LeaseScope outer;

    LeaseScope(
            AskedLocks locks, Hold hold, Duration commitGuard, Transactions transactions, @Nullable LeaseScope outer) {
        this.locks = locks;
        this.hold = hold;
        this.commitGuard = commitGuard;
        this.transactions = transactions;
        this.outer = outer;
    }

    /** The innermost one of this thread. */
    static @Nullable LeaseScope current() {
        return CURRENT.get();
    }

    /** Refuses what a body around this call holds: it would wait for itself. */
    static void refuseHeld(@Nullable LeaseScope innermost, AskedLocks asked) {
        for (LeaseScope scope = innermost; scope != null; scope = scope.outer) {
            if (scope.locks.overlap(asked)) {
                throw new IllegalStateException(
                        "the lock " + asked + " is already held by a body around this call, and locks are not"
                                + " reentrant: take it once, in the outermost method");
            }
        }
    }

    AskedLocks locks() {
        return locks;
    }

    Hold hold() {
        return hold;
    }

    Duration commitGuard() {
        return commitGuard;
    }

    /** Has the transaction of this thread, which has just begun, check what is held before its commit. */
    void guardTransaction() {
        transactions.guard(this);
    }

    /** The thread runs in this; returns what it has had before, for {@link #backTo}. */
    @Nullable
    LeaseScope enter() {
        LeaseScope before = CURRENT.get();
        CURRENT.set(this);
        return before;
    }

    /** Brings back what the thread had before. */
    static void backTo(@Nullable LeaseScope before) {
        if (before == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(before);
        }
    }

    /**
     * Lets a transaction commit only while this and all around it are held for long enough.
     *
     * @throws LeaseLostException if one has ended
     * @throws LeaseAtRiskException if one is valid for less than its commit guard, also after a renewal
     * @throws IllegalStateException if one was released inside its body
     */
    void checkCommit() {
        boolean renewed = false;
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            try {
                scope.ensureGuard();
            } catch (LeaseAtRiskException atRisk) {
                renewed(scope.hold, atRisk);
                renewed = true;
            }
        }
        // A renewal takes its time, which the leases checked before it have lost.
        for (LeaseScope scope = this; renewed && scope != null; scope = scope.outer) {
            scope.ensureGuard();
        }
    }

    private void ensureGuard() {
        hold.ensureValidFor(commitGuard);
    }

    private static void renewed(Hold held, LeaseAtRiskException atRisk) {
        try {
            held.renew();
        } catch (LeaseLostException lost) {
            throw lost;
        } catch (LockStoreException | IllegalStateException e) {
            atRisk.addSuppressed(e);
            throw atRisk;
        }
    }

    /** The loss of what is held, or null if it is held or was given back. */
    @Nullable
    LeaseLostException loss() {
        try {
            hold.ensureValidFor(Duration.ZERO);
            return null;
        } catch (LeaseLostException lost) {
            return lost;
        } catch (IllegalStateException releasedOrAtRisk) {
            return null;
        }
    }

    /** The loss that only the release has found out, or null. */
    @Nullable
    LeaseLostException foundBy(ReleaseOutcome outcome) {
        return outcome == ReleaseOutcome.ALREADY_LOST
                ? new LeaseLostException(
                        locks.names().get(0), LossCause.NOT_OURS, "it was gone when the body gave it back")
                : null;
    }

    /** The end for the caller: the loss with what the body threw, if there was a loss; else what the body threw. */
    static @Nullable Throwable outcome(@Nullable LeaseLostException lost, @Nullable Throwable thrown) {
        boolean told = thrown instanceof LeaseLostException known
                && lost != null
                && known.lockName().equals(lost.lockName());
        if (lost == null || told) {
            return thrown;
        }
        if (thrown != null) {
            lost.addSuppressed(thrown);
        }
        return lost;
    }
}
