package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.FailureKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests what the answers to an export prove, for every combination of two answers of each of three nodes. */
@Tag("quick")
final class ExportTallyTest {

    private static final long CLAIM = 1_000_000_000L;
    private static final ExportReply EXPORTED = new ExportReply.Exported();
    private static final ExportReply NOT_OURS = new ExportReply.NotOurs();

    private static ExportReply failed(FailureKind kind) {
        return new ExportReply.Failed(kind, new StoreUnavailableException("made by the test", null));
    }

    private static final List<ExportReply> ANSWERS = List.of(
            EXPORTED,
            NOT_OURS,
            failed(FailureKind.UNKNOWN),
            failed(FailureKind.NO_EFFECT),
            failed(FailureKind.PERMANENT));

    @Test
    void everyCombinationOfAnswers() {
        int states = 0;
        for (List<ExportReply> first : lists(3)) {
            for (List<ExportReply> second : lists(3)) {
                ExportTally tally = new ExportTally(3, CLAIM);
                int kept = 0;
                int gone = 0;
                int open = 0;
                for (int node = 0; node < 3; node++) {
                    tally.sending(node, 0);
                    ExportReply last = first.get(node);
                    boolean again = tally.answered(node, last);
                    assertThat(again).isEqualTo(isRepeated(last));
                    boolean isDoubtful = isUnknown(last);
                    if (again) {
                        tally.sending(node, 10);
                        last = second.get(node);
                        again = tally.answered(node, last);
                        isDoubtful |= isUnknown(last);
                    }
                    kept += last == EXPORTED ? 1 : 0;
                    gone += last == NOT_OURS && !isDoubtful ? 1 : 0;
                    open += again ? 1 : 0;
                }
                Optional<ExportTally.Verdict> expected = kept >= 2
                        ? Optional.of(ExportTally.Verdict.KEPT)
                        : gone >= 2
                                ? Optional.of(ExportTally.Verdict.LOST)
                                : kept + open < 2 ? Optional.of(ExportTally.Verdict.UNCONFIRMED) : Optional.empty();
                assertThat(tally.verdict(20)).as("%s, then %s", first, second).isEqualTo(expected);
                assertThat(tally.isOver()).isEqualTo(open == 0);
                states++;
            }
        }
        assertThat(states).isEqualTo(125 * 125);
    }

    private static boolean isUnknown(ExportReply reply) {
        return reply instanceof ExportReply.Failed failed && failed.kind() == FailureKind.UNKNOWN;
    }

    private static boolean isRepeated(ExportReply reply) {
        return reply instanceof ExportReply.Failed failed && failed.kind() != FailureKind.PERMANENT;
    }

    private static List<List<ExportReply>> lists(int length) {
        List<List<ExportReply>> all = List.of(List.of());
        for (int i = 0; i < length; i++) {
            List<List<ExportReply>> longer = new ArrayList<>();
            for (List<ExportReply> one : all) {
                for (ExportReply answer : ANSWERS) {
                    List<ExportReply> next = new ArrayList<>(one);
                    next.add(answer);
                    longer.add(next);
                }
            }
            all = longer;
        }
        return all;
    }

    /** The claim of a node begins with the first copy that may have arrived, and later copies do not extend it. */
    @Test
    void aClaimThatIsOverAtANodeDoesNotCount() {
        ExportTally tally = new ExportTally(3, CLAIM);
        tally.sending(0, 0);
        tally.answered(0, failed(FailureKind.UNKNOWN));
        tally.sending(0, CLAIM / 2);
        tally.answered(0, EXPORTED);
        tally.sending(1, CLAIM / 2);
        tally.answered(1, EXPORTED);
        long keptNanos = QuorumSettings.validityNanos(CLAIM);
        assertThat(tally.verdict(keptNanos - 1)).contains(ExportTally.Verdict.KEPT);
        assertThat(tally.verdict(keptNanos)).isEmpty();
    }

    @Test
    void whatWasNeverSentHasNoEffect() {
        ExportTally tally = new ExportTally(3, CLAIM);
        tally.sending(0, 0);
        assertThat(tally.mayHaveExported()).isTrue();
        tally.answered(0, failed(FailureKind.NO_EFFECT));
        assertThat(tally.mayHaveExported()).isFalse();
        tally.sending(0, 1);
        tally.answered(0, failed(FailureKind.UNKNOWN));
        tally.answered(0, NOT_OURS);
        assertThat(tally.mayHaveExported()).isTrue();
    }
}
