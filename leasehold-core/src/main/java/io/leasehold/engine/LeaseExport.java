package io.leasehold.engine;

import io.leasehold.AmbiguousExportException;
import io.leasehold.Durations;
import io.leasehold.Holder;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
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
 * The export of one lease: sends the request once the grant has ended, and repeats it until the store has answered or
 * the validity is over. No ticket is returned without the confirmation of the store. If none comes, both owner tokens
 * are ended in the background.
 *
 * <p>The store is asked, and futures complete, outside of every guard.
 */
final class LeaseExport implements Conversion<LeaseTicket> {

    private static final long FIRST_PAUSE_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 500_000_000L;
    private static final Duration LEAST_CLAIM = Duration.ofMillis(1);

    private final EngineContext context;
    private final WaitSettings settings;
    private final GrantMachine.Keeping keeping;
    private final LeaseTicket ticket;
    private final OwnerToken ticketOwner;
    private final CompletableFuture<LeaseTicket> result = new CompletableFuture<>();
    private final CompletableFuture<ReleaseOutcome> ended = new CompletableFuture<>();

    /**
     * Creates an export that has not begun.
     *
     * @param claim how long the store keeps the lock for the ticket
     * @param keeping how long the lock must stay taken: the claim is never shorter
     * @throws UnsafeStoreException if the lease is a permit or that of a reader, or the store cannot keep a lock for a ticket
     * @throws IllegalArgumentException if the claim is below one millisecond or above the largest ttl of the store
     */
    LeaseExport(
            LockName name, Duration claim, GrantMachine.Keeping keeping, WaitSettings settings, EngineContext context) {
        LockStore store = context.store();
        if (name.isPermits() || name.isRead()) {
            String what = name.isRead() ? "read lease" : "permit";
            throw new UnsafeStoreException(
                    "cannot export a " + what + " of \"" + name + "\" at " + store.description()
                            + ": a store keeps only an exclusive lock for a ticket. The " + what + " is still held.",
                    null);
        }
        requireTickets(store, "export the lease on \"" + name + "\"");
        this.context = context;
        this.settings = settings;
        this.keeping = keeping;
        Duration kept = Duration.ofNanos(keptNanos());
        Duration longer = kept.compareTo(claim) > 0 ? kept : claim;
        if (claim.compareTo(LEAST_CLAIM) < 0 || longer.compareTo(store.maxTtl()) > 0) {
            throw new IllegalArgumentException(
                    "claim " + Durations.text(longer) + " for the export of the lease on \"" + name
                            + "\" is not within 1 ms and the largest ttl that " + store.description() + " accepts: "
                            + Durations.text(store.maxTtl()));
        }
        this.ticketOwner = OwnerToken.draw(context.runtime());
        this.ticket = LeaseTicket.of(name, ticketOwner.hex(), longer, store.description());
    }

    /** Returns how much longer the lock must stay taken, however its lease ends. */
    private long keptNanos() {
        return Math.max(
                0,
                keeping.fromAtNanos() + keeping.forNanos() - context.runtime().nanoTime());
    }

    /** Refuses what a store without tickets cannot do. */
    static void requireTickets(LockStore store, String what) {
        if (!store.keepsTickets()) {
            throw new UnsafeStoreException(
                    "cannot " + what + ": " + store.description() + " does not keep a lock for a ticket. Release the"
                            + " lease and acquire it in the other process, or use a store that keeps tickets: Redis,"
                            + " Redlock, etcd with readers=true, a lease table in PostgreSQL, MariaDB, MySQL, H2 or SQLite,"
                            + " or memory:",
                    null);
        }
    }

    @Override
    public CompletableFuture<LeaseTicket> result() {
        return result;
    }

    /**
     * The grant that ends with the export.
     *
     * @param highestBallot the highest fencing token proposed or granted under the owner token
     * @param token the fencing token of the exported lease
     * @param validUntilAtNanos the end of the validity that the grant had
     */
    private record Ended(OwnerToken owner, long highestBallot, long token, long validUntilAtNanos) {}

    @Override
    public CompletableFuture<ReleaseOutcome> send(
            OwnerToken owner, @Nullable GrantTokens tokens, long token, long validUntilAtNanos) {
        Ended grant = new Ended(owner, GrantTokens.highestBallot(tokens, token), token, validUntilAtNanos);
        Sending sending = new Sending(grant);
        context.retrier().began(sending);
        sending.ask();
        return ended;
    }

    /** The request with its repetitions. */
    private final class Sending implements ReleaseRetrier.Repeated {

        private final Ended grant;
        private final ExportRequest request;
        private final Repetition repetition = new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS);
        private LockRuntime.@Nullable Timer timer;
        /** Whether a copy has failed with an unknown effect: the ticket may have had the lock since. */
        private boolean unknown;

        private @Nullable Throwable lastFailure;

        Sending(Ended grant) {
            this.grant = grant;
            this.request = new ExportRequest(
                    ticket.lockName(),
                    grant.owner(),
                    grant.highestBallot(),
                    ticketOwner,
                    grant.token(),
                    Holder.ticketOf(context.holderId()),
                    ticket.claim().toNanos(),
                    settings.timings().answerNanos());
        }

        void ask() {
            synchronized (this) {
                if (!repetition.start()) {
                    return;
                }
            }
            try {
                Futures.ask(() -> context.store().export(request))
                        .whenComplete((reply, error) -> Futures.guarded(
                                "an answered export", () -> answered(reply != null ? reply : broken(error))));
            } catch (RuntimeException | Error e) {
                answered(broken(e));
            }
        }

