package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the script with which a holder puts one waiter before all others. */
@Tag("quick")
class NameSuccessorScriptTest {

    private static final String DAVE = "d".repeat(40);
    private static final String EVE = "e".repeat(40);
    private static final String HEARD = "lock:wake:heard";
    private static final String DEAF = "lock:wake:nobody-listens";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "named:1");
    private StatefulRedisPubSubConnection<String, String> subscriber;
    private long token;

    @BeforeEach
    void hold() {
        subscriber =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        subscriber.sync().subscribe(HEARD);
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

    private static String idOf(String owner) {
        return "host/2/" + owner.charAt(0);
    }

    private void queue(String owner) {
        queue(owner, idOf(owner), HEARD);
    }

    private void queue(String owner, String holderId, String channel) {
        assertThat(bench.acquire(
                                owner,
                                bench.now() + SECOND,
                                plain().waiting(60_000, channel).claiming(4_000).holder(holderId))
                        .get(0))
                .isEqualTo("queued");
    }

    /** The owner token that has the lock once this one has released it. */
    private String nextAfter(String owner, long ballot) {
        assertThat(bench.release(owner, ballot)).first().isEqualTo("released");
        String value = redis().get(bench.lock);
        return value == null ? "" : value.substring(0, 40);
    }

    @Test
    void theNamedWaiterComesFirstOnceAndTheOthersKeepTheirOrder() {
        List.of(BOB, CAROL, DAVE, EVE).forEach(this::queue);
        long soonest = bench.queue().soonest();
        assertThat(bench.nameSuccessor(ALICE, idOf(DAVE))).containsExactly("first");
        assertThat(bench.everybody()).containsExactly(DAVE, BOB, CAROL, EVE);
        assertThat(bench.queue().soonest()).isEqualTo(soonest);
        assertThat(nextAfter(ALICE, token)).isEqualTo(DAVE);
        assertThat(bench.everybody()).containsExactly(BOB, CAROL, EVE);
        // It waits again, and is the last.
        long given = bench.storedFence();
        queue(ALICE);
        assertThat(nextAfter(DAVE, given)).isEqualTo(BOB);
        assertThat(bench.everybody()).containsExactly(CAROL, EVE, ALICE);
    }

    /** A reply is lost and the request repeated; or a copy of it arrives when the lock has another holder. */
    @Test
    void aCopyChangesNothing() {
        List.of(BOB, CAROL, DAVE).forEach(this::queue);
        bench.nameSuccessor(ALICE, idOf(CAROL));
        String before = redis().get(bench.queued);
        assertThat(bench.nameSuccessor(ALICE, idOf(CAROL))).containsExactly("first");
        assertThat(redis().get(bench.queued)).isEqualTo(before);
        assertThat(nextAfter(ALICE, token)).isEqualTo(CAROL);
        queue(ALICE);
        String after = redis().get(bench.queued);
        assertThat(bench.nameSuccessor(ALICE, idOf(DAVE))).containsExactly("not-ours");
        assertThat(redis().get(bench.queued)).isEqualTo(after);
        redis().del(bench.lock);
        assertThat(bench.nameSuccessor(ALICE, idOf(DAVE))).containsExactly("not-ours");
        assertThat(redis().get(bench.queued)).isEqualTo(after);
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void anUnknownWaiterIsReportedAndChangesNothing() {
        assertThat(bench.nameSuccessor(ALICE, idOf(BOB))).containsExactly("not-waiting");
        queue(BOB);
        String before = redis().get(bench.queued);
        assertThat(bench.nameSuccessor(ALICE, "host/2/")).containsExactly("not-waiting");
        assertThat(bench.nameSuccessor(ALICE, "host/2/b ")).containsExactly("not-waiting");
        assertThat(bench.nameSuccessor(ALICE, ".*")).containsExactly("not-waiting");
        assertThat(bench.nameSuccessor(ALICE, "")).containsExactly("not-waiting");
        assertThat(redis().get(bench.queued)).isEqualTo(before);
        assertThat(redis().exists(bench.behind, bench.wanted)).isZero();
    }

    @Test
    void aReaderIsNoSuccessor() {
        queue(BOB);
        bench.readAcquire(
                CAROL,
                bench.now() + SECOND,
                plain().waiting(60_000, HEARD).claiming(4_000).holder(idOf(CAROL)));
        assertThat(bench.nameSuccessor(ALICE, idOf(CAROL))).containsExactly("not-waiting");
        queue(DAVE, idOf(CAROL), HEARD);
        assertThat(bench.nameSuccessor(ALICE, idOf(CAROL))).containsExactly("first");
        assertThat(bench.everybody()).containsExactly(DAVE, BOB, CAROL);
    }

    @Test
    void ofSeveralWithOneIdTheFirstIsMeant() {
        queue(BOB);
        queue(CAROL, "host/2/twice", HEARD);
        queue(DAVE, "host/2/twice", HEARD);
        assertThat(bench.nameSuccessor(ALICE, "host/2/twice")).containsExactly("first");
        assertThat(bench.everybody()).containsExactly(CAROL, BOB, DAVE);
    }

    @Test
    void oneThatLeavesBeforeTheReleaseGivesWayToTheQueue() {
        List.of(BOB, CAROL).forEach(this::queue);
        bench.nameSuccessor(ALICE, idOf(CAROL));
        assertThat(bench.release(CAROL, 0)).containsExactly("not-ours");
        assertThat(nextAfter(ALICE, token)).isEqualTo(BOB);
        assertThat(bench.everybody()).isEmpty();
    }

    /** Its client has gone without a trace: no other waiter is held up. */
    @Test
    void oneWithoutASubscriberIsSkipped() {
        queue(BOB);
        queue(CAROL, idOf(CAROL), DEAF);
        assertThat(bench.nameSuccessor(ALICE, idOf(CAROL))).containsExactly("first");
        assertThat(nextAfter(ALICE, token)).isEqualTo(BOB);
        assertThat(bench.everybody()).isEmpty();
    }

    /** It was dead already: it is found by no request, and one that hears and never answers costs one claim. */
    @Test
    void oneThatDoesNotAnswerCostsOneClaim() throws InterruptedException {
        queue(BOB);
        assertThat(bench.acquire(
                                CAROL,
                                bench.now() + SECOND,
                                plain().waiting(60_000, HEARD).claiming(50).holder(idOf(CAROL)))
                        .get(0))
                .isEqualTo("queued");
        bench.nameSuccessor(ALICE, idOf(CAROL));
        assertThat(nextAfter(ALICE, token)).isEqualTo(CAROL);
        Thread.sleep(100);
        queue(DAVE);
        assertThat(redis().get(bench.lock)).startsWith(BOB);
        assertThat(bench.everybody()).containsExactly(DAVE);
    }

    @Test
    void aDeadWaiterIsNotNamed() throws InterruptedException {
        assertThat(bench.acquire(
                                BOB,
                                bench.now() + SECOND,
                                plain().waiting(40, HEARD).claiming(4_000).holder(idOf(BOB)))
                        .get(0))
                .isEqualTo("queued");
        queue(CAROL);
        Thread.sleep(80);
        assertThat(bench.nameSuccessor(ALICE, idOf(BOB))).containsExactly("not-waiting");
        assertThat(nextAfter(ALICE, token)).isEqualTo(CAROL);
    }

    /** The front holds a few waiters only; the named one stands behind it, and has one place after that. */
    @Test
    void oneFromBehindTheFrontComesFirstAndHasOnePlace() {
        bench.small();
        List<String> waiters = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            waiters.add(String.valueOf((char) ('0' + i)).repeat(40));
        }
        waiters.forEach(this::queue);
        assertThat(redis().zcard(bench.behind)).isPositive();
        String named = waiters.get(7);
        assertThat(redis().hexists(bench.wanted, named)).isTrue();
        assertThat(bench.nameSuccessor(ALICE, idOf(named))).containsExactly("first");
        waiters.remove(named);
        List<String> expected = new ArrayList<>(waiters);
        expected.add(0, named);
        assertThat(bench.everybody()).isEqualTo(expected);
        assertThat(redis().hexists(bench.wanted, named)).isFalse();
        assertThat(redis().zscore(bench.behind, "q" + named)).isNull();
        assertThat(redis().zscore(bench.behind, "a" + named)).isNull();
        // It repeats its request, and keeps the place.
        queue(named);
        assertThat(bench.everybody()).isEqualTo(expected);
        assertThat(nextAfter(ALICE, token)).isEqualTo(named);
        assertThat(nextAfter(named, bench.storedFence())).isEqualTo(waiters.get(0));
    }

    /** The head of the queue says when the first waiter counts as dead. */
    @Test
    void oneFromBehindTheFrontMayBeTheFirstThatCountsAsDead() {
        bench.small();
        for (int i = 0; i < 8; i++) {
            queue(String.valueOf((char) ('0' + i)).repeat(40));
        }
        bench.acquire(
                BOB,
                bench.now() + SECOND,
                plain().waiting(30_000, HEARD).claiming(4_000).holder(idOf(BOB)));
        long alive = Long.parseLong(redis().hget(bench.wanted, BOB).split(" ", 2)[0]);
        assertThat(bench.nameSuccessor(ALICE, idOf(BOB))).containsExactly("first");
        assertThat(bench.queue().soonest()).isEqualTo(alive);
    }

    @Test
    void foreignQueuesAreReportedAndNotTouched() {
        redis().set(bench.queued, "3 1 2 0");
        assertThat(bench.nameSuccessor(ALICE, idOf(BOB))).startsWith("version");
        redis().set(bench.queued, "something");
        assertThat(bench.nameSuccessor(ALICE, idOf(BOB))).startsWith("broken");
        assertThat(redis().get(bench.queued)).isEqualTo("something");
    }
}
