package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.number;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.lettuce.core.RedisURI;
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

/** Tests of the step in which a released lock passes to its next holder. */
@Tag("quick")
class HandOverScriptTest {

    private static final String DEAF = "lock:wake:nobody-listens";
    private static final String HEARD = "lock:wake:b";
    private static final String HEARD_TOO = "lock:wake:c";
    private static final long CLAIM = 4_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private final BlockingQueue<String> pushes = new LinkedBlockingQueue<>();
    private StatefulRedisPubSubConnection<String, String> subscriber;
    private long token;

    @BeforeEach
    void listen() {
        subscriber =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
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

    private List<Object> ask(String owner, String channel, int reserve) {
        return bench.acquire(
                owner,
                bench.now() + SECOND,
                plain().waiting(60_000, channel)
                        .claiming(CLAIM)
                        .reserve(reserve)
                        .holder("host/2/" + owner.charAt(0)));
    }

    private void queue(String owner, String channel) {
        assertThat(ask(owner, channel, 1).get(0)).isEqualTo("queued");
    }

    private HandOver pushTo(String channel) throws InterruptedException {
        String push = pushes.poll(10, TimeUnit.SECONDS);
        assertThat(push).startsWith(channel + "|handed ");
        return Messages.handOver(push.substring(channel.length() + 1), KeyLayout.standard())
                .orElseThrow();
    }

    private List<String> order() {
        return bench.everybody();
    }

    @Test
    void aReleaseGivesTheLockToTheFirstWaiterAndTellsItAlone() throws InterruptedException {
        assertThat(ask(BOB, HEARD, 7).get(0)).isEqualTo("queued");
        queue(CAROL, HEARD_TOO);

        assertThat(bench.release(ALICE, token)).containsExactly("released");

        HandOver handOver = pushTo(HEARD);
        assertThat(pushes).isEmpty();
        assertThat(handOver.attemptId()).isEqualTo(OwnerToken.fromHex(BOB).attemptId());
        assertThat(handOver.name().text()).isEqualTo("order:1");
        assertThat(handOver.tokens().last()).isEqualTo(handOver.tokens().first() + 6);
        assertThat(redis().get(bench.lock))
                .isEqualTo(BOB + ":" + handOver.tokens().first() + ":host/2/b");
        assertThat(redis().pttl(bench.lock)).isBetween(1L, CLAIM + 1);
        assertThat(bench.storedFence()).isEqualTo(handOver.tokens().last());
        assertThat(redis().pttl(bench.fence)).as("the retention").isGreaterThan(50_000);
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void theKeyEndsAClaimAfterTheTimeInThePush() throws InterruptedException {
        queue(BOB, HEARD);
        bench.release(ALICE, token);
        long endMillis = (pushTo(HEARD).serverMicros() + 999) / 1_000 + CLAIM;
        assertThat(redis().pexpiretime(bench.lock)).isEqualTo(endMillis);
    }

    /** The name that a client passes is that in the message; otherwise the script reads it. */
    @Test
    void theMessageNamesTheServerAsTheClientDoes() throws InterruptedException {
        String understands = HEARD + "!";
        subscriber.sync().subscribe(understands);
        queue(BOB, understands);
        bench.releaseNaming(ALICE, token, "0a1b");
        assertThat(pushes.poll(10, TimeUnit.SECONDS)).startsWith(understands + "|handed@0a1b ");

        // The lock ends without a release, and the next request finds the first waiter.
        queue(ALICE, understands);
        redis().del(bench.lock);
        assertThat(bench.acquireNaming(CAROL, bench.now(), HEARD_TOO, "2c3d").get(0))
                .isEqualTo("queued");
        assertThat(pushes.poll(10, TimeUnit.SECONDS)).startsWith(understands + "|handed@2c3d ");
    }

    @Test
    void aClientThatIsNotSureLetsTheScriptReadTheName() throws InterruptedException {
        String understands = HEARD + "!";
        subscriber.sync().subscribe(understands);
        queue(BOB, understands);
        bench.releaseNaming(ALICE, token, "volatile");
        String runId = InfoText.fields(redis().info("server")).get("run_id");
        assertThat(pushes.poll(10, TimeUnit.SECONDS)).startsWith(understands + "|handed@" + runId + " ");
    }

    /** A replica passes a push on, and so does not show whose time is in it. */
    @Test
    void aChannelThatUnderstandsItIsToldWhichServerHandedOver() throws InterruptedException {
        String understands = HEARD + "!";
        subscriber.sync().subscribe(understands);
        queue(BOB, understands);
        bench.release(ALICE, token);

        String push = pushes.poll(10, TimeUnit.SECONDS);
        String runId = redis().info("server").replaceAll("(?s).*run_id:(\\w+).*", "$1");
        assertThat(push).startsWith(understands + "|handed@" + runId + " ");
        String message = push.substring(understands.length() + 1);
        assertThat(Messages.writer(message)).contains(new Incarnation(runId));
        assertThat(Messages.handOver(message, KeyLayout.standard()))
                .hasValueSatisfying(handOver -> assertThat(handOver.attemptId())
                        .isEqualTo(OwnerToken.fromHex(BOB).attemptId()));
    }

    @Test
    void whereTheServerDoesNotTellItsRunIdTheWaiterIsToldWithoutIt() throws InterruptedException {
        String understands = HEARD + "!";
        subscriber.sync().subscribe(understands);
        queue(BOB, understands);
        String user = redis().aclWhoami();
        SERVER.server().call("ACL", "SETUSER", user, "-info");
        try {
            assertThat(bench.release(ALICE, token)).containsExactly("released");
        } finally {
            SERVER.server().call("ACL", "SETUSER", user, "+info");
        }

        assertThat(pushTo(understands).attemptId())
                .isEqualTo(OwnerToken.fromHex(BOB).attemptId());
    }

    @Test
    void thePushNamesNoOwnerToken() throws InterruptedException {
        queue(BOB, HEARD);

        bench.release(ALICE, token);

        assertThat(pushes.poll(10, TimeUnit.SECONDS)).doesNotContain(BOB.substring(0, 20));
    }

    @Test
    void theNewHolderFindsItsOwnLockWhenItAsksAndNobodyElseDoes() throws InterruptedException {
        queue(BOB, HEARD);
        queue(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        pushTo(HEARD);

        List<Object> carol = ask(CAROL, HEARD_TOO, 1);
        assertThat(carol.subList(0, 1)).containsExactly("queued");
        assertThat((String) carol.get(3)).endsWith(":host/2/b");
        assertThat(number(carol, 4)).isBetween(1L, CLAIM + 1);
        assertThat(ask(BOB, HEARD, 1).get(0)).isEqualTo("yes");
        assertThat(redis().pttl(bench.lock)).isGreaterThan(CLAIM);
        assertThat(pushes).isEmpty();
    }

    @Test
    void theFenceIsRaisedForTheReleaserFirst() throws InterruptedException {
        queue(BOB, HEARD);
        long ballot = bench.now() + 5 * SECOND;

        bench.release(ALICE, ballot);

        assertThat(pushTo(HEARD).tokens().first()).isEqualTo(ballot + 1);
        assertThat(bench.acquire(ALICE, ballot).get(0)).isEqualTo("stale");
    }

    /** This makes the tokens of a lock rise above a fence that was lost. */
    @Test
    void aTokenThatIsHandedOverIsNotBelowTheClock() throws InterruptedException {
        queue(BOB, HEARD);
        redis().del(bench.fence);
        long before = bench.now();

        bench.release(ALICE, 0);

        assertThat(pushTo(HEARD).tokens().first()).isGreaterThanOrEqualTo(before);
    }

    @Test
    void aReplayedReleaseDoesNotActTwice() throws InterruptedException {
        queue(BOB, HEARD);
        queue(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        pushTo(HEARD);
        String value = redis().get(bench.lock);

        assertThat(bench.release(ALICE, token)).containsExactly("not-ours");

        assertThat(redis().get(bench.lock)).isEqualTo(value);
        assertThat(pushes).isEmpty();
    }

    @Test
    void whomNobodyListensForIsOverwrittenByTheNext() throws InterruptedException {
        queue(BOB, DEAF);
        queue(CAROL, HEARD_TOO);
        long fence = bench.storedFence();

        bench.release(ALICE, token);

        HandOver handOver = pushTo(HEARD_TOO);
        assertThat(handOver.tokens().first()).isGreaterThan(fence);
        assertThat(redis().get(bench.lock)).startsWith(CAROL + ":");
        assertThat(order()).isEmpty();
    }

    @Test
    void ifNobodyCanBeReachedTheLockIsFree() {
        queue(BOB, DEAF);
        long fence = bench.storedFence();

        assertThat(bench.release(ALICE, token)).containsExactly("released");

        assertThat(redis().exists(bench.lock, bench.queued)).isZero();
        assertThat(bench.storedFence()).as("nothing was reserved").isEqualTo(fence);
    }

    @Test
    void atMost64AreSkippedInOneStep() throws InterruptedException {
        for (int i = 0; i < 70; i++) {
            queue(String.format("%040x", i), DEAF);
        }
        queue(BOB, HEARD);

        bench.release(ALICE, token);

        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(order()).hasSize(7);
        assertThat(ask(CAROL, HEARD_TOO, 1).get(0))
                .as("the next attempt continues")
                .isEqualTo("queued");
        pushTo(HEARD);
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
    }

    @Test
    void whoGivesUpAfterTheHandOverPassesTheLockOn() throws InterruptedException {
        queue(BOB, HEARD);
        queue(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        HandOver toBob = pushTo(HEARD);

        assertThat(bench.release(BOB, toBob.tokens().last())).containsExactly("released");

        HandOver toCarol = pushTo(HEARD_TOO);
        assertThat(toCarol.tokens().first()).isGreaterThan(toBob.tokens().last());
        assertThat(redis().get(bench.lock)).startsWith(CAROL + ":");
    }

    @Test
    void whoGivesUpWhileItWaitsIsNeverHandedAnything() throws InterruptedException {
        queue(BOB, HEARD);
        queue(CAROL, HEARD_TOO);
        long recheck = bench.now() + 2 * SECOND;
        bench.release(BOB, recheck);

        assertThat(bench.acquire(BOB, recheck, plain().waiting(60_000, HEARD).claiming(CLAIM))
                        .get(0))
                .as("a late copy of a recheck does not return to the queue")
                .isEqualTo("stale");
        bench.release(ALICE, token);

        pushTo(HEARD_TOO);
        assertThat(pushes).isEmpty();
    }

    @Test
    void aSilentNewHolderCostsItsClaimAndNoMore() throws InterruptedException {
        assertThat(bench.acquire(
                                BOB,
                                bench.now() + SECOND,
                                plain().waiting(60_000, HEARD).claiming(1))
                        .get(0))
                .isEqualTo("queued");
        queue(CAROL, HEARD_TOO);
        bench.release(ALICE, token);
        pushTo(HEARD);
        while (redis().exists(bench.lock) == 1) {
            Thread.onSpinWait();
        }

        assertThat(ask(CAROL, HEARD_TOO, 1).get(0)).isEqualTo("yes");
    }

    @Test
    void aLockThatEndedByItselfIsHandedToTheFirstByWhoeverAsksNext() throws InterruptedException {
        queue(BOB, HEARD);
        redis().del(bench.lock);

        List<Object> reply = bench.acquire(CAROL, bench.now() + 2 * SECOND);

        assertThat(reply.get(0)).isEqualTo("held");
        assertThat((String) reply.get(3)).endsWith(":host/2/b");
        pushTo(HEARD);
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
    }

    @Test
    void theFirstWaiterTakesAFreeLockByItself() {
        queue(BOB, HEARD);
        queue(CAROL, HEARD_TOO);
        redis().del(bench.lock);

        assertThat(ask(BOB, HEARD, 1).get(0)).isEqualTo("yes");

        assertThat(pushes).isEmpty();
        assertThat(order()).containsExactly(CAROL);
    }

    @Test
    void deadWaitersThatAreSkippedRaiseNoFenceOverTheirFinder() {
        assertThat(ask(BOB, DEAF, 64).get(0)).isEqualTo("queued");
        redis().del(bench.lock);
        long candidate = bench.now() + SECOND;

        assertThat(bench.acquire(CAROL, candidate).get(0)).isEqualTo("yes");

        assertThat(bench.storedFence()).isEqualTo(candidate);
    }

    @Test
    void aStrangersLockIsNotOverwritten() {
        queue(BOB, HEARD);
        redis().set(bench.lock, "theirs");

        assertThat(bench.release(ALICE, token)).containsExactly("not-ours");

        assertThat(redis().get(bench.lock)).isEqualTo("theirs");
        assertThat(pushes).isEmpty();
    }

    @Test
    void aFenceThatIsNotOursHandsNothingOver() {
        queue(BOB, HEARD);
        redis().del(bench.fence);
        redis().lpush(bench.fence, "x");

        assertThat(bench.release(ALICE, token)).containsExactly("released");

        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(redis().type(bench.fence)).isEqualTo("list");
        assertThat(ask(CAROL, HEARD_TOO, 1).get(0)).isEqualTo("broken");
    }

    @Test
    void aFenceAtTheEndOfTheNumbersHandsNothingOver() {
        queue(BOB, HEARD);
        redis().set(bench.fence, Long.toString((1L << 53) - 1));

        bench.release(ALICE, token);

        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(order()).as("it keeps its place").containsExactly(BOB);
    }

    @Test
    void lackOfMemoryRefusesNoHandOverOfARelease() throws InterruptedException {
        queue(BOB, HEARD);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(bench.release(ALICE, token)).containsExactly("released");
            pushTo(HEARD);
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
        assertThat(bench.storedFence()).isGreaterThan(token);
    }

    @Test
    void lackOfMemoryRefusesNoHandOverOfAnAcquire() throws InterruptedException {
        queue(BOB, HEARD);
        redis().del(bench.lock);
        redis().configSet("maxmemory", "1");
        try {
            List<Object> reply = ask(CAROL, HEARD_TOO, 1);
            assertThat((String) reply.get(3)).as("the first waiter holds it").endsWith(":host/2/b");
            pushTo(HEARD);
            assertThat(ask(BOB, HEARD, 1).get(0)).isEqualTo("yes");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
    }

    @Test
    void aForcedReleaseHandsOverAboveTheRaisedFence() throws InterruptedException {
        queue(BOB, HEARD);
        long before = bench.now();

        assertThat(bench.forceRelease("")).containsExactly("removed");

        assertThat(pushTo(HEARD).tokens().first()).isGreaterThan(before);
        assertThat(redis().get(bench.lock)).startsWith(BOB + ":");
        assertThat(bench.release(ALICE, token)).containsExactly("not-ours");
    }
}
