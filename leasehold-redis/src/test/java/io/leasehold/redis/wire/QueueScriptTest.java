package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.StoredQueue;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("quick")
class QueueScriptTest {

    private static final String DEAF = "lock:wake:nobody-listens";
    private static final String HEARD = "lock:wake:b";
    private static final String HEARD_TOO = "lock:wake:c";
    private static final long PLACE = 60_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private final BlockingQueue<String> pushes = new LinkedBlockingQueue<>();
    private StatefulRedisPubSubConnection<String, String> subscriber;
    private long token;

    @BeforeEach
    void listen() {
        subscriber = SERVER.client()
                .connectPubSub(io.lettuce.core.RedisURI.create(SERVER.server().uri()));
        subscriber.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                pushes.add(channel + "|" + message);
            }
        });
        subscriber.sync().subscribe(HEARD, HEARD_TOO);
        token = bench.now();
        bench.acquire(ALICE, token);
    }

    @AfterEach
    void stopListening() {
        subscriber.close();
    }

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private Object ask(String owner, String channel) {
        return bench.acquire(owner, bench.now() + SECOND, plain().waiting(PLACE, channel))
                .get(0);
    }

    private String push() throws InterruptedException {
        return pushes.poll(10, TimeUnit.SECONDS);
    }

    private List<String> order() {
        return bench.everybody();
    }

    @Test
    void waitersQueueInTheOrderOfArrivalAndKeepTheirPlaces() {
        assertThat(ask(BOB, HEARD)).isEqualTo("queued");
        assertThat(ask(CAROL, HEARD_TOO)).isEqualTo("queued");
        assertThat(ask(BOB, HEARD)).isEqualTo("queued");

        assertThat(order()).containsExactly(BOB, CAROL);
        assertThat(redis().pttl(bench.queued)).isBetween(50_000L, PLACE + PLACE / 4);
    }

    @Test
    void whoDoesNotWaitIsNotRemembered() {
        assertThat(bench.acquire(BOB, token + SECOND).get(0)).isEqualTo("held");
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void aReleaseTellsTheFirstWaiterAloneWithoutItsOwnerToken() throws InterruptedException {
        ask(BOB, HEARD);
        ask(CAROL, HEARD_TOO);

        bench.release(ALICE, token);

        String push = push();
        assertThat(push).startsWith(HEARD + "|wake ").endsWith(" " + bench.lock).doesNotContain(BOB);
        assertThat(pushes).isEmpty();
        assertThat(order()).containsExactly(BOB, CAROL);
    }

    @Test
    void nothingIsPublishedWhenNobodyWaits() {
        redis().configResetstat();

        bench.release(ALICE, token);

        assertThat(redis().info("commandstats")).doesNotContain("cmdstat_publish");
    }

    @Test
    void aFreeLockGoesToTheFirstWaiterEvenIfAnotherAsksFirst() throws InterruptedException {
        ask(BOB, HEARD);
        ask(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        push();

        List<Object> carol = bench.acquire(CAROL, bench.now() + SECOND, plain().waiting(PLACE, HEARD_TOO));

        assertThat(carol.get(0)).isEqualTo("queued");
        assertThat(carol.get(2)).isEqualTo("ahead");
        assertThat(push()).as("the first is notified once more").startsWith(HEARD + "|");
        assertThat(ask(BOB, HEARD)).isEqualTo("yes");
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void whoDoesNotWaitDoesNotPassAWaiterThatCanHear() throws InterruptedException {
        ask(BOB, HEARD);
        bench.release(ALICE, token);
        push();

        List<Object> reply = bench.acquire(CAROL, bench.now() + SECOND);

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat(reply.get(2)).isEqualTo("ahead");
        assertThat(order()).containsExactly(BOB);
    }

    @Test
    void waitersThatNobodyListensForKeepNothingFromAnyone() {
        ask(BOB, DEAF);
        redis().del(bench.lock);

        assertThat(bench.acquire(CAROL, bench.now() + SECOND).get(0)).isEqualTo("yes");
        assertThat(order()).isEmpty();
    }

    @Test
    void aReleaseSkipsTheDeafAndTellsTheNext() throws InterruptedException {
        ask(BOB, DEAF);
        ask(CAROL, HEARD_TOO);

        bench.release(ALICE, token);

        assertThat(push()).startsWith(HEARD_TOO + "|");
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void whoIsToldAndDoesNotComeWithinTheWindowLosesItsPlace() throws InterruptedException {
        ask(BOB, HEARD);
        bench.release(ALICE, token, 1);
        push();

        // At least a microsecond has passed since then.
        assertThat(ask(CAROL, HEARD_TOO)).isEqualTo("yes");
        assertThat(order()).isEmpty();
    }

    @Test
    void aToldWaiterThatGivesUpPassesTheNewsOn() throws InterruptedException {
        ask(BOB, HEARD);
        ask(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        push();

        bench.release(BOB, 0);

        assertThat(push()).startsWith(HEARD_TOO + "|");
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void aWaiterThatGivesUpWhileTheLockIsHeldTellsNobody() {
        ask(BOB, HEARD);
        ask(CAROL, HEARD_TOO);
        redis().configResetstat();

        bench.release(BOB, 0);

        assertThat(redis().info("commandstats")).doesNotContain("cmdstat_publish");
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void aPlaceThatIsNotRefreshedEnds() {
        bench.acquire(BOB, bench.now() + SECOND, plain().waiting(1, HEARD));
        long before = bench.now();
        while (bench.now() - before < 2_000) {
            Thread.onSpinWait();
        }

        ask(CAROL, HEARD_TOO);

        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void aGrantRemovesItsOwnPlaceAlsoWhenItNoLongerWaits() {
        ask(BOB, HEARD);
        redis().del(bench.lock);

        assertThat(bench.acquire(BOB, bench.now() + SECOND, plain().on(HEARD)).get(0))
                .isEqualTo("yes");
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void theQueueGoesWithItsLastWaiter() {
        ask(BOB, HEARD);
        assertThat(redis().pttl(bench.queued)).isBetween(50_000L, PLACE + PLACE / 4);
        redis().del(bench.lock);

        ask(BOB, HEARD);

        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void aQueueThatNobodyStandsInIsRemoved() {
        ask(BOB, HEARD);
        bench.release(BOB, 0);
        assertThat(redis().exists(bench.queued)).isZero();
        redis().set(bench.queued, "2 1 1 0");

        bench.release(ALICE, token);

        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void aFullQueueOfDeafWaitersIsSkippedWithinOneCall() {
        for (int i = 0; i < 60; i++) {
            ask(String.format("%040x", i), DEAF);
        }
        bench.release(ALICE, token);

        assertThat(ask(CAROL, HEARD_TOO)).isEqualTo("yes");
    }

    @Test
    void forcedReleaseTellsTheFirstWaiter() throws InterruptedException {
        ask(BOB, HEARD);

        assertThat(bench.forceRelease("")).containsExactly("removed");

        assertThat(push()).startsWith(HEARD + "|");
        assertThat(ask(BOB, HEARD)).isEqualTo("yes");
    }

    private void waitsUntil(String owner, long arrivalMicros, long untilMicros) {
        StoredQueue.Waiter waiter = new StoredQueue.Waiter(owner, arrivalMicros, untilMicros, HEARD, 0, 1, "host/1/x");
        redis().set(bench.queued, bench.queue().and(waiter).toString(), SetArgs.Builder.px(PLACE));
    }

    @Test
    void theQueueLastsAsLongAsTheLongestPlaceInIt() {
        ask(BOB, HEARD);
        bench.acquire(CAROL, bench.now() + SECOND, plain().waiting(1_000, HEARD_TOO));

        assertThat(redis().pttl(bench.queued)).isBetween(40_000L, PLACE + PLACE / 4);
        bench.release(CAROL, 0);
        assertThat(redis().pttl(bench.queued)).isBetween(40_000L, PLACE + PLACE / 4);
    }

    /** By the clock, BOB came first, since the clock went back. */
    @Test
    void whoComesLaterIsBehindAlsoWhenTheClockHasGoneBack() {
        long later = bench.now() + 1_000 * SECOND;
        waitsUntil(CAROL, later, later);

        ask(BOB, HEARD);

        assertThat(order()).containsExactly(CAROL, BOB);
    }

    @Test
    void theDeadLeaveWithTheNextThatJoins() {
        long past = bench.now() - SECOND;
        for (String dead : List.of("0", "1", "2")) {
            waitsUntil(dead.repeat(40), past, past);
        }

        ask(BOB, HEARD);

        assertThat(order()).containsExactly(BOB);
    }

    @Test
    void aHolderThatAsksAgainHasNoPlaceAnyMore() {
        waitsUntil(ALICE, bench.now(), bench.now() + 60 * SECOND);

        assertThat(bench.acquire(ALICE, token + 5).get(0)).isEqualTo("yes");

        assertThat(redis().exists(bench.queued)).isZero();
    }

    /** The request gets an answer, so that its client retries and does not consider the server gone. */
    @Test
    void forLackOfMemoryThereIsNoPlaceAndStillAnAnswer() {
        redis().configSet("maxmemory", "1");
        try {
            List<Object> reply = bench.acquire(BOB, bench.now() + SECOND, plain().waiting(PLACE, HEARD));
            assertThat(reply).startsWith("held").contains("besides");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().exists(bench.queued)).isZero();
    }

    @Test
    void aWakeUpLengthensNoPlace() {
        bench.acquire(BOB, bench.now() + SECOND, plain().waiting(5_000, HEARD));
        StoredQueue before = bench.queue();

        bench.release(ALICE, token, 60 * SECOND);

        assertThat(bench.queue()).isEqualTo(before);
    }

    @Test
    void aWaiterThatIsWokenHasTheWindowAndIsOtherwiseAsBefore() {
        ask(BOB, HEARD);
        ask(CAROL, HEARD_TOO);
        StoredQueue.Waiter before = bench.queue().waiters().get(0);

        bench.release(ALICE, token);

        StoredQueue.Waiter after = bench.queue().waiters().get(0);
        assertThat(after.alive()).isLessThan(before.alive());
        assertThat(after)
                .isEqualTo(new StoredQueue.Waiter(
                        BOB,
                        before.arrival(),
                        after.alive(),
                        before.channel(),
                        before.claim(),
                        before.reserve(),
                        before.holder()));
    }

    /**
     * A broadcast in a Cluster may reach a listener at another node, so the count of listeners at this node proves
     * nothing.
     */
    @Test
    void aWaiterThatIsToldByABroadcastKeepsItsPlace() {
        ask(BOB, "lock:wake:cluster~");
        ask(CAROL, HEARD);

        bench.release(ALICE, token);

        assertThat(order()).containsExactly(BOB, CAROL);
        assertThat(pushes).isEmpty();
    }
}
