package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of renewal by quorum: the start of the validity, the loss of the lock, and the repaired nodes, in every order
 * and in random walks.
 */
@Tag("quick")
final class QuorumRenewalTest {

    private static final RenewReply.Item NOT_OURS = new RenewReply.NotOurs();
    private static final RenewReply.Item RENEWED = new RenewReply.Renewed(100);
    private static final NodeReply YES = new NodeReply.Yes(new Incarnation("life"), 0);

    private static final NodeReply STALE = new NodeReply.Stale(7, new Incarnation("life"), 0);
    private static final long VALIDITY = 1_000;

    private static QuorumRenewal held(int n, long sentAtNanos) {
        List<String> names = new ArrayList<>();
        for (int node = 0; node < n; node++) {
            names.add("n" + node);
        }
        QuorumRenewal renewal = new QuorumRenewal(names);
        renewal.granted(VALIDITY);
        for (int node = 0; node < n; node++) {
            renewal.confirm(node, sentAtNanos);
        }
        return renewal;
    }

    @Test
    void everyOrderOfAnswers() {
        for (int n = 1; n <= 5; n++) {
            for (int code = 0; code < Math.pow(3, n); code++) {
                List<Integer> order = new ArrayList<>();
                permute(n, code, order);
            }
        }
    }

    private void permute(int n, int code, List<Integer> order) {
        if (order.size() == n) {
            play(n, code, order);
            return;
        }
        for (int node = 0; node < n; node++) {
            if (!order.contains(node)) {
                order.add(node);
                permute(n, code, order);
                order.remove(order.size() - 1);
            }
        }
    }

    private static RenewReply.Item reply(int code, int node) {
        return switch (code / (int) Math.pow(3, node) % 3) {
            case 0 -> new RenewReply.Renewed(100);
            case 1 -> NOT_OURS;
            default -> new RenewReply.Failed(new StoreUnavailableException("no answer", null));
        };
    }

    private static void play(int n, int code, List<Integer> order) {
        QuorumRenewal renewal = held(n, 10);
        renewal.begin(1);
        int quorum = n / 2 + 1;
        int yes = 0;
        int gone = 0;
        int left = n;
        QuorumRenewal.Verdict verdict = null;
        List<Integer> repaired = new ArrayList<>();
        for (int node : order) {
            RenewReply.Item reply = reply(code, node);
            yes += reply instanceof RenewReply.Renewed ? 1 : 0;
            gone += reply instanceof RenewReply.NotOurs ? 1 : 0;
            left--;
            for (QuorumRenewal.Action action : renewal.answered(node, 1, reply, 0)) {
                if (action instanceof QuorumRenewal.Finish finish) {
                    assertThat(verdict).isNull();
                    verdict = finish.verdict();
                    assertThat(verdict)
                            .isEqualTo(
                                    yes >= quorum
                                            ? QuorumRenewal.Verdict.KEPT
                                            : n - gone < quorum
                                                    ? QuorumRenewal.Verdict.LOST
                                                    : QuorumRenewal.Verdict.UNKNOWN);
                } else {
                    assertThat(verdict).isEqualTo(QuorumRenewal.Verdict.KEPT);
                    repaired.add(((QuorumRenewal.Repair) action).node());
                }
            }
            boolean impossible = yes + left < quorum || n - gone < quorum;
            assertThat(verdict != null).isEqualTo(yes >= quorum || impossible);
        }
        if (verdict == QuorumRenewal.Verdict.KEPT) {
            assertThat(renewal.keptFromNanos()).isEqualTo(100);
            assertThat(repaired).doesNotHaveDuplicates().hasSize(gone);
        } else {
            assertThat(repaired).isEmpty();
        }
    }

