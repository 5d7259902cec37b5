package io.leasehold.simulator.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.simulator.history.HistoryEvent.Access;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the rules for readers and writers, and for what readers see. */
@Tag("quick")
final class ReadersCheckerTest {

    private static HistoryEvent writes(long at, long token, long until) {
        return new HistoryEvent.Acquired(at, "writer", "lock", token, until);
    }

    private static HistoryEvent reads(long at, long token, long until) {
        return new HistoryEvent.Acquired(at, "reader", LeaseText.read("lock"), token, until);
    }

    private static HistoryEvent extended(long at, long token, long until) {
        return new HistoryEvent.Extended(at, "reader", LeaseText.read("lock"), token, until);
    }

    private static List<String> wrongs(HistoryEvent... events) {
        return ReadersChecker.check(History.of(Arrays.asList(events))).stream()
                .map(Violation::toString)
                .toList();
    }

    @Test
    void readersShareALock() {
        HistoryEvent[] events = {reads(0, 2, 100), reads(50, 1, 150), writes(150, 3, 200)};
        assertThat(wrongs(events)).isEmpty();
        History history = History.of(Arrays.asList(events));
        assertThat(OverlapChecker.check(history)).isEmpty();
        assertThat(TokenChecker.check(history)).isEmpty();
        assertThat(MutexModel.FENCED.check(history)).isEmpty();
    }

    @Test
    void aWriterBesideAReaderIsFoundInEitherOrder() {
        assertThat(wrongs(reads(0, 1, 100), writes(99, 2, 200)))
                .hasSize(1)
                .first()
                .asString()
                .contains("at once");
        assertThat(wrongs(writes(0, 1, 100), reads(99, 2, 200)))
                .hasSize(1)
                .first()
                .asString()
                .contains("at once");
        assertThat(wrongs(reads(0, 1, 100), extended(90, 1, 300), writes(150, 2, 200)))
                .hasSize(1);
        assertThat(wrongs(reads(0, 1, 300), reads(0, 2, 10), writes(150, 3, 200)))
                .as("the longest of them counts")
                .hasSize(1);
    }

    @Test
    void aLaterLeaseOfTheOtherKindHasALargerToken() {
        assertThat(wrongs(writes(0, 5, 10), reads(10, 7, 20), reads(10, 6, 20))).isEmpty();
        assertThat(wrongs(writes(0, 5, 10), reads(10, 5, 20)))
                .hasSize(1)
                .first()
                .asString()
                .contains("went down");
        assertThat(wrongs(reads(0, 7, 10), reads(0, 6, 20), writes(20, 7, 30))).hasSize(1);
        assertThat(wrongs(writes(0, 5, 0), reads(10, 4, 20)))
                .as("the writer never believed in its lease")
                .isEmpty();
    }

    private static HistoryEvent saw(Access access, long token, long value, boolean accepted) {
        return new HistoryEvent.Accessed(token, "resource", "checking/lock", access, token, value, accepted);
    }

    @Test
    void aReaderSeesOneValue() {
        List<HistoryEvent> events =
                List.of(saw(Access.READ, 1, 4, true), saw(Access.READ, 1, 4, true), saw(Access.READ, 1, 5, false));
        assertThat(StableReadChecker.check(History.of(events), "checking/")).isEmpty();
        List<HistoryEvent> changed = List.of(saw(Access.READ, 1, 4, true), saw(Access.READ, 1, 5, true));
        assertThat(StableReadChecker.check(History.of(changed), "checking/")).hasSize(1);
        assertThat(StableReadChecker.check(History.of(changed), "naive/")).isEmpty();
        List<HistoryEvent> own =
                List.of(saw(Access.READ, 1, 4, true), saw(Access.WRITE, 1, 5, true), saw(Access.READ, 1, 5, true));
        assertThat(StableReadChecker.check(History.of(own), "checking/"))
                .as("its own write")
                .isEmpty();
    }

    @Test
    void tokensBetweenTwoOthersAreThoseOfTheLockItself() {
        History history = History.of(List.of(writes(0, 5, 10), writes(10, 6, 20), reads(20, 7, 30), writes(30, 8, 40)));
        assertThat(history.tokensBetween("lock", 5, 8)).containsExactly(6L);
    }
}
