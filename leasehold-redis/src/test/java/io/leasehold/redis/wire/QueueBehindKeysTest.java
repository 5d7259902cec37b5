package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of the keys of the waiters behind the front of a queue: lost, of another type, at a server without memory, and
 * notified.
 */
@Tag("quick")
class QueueBehindKeysTest extends QueueBehind {

    // ---- lost keys and keys of other programs

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

    /** The keys of the waiters have expired with them. */
    @Test
    void aWaiterThatComesAfterTheTimeOfThoseBehindStandsInFront() {
        join(BOB);
        String[] queue = redis().get(bench.queued).split("\n", 2);
        String over = queue[0].replaceAll(" 0$", " " + (bench.now() - 1));
        redis().set(bench.queued, over + "\n" + queue[1], SetArgs.Builder.px(PLACE));

        join(CAROL);

        assertThat(bench.queue().owners()).containsExactly(BOB, CAROL);
        assertThat(redis().exists(bench.behind, bench.wanted)).isZero();
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

    // ---- notifications

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