    /** A repair counts from its own sending, and a lease that has ended is not repaired. */
    @Test
    void repairsCountFromTheirOwnSending() {
        QuorumRenewal renewal = held(3, 10);
        renewal.begin(1);
        renewal.answered(0, 1, NOT_OURS, 0);
        renewal.answered(1, 1, new RenewReply.Renewed(100), 0);
        assertThat(renewal.answered(2, 1, new RenewReply.Renewed(100), 0))
                .containsExactly(new QuorumRenewal.Finish(QuorumRenewal.Verdict.KEPT), new QuorumRenewal.Repair(0));
        assertThat(renewal.repaired(0, 120, YES, 0)).isEmpty();
        renewal.begin(2);
        renewal.answered(1, 2, new RenewReply.Renewed(200), 0);
        // The second latest of 120, 200 and 100.
        assertThat(renewal.keptFromNanos()).isEqualTo(120);
        renewal.end();
        assertThat(renewal.answered(0, 2, NOT_OURS, 0)).isEmpty();
    }

    /** In any order of events, the validity never begins later than the confirmations of a quorum. */
    @Test
    void randomWalksNeverCountTooMuch() {
        SplittableRandom random = new SplittableRandom(42);
        for (int walk = 0; walk < 20_000; walk++) {
            int n = 1 + random.nextInt(5);
            QuorumRenewal renewal = held(n, 0);
            long[] latest = new long[n];
            long round = 0;
            for (int step = 1; step < 30; step++) {
                int node = random.nextInt(n);
                switch (random.nextInt(4)) {
                    case 0 -> renewal.begin(++round);
                    case 1 -> {
                        renewal.answered(node, random.nextLong(round + 1), new RenewReply.Renewed(step), 0);
                        latest[node] = step;
                    }
                    case 2 -> renewal.answered(node, round, NOT_OURS, 0);
                    default -> {
                        long sent = random.nextInt(step + 1);
                        renewal.repaired(node, sent, YES, 0);
                        latest[node] = Math.max(latest[node], sent);
                    }
                }
                long from = renewal.keptFromNanos();
                long confirming =
                        java.util.Arrays.stream(latest).filter(at -> at >= from).count();
                assertThat(confirming).isGreaterThanOrEqualTo(n / 2 + 1);
            }
        }
    }

    @Test
    void itIsKeptFromTheQuorumThConfirmation() {
        QuorumRenewal renewal = new QuorumRenewal(List.of("a", "b", "c"));
        renewal.confirm(0, 10);
        assertThatThrownBy(renewal::keptFromNanos)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("only 1 of 3 nodes");
        renewal.confirm(1, 20);
        assertThat(renewal.keptFromNanos()).isEqualTo(10);
    }

    @Test
    void aConfirmationThatWasSentBeforeAnotherTakesNothingBack() {
        QuorumRenewal renewal = held(1, 100);
        renewal.confirm(0, 50);
        assertThat(renewal.keptFromNanos()).isEqualTo(100);
    }

    @Test
    void eachRenewalIsJudgedByItsOwnAnswers() {
        QuorumRenewal renewal = held(3, 10);
        renewal.begin(1);
        for (int node = 0; node < 3; node++) {
            renewal.answered(node, 1, RENEWED, 0);
        }
        renewal.begin(2);
        renewal.answered(0, 2, NOT_OURS, 0);
        assertThat(renewal.answered(1, 2, NOT_OURS, 0))
                .containsExactly(new QuorumRenewal.Finish(QuorumRenewal.Verdict.LOST));
    }

    @Test
    void whoIsLateInThisRenewalIsWaitedForNoLonger() {
        QuorumRenewal renewal = held(3, 10);
        renewal.begin(2);
        assertThat(renewal.answered(0, 2, RENEWED, 0)).isEmpty();
        assertThat(renewal.late(1, 0)).as("another renewal").isEmpty();
        assertThat(renewal.late(2, 0)).containsExactly(new QuorumRenewal.Finish(QuorumRenewal.Verdict.UNKNOWN));
        assertThat(renewal.late(2, 0)).as("it is over").isEmpty();
    }

