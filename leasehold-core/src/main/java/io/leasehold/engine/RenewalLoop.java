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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends renewals that are due at about the same time in one batch. */
final class RenewalLoop {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final int LARGEST_BATCH = 1_000;

    private final LockRuntime runtime;
    private final Timeline timeline;
    private final LockStore store;
    /** Guarded by this. */
    private List<GrantKeeper> due = new ArrayList<>();

    private long flushAtNanos;
    private LockRuntime.@Nullable Timer flush;

    RenewalLoop(LockRuntime runtime, Timeline timeline, LockStore store) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.store = store;
    }

    /** Sends a renewal of this grant within {@code withinNanos}, with others if there are any. */
    void renew(GrantKeeper grant, long withinNanos) {
        long atNanos = runtime.nanoTime() + withinNanos;
        synchronized (this) {
            due.add(grant);
            boolean soonEnough = flush != null && flushAtNanos - atNanos <= 0;
            if (!soonEnough && withinNanos > 0) {
                if (flush != null) {
                    flush.cancel();
                }
                flushAtNanos = atNanos;
                flush = timeline.schedule(withinNanos, this::flush);
            }
        }
        if (withinNanos <= 0) {
            flush();
        }
    }

    private void flush() {
        List<GrantKeeper> all;
        synchronized (this) {
            if (flush != null) {
                flush.cancel();
                flush = null;
            }
            all = due;
            due = new ArrayList<>();
        }
        for (int from = 0; from < all.size(); from += LARGEST_BATCH) {
            send(all.subList(from, Math.min(all.size(), from + LARGEST_BATCH)));
        }
    }

    private void send(List<GrantKeeper> grants) {
        // What was released meanwhile is not renewed: nothing but its release is sent with its owner token.
        List<GrantKeeper> held =
                grants.stream().filter(GrantKeeper::beginSending).toList();
        if (held.isEmpty()) {
            return;
        }
        long timeoutNanos =
                held.stream().mapToLong(g -> g.timings().answerNanos()).min().orElseThrow();
        RenewBatch batch =
                new RenewBatch(held.stream().map(GrantKeeper::renewalItem).toList(), timeoutNanos);
        CompletableFuture<RenewReply> sent = Edge.ask(() -> store.renew(batch));
        held.forEach(GrantKeeper::renewalSent);
        sent.whenComplete((reply, error) -> {
            for (int i = 0; i < held.size(); i++) {
                try {
                    held.get(i).renewalAnswered(item(reply, i, error));
                } catch (RuntimeException e) {
                    LOG.error(
                            "a renewal of \"{}\" failed unexpectedly",
                            held.get(i).name(),
                            e);
                }
            }
        });
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
