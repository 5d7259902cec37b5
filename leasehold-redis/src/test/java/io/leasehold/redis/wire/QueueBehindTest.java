package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Those who find the front of a queue full stand behind it: in their order, for their time, and at a cost that does not grow with their number. */
@Tag("quick")
class QueueBehindTest {

    private static final String HEARD = "lock:wake:heard";
    private static final String DAVE = "d".repeat(40);
    private static final long PLACE = 60_000;
    private static final long CLAIM = 4_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private final List<String> line = new ArrayList<>();
    private StatefulRedisPubSubConnection<String, String> listener;
    private long token;

    @BeforeEach
    void hold() {
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        token = bench.now();
        bench.acquire(ALICE, token);
    }

    @AfterEach
    void stop() {
        redis().configSet("maxmemory", "0");
        listener.close();
    }

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private static ScriptBench.Proposal waits(long placeMillis) {
        return plain().waiting(placeMillis, HEARD).claiming(CLAIM);
    }

    private List<Object> ask(String owner, ScriptBench.Proposal proposal) {
        return bench.acquire(owner, Math.max(bench.now(), bench.storedFence() + 1), proposal);
    }

    private void join(String... owners) {
        for (String owner : owners) {
            assertThat(ask(owner, waits(PLACE))).startsWith("queued");
            line.add(owner);
        }
    }

    private static String owner(int i) {
        return String.format("%040x", i);
    }

    /** So many that some stand behind. */
    private void fill(int waiters) {
        join(IntStream.range(0, waiters).mapToObj(QueueBehindTest::owner).toArray(String[]::new));
        assertThat(bench.queue().waiters()).hasSizeLessThan(waiters);
        assertThat(bench.everybody()).isEqualTo(line);
    }

    /** It asked for the last time so long ago that it counts as dead. */
    private void die(String owner) {
        long alive = bench.now() - 1;
        redis().zadd(bench.behind, (double) -alive, "a" + owner);
        String asked = redis().hget(bench.wanted, owner);
        redis().hset(bench.wanted, owner, alive + asked.substring(asked.indexOf(' ')));
    }

    private void joinAndDie(String... owners) {
        join(owners);
        Stream.of(owners).forEach(this::die);
        line.removeAll(List.of(owners));
    }

    private void handOverAll(List<String> expected) {
        String holder = ALICE;
        for (String next : expected) {
            assertThat(bench.release(holder, 0)).containsExactly("released");
            assertThat(redis().get(bench.lock)).startsWith(next + ":");
            holder = next;
        }
        bench.release(holder, 0);
        assertThat(redis().exists(bench.lock, bench.queued, bench.behind, bench.wanted))
                .isZero();
    }

    // ---- order

    @Test
    void allAreServedInTheOrderInWhichTheyCame() {
        fill(20);
        String holder = ALICE;
        for (int i = 0; i < 50; i++) {
            if (i < 30) {
                join(owner(100 + i));
            }
            String next = line.remove(0);
            assertThat(bench.release(holder, 0)).containsExactly("released");
            assertThat(redis().get(bench.lock)).startsWith(next + ":");
            assertThat(ask(next, plain())).startsWith("yes");
            assertThat(bench.everybody()).isEqualTo(line);
            holder = next;
        }
        assertThat(redis().exists(bench.queued, bench.behind, bench.wanted)).isZero();
    }

    @Test
    void whoComesLaterIsBehindAlsoWhenTheClockHasGoneBack() {
        fill(10);
        double future = bench.now() + 3_600.0 * SECOND;
        redis().zadd(bench.behind, future, "q" + owner(9));

        join(BOB, CAROL);

        assertThat(bench.everybody()).isEqualTo(line);
    }

    @Test
    void whoAsksAgainStaysInItsPlaceAndSaysAnew() {
        fill(10);
        join(BOB, CAROL, DAVE);
        double arrival = redis().zscore(bench.behind, "q" + CAROL);

        assertThat(ask(CAROL, waits(PLACE).claiming(7_000).reserve(3).holder("new one/1/ü: x")))
                .startsWith("queued");

        assertThat(bench.everybody()).isEqualTo(line);
        assertThat(redis().zscore(bench.behind, "q" + CAROL)).isEqualTo(arrival);
        line.forEach(owner -> bench.release(owner.equals(CAROL) ? "none" : owner, 0));
        bench.release(ALICE, token);
        assertThat(redis().get(bench.lock)).startsWith(CAROL + ":").endsWith(":new one/1/ü: x");
        assertThat(redis().pttl(bench.lock)).isBetween(CLAIM + 1, 7_000L);
        long first = Long.parseLong(redis().get(bench.lock).split(":", -1)[1]);
        assertThat(bench.storedFence()).isEqualTo(first + 2);
    }