    @Test
    void eachNodesAnswerIsToldUnderItsName() {
        QuorumRenewal renewal = held(3, 10);
        renewal.begin(1);
        renewal.answered(0, 1, RENEWED, 0);
        renewal.answered(1, 1, NOT_OURS, 0);
        assertThat(renewal.votes())
                .containsExactly(
                        new NodeVote("n0", NodeVote.Answer.GRANTED, ""),
                        new NodeVote("n1", NodeVote.Answer.REFUSED, "does not hold the lock for this lease"),
                        new NodeVote("n2", NodeVote.Answer.FAILED, "has not answered in time"));
    }

    /** A key that was removed at a node exists again after a repair that was sent at the same moment or later. */
    @Test
    void aRepairCountsIfItWasSentSinceTheNews() {
        for (long sentAtNanos : new long[] {49, 50, 51}) {
            QuorumRenewal renewal = held(3, 10);
            assertThat(renewal.taken(0, 50)).isFalse();
            renewal.repaired(0, sentAtNanos, YES, 0);
            assertThat(renewal.taken(1, 60)).as("sent at %d", sentAtNanos).isEqualTo(sentAtNanos < 50);
        }
    }

    /** The first answer of a node counts, and only in its own round. */
    @Test
    void aNodeAnswersOnce() {
        QuorumRenewal renewal = held(3, 10);
        renewal.begin(2);
        assertThat(renewal.answered(0, 2, NOT_OURS, 0)).isEmpty();
        assertThat(renewal.answered(0, 2, RENEWED, 0)).isEmpty();
        assertThat(renewal.answered(1, 1, NOT_OURS, 0)).isEmpty();
        assertThat(renewal.answered(1, 2, NOT_OURS, 0))
                .containsExactly(new QuorumRenewal.Finish(QuorumRenewal.Verdict.LOST));
    }

    private static List<QuorumRenewal.Action> keptBySecondAndThird(QuorumRenewal renewal, long round, long nowNanos) {
        renewal.begin(round);
        renewal.answered(0, round, NOT_OURS, nowNanos);
        renewal.answered(1, round, RENEWED, nowNanos);
        return renewal.answered(2, round, RENEWED, nowNanos);
    }

    @Test
    void aRepairThatIsOvertakenIsProposedThreeTimesAndAgainAfterTheNextRenewal() {
        QuorumRenewal renewal = held(3, 10);
        QuorumRenewal.Action repair = new QuorumRenewal.Repair(0);
        for (long round = 1; round <= 2; round++) {
            assertThat(keptBySecondAndThird(renewal, round, 200)).contains(repair);
            assertThat(renewal.repaired(0, 200, STALE, 200)).containsExactly(repair);
            assertThat(keptBySecondAndThird(renewal, 10 * round, 200))
                    .as("it is under way")
                    .doesNotContain(repair);
            assertThat(renewal.repaired(0, 200, STALE, 200)).containsExactly(repair);
            assertThat(renewal.repaired(0, 200, STALE, 200)).isEmpty();
            assertThat(renewal.repaired(0, 200, STALE, 200))
                    .as("none is under way")
                    .isEmpty();
        }
    }

    /** A lock that a quorum keeps from 100 on is valid below 1,100. */
    @Test
    void aLockIsRepairedWhileItIsValidAndNoLonger() {
        assertThat(keptBySecondAndThird(held(3, 10), 1, 100 + VALIDITY - 1)).hasSize(2);
        assertThat(keptBySecondAndThird(held(3, 10), 1, 100 + VALIDITY)).hasSize(1);
        QuorumRenewal late = held(3, 10);
        keptBySecondAndThird(late, 1, 200);
        assertThat(late.repaired(0, 200, STALE, 100 + VALIDITY)).isEmpty();
        assertThat(keptBySecondAndThird(new QuorumRenewal(List.of("a", "b", "c")), 1, 100))
                .as("it was not granted here")
                .hasSize(1);
    }
}
