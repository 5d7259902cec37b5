package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Asks every node of a set, and combines their answers: a lock is held if a quorum says so; any other record counts at any
 * node.
 */
final class QuorumAdmin implements StoreAdmin, StoreOperations {

    private static final long PROBE_NANOS = 1_000_000_000L;

    private final NodeSet nodes;

    QuorumAdmin(NodeSet nodes) {
        this.nodes = nodes;
    }

    @Override
    public CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return NodeAnswers.gather(nodes, node -> node.admin().describe(name))
                .thenApply(answers -> NodeAnswers.heldByQuorum(answers, nodes.quorum()));
    }

    @Override
    public CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        return NodeAnswers.gather(nodes, node -> node.admin().list(glob, limit))
                .thenApply(answers -> NodeAnswers.merge(answers, nodes.quorum(), limit));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return NodeAnswers.gather(nodes, node -> node.admin().forceRelease(name, holderId))
                .thenApply(answers -> answers.contains(true));
    }

    @Override
    public boolean keepsClientRecords() {
        return nodes.link(0).node().operations().keepsClientRecords();
    }

    @Override
    public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return NodeAnswers.gather(
                        nodes,
                        node -> node.operations().announce(record, keepNanos).thenApply(done -> true))
                .thenApply(done -> null);
    }

    @Override
    public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return NodeAnswers.gather(nodes, node -> node.operations().client(holderId))
                .thenApply(answers -> answers.stream().flatMap(Optional::stream).findFirst());
    }

    /** A record at one node alone is a normal remainder that its ttl removes; only one without an end is a leak. */
    @Override
    public CompletableFuture<List<Leak>> leaks() {
        return NodeAnswers.gather(nodes, node -> node.operations().leaks()).thenApply(answers -> {
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
        List<CompletableFuture<List<Finding>>> each = new ArrayList<>();
        List<CompletableFuture<@Nullable Probe>> probes = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            NodeLink link = nodes.link(i);
            each.add(link.ask(
                    node -> node.operations().diagnose(), (kind, error) -> List.of(silent(link.node(), error))));
            probes.add(probe(link));
        }
        List<CompletableFuture<?>> all = new ArrayList<>(each);
        all.addAll(probes);
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).thenApply(done -> {
            List<Finding> findings = new ArrayList<>();
            each.forEach(one -> findings.addAll(one.join()));
            List<Probe> answered = probes.stream()
                    .map(CompletableFuture::join)
                    .filter(Objects::nonNull)
                    .toList();
            findings.add(SetChecks.independence(answered, nodes.size()));
            findings.add(SetChecks.clocks(answered));
            return findings;
        });
    }

    private static Finding silent(LockNode node, Throwable error) {
        return Finding.warning("node", node.description() + " could not be asked: " + error.getMessage(), null);
    }

    private CompletableFuture<@Nullable Probe> probe(NodeLink link) {
        long sentAtNanos = nodes.runtime().nanoTime();
        return link.ask(node -> node.probe(PROBE_NANOS), NodeReply.Failed::new).thenApply(reply -> {
            if (!(reply instanceof NodeReply.Answered answered)) {
                return null;
            }
            long roundMicros = (nodes.runtime().nanoTime() - sentAtNanos) / 1_000;
            long ahead = answered.serverMicros() - sentAtNanos / 1_000;
            return new Probe(link.node().description(), answered.incarnation().id(), ahead, roundMicros);
        });
    }

    /**
     * One node's report about itself.
     *
     * @param aheadMicros its clock relative to our monotonic one when the request was sent
     * @param roundMicros the duration of the request, which bounds the error of that
     */
    record Probe(String node, String life, long aheadMicros, long roundMicros) {}

    /** The checks over several nodes. Pure. */
    static final class SetChecks {

        private static final long MAX_SKEW_MICROS = Duration.ofMillis(500).toNanos() / 1_000;

        private SetChecks() {}

        static Finding independence(List<Probe> probes, int size) {
            Map<String, String> byLife = new HashMap<>();
            Map<String, String> byHost = new HashMap<>();
            for (Probe probe : probes) {
                String same = byLife.putIfAbsent(probe.life(), probe.node());
                if (same != null) {
                    return Finding.unsafe(
                            "independence",
                            same + " and " + probe.node() + " are one and the same server",
                            "name " + size + " servers that share nothing");
                }
            }
            for (Probe probe : probes) {
                String same = byHost.putIfAbsent(host(probe.node()), probe.node());
                if (same != null) {
                    return Finding.warning(
                            "independence",
                            same + " and " + probe.node() + " share a host: they fail together",
                            "put each node on a machine, disk and power supply of its own");
                }
            }
            return Finding.good("independence", size + " different servers on different hosts");
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
