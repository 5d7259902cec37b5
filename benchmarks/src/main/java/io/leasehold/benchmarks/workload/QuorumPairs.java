package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;
import static io.leasehold.benchmarks.peer.PeerKind.RAW;
import static io.leasehold.benchmarks.peer.PeerKind.REDISSON;

import io.leasehold.benchmarks.measure.Drive;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Load;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.measure.ServerUse;
import io.leasehold.benchmarks.measure.Threads;
import io.leasehold.benchmarks.peer.Peer;
import io.leasehold.benchmarks.peer.PeerKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/** f: one thread, distinct names, over five independent servers: all up, one frozen, two killed. */
final class QuorumPairs implements Workload {

    private static final int SERVERS = 5;
    private static final Duration WARM_UP = Duration.ofSeconds(1);

    private final Map<PeerKind, List<Double>> p50AllUp = new EnumMap<>(PeerKind.class);
    private final Map<PeerKind, List<Double>> p99AllUp = new EnumMap<>(PeerKind.class);

    /** A fault of some of the servers, before the measurement. */
    private interface Illness {
        void befall(RedisSet servers);
    }

    @Override
    public String id() {
        return "f";
    }

    @Override
    public String title() {
        return "Redlock over " + SERVERS + " servers, 1 thread, distinct names";
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        p50AllUp.clear();
        p99AllUp.clear();
        try (RedisSet servers = RedisSet.start(SERVERS)) {
            measure(servers, plan, "all up", all -> {}, sample -> samples.accept(remembered(sample)));
        }
        try (RedisSet servers = RedisSet.start(SERVERS)) {
            measure(servers, plan, "1 frozen", set -> set.freeze(1), sample -> samples.accept(compared(sample)));
        }
        try (RedisSet servers = RedisSet.start(SERVERS)) {
            measure(servers, plan, "2 killed", set -> set.kill(2), sample -> samples.accept(compared(sample)));
        }
        if (plan.thorough()) {
            try (RedisSet servers = RedisSet.durable(SERVERS)) {
                measure(servers, plan, "all up, appendfsync always", all -> {}, samples);
            }
        }
    }

    private void measure(RedisSet servers, Plan plan, String variant, Illness illness, Consumer<Sample> samples)
            throws InterruptedException {
        Map<PeerKind, Peer> peers = new EnumMap<>(PeerKind.class);
        try {
            for (PeerKind kind : plan.among(LEASEHOLD, RAW, REDISSON)) {
                Peer peer = kind.openOver(servers.servers(), servers.uri(), Stage.TTL);
                peers.put(kind, peer);
                drive(peer, WARM_UP);
            }
            illness.befall(servers);
            Rounds.run(plan, ableToLock(peers, variant), samples, (kind, round) -> {
                ServerUse before = servers.look();
                Load load = drive(Objects.requireNonNull(peers.get(kind)), plan.window());
                ServerUse use = servers.look().since(before);
                return new Sample(id(), variant, kind, round, Sample.pairs(load, use), use.commands());
            });
        } finally {
            peers.values().forEach(Peer::close);
        }
    }

    private static Load drive(Peer peer, Duration length) throws InterruptedException {
        return new Drive(peer, 1, Threads.platform()).run(Pairs::names, Drive.soonAtNanos(1), length.toNanos());
    }

    private static List<PeerKind> ableToLock(Map<PeerKind, Peer> peers, String variant) throws InterruptedException {
        List<PeerKind> able = new ArrayList<>();
        for (Map.Entry<PeerKind, Peer> entry : peers.entrySet()) {
            try {
                entry.getValue().acquire("able").release();
                able.add(entry.getKey());
            } catch (RuntimeException e) {
                System.err.println(
                        "f, " + variant + ": left out: " + entry.getKey().label() + ": " + e.getMessage());
            }
        }
        return able;
    }

    private Sample remembered(Sample sample) {
        p50AllUp.computeIfAbsent(sample.peer(), key -> new ArrayList<>()).add(figure(sample, Figure.WAIT_P50_MICROS));
        p99AllUp.computeIfAbsent(sample.peer(), key -> new ArrayList<>()).add(figure(sample, Figure.WAIT_P99_MICROS));
        return sample;
    }

    private Sample compared(Sample sample) {
        Map<Figure, Double> figures = new EnumMap<>(sample.figures());
        figures.put(
                Figure.ADDED_P50_MICROS,
                figure(sample, Figure.WAIT_P50_MICROS) - median(p50AllUp.getOrDefault(sample.peer(), List.of())));
        figures.put(
                Figure.ADDED_P99_MILLIS,
                (figure(sample, Figure.WAIT_P99_MICROS) - median(p99AllUp.getOrDefault(sample.peer(), List.of())))
                        / 1e3);
        return new Sample(
                sample.workload(), sample.variant(), sample.peer(), sample.round(), figures, sample.commands());
    }

    private static double figure(Sample sample, Figure figure) {
        return sample.figures().getOrDefault(figure, 0.0);
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElse(0.0);
    }
}
