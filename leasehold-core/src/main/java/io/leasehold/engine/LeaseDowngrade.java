package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.toolkit.Repetition;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The downgrade of one write lease: sends the request once the grant of the writer has ended in this client, and repeats
 * it until the store has answered or the validity of the writer is over. No read lease begins without the answer of the
 * store. If none comes, both owner tokens are ended in the background.
 *
 * <p>{@code this} guards the fields that change. The store is asked, and futures complete, outside of the guard.
 */
final class LeaseDowngrade implements Conversion<LeaseHandle>, ReleaseRetrier.Repeated {

    private static final long FIRST_PAUSE_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 500_000_000L;

    private final LockName name;
    private final GrantMachine.Keeping keeping;
    private final WaitSettings settings;
    private final EngineContext context;
    private final Beginning beginning;
    private final OwnerToken reader;
    private final CompletableFuture<LeaseHandle> result = new CompletableFuture<>();
    private final CompletableFuture<ReleaseOutcome> ended = new CompletableFuture<>();
    private final Repetition repetition = new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS);

    private @Nullable Writer writer;
    private @Nullable AttemptNews news;
    /** The highest fencing token proposed under either owner token. */
    private long ballot;
    /** The mark of the {@link SuspendWatch}, taken before the last request was sent. */
    private long mark;

    private LockRuntime.@Nullable Timer timer;
    private @Nullable Throwable lastFailure;

    /** The beginning of the read lease. */
    interface Beginning {

        /**
         * Returns the lease of a reader that was a writer.
         *
         * @param highestBallot the highest ballot proposed under the owner token of the reader
         * @param mark taken from the {@link SuspendWatch} before the request was sent
         */
        LeaseHandle of(Grant grant, long highestBallot, long mark);
    }

    /** The grant that ends with the downgrade. */
    private record Writer(OwnerToken owner, long validUntilAtNanos) {}

    /**
     * Creates a downgrade that has not begun.
     *
     * @param name the exclusive lock
     * @param keeping how long the lock must stay taken if the downgrade fails
     * @throws UnsafeStoreException if the store does not keep readers
     */
    LeaseDowngrade(
            LockName name,
            GrantMachine.Keeping keeping,
            WaitSettings settings,
            EngineContext context,
            Beginning beginning) {
        this.name = name;
        this.keeping = keeping;
        this.settings = settings;
        this.context = context;
        this.beginning = beginning;
        requireReaders(name, context.store());
        this.reader = OwnerToken.draw(context.runtime());
    }

    /** Refuses what a store without readers cannot do. */
    static void requireReaders(LockName name, LockStore store) {
        if (!store.keepsReaders()) {
            throw refused(name, store);
        }
    }

    /** Returns the refusal of a store that keeps no readers. */
    static UnsafeStoreException refused(LockName name, LockStore store) {
        return new UnsafeStoreException(
                "lock \"" + name + "\": " + store.description() + " does not grant a lock to several readers; use the"
                        + " exclusive lock named(...) for readers and writers, or a store whose client says"
                        + " keepsReaders(), such as redis://",
                null);
    }

    @Override
    public CompletableFuture<LeaseHandle> result() {
        return result;
    }

    @Override
    public CompletableFuture<ReleaseOutcome> send(
            OwnerToken owner, @Nullable GrantTokens tokens, long token, long validUntilAtNanos) {
        AttemptNews begun =
                new AttemptNews(name.asRead(), context, context.runtime().nanoTime());
        synchronized (this) {
            writer = new Writer(owner, validUntilAtNanos);
            ballot = GrantTokens.highestBallot(tokens, token);
            news = begun;
        }
        context.retrier().began(this);
        ask();
        return ended;
    }

    private Writer writer() {
        Writer begun = writer;
        if (begun == null) {
            throw new IllegalStateException("the downgrade of \"" + name + "\" was not begun");
        }
        return begun;
    }

    private void ask() {
        AcquireRequest request;
        OwnerToken former;
        try {
            synchronized (this) {
                if (!repetition.start()) {
                    return;
                }
                former = writer().owner();
                mark = context.suspensions().mark();
                request = context.request(List.of(name.asRead()), reader, settings)
                        .ballotSoFar(ballot);
            }
        } catch (RuntimeException | Error e) {
            answered(broken(FailureKind.NO_EFFECT, e, 0));
            return;
        }
        try {
            Futures.ask(() -> context.store().downgrade(request, former))
                    .whenComplete((reply, error) -> Futures.guarded(
                            "an answered downgrade",
                            () -> answered(reply != null ? reply : broken(FailureKind.UNKNOWN, error, 0))));
        } catch (RuntimeException | Error e) {
            answered(broken(FailureKind.UNKNOWN, e, 0));
        }
    }

    private AcquireReply broken(FailureKind kind, @Nullable Throwable error, long ballotSoFar) {
        String message =
                "the downgrade of \"" + name + "\" at " + context.store().description() + " failed: " + error;
        return new AcquireReply.Failed(kind, new StoreUnavailableException(message, error), ballotSoFar);
    }

    private void answered(AcquireReply reply) {
        try {
            decided(reply);
        } catch (RuntimeException | Error e) {
            try {
                // The outcome of an answer that cannot be processed is unknown, and the request is repeated.
                decided(broken(FailureKind.UNKNOWN, e, reply.ballot()));
            } catch (RuntimeException | Error again) {
                giveUp(again);
            }
        }
    }

    private void decided(AcquireReply reply) {
        synchronized (this) {
            ballot = Math.max(ballot, reply.ballot());
        }
        if (reply instanceof AcquireReply.Granted granted) {
            granted(granted.grant());
        } else if (reply instanceof AcquireReply.Refused refused) {
            String message = "the downgrade of \"" + name + "\" was refused: " + refused.reason();
            again(new StoreUnavailableException(message, refused.votes(), null), refused.retryNanos(), false);
        } else if (reply instanceof AcquireReply.Failed failed) {
            again(failed.error(), 0, failed.kind() == FailureKind.PERMANENT);
        } else if (leftNanos() > 0) {
            // An earlier copy would have made a reader, which the store knew: so the writer's hold is gone.
            if (end()) {
                over(ReleaseOutcome.ALREADY_LOST, AttemptOutcome.ERROR);
            }
        } else {
            giveUp(lastFailure());
        }
    }

    private synchronized @Nullable Throwable lastFailure() {
        return lastFailure;
    }

    /** Returns how long the writer would still have been valid. */
    private synchronized long leftNanos() {
        return writer().validUntilAtNanos() - context.runtime().nanoTime();
    }

    /** The reader has the lock. If the answer was slow, another request extends the hold before it is shown. */
    private void granted(Grant grant) {
        Timings timings = settings.timings();
        long validNanos = grant.sentAtNanos()
                + timings.validityNanos()
                - context.runtime().nanoTime();
        if (validNanos < Math.max(1, timings.minimumValidityNanos())) {
            String message =
                    "the answer to the downgrade of \"" + name + "\" came so late that too little validity was left";
            again(new StoreUnavailableException(message, null), 0, false);
            return;
        }
        long sentMark;
        long highestBallot;
        synchronized (this) {
            if (repetition.isEnded()) {
                return;
            }
            sentMark = mark;
            highestBallot = ballot;
        }
        LeaseHandle lease;
        try {
            lease = beginning.of(grant, highestBallot, sentMark);
        } catch (RuntimeException | Error e) {
            // The release of its owner token may be on its way: another request could be granted before it arrives.
            giveUp(e);
            return;
        }
        if (!end()) {
            // The client has closed meanwhile.
            lease.giveBackUnseen();
            return;
        }
        over(ReleaseOutcome.DOWNGRADED, AttemptOutcome.ACQUIRED);
        if (!result.complete(lease)) {
            lease.giveBackUnseen();
        }
    }

    private void again(LockStoreException why, long retryNanos, boolean isFinal) {
        long leftNanos = leftNanos();
        synchronized (this) {
            if (repetition.isEnded()) {
                return;
            }
            lastFailure = why;
            OptionalLong pause = repetition.failed(isFinal ? 0 : leftNanos);
            if (pause.isPresent()) {
                long pauseNanos = Math.min(leftNanos, Math.max(retryNanos, pause.getAsLong()));
                timer = context.timeline().schedule(pauseNanos, this::ask);
                return;
            }
        }
        unconfirmed(why);
        undo();
    }

    /** Ends the repetitions; returns false if they had ended before. */
    private synchronized boolean end() {
        boolean isFirst = !repetition.isEnded();
        repetition.end();
        return isFirst;
    }

    private void over(ReleaseOutcome outcome, AttemptOutcome news) {
        tell(news);
        // The table of holds has the read lease: a client that closes finds one or the other.
        context.retrier().over(this);
        ended.complete(outcome);
    }

    private void tell(AttemptOutcome outcome) {
        AttemptNews begun;
        synchronized (this) {
            begun = news;
        }
        if (begun != null) {
            begun.ended(outcome);
        }
    }

    /** Ends the repetitions without an answer. */
    private void giveUp(@Nullable Throwable why) {
        if (end()) {
            unconfirmed(why);
            undo();
        }
    }

    private void unconfirmed(@Nullable Throwable why) {
        tell(AttemptOutcome.AMBIGUOUS);
        failUnsent(why);
        ended.complete(ReleaseOutcome.UNCONFIRMED);
    }

    @Override
    public void fail(RuntimeException why) {
        result.completeExceptionally(why);
    }

    @Override
    public void failUnsent(@Nullable Throwable why) {
        long keptNanos = Math.max(0, keptUntilAtNanos() - context.runtime().nanoTime());
        Duration free = Duration.ofNanos(settings.timings().undoNanos() + (keeping.forNanos() > 0 ? keptNanos : 0));
        fail(new AmbiguousAcquireException(
                "the downgrade of the lease on \"" + name + "\" was not confirmed by "
                        + context.store().description()
                        + "; the write lease has ended, no read lease has begun, and the"
                        + " lock is free after " + free.toMillis() + " ms at the latest"
                        + (why == null ? "" : ": " + why.getMessage()),
                why));
    }

    private long keptUntilAtNanos() {
        return keeping.fromAtNanos() + keeping.forNanos();
    }

    /** Ends both owner tokens, once the lock need not stay taken. */
    private void undo() {
        if (!Futures.succeeds(name, "kept", this::undoLater)) {
            undoNow();
        }
    }

    private boolean undoLater() {
        if (!keeping.isOn(context.runtime().nanoTime())) {
            return false;
        }
        context.timeline().scheduleAt(keptUntilAtNanos(), this::undoNow);
        // A client that closes does not wait for it: the lock stays taken until its own end.
        context.retrier().over(this);
        return true;
    }

    /**
     * Ends the writer's owner token first: from then on, a late copy of the downgrade finds nothing to act on. The
     * reader's owner token ends after that.
     */
    private void undoNow() {
        OwnerToken former;
        synchronized (this) {
            former = writer().owner();
        }
        end(name, former)
                .whenComplete((nothing, error) -> Futures.guarded("the undo of a downgrade", () -> {
                    end(name.asRead(), reader);
                    context.retrier().over(this);
                }));
    }

    private CompletableFuture<Void> end(LockName of, OwnerToken owner) {
        long highest;
        synchronized (this) {
            highest = ballot;
        }
        return context.retrier()
                .end(List.of(of), owner, highest, ReleaseRequest.Kind.UNDO, settings.timings())
                .over();
    }

    @Override
    public void hurry() {
        LockRuntime.Timer waiting;
        synchronized (this) {
            waiting = timer;
            timer = null;
        }
        if (waiting != null) {
            waiting.cancel();
            ask();
        }
    }

    @Override
    public void clientClosed() {
        if (end()) {
            unconfirmed(new IllegalStateException("the lock client was closed"));
        }
    }
}
