package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.StoredQueue;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of waiters that find the front of a queue full and wait behind it: their order, their time, and a cost that
 * does not grow with their number.
 */
@Tag("quick")
class QueueBehindTest extends QueueBehind {

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
        assertThat(redis().pttl(bench.lock)).isBetween(CLAIM + 1, 7_001L);
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

    /** After any requests, the queue is the expected list, and its head has the bounds of all waiters in front. */
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
                    ask(owner, waits(PLACE * (1 + random.nextInt(3))));
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
            StoredQueue front = bench.queue();
            assertThat(front.owners().isEmpty()).isEqualTo(line.isEmpty());
            for (StoredQueue.Waiter waiter : front.waiters()) {
                assertThat(waiter.alive()).isBetween(front.soonest(), front.latest());
            }
            assertThat(redis().zcard(bench.behind)).isEqualTo(2 * redis().hlen(bench.wanted));
            assertThat(List.of(redis().pttl(bench.behind), redis().pttl(bench.wanted)))
                    .as("step %d: keys that never expire", step)
                    .doesNotContain(-1L);
        }
    }

    // ---- time

    @Test
    void atMost64DeadLeaveWhenAnotherJoins() {
        fill(10);
        joinAndDie(IntStream.range(100, 170).mapToObj(QueueBehind::owner).toArray(String[]::new));
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

    /** A waiter that has moved to the front is still checked when its time has passed. */
    @Test
    void aWaiterThatComesForwardCountsAsDeadNoLaterThanBefore() {
        fill(10);
        int front = bench.queue().waiters().size();
        assertThat(ask(owner(front + 1), waits(2 * PLACE))).startsWith("queued");
        for (int i = 0; i < front; i++) {
            assertThat(bench.release(i == 0 ? ALICE : owner(i - 1), 0)).containsExactly("released");
        }
        StoredQueue forward = bench.queue();

        assertThat(forward.waiters()).isNotEmpty();
        assertThat(forward.soonest())
                .isEqualTo(forward.waiters().stream()
                        .mapToLong(StoredQueue.Waiter::alive)
                        .min()
                        .orElseThrow());
    }

    @Test
    void whereOnlyTheDeadAreBehindTheLockIsFreeAtLast() {
        fill(10);
        joinAndDie(IntStream.range(100, 130).mapToObj(QueueBehind::owner).toArray(String[]::new));

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
        // The waiters in front stay for a shorter time and write the front.
        ask(owner(0), waits(PLACE));
        bench.release(owner(1), 0);
        assertThat(redis().pttl(bench.queued)).isGreaterThan(800_000);
    }

    // ---- cost

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

    /** Two of them set the ttl of the keys, which the request may have created. */
    @Test
    void whoJoinsBehindCostsNineCommands() {
        fill(40);
        redis().configResetstat();

        for (int i = 40; i < 50; i++) {
            ask(owner(i), waits(PLACE));
        }

        assertThat(redis().info("commandstats"))
                .contains("cmdstat_mget:calls=10,", "cmdstat_time:calls=", "cmdstat_pttl:calls=10,")
                .contains("cmdstat_hset:calls=10,", "cmdstat_zadd:calls=10,", "cmdstat_pexpire:calls=20,")
                .contains("cmdstat_zrangebyscore:calls=10,", "cmdstat_zrevrange:calls=10,")
                .doesNotContain("cmdstat_set:", "cmdstat_append", "cmdstat_setrange", "cmdstat_zrem", "cmdstat_hdel");
    }
}
