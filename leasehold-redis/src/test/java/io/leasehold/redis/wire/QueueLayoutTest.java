package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.StoredQueue;
import io.lettuce.core.SetArgs;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the queue as one string: text next to an entry, in it, or missing in it never counts for another entry. */
@Tag("quick")
class QueueLayoutTest extends HeldLockWithListener {

    private Object ask(String owner, String holder) {
        return bench.acquire(
                        owner,
                        bench.now() + SECOND,
                        plain().waiting(60_000, HEARD).claiming(CLAIM).holder(holder))
                .get(0);
    }

    private void queue(String... owners) {
        for (String owner : owners) {
            assertThat(ask(owner, "host/2/" + owner.charAt(0))).isEqualTo("queued");
        }
    }

    private void store(String text) {
        redis().set(bench.queued, text, SetArgs.Builder.px(60_000));
    }

    private StoredQueue.Waiter waiter(String owner, long alive) {
        return new StoredQueue.Waiter(owner, 1, alive, HEARD, CLAIM, 1, "host/1/" + owner.charAt(0));
    }

    private long later() {
        return bench.now() + 60 * SECOND;
    }

    // ---- ownership of entries

    @Test
    void anOwnerTokenThatBeginsLikeAnotherIsAnother() {
        store(StoredQueue.of(null)
                .and(waiter(BOB + "0", later()))
                .and(waiter(BOB, later()))
                .toString());

        bench.release(BOB, 0);

        assertThat(bench.queue().owners()).containsExactly(BOB + "0");
    }

    @Test
    void anOwnerTokenInAHolderIdIsNoPlace() {
        assertThat(ask(CAROL, "host/3/c " + BOB + " 1 2 x 0 1 y")).isEqualTo("queued");

        bench.release(BOB, 0);
        assertThat(bench.queue().owners()).containsExactly(CAROL);
        queue(BOB);
        assertThat(bench.queue().owners()).containsExactly(CAROL, BOB);
    }

    @Test
    void aHolderIdMayHaveBlanksAndColons() {
        String holder = "host name/2/a:b: c  d/ü☂ ";
        assertThat(ask(BOB, holder)).isEqualTo("queued");
        queue(CAROL);

        assertThat(bench.release(ALICE, token)).containsExactly("released");

        assertThat(redis().get(bench.lock)).startsWith(BOB + ":").endsWith(":" + holder);
        assertThat(bench.queue().owners()).containsExactly(CAROL);
    }

    /** A client in another language may write this; the Java client does not. */
    @Test
    void aLineBreakInAHolderIdMakesNoSecondWaiter() {
        assertThat(ask(BOB, "host/2/b\n" + CAROL + " 1 9999999999999999 x 1 1 forged"))
                .isEqualTo("queued");

        assertThat(bench.queue().owners()).containsExactly(BOB);
        assertThat(bench.queue().waiters().get(0).holder()).isEqualTo("host/2/b");
    }

    @Test
    void whoIsInItTwiceIsEndedTwice() {
        store(StoredQueue.of(null)
                .and(waiter(BOB, later()))
                .and(waiter(CAROL, later()))
                .and(waiter(BOB, later()))
                .toString());

        bench.release(BOB, 0);

        assertThat(bench.queue().owners()).containsExactly(CAROL);
    }

    // ---- order

    @Test
    void whoAsksAgainKeepsItsPlaceAndItsArrivalAndSaysAnew() {
        queue(BOB, CAROL, DAVE);
        StoredQueue before = bench.queue();

        assertThat(bench.acquire(
                                CAROL,
                                bench.now() + SECOND,
                                plain().waiting(120_000, "lock:wake:new")
                                        .claiming(7)
                                        .reserve(3)
                                        .holder("new"))
                        .get(0))
                .isEqualTo("queued");

        StoredQueue after = bench.queue();
        assertThat(after.owners()).containsExactly(BOB, CAROL, DAVE);
        assertThat(after.waiters().get(0)).isEqualTo(before.waiters().get(0));
        assertThat(after.waiters().get(2)).isEqualTo(before.waiters().get(2));
        StoredQueue.Waiter carol = after.waiters().get(1);
        assertThat(carol)
                .isEqualTo(new StoredQueue.Waiter(
                        CAROL, before.waiters().get(1).arrival(), carol.alive(), "lock:wake:new", 7, 3, "new"));
        assertThat(carol.alive()).isLessThanOrEqualTo(after.latest()).isGreaterThan(before.latest());
        assertThat(redis().pttl(bench.queued)).isGreaterThan(60_000);
    }

