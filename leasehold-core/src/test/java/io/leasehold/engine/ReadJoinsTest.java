package io.leasehold.engine;

import static io.leasehold.engine.ReadJoins.Departure.DECIDED;
import static io.leasehold.engine.ReadJoins.Departure.NONE_WAITS;
import static io.leasehold.engine.ReadJoins.Departure.OTHERS_WAIT;
import static io.leasehold.engine.ReadJoins.Entry.BEGINS;
import static io.leasehold.engine.ReadJoins.Entry.CLOSED;
import static io.leasehold.engine.ReadJoins.Entry.SHARES;
import static io.leasehold.engine.ReadJoins.Entry.WAITS;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the callers that share one request for a read lease ({@link ReadJoins}). */
@Tag("quick")
final class ReadJoinsTest {

    private static final long WINDOW = 20;

    private final ReadJoins<String> joins = new ReadJoins<>(WINDOW);

    @Test
    void callersJoinTheRequestOfTheFirstAndReceiveItsGrant() {
        assertThat(joins.enter("a", 0)).isEqualTo(BEGINS);
        assertThat(joins.enter("b", 1_000)).isEqualTo(WAITS);
        assertThat(joins.waiting()).containsExactly("a", "b");
        assertThat(joins.granted(2_000)).containsExactly("a", "b");
        assertThat(joins.waiting()).isEmpty();
    }

    @Test
    void theGrantIsSharedForTheWindowOnly() {
        joins.enter("a", 0);
        joins.granted(100);
        assertThat(joins.enter("b", 100)).isEqualTo(SHARES);
        assertThat(joins.joinsGrant(119)).isTrue();
        assertThat(joins.enter("c", 120)).isEqualTo(CLOSED);
        assertThat(joins.joinsGrant(110)).as("closed for good").isFalse();
    }

    @Test
    void aClockThatGoesBackClosesTheWindow() {
        joins.enter("a", 0);
        joins.granted(100);
        assertThat(joins.enter("b", 99)).isEqualTo(CLOSED);
    }

    @Test
    void aCallerLeavesAloneAndTheLastEndsTheRequest() {
        joins.enter("a", 0);
        joins.enter("b", 0);
        assertThat(joins.left("a")).isEqualTo(OTHERS_WAIT);
        assertThat(joins.left("a")).isEqualTo(DECIDED);
        assertThat(joins.left("b")).isEqualTo(NONE_WAITS);
        assertThat(joins.enter("c", 0)).isEqualTo(CLOSED);
    }

    @Test
    void aGrantThatNoCallerWantsIsNotShared() {
        joins.enter("a", 0);
        joins.left("a");
        assertThat(joins.granted(10)).isEmpty();
        assertThat(joins.enter("b", 10)).isEqualTo(CLOSED);
        assertThat(joins.joinsGrant(10)).isFalse();
    }

    @Test
    void afterTheGrantACallerHasItsOutcome() {
        joins.enter("a", 0);
        joins.granted(10);
        assertThat(joins.left("a")).isEqualTo(DECIDED);
        assertThat(joins.enter("b", 11)).as("the hold itself decides").isEqualTo(SHARES);
    }

    @Test
    void aFailureReachesAllThatWait() {
        joins.enter("a", 0);
        joins.enter("b", 0);
        assertThat(joins.closed()).containsExactly("a", "b");
        assertThat(joins.enter("c", 0)).isEqualTo(CLOSED);
        assertThat(joins.closed()).isEmpty();
    }
}
