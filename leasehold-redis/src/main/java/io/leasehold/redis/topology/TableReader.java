package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the table of slots: from all nodes that can be asked at once, of whose views the latest counts. */
final class TableReader {

    /** The time that the others get when one has answered that knows as much as this client. */
    private static final long GRACE_NANOS = 100_000_000L;

    private static final long ANSWER_NANOS = 3_000_000_000L;

    /** With the connection, whose credentials may never come. */
    private static final long VISIT_NANOS = 2 * ANSWER_NANOS;

    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;

    TableReader(Driver driver, RedisErrors errors, LockRuntime runtime) {
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
    }

    /**
     * The latest view of the nodes we are linked to; of the others too, if none of those knows as much as we do.
     *
     * @param known the table that is in use: an older view counts only when all have answered or had their time
     */
    CompletableFuture<SlotTable> latest(List<Link> live, List<RedisUri> others, SlotTable known) {
        if (live.isEmpty()) {
            return first(others, known);
        }
        return merged(live.stream().map(this::view).toList(), known)
                .handle((table, error) -> table != null && table.isAny() && table.isAsNewAs(known)
                        ? CompletableFuture.completedFuture(table)
                        : first(others, known)
                                .handle((other, noOther) -> later(table, error, other, noOther))
                                .thenCompose(f -> f))
                .thenCompose(f -> f);
    }

    private static CompletableFuture<SlotTable> later(
            @Nullable SlotTable one,
            @Nullable Throwable noOne,
            @Nullable SlotTable other,
            @Nullable Throwable noOther) {
        if (one != null && other != null) {
            return CompletableFuture.completedFuture(one.isPreferredTo(other) ? one : other);
        }
        SlotTable only = one != null ? one : other;
        Throwable reason = noOther != null ? noOther : noOne;
        return only != null || reason == null
                ? CompletableFuture.completedFuture(only)
                : CompletableFuture.failedFuture(reason);
    }

    /** The latest view of nodes we are not linked to. */
    CompletableFuture<SlotTable> first(List<RedisUri> nodes, SlotTable known) {
        return merged(nodes.stream().map(this::visit).toList(), known);
    }

    private CompletableFuture<SlotTable> merged(List<CompletableFuture<SlotTable>> views, SlotTable known) {
        Merge merge = new Merge(views.size(), known);
        views.forEach(view -> view.whenComplete(merge::add));
        if (views.isEmpty()) {
            merge.decide();
        }
        return merge.result;
    }

    /** The views as they come. Guarded by itself. */
    private final class Merge {
        private final CompletableFuture<SlotTable> result = new CompletableFuture<>();
        private final List<Throwable> failures = new ArrayList<>();
        private final int expected;
        private final SlotTable known;
        private @Nullable SlotTable latest;
        private int answers;
        private boolean enough;

        private Merge(int expected, SlotTable known) {
            this.expected = expected;
            this.known = known;
        }

        private void add(@Nullable SlotTable view, @Nullable Throwable failure) {
            boolean last;
            boolean first = false;
            synchronized (this) {
                if (view != null) {
                    answers++;
                    SlotTable before = latest;
                    if (before == null || view.isPreferredTo(before)) {
                        latest = view;
                    }
                    first = !enough && view.isAny() && view.isAsNewAs(known);
                    enough |= first;
                } else if (failure != null) {
                    failures.add(Failure.unwrapped(failure));
                }
                last = answers + failures.size() == expected;
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
        link.<List<Object>>send(PlainCommand.CLUSTER_SLOTS, (reply, error) -> settle(slots, reply, error));
        link.<String>send(PlainCommand.CLUSTER_INFO, (reply, error) -> settle(info, reply, error));
        return limited(
                slots.thenCombine(info, (s, i) -> SlotTable.parse(link.address().host(), s, i))
                        .exceptionally(error -> {
                            throw refused(error);
                        }),
                ANSWER_NANOS,
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
        Throwable cause = Failure.unwrapped(error);
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
        return limited(connections.open().thenCompose(this::view), VISIT_NANOS, node)
                .whenComplete((table, error) -> connections.retire());
    }

    private CompletableFuture<SlotTable> limited(CompletableFuture<SlotTable> view, long nanos, RedisUri node) {
        CompletableFuture<SlotTable> limited = view.copy();
        LockRuntime.Timer patience = runtime.schedule(
                nanos,
                () -> limited.completeExceptionally(
                        new StoreUnavailableException(node + " did not tell who serves what in time", null)));
        limited.whenComplete((table, error) -> patience.cancel());
        return limited;
    }
}
