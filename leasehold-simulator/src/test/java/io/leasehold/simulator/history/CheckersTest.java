package io.leasehold.simulator.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.simulator.history.HistoryEvent.Access;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class CheckersTest {

    private static HistoryEvent acquired(long at, String process, long token, long until) {
        return new HistoryEvent.Acquired(at, process, "lock", token, until);
    }

    private static HistoryEvent extended(long at, String process, long token, long until) {
        return new HistoryEvent.Extended(at, process, "lock", token, until);
    }

    private static HistoryEvent ended(long at, String process, long token) {
        return new HistoryEvent.Ended(at, process, "lock", token, "released");
    }

    private static HistoryEvent write(long at, String resource, long value, boolean accepted) {
        return new HistoryEvent.Accessed(at, "r", resource, Access.WRITE, 1, value, accepted);
    }

    private static List<Violation> overlaps(HistoryEvent... events) {
        return OverlapChecker.check(History.of(List.of(events)));
    }

    private static List<Violation> tokens(HistoryEvent... events) {
        return TokenChecker.check(History.of(List.of(events)));
    }

    @Test
    void leasesOneAfterAnotherAreFine() {
        assertThat(overlaps(acquired(10, "a", 1, 100), ended(50, "a", 1), acquired(51, "b", 2, 150)))
                .isEmpty();
        assertThat(overlaps(acquired(10, "a", 1, 100), acquired(100, "b", 2, 150)))
                .isEmpty();
    }

    @Test
    void aLeaseInsideAnothersValidityIsAnOverlap() {
        assertThat(overlaps(acquired(10, "a", 1, 100), acquired(99, "b", 2, 150)))
                .hasSize(1);
    }

    @Test
    void aRenewalExtendsTheValidity() {
        assertThat(overlaps(acquired(10, "a", 1, 100), extended(90, "a", 1, 200), acquired(120, "b", 2, 250)))
                .hasSize(1);
    }

    @Test
    void aHolderThatKnowsItsEndIsNotInsideAnyMore() {
        assertThat(overlaps(acquired(10, "a", 1, 100), ended(40, "a", 1), acquired(40, "b", 2, 90)))
                .isEmpty();
    }

    @Test
    void everyLeaseInsideALongOneCounts() {
        assertThat(overlaps(
                        acquired(0, "a", 1, 1_000),
                        acquired(10, "b", 2, 20),
                        acquired(30, "c", 3, 40),
                        acquired(1_000, "d", 4, 1_100)))
                .hasSize(2);
    }

    @Test
    void otherLocksDoNotCount() {
        assertThat(overlaps(acquired(10, "a", 1, 100), new HistoryEvent.Acquired(20, "b", "other", 1, 90)))
                .isEmpty();
    }

    @Test
    void increasingTokensAreFine() {
        assertThat(tokens(acquired(10, "a", 1, 20), acquired(30, "b", 5, 40), acquired(50, "a", 6, 60)))
                .isEmpty();
    }

    @Test
    void aTokenThatGoesDownIsFoundAlsoBehindALongLease() {
        assertThat(tokens(acquired(10, "a", 7, 20), acquired(12, "b", 9, 500), acquired(30, "c", 6, 40)))
                .hasSize(1);
        assertThat(tokens(acquired(10, "a", 7, 20), acquired(30, "b", 9, 35), acquired(40, "c", 8, 50)))
                .hasSize(1);
    }

    @Test
    void tokensOfLeasesAtTheSameTimeHaveNoOrder() {
        assertThat(tokens(acquired(10, "a", 7, 100), acquired(30, "b", 6, 90))).isEmpty();
    }

    @Test
    void aLeaseThatWasSeenTooLateHasNoOrder() {
        assertThat(tokens(acquired(10, "a", 7, 20), acquired(30, "b", 6, 30))).isEmpty();
        assertThat(tokens(acquired(10, "a", 7, 20), acquired(30, "b", 7, 30))).hasSize(1);
    }

    @Test
    void aLeaseThatWasReleasedByForceBeforeItsHolderKnewItMayBeReportedAfterTheNext() {
        HistoryEvent forced = new HistoryEvent.Forced(20, "operator", "lock");
        List<HistoryEvent> overtaken =
                List.of(acquired(22, "a", 9, 120), ended(25, "a", 9), forced, acquired(30, "b", 5, 110));
        assertThat(TokenChecker.check(History.of(overtaken), Duration.ofNanos(100)))
                .isEmpty();
        assertThat(TokenChecker.check(History.of(overtaken), Duration.ofNanos(89)))
                .hasSize(1);
        assertThat(TokenChecker.check(History.of(overtaken))).hasSize(1);
    }

    @Test
    void aReleaseByForceExcusesNoLeaseThatCameAfterAnotherOne() {
        HistoryEvent forced = new HistoryEvent.Forced(20, "operator", "lock");
        Duration ttl = Duration.ofNanos(100);
        // The lease of a had ended before the release by force.
        assertThat(TokenChecker.check(
                        History.of(List.of(
                                acquired(12, "a", 7, 120),
                                ended(15, "a", 7),
                                forced,
                                acquired(22, "c", 9, 120),
                                ended(25, "c", 9),
                                acquired(30, "b", 5, 110))),
                        ttl))
                .hasSize(1);
        // Another lock was released.
        assertThat(TokenChecker.check(
                        History.of(List.of(
                                new HistoryEvent.Forced(20, "operator", "other"),
                                acquired(22, "a", 9, 120),
                                ended(25, "a", 9),
                                acquired(30, "b", 5, 110))),
                        ttl))
                .hasSize(1);
    }

    @Test
    void equalTokensAreFoundEvenAtTheSameTime() {
        assertThat(tokens(acquired(10, "a", 7, 100), acquired(30, "b", 7, 90))).hasSize(1);
    }

    @Test
    void lostUpdatesAreCounted() {
        History history = History.of(List.of(
                write(1, "naive", 1, true),
                write(2, "naive", 2, true),
                write(3, "naive", 3, true),
                write(4, "naive", 2, true),
                write(5, "naive", 3, true),
                write(6, "checking", 1, true),
                write(7, "checking", 1, false),
                write(8, "checking", 2, true)));
        assertThat(LostUpdateChecker.check(history))
                .containsExactly(
                        new LostUpdateChecker.Result("checking", 2, 0, 1),
                        new LostUpdateChecker.Result("naive", 5, 2, 0));
    }
}
