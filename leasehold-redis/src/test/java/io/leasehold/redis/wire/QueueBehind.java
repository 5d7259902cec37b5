package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A lock, its holder, and so many waiters that some are behind the front of the queue. */
abstract class QueueBehind extends HeldLockWithListener {

    static final long PLACE = 60_000;

    final List<String> line = new ArrayList<>();

    static ScriptBench.Proposal waits(long placeMillis) {
        return plain().waiting(placeMillis, HEARD).claiming(CLAIM);
    }

    List<Object> ask(String owner, ScriptBench.Proposal proposal) {
        return bench.acquire(owner, Math.max(bench.now(), bench.storedFence() + 1), proposal);
    }

    void join(String... owners) {
        for (String owner : owners) {
            assertThat(ask(owner, waits(PLACE))).startsWith("queued");
            line.add(owner);
        }
    }

    static String owner(int i) {
        return String.format("%040x", i);
    }

    /** Adds so many waiters that some are behind the front. */
    void fill(int waiters) {
        join(IntStream.range(0, waiters).mapToObj(QueueBehind::owner).toArray(String[]::new));
        assertThat(bench.queue().waiters()).hasSizeLessThan(waiters);
        assertThat(bench.everybody()).isEqualTo(line);
    }

    /** Makes a waiter count as dead: its last request was too long ago. */
    void die(String owner) {
        long alive = bench.now() - 1;
        redis().zadd(bench.behind, (double) -alive, "a" + owner);
        String asked = redis().hget(bench.wanted, owner);
        redis().hset(bench.wanted, owner, alive + asked.substring(asked.indexOf(' ')));
    }

    void joinAndDie(String... owners) {
        join(owners);
        Stream.of(owners).forEach(this::die);
        line.removeAll(List.of(owners));
    }

    void handOverAll(List<String> expected) {
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
}
