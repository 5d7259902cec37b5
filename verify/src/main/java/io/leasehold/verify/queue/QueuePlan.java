package io.leasehold.verify.queue;

import io.leasehold.verify.run.FaultPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Determines a run.
 *
 * @param seed determines all random choices during the run
 * @param kind the store
 * @param clients the number of processes at the beginning; a killed one is replaced
 * @param tasks the maximum number of contending tasks in each of them
 * @param locks the number of locks
 * @param network how slow connections are and how often they break, from 0 to 10
 * @param pauses the frequency of pauses of a client at a suspension point, in parts in 10,000
 * @param driftPartsPerMillion the largest error of a clock's rate
 * @param harms the faults that happen at a set time
 */
record QueuePlan(
        long seed,
        QueueKind kind,
        int clients,
        int tasks,
        int locks,
        int network,
        int pauses,
        int driftPartsPerMillion,
        List<Harm<QueueFault>> harms)
        implements FaultPlan<QueuePlan, QueueFault> {

    /** The time with new attempts and faults, before the calm. */
    static final long CHAOS_MILLIS = 12_000;

    private static final int MAX_DRIFT = 4_000;

    private static final QueueFault[] ANY = {
        QueueFault.CUT_REQUESTS,
        QueueFault.CUT_REPLIES,
        QueueFault.STALL,
        QueueFault.WATCH_BROKEN,
        QueueFault.WATCH_BROKEN,
        QueueFault.NEW_LEADER,
        QueueFault.CLIENT_FREEZE,
        QueueFault.CLIENT_SUSPEND,
        QueueFault.CLIENT_CRASH,
        QueueFault.CLUSTER_FREEZE
    };

    QueuePlan {
        harms = List.copyOf(harms);
    }

    /** The plan of a seed. */
    static QueuePlan ofSeed(QueueKind kind, long seed) {
        SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L);
        List<QueueFault> faults = new ArrayList<>(List.of(ANY));
        if (random.nextInt(8) == 0) {
            faults.add(QueueFault.FORCED_RELEASE);
        }
        return new QueuePlan(
                seed,
                kind,
                2 + random.nextInt(2),
                1 + random.nextInt(3),
                1 + random.nextInt(3),
                random.nextInt(11),
                random.nextInt(3) == 0 ? 0 : random.nextInt(100),
                random.nextInt(MAX_DRIFT + 1),
                draw(random, faults));
    }

    private static List<Harm<QueueFault>> draw(SplittableRandom random, List<QueueFault> faults) {
        List<Harm<QueueFault>> harms = new ArrayList<>();
        long pace = 300 + random.nextLong(2_500);
        for (long at = random.nextLong(pace); at < CHAOS_MILLIS; at += 1 + random.nextLong(pace)) {
            QueueFault fault = faults.get(random.nextInt(faults.size()));
            harms.add(new Harm<>(
                    at, fault, random.nextInt(8), 1 + random.nextLong(random.nextInt(20) == 0 ? 8_000 : 3_000)));
        }
        return harms;
    }

    @Override
    public boolean promisesExclusion() {
        return harms.stream().noneMatch(harm -> harm.fault() == QueueFault.FORCED_RELEASE);
    }

    @Override
    public QueuePlan with(
            List<Harm<QueueFault>> newHarms, int newClients, int newTasks, int newNetwork, int newPauses) {
        return new QueuePlan(
                seed, kind, newClients, newTasks, locks, newNetwork, newPauses, driftPartsPerMillion, newHarms);
    }

    /** A readable text of several lines. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("seed " + seed + ": " + kind + ", " + clients + " clients with up to "
                + tasks + " tasks, " + locks + " locks, network " + network + ", pauses " + pauses + ", drift "
                + driftPartsPerMillion + " ppm, " + harms.size() + " faults");
        harms.forEach(harm -> text.append("\n  ").append(harm));
        return text.toString();
    }
}
