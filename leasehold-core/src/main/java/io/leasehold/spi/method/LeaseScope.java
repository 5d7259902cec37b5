package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A body that runs while something is held, and the bodies around it.
 *
 * <p>Immutable. Which one a thread runs is known to that thread only.
 */
public final class LeaseScope {

    private static final ThreadLocal<@Nullable LeaseScope> CURRENT = new ThreadLocal<>();

    private final AskedLocks locks;
    private final Hold hold;
    private final Duration commitGuard;
    private final @Nullable LeaseScope outer;
    private final @Nullable Consumer<LeaseScope> guardian;

    /** A body inside another, or inside none. */
    public LeaseScope(AskedLocks locks, Hold hold, Duration commitGuard, @Nullable LeaseScope outer) {
        this(locks, hold, commitGuard, outer, null);
    }

    /**
     * A body in which transactions may begin.
     *
     * @param guardian registers the check before the commit at a transaction that begins inside
     */
    public LeaseScope(
            AskedLocks locks,
            Hold hold,
            Duration commitGuard,
            @Nullable LeaseScope outer,
            @Nullable Consumer<LeaseScope> guardian) {
        this.locks = locks;
        this.hold = hold;
        this.commitGuard = commitGuard;
        this.outer = outer;
        this.guardian = guardian;
    }

    /** The innermost one of this thread. */
    public static @Nullable LeaseScope current() {
        return CURRENT.get();
    }

    /** Refuses what a body around this call holds: it would wait for itself. */
    public static void refuseHeld(@Nullable LeaseScope innermost, AskedLocks asked) {
        for (LeaseScope scope = innermost; scope != null; scope = scope.outer) {
            if (scope.locks.overlap(asked)) {
                throw new IllegalStateException(
                        "the lock " + asked + " is already held by a body around this call, and locks are not"
                                + " reentrant: take it once, in the outermost method");
            }
        }
    }

    /** The locks that it has asked for. */
    public AskedLocks locks() {
        return locks;
    }

    /** The hold under which it runs. */
    public Hold hold() {
        return hold;
    }

    /** The validity that a commit inside needs. */
    public Duration commitGuard() {
        return commitGuard;
    }

    /** Whether what another checks before a commit is enough for this: the same hold, with a guard that is no smaller. */
    public boolean isCheckedBy(LeaseScope other) {
        return hold.equals(other.hold) && commitGuard.compareTo(other.commitGuard) <= 0;
    }

    /** Registers the check before the commit at the transaction that this thread has just begun. */
    public void guardTransaction() {
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            if (scope.guardian != null) {
                scope.guardian.accept(this);
                return;
            }
        }
    }

    /** The thread runs in this; returns what it has had before, for {@link #backTo}. */
    public @Nullable LeaseScope enter() {
        LeaseScope before = CURRENT.get();
        CURRENT.set(this);
        return before;
    }

    /** Brings back what the thread had before. */
    public static void backTo(@Nullable LeaseScope before) {
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
    public void checkCommit() {
        boolean renewed = false;
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            LeaseAtRiskException atRisk = scope.risk();
            if (atRisk != null) {
                renewed(scope.hold, atRisk);
                renewed = true;
            }
        }
        if (renewed) {
            // A renewal takes its time, which the leases checked before it have lost.
            checkWithoutRenewal();
        }
    }

    /** Why this is not valid for its commit guard, or null if it is. */
    private @Nullable LeaseAtRiskException risk() {
        try {
            hold.ensureValidFor(commitGuard);
            return null;
        } catch (LeaseAtRiskException atRisk) {
            return atRisk;
        }
    }

    private static void renewed(Hold held, LeaseAtRiskException atRisk) {
        try {
            held.renew();
        } catch (LockStoreException | IllegalStateException e) {
            throw notRenewed(e, atRisk);
        }
    }

    /** The exception for a renewal that failed: the loss if it was one, else the risk. */
    private static RuntimeException notRenewed(Throwable failure, LeaseAtRiskException atRisk) {
        if (failure instanceof LeaseLostException lost) {
            return lost;
        }
        atRisk.addSuppressed(failure);
        return atRisk;
    }

    /** As {@link #checkCommit()}, without a thread; completes exceptionally with what that throws. */
    public CompletableFuture<Void> checkCommitAsync() {
        try {
            CompletableFuture<Void> renewals = null;
            for (LeaseScope scope = this; scope != null; scope = scope.outer) {
                LeaseAtRiskException atRisk = scope.risk();
                if (atRisk != null) {
                    CompletableFuture<Void> renewal = renewedAsync(scope.hold, atRisk);
                    renewals = renewals == null ? renewal : CompletableFuture.allOf(renewals, renewal);
                }
            }
            return renewals == null
                    ? CompletableFuture.completedFuture(null)
                    : renewals.thenRun(this::checkWithoutRenewal);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void checkWithoutRenewal() {
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            scope.hold.ensureValidFor(scope.commitGuard);
        }
    }

    private static CompletableFuture<Void> renewedAsync(Hold held, LeaseAtRiskException atRisk) {
        return held.renewAsync().exceptionally(error -> {
            throw notRenewed(
                    error instanceof CompletionException && error.getCause() != null ? error.getCause() : error,
                    atRisk);
        });
    }

    /** The loss of what is held, or null if it is held or was given back. */
    public @Nullable LeaseLostException loss() {
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
    public @Nullable LeaseLostException foundBy(ReleaseOutcome outcome) {
        return outcome == ReleaseOutcome.ALREADY_LOST
                ? new LeaseLostException(
                        locks.names().get(0), LossCause.NOT_OURS, "it was gone when the body gave it back")
                : null;
    }

    /** The exception for the caller: the loss with the body's own exception, if there was a loss; else the body's own. */
    public static @Nullable Throwable outcome(@Nullable LeaseLostException lost, @Nullable Throwable thrown) {
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
