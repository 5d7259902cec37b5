package io.leasehold.redis.node;

import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.PlainCommand;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * Scans the keys of all masters in small steps, one after the other, and reports the progress. Safe for all threads.
 */
final class KeyScan {

    private final Requests requests;
    private final Topology topology;
    private volatile LongConsumer listener = seen -> {};

    KeyScan(Requests requests, Topology topology) {
        this.requests = requests;
        this.topology = topology;
    }

    /** Registers the listener to the progress of all scans. */
    void onProgress(LongConsumer seen) {
        listener = seen;
    }

    /**
     * Scans the keys that match a pattern.
     *
     * @param what the purpose, for messages
     * @param keysPerStep the number of keys that a server examines in one step
     * @param each gets the keys of one step; the next step waits for its result
     */
    CompletableFuture<Void> of(
            String what, String pattern, int keysPerStep, Function<List<String>, CompletableFuture<Void>> each) {
        AtomicLong steps = new AtomicLong();
        Function<List<String>, CompletableFuture<Void>> counting = keys -> {
            listener.accept(steps.incrementAndGet() * keysPerStep);
            return each.apply(keys);
        };
        CompletableFuture<Void> scanned = CompletableFuture.completedFuture(null);
        try {
            for (Link master : topology.everywhere()) {
                Function<String, PlainCommand<PlainCommand.Step>> step =
                        cursor -> PlainCommand.scan(cursor, pattern, keysPerStep);
                scanned = scanned.thenCompose(done -> from(PlainCommand.Step.FIRST, what, master, step, counting));
            }
        } catch (LockStoreException e) {
            return CompletableFuture.failedFuture(e);
        }
        return scanned;
    }

    private CompletableFuture<Void> from(
            String cursor,
            String what,
            Link master,
            Function<String, PlainCommand<PlainCommand.Step>> step,
            Function<List<String>, CompletableFuture<Void>> each) {
        return requests.sendOrThrow(what, master, step.apply(cursor))
                .thenCompose(found -> each.apply(found.keys())
                        .thenCompose(done -> found.isLast()
                                ? CompletableFuture.<Void>completedFuture(null)
                                : from(found.cursor(), what, master, step, each)));
    }
}
