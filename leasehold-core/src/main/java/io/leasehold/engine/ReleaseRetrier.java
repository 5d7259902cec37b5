package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.toolkit.Repetition;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends owner tokens at the store: sends a release or undo, and repeats it until it is answered or the store has
 * forgotten the token.
 */
final class ReleaseRetrier {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long FIRST_PAUSE_NANOS = 50_000_000L;
    private static final long MAX_PAUSE_NANOS = 1_000_000_000L;

    private final LockRuntime runtime;
    private final TimerQueue timeline;
    private final LockStore store;
    /**
     * The unanswered requests in the order of their start, so that a replayed simulation repeats them in that order.
     * Guarded by itself.
     */
    private final Set<Repeated> pending = new LinkedHashSet<>();

    ReleaseRetrier(LockRuntime runtime, TimerQueue timeline, LockStore store) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.store = store;
    }

    /** A request that is repeated until it is answered. */
    interface Repeated {

        /** Sends the next copy at once, if it waits for its time. */
        void hurry();

        /** Ends a wait for the answer: no request is sent any more. */
        default void clientClosed() {}
    }

    /** Registers a request that is repeated by its own; a client that closes waits for it. */
    void began(Repeated request) {
        synchronized (pending) {
            pending.add(request);
        }
    }

    /** Removes a request that is answered or given up. */
    void over(Repeated request) {
        synchronized (pending) {
            pending.remove(request);
        }
    }

    /**
     * The progress of the end of an owner token; neither future completes exceptionally.
     *
     * @param firstReply the first answer
     * @param over completes once the end is finally answered or given up
     */
    record Progress(CompletableFuture<ReleaseReply> firstReply, CompletableFuture<Void> over) {}

    /**
     * Ends the owner token at the store. Repeats the request until it is answered, for as long as the store may know
     * the token.
     */
    Progress end(List<LockName> names, OwnerToken owner, long ballot, ReleaseRequest.Kind kind, Timings timings) {
        return end(names, owner, ballot, kind, timings.answerNanos(), timings.undoNanos());
    }

    /**
     * Does the same.
     *
     * @param forNanos the longest time for which the store may know the token
     */
    Progress end(
            List<LockName> names,
            OwnerToken owner,
            long ballot,
            ReleaseRequest.Kind kind,
            long answerNanos,
            long forNanos) {
        ReleaseRequest request = new ReleaseRequest(names, owner, ballot, kind, answerNanos);
        Ending ending = new Ending(request, runtime.nanoTime() + forNanos);
        began(ending);
        ending.send();
        return new Progress(ending.firstReply, ending.ended);
    }

    /** Repeats the unanswered requests at once, since the store can be reached again. */
    void reconnected() {
        List<Repeated> unanswered;
        synchronized (pending) {
            unanswered = List.copyOf(pending);
        }
        unanswered.forEach(Repeated::hurry);
    }

    /** Ends every wait for an answer, since the client closes the store. */
    void close() {
        List<Repeated> unanswered;
        synchronized (pending) {
            unanswered = List.copyOf(pending);
        }
        unanswered.forEach(Repeated::clientClosed);
    }

    /** Whether everything is answered or given up. */
    boolean isIdle() {
        synchronized (pending) {
            return pending.isEmpty();
        }
    }

    private final class Ending implements Repeated {

        private final ReleaseRequest request;
        private final long untilAtNanos;
        private final CompletableFuture<ReleaseReply> firstReply = new CompletableFuture<>();
        private final CompletableFuture<Void> ended = new CompletableFuture<>();
        private final Repetition repetition = new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS);
        private LockRuntime.@Nullable Timer timer;

        Ending(ReleaseRequest request, long untilAtNanos) {
            this.request = request;
            this.untilAtNanos = untilAtNanos;
        }

        void send() {
            synchronized (this) {
                if (!repetition.start()) {
                    return;
                }
            }
            Futures.ask(() -> store.release(request)).whenComplete((reply, error) -> {
                try {
                    answered(reply != null ? reply : broken(error));
                } catch (RuntimeException | Error e) {
                    LOG.error("ending a hold on {} failed unexpectedly; it ends with its ttl", request.names(), e);
                    over();
                }
            });
        }

        private ReleaseReply broken(@Nullable Throwable error) {
            return new ReleaseReply.Failed(
                    FailureKind.UNKNOWN,
                    new StoreUnavailableException(
                            "release of " + request.names() + " at " + store.description() + " failed: " + error,
                            error));
        }

        private void answered(ReleaseReply reply) {
            firstReply.complete(reply);
            boolean again = reply instanceof ReleaseReply.Failed failed && failed.kind() != FailureKind.PERMANENT;
            long leftNanos = again ? untilAtNanos - runtime.nanoTime() : 0;
            synchronized (this) {
                OptionalLong pause = repetition.failed(leftNanos);
                if (pause.isPresent()) {
                    timer = timeline.schedule(pause.getAsLong(), this::send);
                    return;
                }
            }
            over();
        }

        private void over() {
            ReleaseRetrier.this.over(this);
            ended.complete(null);
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
                send();
            }
        }
    }
}
