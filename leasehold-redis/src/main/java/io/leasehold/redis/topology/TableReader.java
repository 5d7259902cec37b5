package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the table of slots: from all nodes that can be asked at once, of whose views the latest counts. */
final class TableReader {

    /** What the others get when one has answered. */
    private static final long GRACE_NANOS = 100_000_000L;

    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;

    TableReader(Driver driver, RedisErrors errors, LockRuntime runtime) {
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** The latest view of the nodes we are linked to; if none of them answers, of the others. */
    CompletableFuture<SlotTable> latest(List<Link> live, List<RedisUri> others) {
        if (live.isEmpty()) {
            return first(others);
        }
        List<CompletableFuture<SlotTable>> views = live.stream().map(this::view).toList();
        return merged(views)
                .handle((table, error) -> table != null ? CompletableFuture.completedFuture(table) : first(others))
                .thenCompose(f -> f);
    }

    /** The latest view of nodes we are not linked to. */
    CompletableFuture<SlotTable> first(List<RedisUri> nodes) {
        return merged(nodes.stream().map(this::visit).toList());
    }

    private CompletableFuture<SlotTable> merged(List<CompletableFuture<SlotTable>> views) {
        Merge merge = new Merge(views.size());
        views.forEach(view -> view.whenComplete(merge::add));
        return merge.result;
    }

    /** The views as they come. Guarded by itself. */
    private final class Merge {
        private final CompletableFuture<SlotTable> result = new CompletableFuture<>();
        private final List<Throwable> failures = new ArrayList<>();
        private final int expected;
        private @Nullable SlotTable latest;
        private int answers;

        private Merge(int expected) {
            this.expected = expected;
        }

        private void add(@Nullable SlotTable view, @Nullable Throwable failure) {
            boolean last;
            boolean first;
            synchronized (this) {
                if (view != null) {
                    answers++;
                    SlotTable before = latest;
                    if (before == null || !before.isAsNewAs(view)) {
                        latest = view;
                    }
                } else if (failure != null) {
                    failures.add(RedisErrors.unwrapped(failure));
                }
                last = answers + failures.size() == expected;
                first = view != null && answers == 1;
            }
            if (last) {
                decide();
            } else if (first) {
                runtime.schedule(GRACE_NANOS, this::decide);
            }
        }

        private void decide() {
            SlotTable decided;
            synchronized (this) {
                decided = latest;
            }
            if (decided != null) {
                result.complete(decided);
            } else {
                result.completeExceptionally(verdict(failures));
            }
        }
    }

    private LockStoreException verdict(List<Throwable> failures) {
        for (Throwable failure : failures) {
            if (failure instanceof LockStoreException known && !(failure instanceof StoreUnavailableException)) {
                return known;
            }
        }
        String reasons = failures.stream()
                .map(failure -> String.valueOf(failure.getMessage()))
                .distinct()
                .collect(Collectors.joining("; "));
        return errors.unavailable("has no node that tells who serves what: " + reasons, null);
    }

    private CompletableFuture<SlotTable> view(Link link) {
        CompletableFuture<List<Object>> slots = new CompletableFuture<>();
        CompletableFuture<String> info = new CompletableFuture<>();
        link.<List<Object>>send(redis -> redis.clusterSlots(), (reply, error) -> settle(slots, reply, error));
        link.<String>send(redis -> redis.clusterInfo(), (reply, error) -> settle(info, reply, error));
        return limited(
                slots.thenCombine(info, (s, i) -> SlotTable.parse(link.address().host(), s, i))
                        .exceptionally(error -> {
                            throw refused(error);
                        }),
                link.address());
    }

    private static <T> void settle(CompletableFuture<T> future, @Nullable T reply, @Nullable Throwable error) {
        if (reply != null) {
            future.complete(reply);
        } else {
            future.completeExceptionally(error == null ? new IllegalStateException("no answer") : error);
        }
    }

    private LockStoreException refused(Throwable error) {
        Throwable cause = RedisErrors.unwrapped(error);
        return cause instanceof LockStoreException known
                ? known
                : errors.of(cause, "read CLUSTER SLOTS and CLUSTER INFO").error();
    }

    private CompletableFuture<SlotTable> visit(RedisUri node) {
        Connections connections = new Connections(
                driver,
                Connections.Locator.fixed(node),
                Expectation.CLUSTER_NODE,
                node.toString(),
                errors.of(node.toString()),
                runtime);
        return connections.open().thenCompose(this::view).whenComplete((table, error) -> connections.retire());
    }

    private CompletableFuture<SlotTable> limited(CompletableFuture<SlotTable> view, RedisUri node) {
        CompletableFuture<SlotTable> limited = view.copy();
        LockRuntime.Timer patience = runtime.schedule(
                ANSWER_NANOS,
                () -> limited.completeExceptionally(
                        new StoreUnavailableException(node + " did not tell who serves what in time", null)));
        limited.whenComplete((table, error) -> patience.cancel());
        return limited;
    }
}
