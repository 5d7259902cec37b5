package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.InlineThread;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A method body that runs under a hold, and the bodies around it.
 *
 * <p>Immutable. Each thread knows its own current scope.
 */
public final class LeaseScope {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** The number of checks of a commit while renewals of one hold use up the validity of another. */
    private static final int COMMIT_LOOKS = 3;

    private static final ThreadLocal<@Nullable LeaseScope> CURRENT = new ThreadLocal<>();

    private final AskedLocks locks;
    private final Hold hold;
    private final Duration commitGuard;
    private final @Nullable LeaseScope outer;
    private final @Nullable Consumer<LeaseScope> guardian;

    /** Creates the scope of a body inside another one, or inside none. */
    public LeaseScope(AskedLocks locks, Hold hold, Duration commitGuard, @Nullable LeaseScope outer) {
        this(locks, hold, commitGuard, outer, null);
    }

    /**
     * Creates the scope of a body in which transactions may begin.
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

    /** The innermost scope of this thread. */
    public static @Nullable LeaseScope current() {
        return CURRENT.get();
    }

    /** Refuses locks that a body around this call holds: the call would wait for itself. */
    public static void refuseHeld(@Nullable LeaseScope innermost, AskedLocks asked) {
        for (LeaseScope scope = innermost; scope != null; scope = scope.outer) {
            if (scope.locks.overlap(asked)) {
                throw new IllegalStateException(
                        "the lock " + asked + " is already held by a method around this call, and locks are not"
                                + " reentrant: acquire it once, in the outermost method");
            }
        }
    }

    /** The locks that it has requested. */
    public AskedLocks locks() {
        return locks;
    }

    /** The hold under which it runs. */
    public Hold hold() {
        return hold;
    }

    /** The minimum validity for a commit inside. */
    public Duration commitGuard() {
        return commitGuard;
    }

    /**
     * Whether the check of the other scope before a commit covers this one: the same hold, with a guard that is no
     * smaller.
     */
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

    /**
     * A body to run.
     *
     * @param <T> its result
     * @param <E> what it declares to throw
     */
    @FunctionalInterface
    public interface Body<T, E extends Throwable> {

        /** Runs it, on the calling thread. */
        @Nullable
        T run() throws E;
    }

    /**
     * Runs a body in this scope, on the calling thread. The hold is as it was before: {@link #release} ends it.
     *
     * @param interrupts whether a loss of the hold interrupts the body
     */
    public <T, E extends Throwable> @Nullable T run(boolean interrupts, Body<T, E> body) throws E {
        LossInterrupt interrupt = interrupts ? LossInterrupt.armed(hold) : null;
        LeaseScope before = enter();
        try {
            return body.run();
        } finally {
            backTo(before);
            if (interrupt != null) {
                interrupt.callOff();
            }
        }
    }

    /**
     * Releases the hold after its body, and waits for the answer. A release that fails is logged: the hold ends with its
     * ttl.
     *
     * @return the loss that the release has detected, or null
     */
    public @Nullable LeaseLostException release() {
        try {
            return foundBy(hold.release());
        } catch (RuntimeException e) {
            LOG.atWarn().setCause(e).log("releasing {} failed; it ends with its ttl", hold);
            return null;
        }
    }

    /** Makes this the thread's current scope; returns the previous one, for {@link #backTo}. */
    public @Nullable LeaseScope enter() {
        LeaseScope before = CURRENT.get();
        CURRENT.set(this);
        return before;
    }

    /** Restores the thread's previous scope. */
    public static void backTo(@Nullable LeaseScope before) {
        if (before == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(before);
        }
    }

    /**
     * Checks, before a commit, that this hold and all holds around it are valid for long enough.
     *
     * @throws LeaseLostException if one has ended
     * @throws LeaseAtRiskException if one is valid for less than its commit guard, even after a renewal
     * @throws IllegalStateException if one was released inside its body
     */
    public void checkCommit() {
        for (int look = 1; true; look++) {
            for (LeaseScope scope = this; scope != null; scope = scope.outer) {
                scope.ensureValid();
            }
            LeaseScope risky = tooShort();
            if (risky == null) {
                return;
            } else if (look == COMMIT_LOOKS) {
                throw risky.refusal();
            }
        }
    }

