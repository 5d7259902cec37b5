package io.leasehold.quorum;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** What the nodes tell an operator, made one: held is what one holder holds at a quorum of nodes. */
final class NodeAnswers {

    private NodeAnswers() {}

    /**
     * Asks all nodes; done when all have answered, or at the end of the time if a quorum has.
     *
     * @return completes exceptionally with {@link StoreUnavailableException} if no quorum has
     */
    static <T> CompletableFuture<List<T>> gather(
            NodeSet nodes, Function<LockNode, CompletableFuture<T>> question, long timeoutNanos) {
        Gathering<T> gathering = new Gathering<>(nodes);
        LockRuntime.Timer patience = nodes.runtime().schedule(timeoutNanos, gathering::finish);
        gathering.done.whenComplete((all, error) -> patience.cancel());
        for (int node = 0; node < nodes.size(); node++) {
            nodes.link(node)
                    .ask(target -> question.apply(target).thenApply(Optional::of), (kind, error) -> Optional.<T>empty())
                    .thenAccept(gathering::answered);
        }
        return gathering.done;
    }

    /** Guarded by itself. */
    private static final class Gathering<T> {
        private final NodeSet nodes;
        private final List<T> answers = new ArrayList<>();
        private final CompletableFuture<List<T>> done = new CompletableFuture<>();
        private int returned;

        Gathering(NodeSet nodes) {
            this.nodes = nodes;
        }

        void answered(Optional<T> answer) {
            boolean all;
            synchronized (this) {
                returned++;
                answer.ifPresent(answers::add);
                all = returned == nodes.size();
            }
            if (all) {
                finish();
            }
        }

        void finish() {
            List<T> sofar;
            synchronized (this) {
                sofar = List.copyOf(answers);
            }
            if (sofar.size() >= nodes.quorum()) {
                done.complete(sofar);
            } else {
                done.completeExceptionally(new StoreUnavailableException(
                        "only " + sofar.size() + " of " + nodes.size() + " nodes answered, and " + nodes.quorum()
                                + " are needed",
                        null));
            }
        }
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
