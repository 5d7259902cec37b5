package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerMeter;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.function.Consumer;

/** Measures a pair over one server and over a Cluster of three masters. */
final class ScalingOfMasters implements Workload {

    @Override
    public String id() {
        return "scale-cluster";
    }

    @Override
    public String title() {
        return "distinct names over 1 server and over a Cluster of 3 masters";
    }

    @Override
    public boolean isSeries() {
        return true;
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        try (RedisServer server = RedisServer.start();
                RedisCluster cluster = RedisCluster.start();
                Peer single = LEASEHOLD.open(server.uri(), Stage.TTL);
                Peer clustered = LEASEHOLD.open(cluster.uri(), Stage.TTL)) {
            for (int threads : new int[] {1, 16}) {
                String load = ", " + threads + (threads == 1 ? " thread" : " threads");
                measure(plan, "1 server" + load, single, List.of(server), threads, samples);
                measure(plan, "3 masters" + load, clustered, cluster.nodes(), threads, samples);
            }
        }
    }

    private void measure(
            Plan plan, String variant, Peer peer, List<RedisServer> servers, int threads, Consumer<Sample> samples)
            throws InterruptedException {
        Rounds.run(plan, plan.among(LEASEHOLD), samples, (kind, round) -> {
            ServerUse before = look(servers);
            Load load = new Drive(peer, threads, Threads.platform())
                    .run(Pairs::names, Drive.soonAtNanos(1), plan.window().toNanos());
            ServerUse use = look(servers).since(before);
            return new Sample(id(), variant, kind, round, Sample.pairs(load, use), use.commands());
        });
    }

    private static ServerUse look(List<RedisServer> servers) {
        return servers.stream().map(server -> new ServerMeter(server).look()).reduce(ServerUse.NONE, ServerUse::plus);
    }
}
