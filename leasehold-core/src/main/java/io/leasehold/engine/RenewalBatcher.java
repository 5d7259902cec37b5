package io.leasehold.engine;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends renewals that are due at about the same time in one batch. */
final class RenewalBatcher {

    /** A grant to renew. */
    interface Renewable {

        /** Whether a renewal may be sent now; if so, {@link #sent()} and then {@link #answered} follow. */
        boolean beginSending();

        RenewBatch.Item item();

        /** Returns how long the store may take to answer. */
        long answerNanos();

        void sent();

        /** Whether the renewal must not wait for others to share its request. */
        default boolean isUrgent() {
            return false;
        }

        void answered(RenewReply.Item answer);
    }

    private static final int LARGEST_BATCH = 1_000;

    private final LockRuntime runtime;
    private final TimerQueue timeline;
    private final LockStore store;
    /** Guarded by this. */
    private List<Renewable> due = new ArrayList<>();

    private long flushAtNanos;
    private LockRuntime.@Nullable Timer flush;

    RenewalBatcher(LockRuntime runtime, TimerQueue timeline, LockStore store) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.store = store;
    }

    /** Sends a renewal of this grant within {@code mostNanos}, together with others if any are due. */
    void renew(Renewable grant, long mostNanos) {
        long nowNanos = runtime.nanoTime();
        long withinNanos;
        synchronized (this) {
            due.add(grant);
            // Under the guard: a caller that comes later finds the grant among the due ones, and sends all of them.
            withinNanos = mostNanos > 0 && grant.isUrgent() ? 0 : mostNanos;
            long atNanos = nowNanos + withinNanos;
            boolean soonEnough = flush != null && flushAtNanos - atNanos <= 0;
            if (!soonEnough && withinNanos > 0) {
                try {
                    // The earlier timer stays until this one is armed: other renewals wait for it.
                    LockRuntime.Timer sooner = timeline.schedule(withinNanos, this::flush);
                    TimerQueue.cancelled(flush);
                    flush = sooner;
                    flushAtNanos = atNanos;
                } catch (RuntimeException | Error e) {
                    // This renewal counts as failed, and must not be sent together with the next one.
                    due.remove(grant);
                    throw e;
                }
            }
        }
        if (withinNanos <= 0) {
            flush();
        }
    }

    /** If the renewal of this grant waits for others to share its request, sends all of them now. */
    void hurry(Renewable grant) {
        boolean waits;
        synchronized (this) {
            waits = due.contains(grant);
        }
        if (waits) {
            flush();
        }
    }

    /** Sends the renewals that wait for others. */
    void flush() {
        List<Renewable> all;
        synchronized (this) {
            flush = TimerQueue.cancelled(flush);
            all = due;
            due = new ArrayList<>();
        }
        for (List<Renewable> rest = all; !rest.isEmpty(); ) {
            // A request has the shortest of their time limits: it must not be far too short for any of them.
            long limitNanos = 2 * shortestAnswerNanos(rest);
            sendInBatches(
                    rest.stream().filter(one -> one.answerNanos() <= limitNanos).toList());
            rest = rest.stream().filter(one -> one.answerNanos() > limitNanos).toList();
        }
    }

    private static long shortestAnswerNanos(List<Renewable> grants) {
        return grants.stream().mapToLong(Renewable::answerNanos).min().orElseThrow();
    }

    private void sendInBatches(List<Renewable> all) {
        for (int from = 0; from < all.size(); from += LARGEST_BATCH) {
            send(all.subList(from, Math.min(all.size(), from + LARGEST_BATCH)));
        }
    }

    /** Calls {@code sent} and then {@code answered} of each grant, even after a failure, including an Error. */
    private void send(List<Renewable> grants) {
        // A grant that was released in the meantime is not renewed: only its release is sent with its owner token.
        List<Renewable> held = new ArrayList<>(grants.size());
        for (Renewable grant : grants) {
            if (grant.beginSending()) {
                held.add(grant);
            }
        }
        if (held.isEmpty()) {
            return;
        }
        CompletableFuture<RenewReply> sent = Futures.ask(() -> store.renew(batch(held)));
        for (Renewable grant : held) {
            Futures.guarded("what follows a renewal", grant::sent);
        }
        sent.whenComplete((reply, error) -> {
            for (int i = 0; i < held.size(); i++) {
                int index = i;
                Futures.guarded("an answered renewal", () -> held.get(index).answered(item(reply, index, error)));
            }
        });
    }

    private static RenewBatch batch(List<Renewable> held) {
        return new RenewBatch(held.stream().map(Renewable::item).toList(), shortestAnswerNanos(held));
    }

    private RenewReply.Item item(@Nullable RenewReply reply, int index, @Nullable Throwable error) {
        if (reply != null && index < reply.items().size()) {
            return reply.items().get(index);
        }
        return new RenewReply.Failed(new StoreUnavailableException(
                "renewal at " + store.description() + " failed: " + (error == null ? "no answer for it" : error),
                error));
    }
}
