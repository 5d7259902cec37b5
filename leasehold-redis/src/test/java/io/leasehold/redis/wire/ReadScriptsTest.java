package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.MARKER;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of the scripts for readers: each rule by the trace that it prevents. Those named after a variant of the formal model
 * ({@code docs/proof/model.md}) fail if the scripts follow that variant.
 */
@Tag("quick")
class ReadScriptsTest {

    private static final String DAVE = "d".repeat(40);
    private static final String EVE = "e".repeat(40);
    private static final String HEARD = "lock:wake:0123456789abcdef";
    private static final String UNHEARD = "lock:wake:ffffffffffffffff";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static int names;

    private final ScriptBench bench = new ScriptBench(SERVER, "reads:" + names++);
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private StatefulRedisPubSubConnection<String, String> listener;
    private long next;

    @BeforeEach
    void listen() {
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                messages.add(message);
            }
        });
        listener.sync().subscribe(HEARD);
        next = bench.now();
    }

    @AfterEach
    void stop() {
        listener.close();
    }

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    /** A larger token than all before. */
    private long token() {
        return next += 10;
    }

    private String read(String owner) {
        return (String) bench.readAcquire(owner, token()).get(0);
    }

    private String read(String owner, long candidate) {
        return (String) bench.readAcquire(owner, candidate).get(0);
    }

    private String write(String owner) {
        return (String) bench.acquire(owner, token()).get(0);
    }

    private ScriptBench.Proposal waits() {
        return plain().waiting(60_000, HEARD).claiming(20_000);
    }

    private String waitToRead(String owner) {
        return (String) bench.readAcquire(owner, token(), waits()).get(0);
    }

    private String waitToWrite(String owner) {
        return (String) bench.acquire(owner, token(), waits()).get(0);
    }

    private String endRead(String owner) {
        return (String) bench.readRelease(owner, token()).get(0);
    }

    private String endWrite(String owner) {
        return (String) bench.release(owner, token()).get(0);
    }

    private String message() throws InterruptedException {
        return messages.poll(20, TimeUnit.SECONDS);
    }

    @Test
    void readersShareTheLockAndExcludeWriters() {
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(read(BOB)).isEqualTo("yes");
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        assertThat(bench.acquire(CAROL, token())).contains("held", "lock", ":readers");
        assertThat(bench.inspect()).contains("held", "lock", ":readers");
        assertThat(redis().set(bench.lock, "x", SetArgs.Builder.nx().px(1_000)))
                .as("a foreign client")
                .isNull();
        assertThat(endRead(ALICE)).isEqualTo("released");
        assertThat(write(CAROL)).isEqualTo("held");
        assertThat(endRead(BOB)).isEqualTo("released");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(write(CAROL)).isEqualTo("yes");
        assertThat(read(ALICE)).isEqualTo("held");
    }

    @Test
    void aForeignHolderExcludesReaders() {
        redis().set(bench.lock, "theirs");
        assertThat(bench.readAcquire(ALICE, token())).contains("held", "foreign", "string");
        assertThat(endRead(ALICE)).isEqualTo("not-ours");
        assertThat(bench.readRenew(ALICE, 1_000)).containsExactly(0L, 1L, 0L);
        assertThat(redis().get(bench.lock)).isEqualTo("theirs");
        redis().del(bench.lock);
        redis().rpush(bench.lock, "x");
        assertThat(bench.readAcquire(ALICE, token())).contains("held", "foreign", "list");
    }

    /** The variants no-pair and reader-against-any: readers with smaller ballots are no late copies. */
    @Test
    void aReaderNeedNotExceedOtherReaders() {
        long small = token();
        long large = token();
        assertThat(read(ALICE, large)).isEqualTo("yes");
        assertThat(read(BOB, small)).isEqualTo("yes");
        assertThat(bench.storedFence()).isEqualTo(large);
        assertThat(bench.acquire(CAROL, large).get(0))
                .as("a writer exceeds them all")
                .isEqualTo("stale");
    }

    /** The variant no-pair: after a writer, the floor of readers is the fence. */
    @Test
    void aReaderExceedsEveryWriter() {
        long before = token();
        long writers = token();
        assertThat(read(ALICE)).isEqualTo("yes");
        endRead(ALICE);
        bench.acquire(BOB, writers + 100);
        bench.release(BOB, writers + 100);
        next = writers + 200;
        assertThat(bench.readAcquire(CAROL, before)).contains("stale", Long.toString(writers + 100));
        assertThat(read(CAROL, writers + 100)).isEqualTo("stale");
        assertThat(read(CAROL, writers + 101)).isEqualTo("yes");
        assertThat(read(DAVE, writers + 101))
                .as("the same floor, since no writer came in between")
                .isEqualTo("yes");
    }

    /** The variant end-raises-any-only: a late copy must not revive a reader that has ended. */
    @Test
    void theEndOfAReaderRaisesBothFloors() {
        long small = token();
        long large = token();
        read(ALICE, large);
        read(BOB, small);
        assertThat(bench.readRelease(BOB, small).get(0)).isEqualTo("released");
        assertThat(read(BOB, small)).as("its late copy").isEqualTo("stale");
        assertThat(bench.readRelease(CAROL, large - 1).get(0)).isEqualTo("not-ours");
        assertThat(read(CAROL, large - 1)).isEqualTo("stale");
        assertThat(read(CAROL, large)).isEqualTo("yes");
        assertThat(bench.readRelease(DAVE, large + 5).get(0)).isEqualTo("not-ours");
        assertThat(bench.storedFence()).isEqualTo(large + 5);
        assertThat(read(DAVE, large + 5)).isEqualTo("stale");
        bench.readRelease(EVE, bench.now() + 1_000_000 * SECOND);
        assertThat(bench.storedFence()).as("to the bound only").isLessThan(bench.now() + 10 * SECOND);
    }

    @Test
    void theEndOfTheLastReaderIsRememberedWithoutAnyReader() {
        long token = token();
        read(ALICE, token);
        bench.readRelease(ALICE, token + 3);
        assertThat(read(ALICE, token + 3)).isEqualTo("stale");
        redis().del(bench.readers);
        assertThat(read(ALICE, token + 3)).as("also if the hash was lost").isEqualTo("stale");
        assertThat(read(ALICE, token + 4)).isEqualTo("yes");
    }

    /** The variants renewal-does-not-move-the-marker and one-end-for-all. */
    @Test
    void theLockEndsWithItsLastReader() {
        bench.readAcquire(ALICE, token(), plain().ttl(100_000));
        bench.readAcquire(BOB, token(), plain().ttl(50_000));
        assertThat(redis().pttl(bench.lock)).isBetween(90_000L, 100_001L);
        assertThat(bench.readRenew(BOB, 200_000)).containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(190_000L, 200_001L);
        assertThat(redis().pttl(bench.readers)).isGreaterThan(250_000L);
        assertThat(bench.readRenew(BOB, 1_000)).as("never shorter").containsExactly(1L);
        assertThat(redis().pttl(bench.lock)).isBetween(190_000L, 200_001L);
        assertThat(bench.readRenew(ALICE, 150_000)).containsExactly(1L);
        endRead(BOB);
        assertThat(redis().pttl(bench.lock)).as("what is left").isBetween(140_000L, 150_005L);
        assertThat(endRead(CAROL)).isEqualTo("not-ours");
        assertThat(redis().pttl(bench.lock)).isBetween(140_000L, 150_005L);
    }

    /** A crashed reader does not live as long as any other reader extends the set. */
    @Test
    void aReaderEndsAloneAtItsOwnEnd() {
        bench.readAcquire(ALICE, token(), plain().ttl(100_000));
        bench.readAcquire(BOB, token(), plain().ttl(50_000));
        bench.expireReader(ALICE);
        assertThat(bench.readRenew(ALICE, 1_000)).containsExactly(0L, 1L, 0L);
        assertThat(endRead(ALICE)).as("it has ended by itself").isEqualTo("not-ours");
        assertThat(redis().hexists(bench.readers, ALICE))
                .as("and leaves nothing")
                .isFalse();
        assertThat(endRead(BOB)).isEqualTo("released");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void withoutTheLockNoReaderIsLeft() {
        read(ALICE);
        redis().del(bench.lock);
        assertThat(bench.readRenew(ALICE, 60_000)).containsExactly(0L, 1L, 0L);
        assertThat(bench.readInspect(10)).containsExactly("readers");
        assertThat(read(BOB)).isEqualTo("yes");
        assertThat(bench.readRenew(ALICE, 60_000))
                .as("no later reader revives it")
                .containsExactly(0L, 1L, 0L);
        assertThat(endRead(ALICE)).isEqualTo("not-ours");
        assertThat(bench.readRenew(BOB, 60_000)).containsExactly(1L);
    }

    @Test
    void aMarkerWhoseReadersHaveEndedCountsAsAbsent() {
        read(ALICE);
        redis().hset(bench.readers, ALICE, "1 1 x");
        redis().hset(bench.readers, "all", "0 0 0");
        assertThat(waitToRead(BOB)).isEqualTo("yes");
        redis().hset(bench.readers, BOB, "1 1 x");
        redis().hset(bench.readers, "all", "0 0 0");
        redis().set(bench.queued, "2 1 1 0\n" + EVE + " 1 1 " + HEARD + " 0 1 x");
        assertThat(waitToWrite(CAROL)).isEqualTo("yes");
        endWrite(CAROL);
        read(ALICE);
        redis().hset(bench.readers, ALICE, "1 1 x");
        assertThat(endRead(BOB)).isEqualTo("not-ours");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void aLostReplyFindsTheReaderWithAnEndThatIsNoEarlier() {
        bench.readAcquire(ALICE, token(), plain().ttl(100_000).reserve(5));
        long second = token();
        assertThat(bench.readAcquire(ALICE, second, plain().ttl(50_000)).get(0)).isEqualTo("yes");
        assertThat(redis().pttl(bench.lock)).isGreaterThan(90_000L);
        assertThat(read(ALICE, second - 1)).as("a late copy").isEqualTo("yes");
        assertThat(bench.liveReaders()).containsEntry(ALICE, second);
        assertThat(bench.storedFence()).isEqualTo(second);
    }

    /** The variant writer-overtaken. */
    @Test
    void noReaderOvertakesAWaitingWriter() throws InterruptedException {
        read(ALICE);
        assertThat(waitToWrite(BOB)).isEqualTo("queued");
        assertThat(waitToRead(CAROL)).isEqualTo("queued");
        assertThat(waitToRead(DAVE)).isEqualTo("queued");
        assertThat(waitToWrite(EVE)).isEqualTo("queued");
        assertThat(read("f".repeat(40))).as("without patience").isEqualTo("held");
        assertThat(read(ALICE)).as("a reader asks for its own").isEqualTo("yes");
        assertThat(bench.everybody()).containsExactly(BOB, CAROL, DAVE, EVE);
        endRead(ALICE);
        assertThat(redis().get(bench.lock)).startsWith(BOB);
        assertThat(message()).contains("handed ").endsWith(" " + bench.lock);
        endWrite(BOB);
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        assertThat(bench.liveReaders()).containsOnlyKeys(CAROL, DAVE);
        assertThat(message()).endsWith(" " + bench.readers);
        assertThat(message()).endsWith(" " + bench.readers);
        assertThat(bench.everybody()).containsExactly(EVE);
        next = bench.storedFence();
        endRead(CAROL);
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        endRead(DAVE);
        assertThat(redis().get(bench.lock)).startsWith(EVE);
    }

    @Test
    void thoseWhoAreHandedTheLockHaveTokensAboveAllBefore() {
        write(ALICE);
        bench.readAcquire(BOB, token(), waits().reserve(8));
        bench.readAcquire(CAROL, token(), waits().reserve(4));
        long fence = token();
        bench.release(ALICE, fence);
        long first = bench.liveReaders().get(BOB);
        assertThat(first).isGreaterThan(fence);
        assertThat(bench.liveReaders()).containsEntry(CAROL, first + 8);
        assertThat(bench.storedFence()).isEqualTo(first + 11);
        assertThat(redis().pttl(bench.lock)).isBetween(15_000L, 20_001L);
        assertThat(bench.readAcquire(DAVE, fence).get(0))
                .as("a writer's ballot")
                .isEqualTo("stale");
        assertThat(bench.readAcquire(DAVE, fence + 1).get(0)).isEqualTo("yes");
    }

    @Test
    void aWriterThatWithdrawsLetsTheReadersBehindItIn() {
        read(ALICE);
        waitToWrite(BOB);
        waitToRead(CAROL);
        waitToRead(DAVE);
        assertThat(endWrite(BOB)).isEqualTo("not-ours");
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE, CAROL, DAVE);
        assertThat(bench.everybody()).isEmpty();
    }

    @Test
    void aSilentWriterThatIsDroppedLetsTheReadersBehindItIn() {
        read(ALICE);
        waitToWrite(BOB);
        waitToRead(CAROL);
        bench.killWaiter(BOB);
        assertThat(waitToWrite(DAVE)).as("the request of another writer").isEqualTo("queued");
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE, CAROL);
        waitToRead(EVE);
        bench.killWaiter(DAVE);
        assertThat(endRead(ALICE)).isEqualTo("released");
        assertThat(bench.liveReaders()).containsOnlyKeys(CAROL, EVE);
    }

    @Test
    void aReaderBehindADeadWriterIsServedByItsOwnRequest() {
        read(ALICE);
        waitToWrite(BOB);
        waitToRead(CAROL);
        waitToRead(DAVE);
        bench.killWaiter(BOB);
        assertThat(waitToRead(DAVE)).isEqualTo("yes");
        assertThat(bench.liveReaders()).as("and those before it").containsOnlyKeys(ALICE, CAROL, DAVE);
    }

    @Test
    void aCrashedReadersRestHidesNoFreeLock() {
        read(ALICE);
        read(BOB);
        waitToWrite(CAROL);
        bench.expireReader(ALICE);
        endRead(BOB);
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
    }

    @Test
    void aWaiterThatCouldNotBeNotifiedRaisesNoFloor() {
        long small = token();
        long between = token();
        read(ALICE, token());
        read(BOB, small);
        waitToWrite(CAROL);
        bench.readAcquire(DAVE, token(), waits().on(UNHEARD));
        bench.killWaiter(CAROL);
        bench.readRelease(BOB, small);
        assertThat(bench.everybody()).isEmpty();
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE);
        assertThat(read(EVE, between)).isEqualTo("yes");
    }

    @Test
    void aReaderBehindTheFrontLeavesAndIsServed() {
        bench.small();
        write(ALICE);
        for (String reader : new String[] {"1", "2", "3", "4", "5", "6"}) {
            waitToRead(reader.repeat(40));
        }
        assertThat(bench.queue().owners()).hasSizeLessThan(4);
        assertThat(endRead("5".repeat(40))).isEqualTo("not-ours");
        assertThat(bench.everybody()).hasSize(5).doesNotContain("5".repeat(40));
        endWrite(ALICE);
        assertThat(bench.liveReaders()).hasSize(5);
        assertThat(redis().exists(bench.queued, bench.behind, bench.wanted)).isZero();
    }

    @Test
    void readersThatRequestNoHandOverAreWokenTogether() throws InterruptedException {
        write(ALICE);
        bench.readAcquire(BOB, token(), waits().claiming(0));
        bench.readAcquire(CAROL, token(), waits().claiming(0));
        waitToWrite(DAVE);
        endWrite(ALICE);
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(message()).startsWith("wake ").endsWith(" " + bench.readers);
        assertThat(message()).startsWith("wake ").endsWith(" " + bench.readers);
        assertThat(bench.everybody()).containsExactly(BOB, CAROL, DAVE);
        assertThat(write(EVE)).isEqualTo("held");
        assertThat(waitToRead(CAROL)).as("the reader before it is no writer").isEqualTo("yes");
        assertThat(waitToRead(BOB)).isEqualTo("yes");
        assertThat(bench.everybody()).containsExactly(DAVE);
    }

    @Test
    void aReaderPassesReadersThatWereOnlyWoken() {
        write(ALICE);
        bench.readAcquire(BOB, token(), waits().claiming(0));
        endWrite(ALICE);
        assertThat(bench.everybody()).containsExactly(BOB);
        assertThat(read(CAROL)).isEqualTo("yes");
        assertThat(write(DAVE)).isEqualTo("held");
        endRead(CAROL);
        assertThat(write(DAVE)).as("they come before a writer").isEqualTo("held");
    }

    @Test
    void aReaderPassesNoWriterBehindTheFront() {
        bench.small();
        write(ALICE);
        for (String reader : new String[] {"1", "2", "3", "4"}) {
            bench.readAcquire(reader.repeat(40), token(), waits().claiming(0));
        }
        waitToWrite(BOB);
        assertThat(bench.queue().owners()).as("the writer stands behind").doesNotContain(BOB);
        endWrite(ALICE);
        assertThat(read(CAROL)).isEqualTo("held");
        for (String reader : new String[] {"1", "2", "3", "4"}) {
            assertThat(read(reader.repeat(40))).isEqualTo("yes");
        }
        assertThat(bench.everybody()).containsExactly(BOB);
        assertThat(read(CAROL)).isEqualTo("held");
    }

    @Test
    void aReaderThatHearsNothingIsPassedOver() {
        write(ALICE);
        bench.readAcquire(BOB, token(), waits().on(UNHEARD));
        waitToRead(CAROL);
        bench.readAcquire(DAVE, token(), waits().on(UNHEARD).claiming(100_000));
        endWrite(ALICE);
        assertThat(bench.liveReaders()).containsOnlyKeys(CAROL);
        assertThat(redis().pttl(bench.lock)).as("not for those").isLessThanOrEqualTo(20_001L);
        next = bench.storedFence();
        endRead(CAROL);
        write(ALICE);
        bench.readAcquire(BOB, token(), waits().on(UNHEARD));
        waitToWrite(DAVE);
        endWrite(ALICE);
        assertThat(redis().get(bench.lock)).as("the writer comes next").startsWith(DAVE);
        next = bench.storedFence();
        bench.readAcquire(BOB, token(), waits().on(UNHEARD));
        endWrite(DAVE);
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(read(EVE)).isEqualTo("yes");
        assertThat(bench.liveReaders()).containsOnlyKeys(EVE);
    }

    /** The variant upgrade-allowed. */
    @Test
    void aReaderIsNoWriter() {
        read(ALICE);
        assertThat(write(ALICE)).isEqualTo("held");
        assertThat(bench.renew(new String[] {bench.lock}, "60000", ALICE + ":")).containsExactly(0L, 1L, 0L);
        assertThat(endWrite(ALICE)).isEqualTo("not-ours");
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE);
        assertThat(bench.export(ALICE, token(), "f".repeat(40), 60_000).get(0)).isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
    }

    @Test
    void aWriterBecomesAReaderInOneStep() {
        bench.acquire(ALICE, token(), plain().ttl(100_000).reserve(6));
        waitToRead(CAROL);
        waitToWrite(DAVE);
        waitToRead(EVE);
        long fence = bench.storedFence();
        assertThat(bench.downgrade(BOB, fence, ALICE)).contains("stale", Long.toString(fence));
        assertThat(bench.downgrade(BOB, bench.now() + 60 * SECOND, ALICE)).contains("refused");
        assertThat(bench.downgrade(BOB, fence + 1, CAROL)).contains("not-ours", "lock");
        assertThat(redis().get(bench.lock)).startsWith(ALICE);
        assertThat(bench.downgrade(BOB, fence + 1, ALICE).get(0)).isEqualTo("yes");
        assertThat(bench.liveReaders()).as("and the reader at the head").containsOnlyKeys(BOB, CAROL);
        assertThat(bench.liveReaders()).containsEntry(BOB, fence + 1);
        assertThat(redis().pttl(bench.lock)).as("no earlier than the writer").isGreaterThan(90_000L);
        assertThat(bench.everybody()).containsExactly(DAVE, EVE);
        next = bench.storedFence();
        assertThat(bench.readAcquire(ALICE, fence).get(0))
                .as("the writer's token")
                .isEqualTo("stale");
        assertThat(bench.downgrade(BOB, token(), ALICE).get(0))
                .as("a lost reply")
                .isEqualTo("yes");
        assertThat(endWrite(ALICE)).isEqualTo("not-ours");
        assertThat(bench.liveReaders()).containsOnlyKeys(BOB, CAROL);
    }

    @Test
    void aDowngradeNeverTakesAFreeLock() {
        assertThat(bench.downgrade(BOB, token(), ALICE)).contains("not-ours", "free");
        assertThat(redis().exists(bench.lock, bench.fence, bench.readers)).isZero();
        read(CAROL);
        assertThat(bench.downgrade(BOB, token(), ALICE)).contains("not-ours", ":readers");
        assertThat(bench.liveReaders()).containsOnlyKeys(CAROL);
    }

    /** The variant downgrade-same-token: a late write of the former writer must not pass under the readers. */
    @Test
    void aLateDowngradeOfAnEndedReaderIsRefused() {
        write(ALICE);
        long swap = token();
        bench.downgrade(BOB, swap, ALICE);
        bench.readRelease(BOB, swap);
        assertThat(bench.downgrade(BOB, swap, ALICE).get(0)).isEqualTo("stale");
        assertThat(bench.downgrade(BOB, swap + 1, ALICE).get(0)).isEqualTo("not-ours");
        assertThat(read(BOB, swap)).isEqualTo("stale");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void anOperatorRemovesOneReaderOrAll() {
        bench.readAcquire(ALICE, token(), plain().holder("host/1/a"));
        bench.readAcquire(BOB, token(), plain().holder("host/2/b"));
        bench.readAcquire(CAROL, token(), plain().holder("host/2/b"));
        assertThat(bench.readInspect(10)).hasSize(7).contains("readers");
        assertThat(bench.readInspect(1)).hasSize(3);
        assertThat(bench.forceRelease("")).as("the script of writers").containsExactly("readers");
        assertThat(bench.readForceRelease("host/3/c")).containsExactly("none");
        long before = bench.now();
        assertThat(bench.readForceRelease("host/2/b")).containsExactly("removed", "host/2/b", "host/2/b");
        assertThat(bench.liveReaders()).containsOnlyKeys(ALICE);
        assertThat(bench.storedFence()).isGreaterThanOrEqualTo(before);
        assertThat(read(BOB, before)).as("its late copy").isEqualTo("stale");
        next = bench.now();
        waitToWrite(DAVE);
        assertThat(bench.readForceRelease("")).containsExactly("removed", "host/1/a");
        assertThat(redis().get(bench.lock)).startsWith(DAVE);
        assertThat(bench.readForceRelease("")).as("a writer is no reader").containsExactly("none");
    }

    @Test
    void aForcedReleaseRefusesLateCopiesAlsoOfReadersAheadOfTheClock() {
        long ahead = bench.now() + 5 * SECOND;
        read(ALICE, ahead);
        read(BOB, ahead + 1);
        assertThat(bench.readForceRelease("")).contains("removed");
        assertThat(read(ALICE, ahead)).isEqualTo("stale");
        assertThat(read(BOB, ahead + 1)).isEqualTo("stale");
        assertThat(read(CAROL, ahead + 2)).isEqualTo("yes");
    }

    @Test
    void theForcedReleaseOfAWriterServesReaders() {
        write(ALICE);
        waitToRead(BOB);
        waitToRead(CAROL);
        assertThat(bench.forceRelease("")).containsExactly("removed");
        assertThat(bench.liveReaders()).containsOnlyKeys(BOB, CAROL);
    }

    @Test
    void theKeyOfTheReadersAloneEndsAnOwnerToken() {
        long small = token();
        long large = token();
        read(ALICE, large);
        read(BOB, small);
        assertThat(bench.readReleaseKey(BOB, small)).containsExactly("released");
        assertThat(bench.readReleaseKey(BOB, small)).containsExactly("not-ours");
        assertThat(read(BOB, small)).as("its late copy").isEqualTo("stale");
        assertThat(bench.readReleaseKey(ALICE, large)).containsExactly("released");
        assertThat(redis().get(bench.lock)).as("until the whole release").isEqualTo(MARKER);
        assertThat(write(CAROL)).as("it counts as absent").isEqualTo("yes");
        assertThat(bench.readRelease(ALICE, large).get(0)).isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
    }

    @Test
    void theReadersBehindAQueuedReaderShareTheLockWithIt() {
        write(EVE);
        for (int i = 10; i < 24; i++) {
            waitToRead(Integer.toString(i).repeat(20));
        }
        waitToWrite(ALICE);
        waitToRead(BOB);
        assertThat(bench.queue().owners()).as("some stand behind the front").hasSizeLessThan(16);
        redis().del(bench.lock);
        assertThat(waitToRead("10".repeat(20))).isEqualTo("yes");
        assertThat(bench.liveReaders()).hasSize(14);
        assertThat(bench.everybody()).containsExactly(ALICE, BOB);
        assertThat(redis().pttl(bench.lock)).isGreaterThan(15_000L);
    }

    @Test
    void oneScriptHandsTheLockToSomeReadersAndTheNextToTheOthers() {
        write(EVE);
        for (int i = 100; i < 300; i++) {
            waitToRead((i + "f").repeat(10));
        }
        endWrite(EVE);
        assertThat(bench.liveReaders()).hasSizeBetween(64, 80);
        assertThat(read("100f".repeat(10))).as("its confirmation").isEqualTo("yes");
        assertThat(bench.liveReaders()).hasSizeBetween(128, 160);
        for (int i = 101; i < 104; i++) {
            assertThat(read((i + "f").repeat(10))).isEqualTo("yes");
        }
        assertThat(bench.liveReaders()).hasSize(200);
        assertThat(bench.everybody()).isEmpty();
    }

    @Test
    void aLineThatIsNoEntryIsDroppedWhileReadersHold() {
        read(ALICE);
        long end = bench.now() + 60 * SECOND;
        redis().set(bench.queued, "2 " + end + " " + end + " 0\nx " + end + " " + end + " y z9 1 x");
        assertThat(waitToRead(BOB)).isEqualTo("yes");
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void aWaiterLeavesThoughAnotherProgramWroteTheKeyOfTheReaders() {
        write(EVE);
        waitToRead(ALICE);
        waitToWrite(BOB);
        redis().set(bench.readers, "theirs");
        long ballot = token();
        assertThat(bench.readRelease(ALICE, ballot)).contains("broken", bench.readers);
        assertThat(bench.everybody()).containsExactly(BOB);
        assertThat(bench.storedFence()).isEqualTo(ballot);
        endWrite(EVE);
        assertThat(redis().get(bench.lock)).startsWith(BOB);
    }

    @Test
    void noClientBecomesAReaderThatMayNotBeEnded() {
        write(EVE);
        redis().aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.HGETALL));
        try {
            assertThatThrownBy(() -> waitToRead(ALICE)).hasMessageContaining("hgetall");
            assertThatThrownBy(() -> bench.downgrade(BOB, token(), EVE)).hasMessageContaining("hgetall");
            assertThat(redis().exists(bench.queued)).isZero();
            endWrite(EVE);
            assertThatThrownBy(() -> read(ALICE)).hasMessageContaining("hgetall");
        } finally {
            redis().aclSetuser("default", AclSetuserArgs.Builder.allCommands());
        }
        read(CAROL);
        waitToWrite(EVE);
        waitToRead(ALICE);
        redis().aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.HGETALL));
        try {
            assertThat(endRead(ALICE)).as("a waiter withdraws").isEqualTo("not-ours");
            assertThat(bench.everybody()).containsExactly(EVE);
        } finally {
            redis().aclSetuser("default", AclSetuserArgs.Builder.allCommands());
        }
        assertThat(bench.liveReaders()).containsOnlyKeys(CAROL);
        assertThat(endRead(CAROL)).isEqualTo("released");
    }

    @Test
    void anotherProgramsKeysAreNotChanged() {
        redis().set(bench.readers, "theirs");
        assertThat(bench.readAcquire(ALICE, token())).contains("broken", bench.readers, "string");
        assertThat(bench.readRelease(ALICE, token())).contains("broken", bench.readers);
        assertThat(bench.readReleaseKey(ALICE, token())).contains("broken", bench.readers);
        assertThat(bench.readForceRelease("")).contains("broken", bench.readers);
        assertThat(bench.downgrade(ALICE, token(), BOB)).contains("broken", bench.readers);
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(write(BOB)).as("exclusive holds need no look").isEqualTo("yes");
        endWrite(BOB);
        redis().del(bench.readers);
        redis().set(bench.fence, "x");
        assertThat(bench.readAcquire(ALICE, token())).contains("broken", bench.fence);
        assertThat(redis().exists(bench.lock, bench.readers)).isZero();
    }

    @Test
    void aServerWithoutMemoryKeepsReadersAndEndsThem() {
        read(ALICE);
        read(CAROL);
        redis().configSet("maxmemory", "1");
        try {
            assertThatThrownBy(() -> read(DAVE)).hasMessageContaining("OOM");
            assertThat(bench.liveReaders()).containsOnlyKeys(ALICE, CAROL);
            assertThat(bench.readRenew(ALICE, 90_000)).containsExactly(1L);
            assertThat(bench.readRenew(CAROL, 40_000)).containsExactly(1L);
            assertThat(read(ALICE)).as("its own").isEqualTo("yes");
            assertThat(endRead(EVE)).as("a withdrawal").isEqualTo("not-ours");
            assertThat(endRead(ALICE)).isEqualTo("released");
            assertThat(endRead(CAROL)).isEqualTo("released");
            assertThatThrownBy(() -> read(DAVE)).hasMessageContaining("OOM");
            assertThat(redis().exists(bench.lock)).isZero();
        } finally {
            redis().configSet("maxmemory", "0");
        }
        write(ALICE);
        waitToRead(BOB);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(endWrite(ALICE)).isEqualTo("released");
            assertThat(bench.liveReaders()).containsOnlyKeys(BOB);
            assertThat(endRead(BOB)).isEqualTo("released");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        next = bench.storedFence();
        write(ALICE);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(bench.downgrade(BOB, token(), ALICE).get(0)).isEqualTo("yes");
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }

    @Test
    void theKeysExpire() {
        bench.readAcquire(ALICE, token(), plain().ttl(1_000));
        assertThat(redis().pttl(bench.readers)).isBetween(50_000L, 70_000L);
        endRead(ALICE);
        assertThat(redis().pttl(bench.readers)).isBetween(50_000L, 70_000L);
        assertThat(redis().pttl(bench.fence)).isBetween(50_000L, 70_000L);
    }
}
