package io.leasehold.quorum;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.spi.LockRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Combines the nodes' answers for an operator: a lock is held if one holder has it at a quorum of nodes. */
final class NodeAnswers {

    private static final long ANSWER_NANOS = 5_000_000_000L;

    private NodeAnswers() {}

    /**
     * Asks all nodes; done when all have answered, or after 5 s if a quorum has.
     *
     * @return completes exceptionally with {@link StoreUnavailableException} if no quorum has
     */
    static <T> CompletableFuture<List<T>> gather(NodeSet nodes, Function<LockNode, CompletableFuture<T>> question) {
        return nodes.<Optional<T>>gather(ANSWER_NANOS, node -> ask(nodes.link(node), question), answers -> false)
                .thenApply(answers -> {
                    List<T> told = answers.stream().flatMap(Optional::stream).toList();
                    if (told.size() < nodes.quorum()) {
                        throw new StoreUnavailableException(
                                "only " + told.size() + " of " + nodes.size() + " nodes answered, and " + nodes.quorum()
                                        + " are needed",
                                null);
                    }
                    return told;
                });
    }

    private static <T> CompletableFuture<Optional<T>> ask(
            NodeLink link, Function<LockNode, CompletableFuture<T>> question) {
        return link.ask(target -> question.apply(target).thenApply(Optional::of), (kind, error) -> Optional.empty());
    }

    /** The results of all futures, in their order. */
    static <T> CompletableFuture<List<T>> all(List<CompletableFuture<T>> each) {
        return CompletableFuture.allOf(each.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> each.stream().map(CompletableFuture::join).toList());
    }

    static Optional<LockRecord> heldByQuorum(List<Optional<LockRecord>> answers, int quorum) {
        List<LockRecord> found = answers.stream().flatMap(Optional::stream).toList();
        return common(found, quorum);
    }

    private static Optional<LockRecord> common(List<LockRecord> found, int quorum) {
        Map<String, List<LockRecord>> byHolder = new HashMap<>();
        for (LockRecord one : found) {
            byHolder.computeIfAbsent(one.holder().id(), id -> new ArrayList<>()).add(one);
        }
        return byHolder.values().stream()
                .filter(same -> same.size() >= quorum)
                .findFirst()
                .map(same -> same.get(0));
    }

    static List<LockRecord> merge(List<List<LockRecord>> answers, int quorum, int limit) {
        Map<String, List<LockRecord>> byName = new TreeMap<>();
        for (List<LockRecord> one : answers) {
            for (LockRecord held : one) {
                byName.computeIfAbsent(held.name().text(), name -> new ArrayList<>())
                        .add(held);
            }
        }
        return byName.values().stream()
                .map(same -> common(same, quorum))
                .flatMap(Optional::stream)
                .limit(limit)
                .toList();
    }
}
