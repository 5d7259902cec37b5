package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Walks every order of every kind of answer to the votes on a ticket, and compares each state with the rules without
 * bookkeeping: votes are never undone, and returned only if they are split.
 */
@Tag("full")
final class QuorumRoundTicketsTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private static final long FIRST = 1_000;

    private static NodeReply heldBy(@Nullable String id) {
        return new NodeReply.Held(id == null ? null : new Holder(id, null, OptionalLong.of(7)), false, LIFE, 0);
    }

    private static NodeReply failed(FailureKind kind) {
        return new NodeReply.Failed(kind, new StoreUnavailableException("no answer", null));
    }

    @SuppressWarnings("ImmutableEnumChecker") // replies are records of values
    private enum Kind {
        YES(new NodeReply.Yes(LIFE, 0)),
        FREE(heldBy(null)),
        ONE(heldBy("one")),
        OTHER(heldBy("other")),
        QUARANTINED(new NodeReply.Quarantined(5, LIFE, 0)),
        UNKNOWN(failed(FailureKind.UNKNOWN)),
        PERMANENT(failed(FailureKind.PERMANENT)),
        /** The time limit of the round. */
        LATE(failed(FailureKind.UNKNOWN));

        private final NodeReply reply;

        Kind(NodeReply reply) {
            this.reply = reply;
        }
    }

    private record Step(int node, Kind kind) {}

    private long states;

    @Test
    void threeNodes() {
        walk(3, List.of(Kind.values()), new ArrayList<>());
        System.out.println("votes on tickets at 3 nodes: " + states + " states");
        assertThat(states).isGreaterThan(2_000);
    }

    @Test
    void fiveNodes() {
        walk(5, List.of(Kind.YES, Kind.FREE, Kind.ONE, Kind.OTHER, Kind.UNKNOWN, Kind.LATE), new ArrayList<>());
        System.out.println("votes on tickets at 5 nodes: " + states + " states");
        assertThat(states).isGreaterThan(100_000);
    }

    private void walk(int n, List<Kind> kinds, List<Step> steps) {
        states++;
        check(n, steps);
        Set<Integer> answered = new HashSet<>();
        boolean late = false;
        for (Step step : steps) {
            answered.add(step.node());
            late |= step.kind() == Kind.LATE;
        }
        for (Kind kind : kinds) {
            if (kind == Kind.LATE) {
                if (!late) {
                    then(n, kinds, steps, new Step(-1, kind));
                }
                continue;
            }
            for (int node = 0; node < n; node++) {
                if (!answered.contains(node)) {
                    then(n, kinds, steps, new Step(node, kind));
                }
            }
        }
    }

    private void then(int n, List<Kind> kinds, List<Step> steps, Step next) {
        steps.add(next);
        walk(n, kinds, steps);
        steps.remove(steps.size() - 1);
    }

    private static void check(int n, List<Step> steps) {
        List<String> names = new ArrayList<>();
        for (int node = 0; node < n; node++) {
            names.add("n" + node);
        }
        QuorumRound round = new QuorumRound(QuorumRound.Purpose.RESUME, names, 1_000_000, 1_000);
        round.start(FIRST, 1, new BitSet());
        Kind[] answers = new Kind[n];
        Kind[] all = new Kind[n];
        boolean late = false;
        boolean over = false;
        int left = steps.size();
        for (Step step : steps) {
            late |= step.node() < 0;
            if (step.node() >= 0) {
                all[step.node()] = step.kind();
                answers[step.node()] = over ? answers[step.node()] : step.kind();
            }
            List<QuorumRound.Action> actions = step.node() < 0
                    ? round.late(FIRST)
                    : round.voted(new QuorumRound.Vote(step.node(), FIRST, 1, 1, step.kind().reply, FIRST));
            left--;
            boolean isLast = left == 0;
            RoundVerdict verdict = null;
            boolean returns = false;
            for (QuorumRound.Action action : actions) {
                assertThat(action)
                        .as("%s", steps)
                        .isNotInstanceOfAny(QuorumRound.Undo.class, QuorumRound.Confirm.class);
                verdict = action instanceof QuorumRound.Finish finish ? finish.verdict() : verdict;
                returns |= action instanceof QuorumRound.ReturnVotes;
            }
            if (over) {
                assertThat(actions).as("after the end: %s", steps).isEmpty();
            } else if (isLast) {
                judge(answers, late, verdict, returns, steps.toString());
            }
            over |= verdict != null;
        }
    }

    private static int count(Kind[] answers, Kind kind) {
        int count = 0;
        for (Kind answer : answers) {
            count += answer == kind ? 1 : 0;
        }
        return count;
    }

    private static void judge(
            Kind[] answers, boolean late, @Nullable RoundVerdict verdict, boolean returns, String history) {
        int n = answers.length;
        int quorum = n / 2 + 1;
        int yes = count(answers, Kind.YES);
        int open = count(answers, null);
        int pending = late ? 0 : open;
        int one = count(answers, Kind.ONE);
        int other = count(answers, Kind.OTHER);
        boolean used = n - count(answers, Kind.FREE) < quorum || one >= quorum || other >= quorum;
        boolean permanent = n - count(answers, Kind.PERMANENT) < quorum;
        boolean mayHave = yes + count(answers, Kind.UNKNOWN) + open > 0;
        if (yes >= quorum) {
            assertThat(verdict).as("won: %s", history).isInstanceOf(RoundVerdict.Won.class);
            assertThat(returns).as(history).isFalse();
            return;
        }
        boolean isOver = yes + pending < quorum && (pending == 0 || used);
        assertThat(verdict != null).as("over: %s", history).isEqualTo(isOver);
        if (verdict == null) {
            assertThat(returns).as(history).isFalse();
            return;
        }
        boolean split = !permanent && !used && one + other > 0;
        assertThat(returns).as("returned: %s", history).isEqualTo((split || permanent) && mayHave);
        if (permanent) {
            assertThat(verdict).as(history).isEqualTo(new RoundVerdict.NoQuorum(true));
        } else if (used || split) {
            assertThat(verdict).as(history).isInstanceOf(RoundVerdict.Contended.class);
            assertThat(((RoundVerdict.Contended) verdict).holds()).as(history).isEqualTo(used);
        } else {
            assertThat(verdict).as(history).isInstanceOfAny(RoundVerdict.Refused.class, RoundVerdict.NoQuorum.class);
        }
    }
}
