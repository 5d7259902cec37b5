package io.leasehold.spring;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A body that runs while something is held, and the bodies around it.
 *
 * <p>Immutable. Which one a thread runs is known to that thread only.
 */
final class LeaseScope {

    private static final ThreadLocal<@Nullable LeaseScope> CURRENT = new ThreadLocal<>();

    private final List<LockName> names;
    private final Hold hold;
    private final Duration commitGuard;
    private final @Nullable LeaseScope outer;

    LeaseScope(List<LockName> names, Hold hold, Duration commitGuard, @Nullable LeaseScope outer) {
        this.names = names;
        this.hold = hold;
        this.commitGuard = commitGuard;
        this.outer = outer;
    }

    /** The innermost one of this thread. */
    static @Nullable LeaseScope current() {
        return CURRENT.get();
    }

    /** A body that asked for what a body around it holds would wait for itself. */
    static void refuseHeld(@Nullable LeaseScope innermost, List<LockName> names) {
        for (LeaseScope scope = innermost; scope != null; scope = scope.outer) {
            if (!Collections.disjoint(scope.names, names)) {
                throw new IllegalStateException(
                        "the lock " + names + " is already held by a body around this call, and locks are not"
                                + " reentrant: take it once, in the outermost method");
            }
        }
    }

    Hold hold() {
        return hold;
    }

    void enter() {
        CURRENT.set(this);
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
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            Hold held = scope.hold;
            Duration needed = scope.commitGuard;
            try {
                held.ensureValidFor(needed);
            } catch (LeaseAtRiskException atRisk) {
                renewed(held, atRisk);
                held.ensureValidFor(needed);
            }
        }
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

    /** As {@link #checkCommit()}, without a thread; completes exceptionally with what that throws. */
    CompletableFuture<Void> checkCommitAsync() {
        try {
            checkWithoutRenewal();
            return CompletableFuture.completedFuture(null);
        } catch (LeaseAtRiskException atRisk) {
            return renewedAsync().thenRun(this::checkWithoutRenewal);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void checkWithoutRenewal() {
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            scope.hold.ensureValidFor(scope.commitGuard);
        }
    }

    private CompletableFuture<Void> renewedAsync() {
        CompletableFuture<Void> all = hold.renewAsync();
        for (LeaseScope scope = outer; scope != null; scope = scope.outer) {
            Hold next = scope.hold;
            all = all.thenCompose(done -> next.renewAsync());
        }
        return all;
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
                ? new LeaseLostException(names.get(0), LossCause.NOT_OURS, "it was gone when the body gave it back")
                : null;
    }

    /** What the caller gets: the loss with what the body threw, if there was a loss; else what the body threw. */
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
