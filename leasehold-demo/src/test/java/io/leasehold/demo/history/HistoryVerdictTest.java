package io.leasehold.demo.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.demo.history.HistoryEvent.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Handmade histories: the good ones pass, and each bad one fails for its own reason. */
@Tag("quick")
class HistoryVerdictTest {

    /** Chosen so that the shared clock overflows in the middle of each history. */
    private static final long ORIGIN = Long.MAX_VALUE - 50;

    private final List<HistoryEvent> events = new ArrayList<>();
    private long counter;

    private HistoryVerdictTest at(long nanos, String worker, Kind kind, long token, long until) {
        events.add(new HistoryEvent(worker, ORIGIN + nanos, kind, token, ORIGIN + until, 0, HistoryEvent.NO_DETAIL));
        return this;
    }

    private HistoryVerdictTest increments(long nanos, String worker, long token, long until, boolean applied) {
        at(nanos, worker, Kind.WRITING, token, until).at(nanos + 1, worker, Kind.INCREMENTED, token, until);
        counter += applied ? 1 : 0;
        return this;
    }

    /** Adds one whole turn of 20 that begins here. */
    private HistoryVerdictTest turn(long from, String worker, long token) {
        return at(from, worker, Kind.ACQUIRED, token, from + 100)
                .increments(from + 5, worker, token, from + 100, true)
                .at(from + 20, worker, Kind.RELEASED, token, from + 100);
    }

    private HistoryVerdict verdict() {
        return HistoryVerdict.of(events, counter);
    }

    @Test
    void oneAfterTheOtherHolds() {
        HistoryVerdict verdict =
                turn(0, "w1", 7).turn(20, "w2", 8).turn(60, "w1", 11).verdict();
        assertThat(verdict.held(HistoryVerdict.ALL)).isTrue();
        assertThat(verdict.holds()).isEqualTo(3);
        assertThat(verdict.tokens()).isEqualTo(3);
        assertThat(verdict.increments()).isEqualTo(3);
    }

    @Test
    void theOrderInWhichFilesAreReadDoesNotMatter() {
        assertThat(turn(40, "w2", 8).turn(0, "w1", 7).verdict().held(HistoryVerdict.ALL))
                .isTrue();
    }

    @Test
    void aTakeoverWhenTheLeaseOfTheDeadHasEndedHolds() {
        at(0, "w1", Kind.ACQUIRED, 1, 100).increments(10, "w1", 1, 130, true);
        assertThat(turn(130, "w2", 2).verdict().held(HistoryVerdict.ALL)).isTrue();
    }

    @Test
    void aTakeoverBeforeThatDoesNot() {
        at(0, "w1", Kind.ACQUIRED, 1, 100).increments(10, "w1", 1, 130, true);
        HistoryVerdict verdict = turn(129, "w2", 2).verdict();
        assertThat(verdict.held(HistoryVerdict.ALL)).isFalse();
        assertThat(verdict.overlaps()).singleElement().asString().startsWith("w1 and w2 held at once");
    }

