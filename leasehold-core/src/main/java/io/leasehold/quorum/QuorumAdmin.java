package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Queries every node of a set, and combines the answers: a lock is held if a quorum of nodes names the same holder. Any
 * other record counts even if only one node has it.
 */
final class QuorumAdmin implements StoreAdmin, StoreOperations {

    private static final long ANSWER_NANOS = 5_000_000_000L;
    private static final long PROBE_NANOS = 1_000_000_000L;

    /** The least number of readers that is requested from each node: nodes list their first readers in different orders. */
    private static final int MOST_READERS = 1_000;

    private final NodeSet nodes;

    QuorumAdmin(NodeSet nodes) {
        this.nodes = nodes;
    }

    /**
     * Queries all nodes; completes when all have answered, or after 5 s if a quorum has.
     *
     * @return completes exceptionally with {@link StoreUnavailableException} if no quorum has answered
     */
    private <T> CompletableFuture<List<T>> gather(Function<LockNode, CompletableFuture<T>> question) {
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

    /** The record of the holder that a quorum of nodes names. */
    private Optional<HeldLock> common(Stream<HeldLock> found) {
        return found.collect(Collectors.groupingBy(one -> one.holder().id())).values().stream()
                .filter(same -> same.size() >= nodes.quorum())
                .findFirst()
                .map(same -> same.get(0));
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return gather(node -> node.admin().describe(name))
                .thenApply(answers -> common(answers.stream().flatMap(Optional::stream)))
                .thenCompose(found -> {
                    if (found.isEmpty() || !found.get().holder().isReaders()) {
                        return CompletableFuture.completedFuture(found);
                    }
                    // The nodes of a quorum may have different readers, of which none has a quorum.
                    return readers(name, 1).thenApply(readers -> readers.isEmpty() ? Optional.empty() : found);
                });
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return gather(node -> node.admin().readers(name, Math.max(limit, MOST_READERS)))
                .thenApply(answers -> commonReaders(answers, nodes.quorum()).stream()
                        .limit(limit)
                        .toList());
    }

    /** The readers that a quorum of nodes lists. A client that holds several times is listed as often as a quorum has it. */
    static List<Holder> commonReaders(List<List<Holder>> answers, int quorum) {
        Map<String, List<List<Holder>>> byId = new TreeMap<>();
        for (List<Holder> answer : answers) {
            answer.stream()
                    .collect(Collectors.groupingBy(Holder::id))
                    .forEach((id, same) ->
                            byId.computeIfAbsent(id, one -> new ArrayList<>()).add(same));
        }
        List<Holder> common = new ArrayList<>();
        for (List<List<Holder>> each : byId.values()) {
            if (each.size() >= quorum) {
                each.sort(Comparator.comparingInt((List<Holder> same) -> same.size())
                        .reversed());
                common.addAll(each.get(quorum - 1));
            }
        }
        return common;
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return gather(node -> node.admin().list(glob, limit)).thenApply(answers -> {
            Map<String, List<HeldLock>> byName = answers.stream()
                    .flatMap(List::stream)
                    .collect(Collectors.groupingBy(held -> held.name().text(), TreeMap::new, Collectors.toList()));
            return byName.values().stream()
                    .map(same -> common(same.stream()))
                    .flatMap(Optional::stream)
                    .limit(limit)
                    .toList();
        });
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return gather(node -> node.admin().forceRelease(name, holderId)).thenApply(answers -> answers.contains(true));
    }

    @Override
    public boolean keepsClientRecords() {
        return nodes.link(0).node().operations().keepsClientRecords();
    }

    @Override
    public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return gather(node -> node.operations().announce(record, keepNanos).thenApply(done -> true))
                .thenApply(done -> null);
    }