    @Test
    void whoLeavesFromBehindIsNotServed() {
        fill(10);
        join(BOB, CAROL);

        assertThat(bench.release(BOB, 0)).containsExactly("not-ours");

        line.remove(BOB);
        assertThat(redis().hexists(bench.wanted, BOB)).isFalse();
        assertThat(redis().zscore(bench.behind, "q" + BOB)).isNull();
        assertThat(redis().zscore(bench.behind, "a" + BOB)).isNull();
        handOverAll(line);
    }

    /** Whatever is asked, the queue is the list that it should be, and only who finds the front full stands behind it. */
    @Test
    void aWalkOfRequestsLeavesTheListThatItShould() {
        bench.small();
        Random random = new Random(11);
        List<String> owners =
                Stream.of("0123456789abcdef".split("")).map(c -> c.repeat(40)).toList();
        String holder = ALICE;
        for (int step = 0; step < 2_000; step++) {
            String owner = owners.get(random.nextInt(owners.size()));
            switch (random.nextInt(8)) {
                case 0, 1, 2, 3 -> {
                    ask(owner, waits(PLACE));
                    if (holder == null) {
                        holder = owner;
                    } else if (!holder.equals(owner) && !line.contains(owner)) {
                        line.add(owner);
                    }
                }
                case 4 -> {
                    if (holder != null) {
                        bench.forceRelease("");
                        holder = line.isEmpty() ? null : line.remove(0);
                    }
                }
                default -> {
                    String leaving = holder != null && random.nextInt(3) > 0 ? holder : owner;
                    bench.release(leaving, 0);
                    line.remove(leaving);
                    if (leaving.equals(holder)) {
                        holder = line.isEmpty() ? null : line.remove(0);
                    }
                }
            }
            String value = redis().get(bench.lock);
            assertThat(value == null ? null : value.substring(0, 40)).isEqualTo(holder);
            assertThat(bench.everybody()).isEqualTo(line);
            assertThat(bench.queue().owners().isEmpty()).isEqualTo(line.isEmpty());
            assertThat(redis().zcard(bench.behind)).isEqualTo(2 * redis().hlen(bench.wanted));
        }
    }

    // ---- for their time

    @Test
    void atMost64DeadLeaveWhenAnotherJoins() {
        fill(10);
        joinAndDie(IntStream.range(100, 170).mapToObj(QueueBehindTest::owner).toArray(String[]::new));
        long living = redis().hlen(bench.wanted) - 70;

        join(BOB);
        assertThat(redis().hlen(bench.wanted)).isEqualTo(living + 6 + 1);
        join(CAROL);

        assertThat(redis().hlen(bench.wanted)).isEqualTo(living + 2);
        assertThat(bench.everybody()).isEqualTo(line);
    }

    @Test
    void theDeadDoNotComeForward() {
        fill(10);
        join(BOB, CAROL, DAVE);
        joinAndDie("e".repeat(40));
        die(CAROL);
        line.remove(CAROL);

        handOverAll(line);
    }

    @Test
    void whereOnlyTheDeadAreBehindTheLockIsFreeAtLast() {
        fill(10);
        joinAndDie(IntStream.range(100, 130).mapToObj(QueueBehindTest::owner).toArray(String[]::new));

        handOverAll(line);
    }

    @Test
    void whoAsksAgainInTimeIsNotDead() {
        fill(10);
        join(BOB);
        die(BOB);

        assertThat(ask(BOB, waits(PLACE))).startsWith("queued");

        join(CAROL);
        handOverAll(line);
    }

    @Test
    void thoseBehindAndTheFrontLastAsLongAsTheLongestPlace() {
        fill(10);
        for (String owner : List.of(BOB, BOB, owner(9))) {
            long place = owner.equals(BOB) ? 300_000 : 900_000;
            assertThat(ask(owner, waits(place))).startsWith("queued");
            for (String key : List.of(bench.queued, bench.behind, bench.wanted)) {
                assertThat(redis().pttl(key)).as(key).isBetween(place - 10_000, place + place / 4);
            }
        }
        // Those in front stay for less, and write the front.
        ask(owner(0), waits(PLACE));
        bench.release(owner(1), 0);
        assertThat(redis().pttl(bench.queued)).isGreaterThan(800_000);
    }

    // ---- at what cost

    @Test
    void whoAsksAgainWritesNothingOfOthers() {
        fill(40);
        ask(owner(39), waits(PLACE));
        redis().configResetstat();

        for (int i = 30; i < 40; i++) {
            ask(owner(i), waits(PLACE));
        }

        assertThat(redis().info("commandstats"))
                .contains("cmdstat_hset:calls=10,", "cmdstat_zadd:calls=10,", "cmdstat_pttl:calls=10,")
                .contains("cmdstat_mget:calls=10,")
                .doesNotContain("cmdstat_set:", "cmdstat_append", "cmdstat_setrange", "cmdstat_pexpire", "cmdstat_zr");
    }

    // ---- what is lost, and what is another program's

