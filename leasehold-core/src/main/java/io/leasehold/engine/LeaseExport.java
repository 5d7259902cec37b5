package io.leasehold.engine;

import io.leasehold.AmbiguousExportException;
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
final class LeaseExport implements GrantMachine.Export {

    private static final long FIRST_PAUSE_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 500_000_000L;

    private final EngineContext context;
    private final WaitSettings settings;
    private final LeaseTicket ticket;
    private final OwnerToken ticketOwner;
    private final CompletableFuture<LeaseTicket> result = new CompletableFuture<>();
    private final CompletableFuture<ReleaseOutcome> ended = new CompletableFuture<>();

    /**
     * Creates an export that has not begun.
     *
     * @param claim how long the store keeps the lock for the ticket
     * @throws UnsupportedOperationException if the lease is a permit
     * @throws UnsafeStoreException if the store cannot keep a lock for a ticket
     * @throws IllegalArgumentException if the claim is below one millisecond or above the largest ttl of the store
     */
    LeaseExport(LockName name, Duration claim, WaitSettings settings, EngineContext context) {
        LockStore store = context.store();
        if (name.isPermits()) {
            throw new UnsupportedOperationException("cannot export a permit of \"" + name
                    + "\": only a lease on a lock can be exported. The permit is still held.");
        }
        requireTickets(store, "export the lease on \"" + name + "\"");
        if (claim.toMillis() < 1 || claim.compareTo(store.maxTtl()) > 0) {
            throw new IllegalArgumentException("claim " + claim + " for the export of the lease on \"" + name
                    + "\" is not within 1 ms and the largest ttl that " + store.description() + " accepts: "
                    + store.maxTtl());
        }
        this.context = context;
        this.settings = settings;
        this.ticketOwner = OwnerToken.draw(context.runtime());
        this.ticket = LeaseTicket.of(name, ticketOwner.hex(), claim, store.description());
    }

    /** Refuses what a store without tickets cannot do. */
    static void requireTickets(LockStore store, String what) {
        if (!store.keepsTickets()) {
            throw new UnsafeStoreException(
                    "cannot " + what + ": " + store.description() + " does not keep a lock for a ticket. Release the"
                            + " lease and acquire it in the other process, or use a store that keeps tickets: one"
                            + " Redis deployment, a lease table of a database server, or memory:",
                    null);
        }
    }

    /** Completes, on any thread, with the ticket; exceptionally if there is none. */
    CompletableFuture<LeaseTicket> result() {
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

    /**
     * Sends the export of a grant that has ended in this client. Completes, on any thread, with the outcome; never
     * exceptionally.
     */
    CompletableFuture<ReleaseOutcome> send(
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
            Futures.ask(() -> context.store().export(request))
                    .whenComplete((reply, error) -> Futures.guarded(
                            "an answered export", () -> answered(reply != null ? reply : broken(error))));
        }

        private void answered(ExportReply reply) {
            if (reply instanceof ExportReply.Failed failed) {
                failed(failed);
            } else if (end()) {
                boolean isExported = reply instanceof ExportReply.Exported;
                context.retrier().over(this);
                ended.complete(isExported ? ReleaseOutcome.EXPORTED : ReleaseOutcome.ALREADY_LOST);
                if (isExported) {
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
                OptionalLong pause = repetition.failed(isFinal ? 0 : leftNanos);
                if (pause.isPresent()) {
                    timer = context.timeline().schedule(pause.getAsLong(), this::ask);
                    return;
                }
            }
            unconfirmed(failed.error());
            undo();
        }

        /** An export that arrives late finds the lock for as long as the store keeps it, and then keeps it for the claim. */
        private void unconfirmed(@Nullable Throwable why) {
            Timings timings = settings.timings();
            long leftNanos =
                    Math.max(0, grant.validUntilAtNanos() - context.runtime().nanoTime());
            long keptNanos = leftNanos + timings.toldNanos() - timings.validityNanos();
            fail(LeaseExport.this.unconfirmed(Duration.ofNanos(keptNanos).plus(ticket.claim()), why));
            ended.complete(ReleaseOutcome.UNCONFIRMED);
        }

        /**
         * Ends the holder's owner token first: from then on, a late copy of the export finds nothing to act on. The
         * ticket's owner token, which no other party knows, ends after that.
         */
        private void undo() {
            end(grant.owner(), grant.highestBallot())
                    .whenComplete((nothing, error) -> Futures.guarded("the undo of an export", () -> {
                        end(ticketOwner, 0);
                        context.retrier().over(this);
                    }));
        }

        private CompletableFuture<Void> end(OwnerToken owner, long ballot) {
            return context.retrier()
                    .end(List.of(ticket.lockName()), owner, ballot, ReleaseRequest.Kind.UNDO, settings.timings())
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

    void fail(RuntimeException why) {
        result.completeExceptionally(why);
    }

    /** Fails an export that could not be sent, unless it has failed before. */
    void failUnsent() {
        fail(unconfirmed(Duration.ofNanos(settings.timings().undoNanos()), null));
    }

    private AmbiguousExportException unconfirmed(Duration freeAfter, @Nullable Throwable why) {
        return new AmbiguousExportException(
                ticket.lockName(), freeAfter, context.store().description(), why);
    }
}