    @Override
    public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return gather(node -> node.operations().client(holderId))
                .thenApply(answers -> answers.stream().flatMap(Optional::stream).findFirst());
    }

    /**
     * Finds leaks. A record at a single node is a normal leftover that its ttl removes; only a record without a ttl is
     * a leak.
     */
    @Override
    public CompletableFuture<List<Leak>> leaks() {
        return gather(node -> node.operations().leaks()).thenApply(answers -> {
            LinkedHashSet<Leak> all = new LinkedHashSet<>();
            answers.forEach(all::addAll);
            return List.copyOf(all);
        });
    }

    /** Reports the progress of the first node: the others scan at the same time. */
    @Override
    public void onProgress(LongConsumer seen) {
        nodes.link(0).node().operations().onProgress(seen);
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        return nodes.all(this::diagnose).thenCombine(nodes.all(this::probe), (each, probes) -> {
            List<Finding> findings = new ArrayList<>();
            each.forEach(findings::addAll);
            List<Probe> answered = probes.stream().flatMap(Optional::stream).toList();
            findings.add(SetChecks.independence(answered, nodes.size()));
            findings.add(SetChecks.clocks(answered));
            return findings;
        });
    }

    private CompletableFuture<List<Finding>> diagnose(int node) {
        NodeLink link = nodes.link(node);
        return link.ask(target -> target.operations().diagnose(), (kind, error) -> {
            String text = link.node().description() + " could not be asked: " + error.getMessage();
            return List.of(Finding.warning("node", text, null));
        });
    }

    private CompletableFuture<Optional<Probe>> probe(int node) {
        NodeLink link = nodes.link(node);
        long sentAtNanos = nodes.runtime().nanoTime();
        return link.ask(target -> target.probe(PROBE_NANOS), NodeReply.Failed::new)
                .thenApply(reply -> {
                    if (!(reply instanceof NodeReply.Answered answered)) {
                        return Optional.empty();
                    }
                    long roundMicros = (nodes.runtime().nanoTime() - sentAtNanos) / 1_000;
                    long ahead = answered.serverMicros() - sentAtNanos / 1_000;
                    return Optional.of(new Probe(
                            link.node().description(), answered.incarnation().id(), ahead, roundMicros));
                });
    }

    /**
     * One node's report about itself.
     *
     * @param aheadMicros its clock relative to this client's monotonic clock when the request was sent
     * @param roundMicros the duration of the request, which bounds the error of {@code aheadMicros}
     */
    record Probe(String node, String life, long aheadMicros, long roundMicros) {}

    /** The checks over several nodes. Pure. */
    static final class SetChecks {

        private static final long MAX_SKEW_MICROS = Duration.ofMillis(500).toNanos() / 1_000;

        private SetChecks() {}

        static Finding independence(List<Probe> probes, int size) {
            String server = alike(probes, Probe::life);
            if (server != null) {
                return Finding.unsafe(
                        "independence",
                        server + " are the same server",
                        "name " + size + " servers that share nothing");
            }
            String host = alike(probes, probe -> host(probe.node()));
            return host == null
                    ? Finding.good("independence", size + " different servers on different hosts")
                    : Finding.warning(
                            "independence",
                            host + " share a host: they fail together",
                            "give each node its own machine, disk and power supply");
        }

        /** The first two nodes with the same trait, or null. */
        private static @Nullable String alike(List<Probe> probes, Function<Probe, String> trait) {
            Map<String, String> known = new HashMap<>();
            for (Probe probe : probes) {
                String same = known.putIfAbsent(trait.apply(probe), probe.node());
                if (same != null) {
                    return same + " and " + probe.node();
                }
            }
            return null;
        }

        private static String host(String node) {
            String address = node.replaceFirst("^[a-z]+://", "")
                    .replaceFirst("^[^@]*@", "")
                    .replaceFirst("[/?].*", "");
            return address.replaceFirst(":\\d+$", "");
        }

        static Finding clocks(List<Probe> probes) {
            // The server read its clock at some time within the round: the true offset is between the bounds.
            long leastUpper = Long.MAX_VALUE;
            long mostLower = Long.MIN_VALUE;
            for (Probe probe : probes) {
                leastUpper = Math.min(leastUpper, probe.aheadMicros());
                mostLower = Math.max(mostLower, probe.aheadMicros() - probe.roundMicros());
            }
            long apart = probes.isEmpty() ? 0 : Math.max(0, mostLower - leastUpper);
            if (apart > MAX_SKEW_MICROS) {
                return Finding.warning(
                        "clock",
                        "the clocks of the nodes are at least " + apart / 1_000 + " ms apart",
                        "run chrony or ntpd on every node; slew clocks, never step them");
            }
            return Finding.good("clock", "the clocks of the nodes agree within " + (apart / 1_000 + 1) + " ms");
        }
    }
}