    @Test
    void whoStoodBehindALostFrontJoinsAnewAndIsServedOnce() {
        fill(12);
        redis().del(bench.queued);
        line.clear();

        fill(10);
        assertThat(redis().hlen(bench.wanted))
                .isEqualTo(10L - bench.queue().owners().size());
        join(BOB);
        handOverAll(line);
    }

    @Test
    void whoseOrderWasLostComesBackWhenItAsksAgain() {
        fill(10);
        redis().del(bench.behind);

        List<String> expected = new ArrayList<>(bench.queue().owners());
        for (int i = 9; i >= bench.queue().owners().size(); i--) {
            ask(owner(i), waits(PLACE));
        }
        for (int i = 9; i >= bench.queue().owners().size(); i--) {
            expected.add(owner(i));
        }
        assertThat(bench.everybody()).isEqualTo(expected);
        handOverAll(expected);
    }

    @Test
    void whatWasAskedForIsLostAndItIsSkipped() {
        fill(10);
        join(BOB, CAROL);
        redis().hdel(bench.wanted, BOB);

        line.remove(BOB);
        handOverAll(line);
    }

    @Test
    void keysOfAnotherTypeAreToldAndNotTouched() {
        for (String key : List.of(bench.behind, bench.wanted)) {
            redis().flushall();
            line.clear();
            token = bench.now();
            bench.acquire(ALICE, token);
            redis().set(key, "theirs");
            List<Object> refused = List.of("queued");
            for (int i = 0; i < 10 && refused.get(0).equals("queued"); i++) {
                refused = ask(owner(i), waits(PLACE));
                if (refused.get(0).equals("queued")) {
                    line.add(owner(i));
                }
            }
            assertThat(refused).startsWith("broken").endsWith(key, "string");
            assertThat(bench.everybody()).isEqualTo(line);
            String holder = ALICE;
            for (String next : line) {
                assertThat(bench.release(holder, 0)).containsExactly("released");
                assertThat(redis().get(bench.lock)).startsWith(next + ":");
                holder = next;
            }
            assertThat(bench.release(holder, 0)).containsExactly("released");
            assertThat(redis().exists(bench.lock, bench.queued)).isZero();
            assertThat(redis().get(key)).isEqualTo("theirs");
        }
    }

    @Test
    void keysThatTurnedIntoAnotherTypeKeepNobodyFromTheLock() {
        for (String key : List.of(bench.behind, bench.wanted)) {
            redis().flushall();
            line.clear();
            bench.acquire(ALICE, bench.now());
            fill(10);
            redis().set(key, "theirs");
            assertThat(ask(BOB, waits(PLACE))).startsWith("broken").endsWith(key, "string");
            List<String> front = bench.queue().owners();
            String holder = ALICE;
            for (String next : front) {
                assertThat(bench.release(holder, 0)).containsExactly("released");
                holder = next;
            }
            assertThat(bench.release(holder, 0)).containsExactly("released");
            assertThat(ask(BOB, waits(PLACE))).startsWith("yes");
            assertThat(redis().get(key)).isEqualTo("theirs");
        }
    }

    // ---- at a server whose memory is full

    @Test
    void aFullServerTakesNobodyBehindAndServesAll() {
        fill(20);
        redis().configSet("maxmemory", "1");

        assertThat(ask(BOB, waits(PLACE))).startsWith("held").contains("besides");
        assertThat(ask(owner(19), waits(PLACE))).startsWith("held").contains("besides");
        assertThat(bench.release(owner(15), 0)).containsExactly("not-ours");

        line.remove(owner(15));
        assertThat(bench.everybody()).isEqualTo(line);
        handOverAll(line);
    }

    // ---- what is told

    @Test
    void allAreTold() {
        for (int i = 0; i < 12; i++) {
            ask(owner(i), waits(PLACE).holder("host/" + i));
        }
        joinAndDie(BOB);

        List<Object> told = told(100);

        assertThat(told).hasSize(1 + 2 * 12);
        assertThat(IntStream.range(0, 12).mapToObj(i -> told.get(2 + 2 * i)))
                .isEqualTo(IntStream.range(0, 12)
                        .mapToObj(i -> (Object) ("host/" + i))
                        .toList());
        assertThat(IntStream.range(0, 12).mapToLong(i -> Long.parseLong((String) told.get(1 + 2 * i))))
                .isSorted()
                .allMatch(arrival -> arrival > token && arrival < bench.now());
        assertThat(told(9)).isEqualTo(rest(told, 9));
        assertThat(told(3)).hasSize(7);
    }

    private static List<Object> rest(List<Object> told, int limit) {
        return told.subList(0, 1 + 2 * limit);
    }

    private List<Object> told(int limit) {
        List<Object> told = redis().eval(
                        LuaScript.WAITERS.text(),
                        ScriptOutputType.MULTI,
                        KeyLayout.queueKeys(bench.lock),
                        Integer.toString(limit));
        assertThat(Long.parseLong((String) told.get(0))).isGreaterThan(token);
        List<Object> steady = new ArrayList<>(told);
        steady.set(0, "now");
        return steady;
    }
}
