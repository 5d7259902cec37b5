package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.api.sync.RedisCommands;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of {@code export.lua} and {@code resume.lua}. Those named after a variant of the formal model
 * ({@code docs/proof/model.md}) fail if the scripts follow that variant.
 */
@Tag("quick")
class TicketScriptsTest {

    private static final String TICKET = "f".repeat(40);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private Object export(String owner, long ballot) {
        return bench.export(owner, ballot, TICKET, 60_000).get(0);
    }

    private Object resume(String owner, long candidate) {
        return bench.resume(owner, candidate, TICKET).get(0);
    }

    @Test
    void theTicketStandsWhereTheHolderStoodForTheClaim() {
        long token = bench.now();
        bench.acquire(ALICE, token, plain().ttl(600_000));
        assertThat(export(ALICE, token)).isEqualTo("exported");
        assertThat(redis().get(bench.lock)).isEqualTo(ScriptBench.ticketOf(TICKET));
        assertThat(redis().pttl(bench.lock)).as("shorter than what was left").isBetween(55_000L, 60_000L);
        assertThat(redis().pexpire(bench.lock, 9_000)).isTrue();
        assertThat(export(ALICE, token)).as("a copy").isEqualTo("exported");
        assertThat(redis().pttl(bench.lock))
                .as("a copy does not extend the claim")
                .isLessThanOrEqualTo(9_000);
        assertThat(redis().set(bench.lock, "x", io.lettuce.core.SetArgs.Builder.nx()))
                .isNull();
    }

    @Test
    void aFinerClaimThanWhatIsLeftIsKept() {
        long token = bench.now();
        bench.acquire(ALICE, token, plain().ttl(1_000));
        assertThat(export(ALICE, token)).isEqualTo("exported");
        assertThat(redis().pttl(bench.lock)).isGreaterThan(50_000);
    }

    /** The variant export-does-not-raise. */
    @Test
    void anExportRaisesTheFenceAlsoWhereTheHolderIsNot() {
        long late = bench.now() + SECOND;
        assertThat(export(ALICE, late)).isEqualTo("not-ours");
        assertThat(bench.storedFence()).isEqualTo(late);
        assertThat(redis().pttl(bench.fence)).isBetween(55_000L, 61_001L);
        assertThat(bench.acquire(ALICE, late).get(0)).isEqualTo("stale");
        bench.acquire(ALICE, late + 1);
        assertThat(export(ALICE, late + SECOND)).isEqualTo("exported");
        redis().del(bench.lock);
        assertThat(bench.acquire(ALICE, late + SECOND).get(0))
                .as("the late copy")
                .isEqualTo("stale");
        export(BOB, bench.now() + 1_000_000 * SECOND);
        assertThat(bench.storedFence()).as("to the bound only").isLessThan(bench.now() + 10 * SECOND);
    }

    @Test
    void anExportLeavesNoFenceWhereTheClockAlreadyRefuses() {
        export(ALICE, bench.now() - 100 * SECOND);
        assertThat(redis().exists(bench.fence)).isZero();
    }