    @Test
    void theDeadInTheMiddleLeaveAndTheOthersKeepTheirOrder() {
        store(StoredQueue.of(null)
                .and(waiter(BOB, later()))
                .and(waiter("0".repeat(40), bench.now() - 1))
                .and(waiter(CAROL, later()))
                .and(waiter("1".repeat(40), bench.now() - 1))
                .toString());

        queue(DAVE);

        assertThat(bench.queue().owners()).containsExactly(BOB, CAROL, DAVE);
        assertThat(bench.queue().soonest())
                .as("the next to count as dead, so that no script looks before")
                .isEqualTo(bench.queue().waiters().stream()
                        .mapToLong(StoredQueue.Waiter::alive)
                        .min()
                        .orElseThrow());
    }

    @Test
    void atMost64DeadLeaveInOneStep() {
        StoredQueue queue = StoredQueue.of(null).and(waiter(BOB, later()));
        for (int i = 0; i < 70; i++) {
            queue = queue.and(waiter(String.format("%040x", i), bench.now() - 1));
        }
        store(queue.toString());

        queue(CAROL);
        assertThat(bench.queue().owners()).hasSize(1 + 6 + 1).startsWith(BOB).endsWith(CAROL);
        queue(CAROL);
        assertThat(bench.queue().owners()).containsExactly(BOB, CAROL);
    }

    /**
     * After any requests: no waiter is in the queue twice, the remaining waiters keep their order, and its two numbers
     * are bounds.
     */
    @Test
    void aWalkOfRequestsLeavesAQueue() {
        Random random = new Random(7);
        List<String> owners =
                IntStream.range(0, 6).mapToObj(i -> ("" + i).repeat(40)).toList();
        for (int step = 0; step < 3_000; step++) {
            List<String> before = bench.queue().owners();
            String owner = owners.get(random.nextInt(owners.size()));
            switch (random.nextInt(8)) {
                case 0, 1, 2, 3 -> {
                    ScriptBench.Proposal proposal = plain().waiting(
                                    random.nextInt(5) == 0 ? 1 : 60_000, random.nextInt(4) == 0 ? DEAF : HEARD)
                            .claiming(random.nextInt(3) == 0 ? 0 : CLAIM);
                    bench.acquire(owner, Math.max(bench.now(), bench.storedFence() + 1), proposal);
                }
                case 4 -> bench.acquire(owner, Math.max(bench.now(), bench.storedFence() + 1));
                case 5 -> bench.forceRelease("");
                default -> bench.release(owner, 0);
            }
            String text = redis().get(bench.queued);
            StoredQueue queue = StoredQueue.of(text);
            assertThat(text == null || !queue.waiters().isEmpty()).as(text).isTrue();
            assertThat(new HashSet<>(queue.owners())).hasSameSizeAs(queue.owners());
            for (StoredQueue.Waiter waiter : queue.waiters()) {
                assertThat(waiter.alive()).isBetween(queue.soonest(), queue.latest());
            }
            List<String> stayed = new ArrayList<>(before);
            stayed.retainAll(queue.owners());
            stayed.remove(owner);
            List<String> found = new ArrayList<>(queue.owners());
            found.retainAll(before);
            found.remove(owner);
            assertThat(found).isEqualTo(stayed);
        }
    }

    /** A new waiter is written at the end, and a waiter that retries over its own place, with one command each. */
    @Test
    void whoJoinsOrAsksAgainDoesNotWriteItAnew() {
        queue(BOB, CAROL, DAVE);
        redis().configResetstat();

        queue("e".repeat(40), CAROL, BOB);

        assertThat(bench.queue().owners()).containsExactly(BOB, CAROL, DAVE, "e".repeat(40));
        assertThat(bench.queue().latest()).isGreaterThan(later());
        assertThat(redis().info("commandstats"))
                .contains("cmdstat_append:calls=1,", "cmdstat_setrange:calls=2,")
                .doesNotContain("cmdstat_set:", "cmdstat_pexpire:");
        bench.release(CAROL, 0);
        assertThat(bench.queue().owners()).containsExactly(BOB, DAVE, "e".repeat(40));
    }

    /** A client in another language writes no leading zeros. */
    @Test
    void aShorterHeadIsReplaced() {
        queue(BOB);
        String entry = redis().get(bench.queued).split("\n", 2)[1];
        store("2 5 " + later() + " 0\n" + entry);

        queue(BOB, CAROL, BOB);

        assertThat(bench.queue().owners()).containsExactly(BOB, CAROL);
        assertThat(bench.queue().soonest()).isGreaterThan(5);
    }

    /** Otherwise each request would search for dead waiters. */
    @Test
    void aBoundThatHasPassedIsMoved() {
        queue(BOB);
        String entry = redis().get(bench.queued).split("\n", 2)[1];
        store("2 5 " + (later() + 60 * SECOND) + " 0\n" + entry);

        queue(BOB);

        assertThat(bench.queue().soonest()).isEqualTo(Long.parseLong(entry.split(" ", -1)[2]));
    }

    // ---- keys that are not queues