        private void answered(ExportReply reply) {
            try {
                decided(reply);
            } catch (RuntimeException | Error e) {
                try {
                    // The outcome of an answer that cannot be processed is unknown, and the request is repeated.
                    decided(broken(e));
                } catch (RuntimeException | Error again) {
                    giveUp(again);
                }
            }
        }

        private void decided(ExportReply reply) {
            if (reply instanceof ExportReply.Failed failed) {
                failed(failed);
            } else if (reply instanceof ExportReply.Exported) {
                over(ReleaseOutcome.EXPORTED);
            } else if (isLoss()) {
                over(ReleaseOutcome.ALREADY_LOST);
            } else {
                giveUp(lastFailure());
            }
        }

        /**
         * Whether the answer that the store does not know the holder proves a loss. It does not if an earlier copy may
         * have written the ticket, which has ended since, nor after the end of the validity.
         */
        private synchronized boolean isLoss() {
            return !unknown && context.runtime().nanoTime() - grant.validUntilAtNanos() < 0;
        }

        private synchronized @Nullable Throwable lastFailure() {
            return lastFailure;
        }

        private void over(ReleaseOutcome outcome) {
            if (end()) {
                context.retrier().over(this);
                ended.complete(outcome);
                if (outcome == ReleaseOutcome.EXPORTED) {
                    result.complete(ticket);
                }
            }
        }

        /** Ends the repetitions; returns false if they had ended before. */
        private synchronized boolean end() {
            boolean isFirst = !repetition.isEnded();
            repetition.end();
            return isFirst;
        }

        private void failed(ExportReply.Failed failed) {
            boolean isFinal = failed.kind() == FailureKind.PERMANENT;
            long leftNanos = grant.validUntilAtNanos() - context.runtime().nanoTime();
            synchronized (this) {
                if (repetition.isEnded()) {
                    return;
                }
                unknown |= failed.kind() != FailureKind.NO_EFFECT;
                lastFailure = failed.error();
                OptionalLong pause = repetition.failed(isFinal ? 0 : leftNanos);
                if (pause.isPresent()) {
                    timer = context.timeline().schedule(pause.getAsLong(), this::ask);
                    return;
                }
            }
            unconfirmed(failed.error());
            undo();
        }

        /** Ends the repetitions without a confirmation. */
        private void giveUp(@Nullable Throwable why) {
            if (end()) {
                unconfirmed(why);
                undo();
            }
        }

        /**
         * An export that arrives late finds the lock for as long as the store keeps it, and then keeps it for the claim.
         * A renewal without an answer may have arrived just before: so the store may have begun the ttl again.
         */
        private void unconfirmed(@Nullable Throwable why) {
            fail(LeaseExport.this.unconfirmed(
                    Duration.ofNanos(settings.timings().undoNanos()).plus(ticket.claim()), why));
            ended.complete(ReleaseOutcome.UNCONFIRMED);
        }

        /**
         * Ends both owner tokens, once the lock need not stay taken. If the holder still has it then, nothing renews it
         * until then: as with a lease that was lost, the store keeps it for the rest of its ttl.
         */
        private void undo() {
            if (!Futures.succeeds(ticket.lockName(), "kept", this::undoLater)) {
                undoNow();
            }
        }

        private boolean undoLater() {
            if (!keeping.isOn(context.runtime().nanoTime())) {
                return false;
            }
            context.timeline().scheduleAt(keeping.fromAtNanos() + keeping.forNanos(), this::undoNow);
            // A client that closes does not wait for it: the lock stays taken until its own end.
            context.retrier().over(this);
            return true;
        }

        /**
         * Ends the holder's owner token first: from then on, a late copy of the export finds nothing to act on. The
         * ticket's owner token, which no other party knows, ends after that. The store may keep the lock for it for the
         * whole claim, so it is repeated for longer.
         */
        private void undoNow() {
            long undoNanos = settings.timings().undoNanos();
            end(grant.owner(), grant.highestBallot(), undoNanos)
                    .whenComplete((nothing, error) -> Futures.guarded("the undo of an export", () -> {
                        end(ticketOwner, 0, ticket.claim().toNanos() + undoNanos);
                        context.retrier().over(this);
                    }));
        }

        private CompletableFuture<Void> end(OwnerToken owner, long ballot, long forNanos) {
            return context.retrier()
                    .end(
                            List.of(ticket.lockName()),
                            owner,
                            ballot,
                            ReleaseRequest.Kind.UNDO,
                            settings.timings().answerNanos(),
                            forNanos)
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

    private ExportReply broken(@Nullable Throwable error) {
        return new ExportReply.Failed(
                FailureKind.UNKNOWN,
                new StoreUnavailableException(
                        "export of \"" + ticket.lockName() + "\" at "
                                + context.store().description() + " failed: " + error,
                        error));
    }

    @Override
    public void fail(RuntimeException why) {
        result.completeExceptionally(why);
    }

    @Override
    public void failUnsent(@Nullable Throwable why) {
        fail(unconfirmed(Duration.ofNanos(settings.timings().undoNanos() + keptNanos()), why));
    }

    private AmbiguousExportException unconfirmed(Duration freeAfter, @Nullable Throwable why) {
        return new AmbiguousExportException(
                ticket.lockName(), freeAfter, context.store().description(), why);
    }
}
