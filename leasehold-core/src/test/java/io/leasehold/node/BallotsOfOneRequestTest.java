package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the sequence of ballots until a node says yes. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class BallotsOfOneRequestTest {

    private static final Incarnation LIFE = new Incarnation("life");

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private final InMemoryNode rest = new InMemoryNode(runtime);
    private final Deque<NodeReply> answers = new ArrayDeque<>();
    private final List<Ballot> ballots = new ArrayList<>();
    private NodeReply probed = new NodeReply.Stale(0, LIFE, 1_000);

    private int probes;
    private int closes;

    /** Answers ballots from the list, and repeats the last answer. */
    private final LockNode node = (LockNode) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("acquire")) {
                    ballots.add((Ballot) arguments[0]);
                    if (answers.isEmpty()) {
                        return CompletableFuture.failedFuture(new IllegalStateException("made by the test"));
                    }
                    return CompletableFuture.completedFuture(answers.size() > 1 ? answers.poll() : answers.peek());
                }
                if (method.getName().equals("close")) {
                    closes++;
                }
                if (method.getName().equals("probe")) {
                    probes++;
                    return CompletableFuture.completedFuture(probed);
                }
                return method.invoke(rest, arguments);
            });

    private final SingleNodeStore store = new SingleNodeStore(node, runtime);
    private final AcquireRequest request = AcquireRequest.exclusive(
            List.of(LockName.exactly("n")), OwnerToken.draw(runtime), "h", 60_000_000_000L, 60_000_000_000L);

    @AfterEach
    void close() {
        runtime.close();
    }

    private void answer(NodeReply reply) {
        answers.clear();
        answers.add(reply);
    }

    private AcquireReply ask(AcquireRequest asked) {
        return store.acquire(asked).join();
    }

    @Test
    void aStaleBallotIsFollowedByOneAboveTheFloorOfTheSameOwner() {
        answers.add(new NodeReply.Stale(5_000_000_000L, LIFE, 2_000));
        answers.add(new NodeReply.Stale(6_000_000_000L, LIFE, 2_000));
        answers.add(new NodeReply.Yes(LIFE, 2_000));

        AcquireReply reply = ask(request.reserve(8));

        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        assertThat(ballots).hasSize(3);
        assertThat(ballots.get(1).candidate()).isEqualTo(5_000_000_000L + 8);
        assertThat(ballots.get(2).candidate()).isEqualTo(6_000_000_000L + 16);
        assertThat(ballots).allMatch(ballot -> ballot.request().owner().equals(request.owner()));
        assertThat(reply.ballot()).isEqualTo(6_000_000_000L + 16 + 7);
        assertThat(((AcquireReply.Granted) reply).grant().tokens().first()).isEqualTo(6_000_000_000L + 16);
    }

    @Test
    void aNodeThatOvertakesEveryBallotIsARefusal() {
        answers.add(new NodeReply.Stale(7_000_000_000L, LIFE, 2_000));
        AcquireReply reply = ask(request);
        assertThat(reply).isInstanceOf(AcquireReply.Refused.class);
        assertThat(reply.ballot()).isEqualTo(ballots.get(ballots.size() - 1).candidate());
        assertThat(ballots).hasSize(13);
        assertThat(ballots).extracting(Ballot::candidate).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void theLargestTokenSeenIsTheLeastProposed() {
        answers.add(new NodeReply.Yes(LIFE, 2_000));
        ask(request.seenToken(3_000_000L));
        assertThat(ballots.get(0).candidate()).isEqualTo(3_000_001L);
    }

    /** An undo could not stop such a ballot. If the floor really is that far ahead, the node reports it. */
    @Test
    void aTokenSeenFarAheadOfTheClockIsNotProposed() {
        answers.add(new NodeReply.Yes(LIFE, 2_000));
        ask(request.seenToken(8_000_000_000L));
        assertThat(ballots.get(0).candidate()).isLessThan(3_000_000L);
    }

    @Test
    void aNodeThatCannotBeProbedHadNoEffect() {
        probed = new NodeReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("gone", null));
        AcquireReply reply = ask(request);
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) reply).kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(ballots).isEmpty();
    }

    @Test
    void anAbsurdFenceIsAPermanentFailureAndNeverSent() {
        answers.add(new NodeReply.Stale((1L << 53) - 2, LIFE, 2_000));
        AcquireReply reply = ask(request.reserve(64));
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) reply).kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(ballots).hasSize(1);
    }

    @Test
    void aNodeIsProbedOnceAndClosedWithItsStore() {
        answers.add(new NodeReply.Yes(LIFE, 2_000));
        ask(request);
        ask(request);
        assertThat(probes).isEqualTo(1);
        store.close();
        assertThat(closes).isEqualTo(1);
    }

    @Test
    void eachAnswerOfTheNodeIsToldWithTheBallot() {
        answers.add(new NodeReply.Held(null, false, LIFE, 2_000));
        assertThat(ask(request)).isInstanceOf(AcquireReply.Busy.class);
        answer(new NodeReply.Held(null, true, LIFE, 2_000));
        AcquireReply queued = ask(request.reserve(3));
        assertThat(queued).isInstanceOf(AcquireReply.Queued.class);
        assertThat(queued.ballot()).isEqualTo(ballots.get(1).tokens().last());
        answer(new NodeReply.Refused("not now", 7, LIFE, 2_000, true));
        assertThat(ask(request)).isInstanceOfSatisfying(AcquireReply.Refused.class, refused -> {
            assertThat(refused.reason()).isEqualTo("not now");
            assertThat(refused.retryNanos()).isEqualTo(7);
            assertThat(refused.spent()).isTrue();
        });
        answer(new NodeReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("gone", null)));
        assertThat(ask(request))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        answers.clear();
        assertThat(ask(request)).as("an error").isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error()).hasMessageContaining("acquiring [n] at memory: failed: ");
        });
    }

    @Test
    void aProbeThatIsRefusedForGoodIsPermanent() {
        probed = new NodeReply.Failed(FailureKind.PERMANENT, new StoreUnavailableException("no", null));
        assertThat(((AcquireReply.Failed) ask(request)).kind()).isEqualTo(FailureKind.PERMANENT);
    }

    /** The clock of the node was set before its restart. */
    @Test
    void everyAnswerToABallotTellsTheClock() {
        answers.add(new NodeReply.Yes(LIFE, 2_000));
        ask(request);
        answer(new NodeReply.Held(null, false, new Incarnation("another"), 50_000_000));
        ask(request);
        ask(request);
        assertThat(ballots.get(2).candidate()).isGreaterThanOrEqualTo(50_000_000);
        assertThat(probes).isEqualTo(1);
    }
}