    @Test
    void anExportTouchesNoStranger() {
        redis().set(bench.lock, ALICE);
        assertThat(export(ALICE, 0)).isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).isEqualTo(ALICE);
        redis().del(bench.lock);
        redis().sadd(bench.lock, "x");
        assertThat(export(ALICE, 0)).isEqualTo("not-ours");
        assertThat(bench.resume(BOB, bench.now(), TICKET)).contains("not-ours", "foreign", "set");
        redis().sadd(bench.fence, "x");
        assertThat(bench.export(ALICE, 0, TICKET, 1_000)).contains("broken", bench.fence, "set");
        assertThat(bench.resume(BOB, bench.now(), TICKET)).contains("broken", bench.fence, "set");
        assertThat(redis().scard(bench.lock)).isOne();
    }

    /** The variant resume-as-acquire: two claimants both got yes, and a third after the claim. */
    @Test
    void aResumeIsOneSwapToTheOwnerTokenOfTheClaimant() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        export(ALICE, token);
        assertThat(resume(BOB, token + 1)).isEqualTo("yes");
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":" + (token + 1) + ":");
        assertThat(resume(CAROL, token + 2)).as("the ticket is used").isEqualTo("not-ours");
        assertThat(resume(BOB, token + 3)).as("a lost reply").isEqualTo("yes");
        assertThat(bench.storedFence()).isEqualTo(token + 3);
        assertThat(bench.release(TICKET, 0).get(0)).isEqualTo("not-ours");
        assertThat(bench.release(BOB, token + 3).get(0)).isEqualTo("released");
        assertThat(resume(BOB, token + 4)).as("a late copy").isEqualTo("not-ours");
    }

    /** The variant resume-keeps-the-claim. */
    @Test
    void aResumeEndsTheClaim() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        export(ALICE, token);
        resume(BOB, token + 1);
        assertThat(redis().pttl(bench.lock))
                .as("one ttl, not the rest of the claim")
                .isBetween(25_000L, 30_000L);
        assertThat(redis().pexpire(bench.lock, 90_000)).isTrue();
        assertThat(resume(BOB, token + 2)).isEqualTo("yes");
        assertThat(redis().pttl(bench.lock))
                .as("a copy shortens no hold of its own")
                .isGreaterThan(80_000);
    }

    /** The variant resume-below-the-fence. */
    @Test
    void aResumeNeedsABallotAboveTheFence() {
        long token = bench.now();
        bench.acquire(ALICE, token, plain().reserve(64));
        export(ALICE, token + 63);
        assertThat(resume(BOB, token + 63)).isEqualTo("stale");
        assertThat(resume(BOB, token + 20 * SECOND)).isEqualTo("refused");
        redis().del(bench.fence);
        assertThat(resume(BOB, token - 70 * SECOND)).isEqualTo("stale");
        assertThat(redis().get(bench.lock)).startsWith(TICKET);
        assertThat(resume(BOB, token + 64)).isEqualTo("yes");
        assertThat(redis().pttl(bench.fence)).isBetween(55_000L, 61_001L);
    }

    /** The variant resume-takes-free. */
    @Test
    void aResumeNeverTakesAFreeLock() {
        assertThat(bench.resume(BOB, bench.now(), TICKET)).contains("not-ours", "free");
        assertThat(redis().exists(bench.lock, bench.fence)).isZero();
    }

    /** The variant resume-undone: what ends a claimant that has not won leaves the ticket. */
    @Test
    void theEndOfAnotherClaimantLeavesTheTicket() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        export(ALICE, token);
        assertThat(bench.release(BOB, token + 9).get(0)).isEqualTo("not-ours");
        assertThat(resume(BOB, token + 9)).as("its late request").isEqualTo("stale");
        assertThat(resume(CAROL, token + 10)).isEqualTo("yes");
    }

    @Test
    void theQueueKeepsItsOrder() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        bench.acquire(CAROL, token + 1, plain().waiting(60_000, "lock:wake:x"));
        export(ALICE, token + 1);
        assertThat(bench.everybody()).containsExactly(CAROL);
        resume(BOB, token + 2);
        assertThat(bench.everybody()).containsExactly(CAROL);
    }

    @Test
    void aServerWithoutMemoryExportsAndResumes() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(export(ALICE, token + 5)).isEqualTo("exported");
            assertThat(resume(BOB, token + 6)).isEqualTo("yes");
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }

    @Test
    void anOperatorReleasesATicketByItsLabel() {
        long token = bench.now();
        bench.acquire(ALICE, token);
        export(ALICE, token);
        assertThat(bench.inspect()).contains("held", "lock", "7:ticket of host/1/x");
        assertThat(bench.forceRelease("host/1/x").get(0)).isEqualTo("none");
        assertThat(bench.forceRelease("ticket of host/1/x").get(0)).isEqualTo("removed");
        assertThat(resume(BOB, bench.now() + SECOND)).isEqualTo("not-ours");
    }
}