    @Test
    void twoHoldersAtOnceAreFoundOncePerPair() {
        HistoryVerdict verdict =
                turn(0, "w1", 1).turn(5, "w2", 2).turn(10, "w3", 3).verdict();
        assertThat(verdict.overlaps()).hasSize(3);
        assertThat(verdict.held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void whatAWorkerClaimsAfterItsValidityIsNoHold() {
        at(0, "w1", Kind.ACQUIRED, 1, 50).at(90, "w1", Kind.LOST, 1, 90);
        assertThat(turn(50, "w2", 2).verdict().held(HistoryVerdict.ALL)).isTrue();
    }

    @Test
    void aHoldThatWasRenewedUnseenLastsUntilItsRelease() {
        at(0, "w1", Kind.ACQUIRED, 1, 50).at(90, "w1", Kind.RELEASED, 1, 120);
        assertThat(turn(80, "w2", 2).verdict().overlaps()).hasSize(1);
    }

    @Test
    void aTokenThatIsNotLargerIsFound() {
        HistoryVerdict equal = turn(0, "w1", 7).turn(20, "w2", 7).verdict();
        assertThat(equal.tokenDisorders()).containsExactly("w2 got token 7 after 7");
        assertThat(equal.held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void aTokenIsComparedWithAllBefore() {
        assertThat(turn(0, "w1", 9)
                        .turn(20, "w2", 3)
                        .turn(40, "w3", 5)
                        .verdict()
                        .tokenDisorders())
                .hasSize(2);
    }

    @Test
    void aLostUpdateIsCounted() {
        HistoryVerdict verdict =
                turn(0, "w1", 1).turn(20, "w2", 2).counterOff(-1).verdict();
        assertThat(verdict.lostUpdates()).isEqualTo(1);
        assertThat(verdict.held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void anUpdateThatNobodyDidIsCounted() {
        HistoryVerdict verdict = turn(0, "w1", 1).counterOff(1).verdict();
        assertThat(verdict.inventedUpdates()).isEqualTo(1);
        assertThat(verdict.held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void aWriteCutShortByDeathMayOrMayNotShow() {
        turn(0, "w1", 1).at(20, "w2", Kind.ACQUIRED, 2, 120).at(30, "w2", Kind.WRITING, 2, 120);
        assertThat(verdict().held(HistoryVerdict.ALL)).isTrue();
        assertThat(counterOff(1).verdict().held(HistoryVerdict.ALL)).isTrue();
        assertThat(counterOff(1).verdict().held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void withoutLockTheWordOfTheWorkersCounts() {
        at(0, "w1", Kind.ACQUIRED, 0, 0).increments(30, "w1", 0, 30, true).at(40, "w1", Kind.RELEASED, 0, 40);
        at(10, "w2", Kind.ACQUIRED, 0, 10).increments(50, "w2", 0, 50, false).at(60, "w2", Kind.RELEASED, 0, 60);
        HistoryVerdict verdict = verdict();
        assertThat(verdict.overlaps()).hasSize(1);
        assertThat(verdict.lostUpdates()).isEqualTo(1);
        assertThat(verdict.tokens()).isZero();
    }

    @Test
    void whatAHolderWritesAfterItsEndIsNoHoldButMayLoseAnUpdate() {
        at(0, "w1", Kind.ACQUIRED, 1, 50);
        turn(60, "w2", 2).increments(90, "w1", 1, 90, false).at(95, "w1", Kind.RELEASED, 1, 95);
        HistoryVerdict verdict = verdict();
        assertThat(verdict.overlaps()).isEmpty();
        assertThat(verdict.lostUpdates()).isEqualTo(1);
        assertThat(verdict.held(Set.of(HistoryVerdict.Promise.UPDATES))).isFalse();
        assertThat(verdict.held(Set.of(HistoryVerdict.Promise.EXCLUSION))).isTrue();
    }

    @Test
    void aRejectedWriteIsNoUpdateAndEndsNoHold() {
        at(0, "w1", Kind.ACQUIRED, 1, 50).at(10, "w1", Kind.WRITING, 1, 50).at(11, "w1", Kind.REJECTED, 1, 50);
        HistoryVerdict verdict = turn(40, "w2", 2).verdict();
        assertThat(verdict.rejected()).isEqualTo(1);
        assertThat(verdict.lostUpdates()).isZero();
        assertThat(verdict.overlaps()).hasSize(1);
    }

    @Test
    void whoeverIsLockedOutForEverIsNamed() {
        HistoryVerdict verdict =
                turn(0, "w1", 1).at(30, "w2", Kind.LOCKED_OUT, 0, 30).verdict();
        assertThat(verdict.lockedOut()).containsExactly("w2");
        assertThat(verdict.held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void whoeverHeardOfALossIsNamedWithTheCause() {
        turn(0, "w1", 1);
        events.add(new HistoryEvent("w2", ORIGIN + 30, Kind.LOST, 2, ORIGIN + 30, 0, "NOT_OURS"));
        assertThat(verdict().losses()).containsExactly("w2: NOT_OURS");
    }

    @Test
    void withoutLockAHoldThatNobodyEndedLastsToTheWorkersLastWord() {
        at(0, "w1", Kind.ACQUIRED, 0, 0).increments(50, "w1", 0, 50, true);
        at(10, "w2", Kind.ACQUIRED, 0, 10).increments(60, "w2", 0, 60, false);
        assertThat(verdict().overlaps()).hasSize(1);
    }

    @Test
    void nothingDoneProvesNothing() {
        assertThat(verdict().held(HistoryVerdict.ALL)).isFalse();
    }

    @Test
    void aLineIsReadBackAsItWasWritten() {
        HistoryEvent event = new HistoryEvent("w1", -5, Kind.LOST, 17, 99, 3, "NOT_OURS");
        assertThat(HistoryEvent.parse("w1", event.line())).contains(event);
        assertThat(HistoryEvent.parse("w1", "12 acquired 3 4 5")).isEmpty();
        assertThat(HistoryEvent.parse("w1", "12 gone 3 4 5 -")).isEmpty();
    }

    private HistoryVerdictTest counterOff(long by) {
        counter += by;
        return this;
    }
}
