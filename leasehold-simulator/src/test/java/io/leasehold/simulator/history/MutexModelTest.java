package io.leasehold.simulator.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.simulator.history.HistoryEvent.Acquired;
import io.leasehold.simulator.history.HistoryEvent.Ended;
import io.leasehold.simulator.history.HistoryEvent.Nested;
import io.leasehold.simulator.history.HistoryEvent.Released;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The models that each history breaks. */
@Tag("quick")
final class MutexModelTest {

    private static final Set<MutexModel> NONE = EnumSet.noneOf(MutexModel.class);
    private static final Set<MutexModel> ALL = EnumSet.allOf(MutexModel.class);
    private static final Set<MutexModel> FENCED = EnumSet.of(MutexModel.FENCED, MutexModel.REENTRANT_FENCED);
    private static final Set<MutexModel> REENTRANT = EnumSet.of(MutexModel.REENTRANT, MutexModel.REENTRANT_FENCED);

    private static Acquired acquired(long at, String who, long token, long until) {
        return new Acquired(at, who, "l", token, until);
    }

    private static Set<MutexModel> brokenBy(HistoryEvent... events) {
        Set<MutexModel> broken = EnumSet.noneOf(MutexModel.class);
        for (MutexModel model : MutexModel.values()) {
            if (!model.check(History.of(List.of(events))).isEmpty()) {
                broken.add(model);
            }
        }
        return broken;
    }

    @Test
    void oneAfterAnotherWithRisingTokensIsAllowed() {
        assertThat(brokenBy(
                        acquired(0, "a", 1, 100),
                        new Nested(10, "a", "l", 1, 2),
                        new Nested(20, "a", "l", 1, 1),
                        new Ended(30, "a", "l", 1, "released"),
                        new Released(35, "a", "l", 1, "RELEASED"),
                        acquired(40, "b", 2, 140),
                        new Ended(50, "b", "l", 2, "released"),
                        new Released(60, "b", "l", 2, "UNCONFIRMED")))
                .isEqualTo(NONE);
    }

    @Test
    void aLeaseThatEndedMakesRoomThoughItsOwnerNeverLeft() {
        assertThat(brokenBy(
                        acquired(0, "a", 1, 100),
                        new Nested(10, "a", "l", 1, 2),
                        acquired(100, "b", 2, 200),
                        new Released(150, "a", "l", 1, "ALREADY_LOST")))
                .isEqualTo(NONE);
    }

    @Test
    void anOwnerThatWasKilledInsideMakesRoomAtOnce() {
        assertThat(brokenBy(
                        acquired(0, "a", 1, 100),
                        new Nested(10, "a", "l", 1, 2),
                        new Ended(20, "a", "l", 1, "killed"),
                        acquired(30, "b", 2, 200)))
                .isEqualTo(NONE);
    }

    @Test
    void anOwnerThatIsInsideTwiceMakesNoRoom() {
        assertThat(brokenBy(acquired(0, "a", 1, 100), new Nested(10, "a", "l", 1, 2), acquired(30, "b", 2, 200)))
                .isEqualTo(ALL);
    }

    @Test
    void twoOwnersBreakEveryModel() {
        assertThat(brokenBy(acquired(0, "a", 1, 100), acquired(50, "b", 2, 150)))
                .isEqualTo(ALL);
    }

    @Test
    void aTokenThatGoesDownBreaksTheFencedOnes() {
        assertThat(brokenBy(
                        acquired(0, "a", 5, 100), new Ended(10, "a", "l", 5, "released"), acquired(20, "b", 4, 120)))
                .isEqualTo(FENCED);
    }

    @Test
    void whoDoesNotOwnReleasesNothingAndNobodyTwice() {
        assertThat(brokenBy(acquired(0, "a", 1, 100), new Released(10, "b", "l", 9, "RELEASED")))
                .isEqualTo(ALL);
        assertThat(brokenBy(
                        acquired(0, "a", 1, 100),
                        new Released(10, "a", "l", 1, "RELEASED"),
                        new Released(20, "a", "l", 1, "RELEASED")))
                .isEqualTo(ALL);
    }

    @Test
    void enteringAgainIsForTheOwnerAlone() {
        assertThat(brokenBy(acquired(0, "a", 1, 100), new Nested(10, "b", "l", 1, 2)))
                .isEqualTo(REENTRANT);
        assertThat(brokenBy(acquired(0, "a", 1, 100), new Nested(10, "a", "l", 1, 3)))
                .isEqualTo(REENTRANT);
        assertThat(brokenBy(acquired(0, "a", 1, 100), acquired(100, "b", 2, 200), new Nested(110, "a", "l", 1, 2)))
                .isEqualTo(REENTRANT);
    }

    @Test
    void enteringAgainWithAnotherTokenBreaksOnlyTheFencedOne() {
        assertThat(brokenBy(acquired(0, "a", 1, 100), new Nested(10, "a", "l", 2, 2)))
                .isEqualTo(EnumSet.of(MutexModel.REENTRANT_FENCED));
    }
}