    @Test
    void aQueueThatWasCutIsServedUpToThere() {
        queue(BOB, CAROL, DAVE);
        String text = redis().get(bench.queued);
        store(text.substring(0, text.length() - 40));

        bench.release(ALICE, token);
        assertThat(redis().get(bench.lock)).startsWith(BOB);
        bench.release(BOB, 0);
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        bench.release(CAROL, 0);

        assertThat(redis().exists(bench.lock, bench.queued)).isZero();
    }

    @Test
    void aQueueWithoutItsHeadIsBrokenAndIsNotTouched() {
        queue(BOB, CAROL);
        String whole = redis().get(bench.queued);
        for (String text : List.of(
                whole.substring(whole.indexOf('\n') + 1),
                whole.substring(whole.indexOf('\n')),
                "2 1" + whole.substring(whole.indexOf('\n')),
                "2 1 1" + whole.substring(whole.indexOf('\n')),
                "2 1 1 2" + whole.substring(whole.indexOf('\n')),
                "2 12345678901234567 1 0" + whole.substring(whole.indexOf('\n')),
                "2",
                "",
                "theirs")) {
            store(text);
            List<Object> waits = bench.acquire(DAVE, bench.now() + SECOND, plain().waiting(5_000, HEARD));
            assertThat(waits).as(text).startsWith("broken").endsWith(bench.queued, "string");
            assertThat(bench.acquire(DAVE, bench.now() + SECOND)).startsWith("broken");
            assertThat(bench.release(DAVE, 0)).containsExactly("not-ours");
            assertThat(redis().get(bench.queued)).isEqualTo(text);
        }
    }

    @Test
    void aQueueOfAnotherVersionIsToldAndIsNotTouched() {
        for (String text : List.of("1", "3", "3 x", "17\n" + BOB)) {
            String theirs = text.split("[ \n]", -1)[0];
            store(text);
            List<Object> waits = bench.acquire(DAVE, bench.now() + SECOND, plain().waiting(5_000, HEARD));
            assertThat(waits).startsWith("version").endsWith(bench.queued, theirs, "2");
            redis().del(bench.lock);
            assertThat(bench.acquire(DAVE, bench.now() + SECOND)).startsWith("version");
            assertThat(redis().exists(bench.lock)).as("not taken").isZero();
            token = bench.now();
            redis().del(bench.queued);
            assertThat(bench.acquire(ALICE, token)).startsWith("yes");
            store(text);
            assertThat(redis().get(bench.queued)).isEqualTo(text);
        }
    }

    @Test
    void whoHoldsConfirmsAndReleasesBesideAQueueOfAnotherVersion() {
        store("1");

        assertThat(bench.acquire(ALICE, token + 1)).startsWith("yes");
        assertThat(bench.release(ALICE, token + 1)).containsExactly("released");

        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(redis().get(bench.queued)).isEqualTo("1");
        bench.acquire(ALICE, bench.now());
        redis().set(bench.lock, "theirs");
        assertThat(bench.forceRelease("")).containsExactly("removed");
        assertThat(redis().get(bench.queued)).isEqualTo("1");
    }

    @Test
    void aKeyOfAnotherTypeIsNoQueueAndIsNotTouched() {
        redis().lpush(bench.queued, "x");

        assertThat(bench.acquire(BOB, bench.now() + SECOND)).startsWith("held");
        assertThat(bench.acquire(BOB, bench.now() + SECOND, plain().waiting(5_000, HEARD)))
                .startsWith("broken")
                .endsWith(bench.queued, "list");
        assertThat(bench.release(ALICE, token)).containsExactly("released");
        assertThat(bench.acquire(BOB, bench.now() + SECOND)).startsWith("yes");
        assertThat(redis().llen(bench.queued)).isOne();
    }

    @Test
    void aStrangersLockOfAnotherTypeIsNeitherHandedOverNorTold() {
        for (long claim : List.of(0L, CLAIM)) {
            redis().del(bench.lock, bench.queued);
            bench.acquire(ALICE, bench.storedFence() + SECOND);
            bench.acquire(
                    BOB, bench.storedFence() + 1, plain().waiting(60_000, HEARD).claiming(claim));
            redis().del(bench.lock);
            redis().lpush(bench.lock, "x");
            redis().configResetstat();

            List<Object> carol = bench.acquire(
                    CAROL,
                    bench.storedFence() + 1,
                    plain().waiting(60_000, HEARD).claiming(claim));
            assertThat(carol.get(0)).isEqualTo("queued");
            assertThat(carol.subList(2, 4)).containsExactly("foreign", "list");
            assertThat(bench.acquire(BOB, bench.storedFence() + 1)).startsWith("held");
            bench.release(CAROL, 0);

            assertThat(redis().llen(bench.lock)).isOne();
            assertThat(bench.queue().owners()).containsExactly(BOB);
            assertThat(redis().info("commandstats")).doesNotContain("cmdstat_publish");
        }
    }
}
