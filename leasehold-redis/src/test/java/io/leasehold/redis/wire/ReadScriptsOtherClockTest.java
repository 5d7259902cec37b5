package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.api.sync.RedisCommands;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Readers whose lock ends at another time than written: after a move to a master with another clock, or by another hand.
 * Each end is rounded up to a whole ms when it is written, and again whenever a script adapts it.
 */
@Tag("quick")
class ReadScriptsOtherClockTest {

    private static final String CHANNEL = "lock:wake:ffffffffffffffff";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static int names;

    private final ScriptBench bench = new ScriptBench(SERVER, "clocks:" + names++);
    private long next;

    @BeforeEach
    void begin() {
        next = bench.now();
    }

    private static RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private long token() {
        return next += 10;
    }

    private String read(String owner, long ttlMillis) {
        return (String)
                bench.readAcquire(owner, token(), plain().ttl(ttlMillis)).get(0);
    }

    private String write(String owner) {
        return (String) bench.acquire(owner, token()).get(0);
    }

    private String waitToWrite(String owner) {
        return (String)
                bench.acquire(owner, token(), plain().waiting(60_000, CHANNEL).claiming(0))
                        .get(0);
    }

    private String end(String owner) {
        return (String) bench.readRelease(owner, token()).get(0);
    }

    @Test
    void aReaderThatSeemsToHaveEndedStillExcludesWriters() {
        read(ALICE, 40_000);
        assertThat(waitToWrite(BOB)).isEqualTo("queued");
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(waitToWrite(BOB)).isEqualTo("queued");
        assertThat(redis().pttl(bench.lock)).isBetween(30_000L, 40_002L);
        assertThat(bench.liveReaders()).as("it ends in the new TIME").containsOnlyKeys(ALICE);
        assertThat(end(ALICE)).isEqualTo("released");
        assertThat(waitToWrite(BOB)).isEqualTo("yes");
    }

    @Test
    void noVerbTakesSuchAReaderForEnded() {
        read(ALICE, 40_000);
        read(BOB, 50_000);
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(bench.readInspect(10)).hasSize(5);
        assertThat(end(CAROL)).isEqualTo("not-ours");
        assertThat(write(CAROL)).isEqualTo("held");
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(end(ALICE)).isEqualTo("released");
        assertThat(redis().pttl(bench.lock)).as("what is left").isBetween(40_000L, 50_003L);
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(read(CAROL, 10_000)).isEqualTo("yes");
        assertThat(end(CAROL)).isEqualTo("released");
        assertThat(write(ALICE)).isEqualTo("held");
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(bench.readForceRelease("")).containsExactly("removed", "host/1/x");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void aRenewalKeepsSuchAReaderAndAllOthers() {
        read(ALICE, 40_000);
        read(BOB, 50_000);
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(bench.readRenew(ALICE, 20_000)).as("never shorter").containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(40_000L, 50_002L);
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE, BOB);
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(bench.readRenew(ALICE, 90_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(80_000L, 90_003L);
        assertThat(bench.readRenew(BOB, 60_000)).containsExactly(1L);
        assertThat(end(ALICE)).isEqualTo("released");
        assertThat(redis().pttl(bench.lock)).isBetween(50_000L, 60_003L);
    }

    @Test
    void aRenewalAtAClockThatIsBehindExtendsTheLock() {
        read(ALICE, 40_000);
        redis().pexpire(bench.lock, 20_000);
        bench.moveToClockAheadBy(-500 * SECOND);
        assertThat(bench.readRenew(ALICE, 40_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(30_000L, 40_003L);
        assertThat(read(BOB, 60_000)).as("a further reader").isEqualTo("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(50_000L, 60_003L);
        bench.moveToClockAheadBy(-500 * SECOND);
        assertThat(read(CAROL, 90_000)).isEqualTo("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(80_000L, 90_004L);
    }

    @Test
    void aRenewalRepairsALockThatAnotherHandLetEndSooner() {
        read(ALICE, 90_000);
        read(BOB, 30_000);
        redis().pexpire(bench.lock, 5_000);
        assertThat(bench.readRenew(BOB, 30_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(25_000L, 30_002L);
        assertThat(bench.readRenew(ALICE, 80_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(75_000L, 80_002L);
        redis().persist(bench.lock);
        assertThat(bench.readRenew(BOB, 30_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).as("with its last reader").isBetween(75_000L, 90_003L);
    }

    @Test
    void aLockWithoutAReaderIsFree() {
        read(ALICE, 90_000);
        redis().del(bench.readers);
        assertThat(write(BOB)).as("the hash was lost").isEqualTo("yes");
        bench.release(BOB, token());
        read(ALICE, 90_000);
        redis().persist(bench.lock);
        assertThat(write(BOB)).isEqualTo("held");
        bench.moveToClockAheadBy(500 * SECOND);
        assertThat(write(BOB)).as("without a ttl its readers' ends count").isEqualTo("yes");
    }

    @Test
    void anOperatorRemovesALockWithoutAReader() {
        read(ALICE, 90_000);
        redis().del(bench.readers);
        long before = bench.now();
        assertThat(bench.readForceRelease("")).containsExactly("removed");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(bench.storedFence()).isGreaterThanOrEqualTo(before);
        assertThat(bench.readForceRelease("")).containsExactly("none");
    }
}
