package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Reads the slot table: asks all reachable nodes at once and takes the latest of their views. */
final class TableReader {

    /** The time for the other nodes after one has answered that knows as much as this client. */
    private static final long GRACE_NANOS = 100_000_000L;

    private static final long ANSWER_NANOS = 3_000_000_000L;

    /** The time limit including the connection, whose credentials may never come. */
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
     * Reads the latest view of the linked nodes. If none of them knows as much as this client, asks the other nodes
     * too.
     *
     * @param known the table in use; an older view counts only when all nodes have answered or had their time
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

    /** Reads the latest view of nodes without a link. */
    CompletableFuture<SlotTable> first(List<RedisUri> nodes, SlotTable known) {
        return merged(nodes.stream().map(this::visit).toList(), known);
    }

    private CompletableFuture<SlotTable> merged(List<CompletableFuture<SlotTable>> views, SlotTable known) {
        return Poll.of(
                views,
                new Poll.Rules<SlotTable>(
                        (one, other) -> other.isPreferredTo(one) ? other : one,
                        view -> view.isAny() && view.isAsNewAs(known),
                        GRACE_NANOS,
                        (reasons, cause) -> errors.unavailable(
                                "has no node that tells which node serves which slot: " + reasons, cause)),
                runtime);
    }

    private CompletableFuture<SlotTable> view(Link link) {
        CompletableFuture<List<Object>> slots = link.ask(PlainCommand.CLUSTER_SLOTS);
        CompletableFuture<String> info = link.ask(PlainCommand.CLUSTER_INFO);
        return limited(
                slots.thenCombine(info, (s, i) -> SlotTable.parse(link.address().host(), s, i))
                        .exceptionally(error -> {
                            throw refused(error, link.address());
                        }),
                ANSWER_NANOS,
                link.address());
    }

    private LockStoreException refused(Throwable error, RedisUri node) {
        Throwable cause = Failure.unwrapped(error);
        return cause instanceof LockStoreException known
                ? known
                : errors.of(node.toString())
                        .of(cause, "read CLUSTER SLOTS and CLUSTER INFO")
                        .error();
    }

    private CompletableFuture<SlotTable> visit(RedisUri node) {
        Connections connections =
                Connections.forQuestion(driver, node, Expectation.CLUSTER_NODE, errors.of(node.toString()), runtime);
        return limited(connections.open().thenCompose(this::view), VISIT_NANOS, node)
                .whenComplete((table, error) -> connections.retire());
    }

    private CompletableFuture<SlotTable> limited(CompletableFuture<SlotTable> view, long nanos, RedisUri node) {
        return StepLimit.of(
                () -> view,
                nanos,
                () -> new StoreUnavailableException(node + " did not tell in time which node serves which slot", null),
                unwanted -> {},
                runtime);
    }
}
