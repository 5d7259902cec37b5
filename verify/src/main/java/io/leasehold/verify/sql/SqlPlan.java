package io.leasehold.verify.sql;

import io.leasehold.verify.run.FaultPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Determines a run.
 *
 * @param seed determines all random choices during the run
 * @param flavour the database
 * @param clients the number of processes at the beginning; a killed one is replaced
 * @param tasks the maximum number of contending tasks in each of them
 * @param locks the number of locks
 * @param chaosMillis the time with new attempts and faults, before the calm
 * @param network how slow connections are and how often they break, from 0 to 10
 * @param pauses the frequency of pauses of a client at a suspension point, in parts in 10,000
 * @param driftPartsPerMillion the largest error of a clock's rate
 * @param retentionMillis the time for which unused rows are kept
 * @param harms the faults that happen at a set time
 */
record SqlPlan(
        long seed,
        Flavour flavour,
        int clients,
        int tasks,
        int locks,
        long chaosMillis,
        int network,
        int pauses,
        int driftPartsPerMillion,
        long retentionMillis,
        List<Harm<SqlFault>> harms)
        implements FaultPlan<SqlPlan, SqlFault> {

    private static final long CHAOS_MILLIS = 12_000;
    private static final int MAX_DRIFT = 4_000;

    private static final SqlFault[] ANY = {
        SqlFault.CUT_REQUESTS,
        SqlFault.CUT_REPLIES,
        SqlFault.STALL,
        SqlFault.REFUSE,
        SqlFault.CLIENT_FREEZE,
        SqlFault.CLIENT_CRASH,
        SqlFault.CLIENT_WALL_STEP,
        SqlFault.DATABASE_FREEZE,
        SqlFault.DATABASE_CRASH,
        SqlFault.ROW_KEPT_LOCKED,
        SqlFault.HOUSEKEEPING,
        SqlFault.HOUSEKEEPING,
        SqlFault.HOUSEKEEPING,
        SqlFault.HOUSEKEEPING
    };

    SqlPlan {
        harms = List.copyOf(harms);
    }

    /** The plan of a seed. */
    static SqlPlan ofSeed(long seed) {
        SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L);
        int kind = random.nextInt(100);
        List<SqlFault> faults = new ArrayList<>(List.of(ANY));
        boolean sleeps = random.nextInt(3) == 0;
        if (sleeps) {
            faults.remove(SqlFault.CLIENT_WALL_STEP);
            faults.add(SqlFault.CLIENT_SUSPEND);
        }
        if (random.nextInt(8) == 0) {
            faults.add(SqlFault.FORCED_RELEASE);
        } else if (random.nextInt(6) == 0) {
            faults.add(SqlFault.DATABASE_CLOCK_STEP);
            faults.add(SqlFault.DATABASE_CLOCK_STEP);
        }
        return new SqlPlan(
                seed,
                kind < 55 ? Flavour.POSTGRESQL : kind < 85 ? Flavour.MARIADB : Flavour.H2,
                2 + random.nextInt(2),
                1 + random.nextInt(3),
                1 + random.nextInt(4),
                CHAOS_MILLIS,
                random.nextInt(11),
                random.nextInt(3) == 0 ? 0 : random.nextInt(100),
                random.nextInt(MAX_DRIFT + 1),
                // Longer than a transaction may sleep, which a clock that also sleeps does not show.
                sleeps ? 9_000 : 200 + random.nextInt(2_000),
                draw(random, faults));
    }

    private static List<Harm<SqlFault>> draw(SplittableRandom random, List<SqlFault> faults) {
        List<Harm<SqlFault>> harms = new ArrayList<>();
        long pace = 300 + random.nextLong(2_500);
        for (long at = random.nextLong(pace); at < CHAOS_MILLIS; at += 1 + random.nextLong(pace)) {
            SqlFault fault = faults.get(random.nextInt(faults.size()));
            boolean longer = fault == SqlFault.CLIENT_WALL_STEP || random.nextInt(20) == 0;
            harms.add(new Harm<>(at, fault, random.nextInt(8), 1 + random.nextLong(longer ? 8_000 : 3_000)));
        }
        return harms;
    }

    private boolean has(SqlFault fault) {
        return harms.stream().anyMatch(harm -> harm.fault() == fault);
    }

    /** Whether the database's clock runs evenly, which is the condition of all guarantees about its ends. */
    boolean hasEvenClock() {
        return !has(SqlFault.DATABASE_CLOCK_STEP);
    }

    @Override
    public boolean promisesExclusion() {
        return hasEvenClock() && !has(SqlFault.FORCED_RELEASE);
    }

    @Override
    public SqlPlan with(List<Harm<SqlFault>> newHarms, int newClients, int newTasks, int newNetwork, int newPauses) {
        return new SqlPlan(
                seed,
                flavour,
                newClients,
                newTasks,
                locks,
                chaosMillis,
                newNetwork,
                newPauses,
                driftPartsPerMillion,
                retentionMillis,
                newHarms);
    }

    /** A readable text of several lines. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("seed " + seed + ": " + flavour + ", " + clients + " clients with up to "
                + tasks + " tasks, " + locks + " locks, " + chaosMillis / 1e3 + " s of chaos, network " + network
                + ", pauses " + pauses + ", drift " + driftPartsPerMillion + " ppm, retention " + retentionMillis
                + " ms, " + harms.size() + " faults");
        harms.forEach(harm -> text.append("\n  ").append(harm));
        return text.toString();
    }
}