    /**
     * Returns a scope whose hold is valid for less than its guard at this moment, or null. Does not ask the store:
     * during a renewal, the holds that were checked before it lose validity.
     */
    private @Nullable LeaseScope tooShort() {
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            Duration left = scope.hold.remainingValidity();
            if (left.isZero() || left.compareTo(scope.commitGuard) < 0) {
                return scope;
            }
        }
        return null;
    }

    private RuntimeException refusal() {
        LeaseLostException lost = loss();
        return lost != null
                ? lost
                : new LeaseAtRiskException(locks.names().get(0), hold.remainingValidity(), commitGuard);
    }

    private void ensureValid() {
        try {
            hold.ensureValidFor(commitGuard);
        } catch (LeaseAtRiskException atRisk) {
            refuseIfRenewed(atRisk);
            try {
                hold.renew();
            } catch (LockStoreException | IllegalStateException e) {
                throw notRenewed(e, atRisk);
            }
        }
    }

    /** Refuses a second renewal: the check has already renewed the hold, unless nothing renews it automatically. */
    private static void refuseIfRenewed(LeaseAtRiskException atRisk) {
        if (atRisk.getCause() != null) {
            throw atRisk;
        }
    }

    /** Returns the exception for a failed renewal: the loss if it was one, else the risk. */
    private static RuntimeException notRenewed(Throwable failure, LeaseAtRiskException atRisk) {
        if (failure instanceof LeaseLostException lost) {
            return lost;
        }
        atRisk.addSuppressed(failure);
        return atRisk;
    }

    /** As {@link #checkCommit()}, without blocking a thread; completes exceptionally with the same exceptions. */
    public CompletableFuture<Void> checkCommitAsync() {
        return checkCommitAsync(1);
    }

    private CompletableFuture<Void> checkCommitAsync(int look) {
        return ofAll(LeaseScope::ensureValidAsync).thenCompose(all -> {
            LeaseScope risky = tooShort();
            if (risky == null) {
                return valid();
            }
            return look == COMMIT_LOOKS ? CompletableFuture.failedFuture(risky.refusal()) : checkCommitAsync(look + 1);
        });
    }

    /** Begins a step for this scope and all scopes around it; completes when all steps have completed. */
    private CompletableFuture<Void> ofAll(Function<LeaseScope, CompletableFuture<Void>> step) {
        CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
        for (LeaseScope scope = this; scope != null; scope = scope.outer) {
            all = CompletableFuture.allOf(all, step.apply(scope));
        }
        return all;
    }

    private CompletableFuture<Void> ensureValidAsync() {
        return hold.ensureValidForAsync(commitGuard)
                .toCompletableFuture()
                .handle((valid, error) -> error == null ? valid() : renewedAfter(cause(error)))
                .thenCompose(Function.identity());
    }

    private static CompletableFuture<Void> valid() {
        return CompletableFuture.completedFuture(null);
    }

    private CompletableFuture<Void> renewedAfter(Throwable error) {
        if (!(error instanceof LeaseAtRiskException atRisk) || atRisk.getCause() != null) {
            return CompletableFuture.failedFuture(error);
        }
        return hold.renewAsync().exceptionally(failure -> {
            throw notRenewed(cause(failure), atRisk);
        });
    }

    private static Throwable cause(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    /**
     * Returns the loss of a hold as far as it is known at this moment, without a request to the store. Null if the hold
     * is held or was released.
     */
    public static @Nullable LeaseLostException lossOf(Hold hold) {
        AtomicReference<@Nullable LeaseLostException> known = new AtomicReference<>();
        InlineThread.run(() -> {
            try {
                hold.ensureValidFor(Duration.ZERO);
            } catch (LeaseLostException lost) {
                known.set(lost);
            } catch (IllegalStateException atRiskOrReleased) {
                // It is not lost.
            }
        });
        return known.get();
    }

    /** The loss of the hold, or null if it is held or was released. */
    public @Nullable LeaseLostException loss() {
        return lossOf(hold);
    }

    /** The loss that only the release has detected, or null. */
    public @Nullable LeaseLostException foundBy(ReleaseOutcome outcome) {
        return outcome == ReleaseOutcome.ALREADY_LOST
                ? new LeaseLostException(
                        locks.names().get(0), LossCause.NOT_OURS, "it was gone when it was released after the method")
                : null;
    }

    /**
     * The exception for the caller: the loss, with the body's own exception attached, or else the body's own exception.
     */
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
