package io.leasehold.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Determines a run. Two runs of equal plans have the same history, byte by byte.
 *
 * @param seed determines all random choices during the run
 * @param nodes 1, or the size of a quorum
 * @param clients the number of processes at the beginning; a killed one is replaced
 * @param tasks the maximum number of contending tasks in each of them
 * @param chaosMillis the time with new attempts and faults, before the calm
 * @param network how unreliable connections are, from 0 (perfect) to 10
 * @param pauses the frequency of pauses of a client at a yield point, in parts in 10,000
 * @param driftPartsPerMillion the largest error of a clock's rate, including periodic drift
 * @param harms the faults that happen at a set time
 */
public record SimulationPlan(
        long seed,
        int nodes,
        int clients,
        int tasks,
        long chaosMillis,
        int network,
        int pauses,
        int driftPartsPerMillion,
        List<Harm> harms) {

    /** Runs last for 60 simulated seconds: this long chaos, and then calm. */
    static final long CHAOS_MILLIS = 40_000;

    /** Client and node together stay within the 1 % that a ttl allows for. */
    private static final int MAX_DRIFT = 5_000;

    private static final Fault[] ANY_STORE = {
        Fault.CUT_REQUESTS,
        Fault.CUT_REPLIES,
        Fault.STALL,
        Fault.REFUSE,
        Fault.CLIENT_FREEZE,
        Fault.CLIENT_CRASH,
        Fault.NODE_FREEZE,
        Fault.NODE_CRASH_KEEPS
    };

    private static final Fault[] FORGETTING = {
        Fault.NODE_CRASH_LOSES_ALL, Fault.NODE_CRASH_LOSES_LAST, Fault.NODE_FAIL_OVER
    };

    /** Copies the list and refuses invalid plans. */
    public SimulationPlan {
        harms = List.copyOf(harms);
        if (nodes < 1 || nodes % 2 == 0) {
            throw new IllegalArgumentException("nodes is " + nodes + "; it must be 1 or a larger odd number");
        }
        if (clients < 1 || tasks < 1 || chaosMillis < 1) {
            throw new IllegalArgumentException("a run needs a client, a task and time; got " + clients + " clients, "
                    + tasks + " tasks, " + chaosMillis + " ms");
        }
    }

    /** The plan of a seed: one node or a quorum of three or five, and some of all faults. */
    public static SimulationPlan ofSeed(long seed) {
        SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L);
        int nodes = random.nextInt(100) < 55 ? 1 : random.nextInt(100) < 70 ? 3 : 5;
        List<Fault> faults = new ArrayList<>(List.of(ANY_STORE));
        // A wall clock that is set back while the machine sleeps would hide the sleep.
        faults.add(random.nextInt(3) == 0 ? Fault.CLIENT_SUSPEND : Fault.CLIENT_WALL_STEP);
        boolean kept = nodes == 1 && random.nextInt(100) < 80;
        if (nodes > 1) {
            faults.add(Fault.PARTITION);
        }
        if (!kept) {
            faults.addAll(List.of(FORGETTING));
        }
        if (random.nextInt(8) == 0) {
            faults.add(Fault.FORCED_RELEASE);
        } else if (kept ? random.nextInt(10) == 0 : nodes > 1 && random.nextInt(8) == 0) {
            faults.add(Fault.NODE_CLOCK_STEP);
        }
        return new SimulationPlan(
                seed,
                nodes,
                2 + random.nextInt(2),
                1 + random.nextInt(2),
                CHAOS_MILLIS,
                random.nextInt(11),
                random.nextInt(3) == 0 ? 0 : random.nextInt(120),
                random.nextInt(MAX_DRIFT + 1),
                drawHarms(random, faults, nodes));
    }

    private static List<Harm> drawHarms(SplittableRandom random, List<Fault> faults, int nodes) {
        List<Harm> harms = new ArrayList<>();
        long pace = 500 + random.nextLong(5_000);
        for (long at = random.nextLong(pace); at < CHAOS_MILLIS; at += 1 + random.nextLong(pace)) {
            Fault fault = faults.get(random.nextInt(faults.size()));
            boolean longer = fault == Fault.CLIENT_WALL_STEP || random.nextInt(20) == 0;
            long millis = random.nextLong(longer ? 8_000 : 3_000);
            harms.add(new Harm(at, fault, random.nextInt(8), random.nextInt(nodes), millis, 1 + random.nextInt(8)));
        }
        return harms;
    }

    private boolean has(Fault fault) {
        return harms.stream().anyMatch(harm -> harm.fault() == fault);
    }

    /** Whether a node loses acknowledged writes. */
    boolean forgets() {
        return harms.stream().anyMatch(harm -> harm.fault().forgets());
    }

    /** Whether this node returns, or is replaced, without its last writes. */
    boolean lags(int node) {
        return harms.stream()
                .anyMatch(harm -> harm.node() == node
                        && (harm.fault() == Fault.NODE_CRASH_LOSES_LAST || harm.fault() == Fault.NODE_FAIL_OVER));
    }

    /**
     * Whether exclusion is guaranteed under these faults: not with a single node that loses writes, nor if its clock is
     * set.
     */
    public boolean promisesExclusion() {
        return promisesOrder() && !has(Fault.FORCED_RELEASE);
    }

    /** Whether increasing fencing tokens are guaranteed under these faults. */
    public boolean promisesOrder() {
        return !has(Fault.NODE_CLOCK_STEP) && (nodes > 1 || !forgets());
    }

    SimulationPlan withHarms(List<Harm> fewer) {
        return new SimulationPlan(
                seed, nodes, clients, tasks, chaosMillis, network, pauses, driftPartsPerMillion, fewer);
    }

    SimulationPlan withClients(int fewer, int fewerTasks) {
        return new SimulationPlan(
                seed, nodes, fewer, fewerTasks, chaosMillis, network, pauses, driftPartsPerMillion, harms);
    }

    SimulationPlan withChaosMillis(long shorter) {
        return new SimulationPlan(
                seed,
                nodes,
                clients,
                tasks,
                shorter,
                network,
                pauses,
                driftPartsPerMillion,
                harms.stream().filter(harm -> harm.atMillis() < shorter).toList());
    }

    SimulationPlan calmer(int lessNetwork, int fewerPauses, int lessDrift) {
        return new SimulationPlan(seed, nodes, clients, tasks, chaosMillis, lessNetwork, fewerPauses, lessDrift, harms);
    }

    SimulationPlan withSeed(long other) {
        return new SimulationPlan(
                other, nodes, clients, tasks, chaosMillis, network, pauses, driftPartsPerMillion, harms);
    }

    /** A readable text of several lines. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("seed " + seed + ": " + nodes + (nodes == 1 ? " node, " : " nodes, ")
                + clients + " clients with up to " + tasks + " tasks, " + chaosMillis / 1e3 + " s of chaos, network "
                + network + ", pauses " + pauses + ", drift " + driftPartsPerMillion + " ppm, " + harms.size()
                + " faults");
        harms.forEach(harm -> text.append("\n  ").append(harm));
        return text.toString();
    }
}
