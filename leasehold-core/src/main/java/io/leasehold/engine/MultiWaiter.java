package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * One caller that wants several locks: one atomic request where the store can and nothing stands in the way, else one
 * {@link Waiter} after the other in the order of their names, so that callers cannot wait for each other in a circle.
 *
 * <p>Fields that change are guarded by {@code this}; nothing is called inside.
 */
final class MultiWaiter implements Pending<MultiLease> {

    private final List<LockName> names;
    private final WaitSettings settings;
    private final long maxWaitNanos;
    private final long startAtNanos;
    private final EngineClient client;
    private final Wiring wiring;
    private final CompletableFuture<Attempt<MultiLease>> result = new CompletableFuture<>();

    private final List<Lease> acquired = new ArrayList<>();
    private @Nullable Waiter current;
    private boolean givenUp;

    MultiWaiter(List<LockName> names, WaitSettings settings, long maxWaitNanos, EngineClient client, Wiring wiring) {
        this.names = names;
        this.settings = settings;
        this.maxWaitNanos = maxWaitNanos;
        this.client = client;
        this.wiring = wiring;
        this.startAtNanos = wiring.runtime().nanoTime();
    }

    @Override
    public CompletableFuture<Attempt<MultiLease>> result() {
        return result;
    }

    void start() {
        if (names.size() > 1 && wiring.store().isAtomicOver(names)) {
            takeAtOnce();
        } else {
            takeNext();
        }
    }

    private void takeAtOnce() {
        Timings timings = settings.timings();
        OwnerToken owner = OwnerToken.draw(wiring.runtime());
        AcquireRequest request =
                AcquireRequest.exclusive(names, owner, wiring.holderId(), timings.toldNanos(), timings.answerNanos());
        long mark = wiring.suspensions().mark();
        Edge.ask(() -> wiring.store().acquire(request)).whenComplete((reply, error) -> {
            if (reply instanceof AcquireReply.Granted granted && isWorthKeeping(granted)) {
                for (LockName name : names) {
                    keep(client.keep(name, granted.grant(), settings, mark));
                }
                finishAcquired();
                Duration waited = waited();
                names.forEach(name -> wiring.events()
                        .tell(l -> l.attemptEnded(
                                new LockListener.AttemptEnded(name, LockListener.AttemptOutcome.ACQUIRED, waited))));
                return;
            }
            if (!(reply instanceof AcquireReply.Busy || reply instanceof AcquireReply.Refused)) {
                undo(owner, reply == null ? 0 : reply.ballot());
            }
            if (reply instanceof AcquireReply.Failed failed && failed.kind() == FailureKind.PERMANENT) {
                result.completeExceptionally(failed.error());
            } else {
                takeNext();
            }
        });
    }

    private boolean isWorthKeeping(AcquireReply.Granted granted) {
        long validUntilAtNanos =
                granted.grant().sentAtNanos() + settings.timings().validityNanos();
        long leftNanos = validUntilAtNanos - wiring.runtime().nanoTime();
        return leftNanos >= Math.max(1, settings.timings().minimumValidityNanos());
    }

    private void undo(OwnerToken owner, long ballot) {
        Timings timings = settings.timings();
        wiring.undoer()
                .end(
                        new ReleaseRequest(names, owner, ballot, ReleaseRequest.Kind.UNDO, timings.answerNanos()),
                        timings.undoNanos());
    }

    private void takeNext() {
        LockName next;
        synchronized (this) {
            if (givenUp) {
                return;
            }
            next = acquired.size() < names.size() ? names.get(acquired.size()) : null;
        }
        if (next == null) {
            finishAcquired();
            return;
        }
        Waiter waiter;
        try {
            waiter = client.enter(next, settings, patienceLeft());
        } catch (IllegalStateException e) {
            giveBack();
            result.completeExceptionally(e);
            return;
        }
        boolean tooLate;
        synchronized (this) {
            current = waiter;
            tooLate = givenUp;
        }
        if (tooLate) {
            waiter.giveUp();
        }
        waiter.result().whenComplete(this::answered);
    }

    private long patienceLeft() {
        if (maxWaitNanos > Long.MAX_VALUE / 2) {
            return maxWaitNanos;
        }
        return Math.max(0, maxWaitNanos - (wiring.runtime().nanoTime() - startAtNanos));
    }

    private void answered(@Nullable Attempt<Lease> attempt, @Nullable Throwable error) {
        if (attempt instanceof Attempt.Acquired<Lease> one) {
            if (keep(one.lease())) {
                takeNext();
            }
            return;
        }
        giveBack();
        if (attempt instanceof Attempt.Busy<Lease> busy) {
            result.complete(new Attempt.Busy<>(busy.lockName(), waited(), busy.holder(), busy.votes()));
        } else if (error != null) {
            Throwable cause = error.getCause();
            result.completeExceptionally(error instanceof CompletionException && cause != null ? cause : error);
        }
    }

    /** Keeps a part, or gives it back at once if the caller has gone. */
    private boolean keep(Lease lease) {
        synchronized (this) {
            if (!givenUp) {
                acquired.add(lease);
                return true;
            }
        }
        lease.releaseAsync();
        return false;
    }

    private void finishAcquired() {
        List<Lease> all;
        synchronized (this) {
            all = List.copyOf(acquired);
        }
        if (all.size() == names.size()) {
            result.complete(new Attempt.Acquired<>(new MultiLeaseHandle(all)));
        }
    }

    @Override
    public void giveUp() {
        Waiter waiting;
        synchronized (this) {
            givenUp = true;
            waiting = current;
        }
        if (waiting != null) {
            waiting.giveUp();
        }
        giveBack();
        result.completeExceptionally(new CancellationException("the attempt on " + names + " was withdrawn"));
    }

    private void giveBack() {
        List<Lease> parts;
        synchronized (this) {
            parts = List.copyOf(acquired);
            acquired.clear();
            givenUp = true;
        }
        parts.forEach(Lease::releaseAsync);
    }

    private Duration waited() {
        return Duration.ofNanos(wiring.runtime().nanoTime() - startAtNanos);
    }
}
