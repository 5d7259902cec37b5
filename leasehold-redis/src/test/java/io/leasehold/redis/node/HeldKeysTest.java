package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.redis.node.HeldKeys.Doubt;
import io.leasehold.redis.node.HeldKeys.Read;
import io.leasehold.redis.node.HeldKeys.Wait;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.OwnerToken;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the keys that are read after a message, and of the holds that are doubted after a reading. */
@Tag("quick")
final class HeldKeysTest {

    private static final OwnerToken ALICE = OwnerToken.fromHex("a".repeat(40));
    private static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    private static final String ALICES = "a".repeat(40) + ":17:host/1/x";
    private static final String BOBS = "b".repeat(40) + ":18:host/1/x";
    private static final long SECOND = 1_000_000_000L;
    private static final long LATER = 60 * SECOND;
    private static final HeldKeys.Rest REST = new HeldKeys.Rest(SECOND);

    private final HeldKeys keys = new HeldKeys();

    private long now;

    private List<HeldKeys.Action> on(HeldKeys.Event event) {
        return keys.on(event, now);
    }

    private List<HeldKeys.Action> rested(int seconds) {
        now += seconds * SECOND;
        return on(new HeldKeys.Rested());
    }

    private List<HeldKeys.Action> granted(String key, OwnerToken owner) {
        return on(new HeldKeys.Held(key, LockName.exactly(key), owner, now + LATER, true));
    }

    private List<HeldKeys.Action> renewed(String key, OwnerToken owner) {
        return on(new HeldKeys.Held(key, LockName.exactly(key), owner, now + LATER, false));
    }

    private List<HeldKeys.Action> values(long reading, String... values) {
        return on(new HeldKeys.Values(reading, Arrays.asList(values)));
    }

    private static Read read(long reading, String... all) {
        return new Read(reading, List.of(all));
    }

    private static Doubt doubt(OwnerToken owner, String key) {
        return new Doubt(List.of(new DoubtedHold(owner, LockName.exactly(key))));
    }

    /** The server reports changes from the start; one hold was read once. */
    private void holding() {
        on(new HeldKeys.Began());
        assertThat(granted("x", ALICE)).containsExactly(read(2, "x"));
        assertThat(values(2, ALICES)).isEmpty();
    }

    @Test
    void aHoldIsReadOnceAndAgainAfterEachMessage() {
        holding();
        for (int i = 3; i < 10; i++) {
            assertThat(on(new HeldKeys.Changed("x"))).containsExactly(read(i, "x"));
            assertThat(values(i, ALICES)).isEmpty();
        }
        assertThat(renewed("x", ALICE)).as("its message says so").isEmpty();
    }

    @Test
    void aMessageIsNoLossAndNeitherIsItsReading() {
        holding();
        assertThat(on(new HeldKeys.Changed("x"))).containsExactly(read(3, "x"));
        assertThat(values(3, BOBS)).as("overwritten").containsExactly(doubt(ALICE, "x"), REST);
        assertThat(on(new HeldKeys.Changed("x"))).as("doubted once").isEmpty();
        assertThat(on(new HeldKeys.Changed(null))).as("doubted once").isEmpty();
        assertThat(rested(1)).containsExactly(read(4, "x"));
        assertThat(values(4, ALICES)).as("it was ours after all").isEmpty();
        assertThat(on(new HeldKeys.Changed("x"))).as("as ever").containsExactly(read(5, "x"));
        assertThat(values(5, (String) null)).as("deleted").containsExactly(doubt(ALICE, "x"), REST);
    }

    /** The engine may not have registered the hold yet when the first doubt arrived. */
    @Test
    void aHoldThatIsDoubtedIsDoubtedAgainUntilItHasEnded() {
        on(new HeldKeys.Began());
        granted("x", ALICE);
        assertThat(values(2, (String) null)).containsExactly(doubt(ALICE, "x"), REST);
        assertThat(rested(1)).containsExactly(read(3, "x"));
        assertThat(values(3, (String) null)).containsExactly(doubt(ALICE, "x"), REST);
        assertThat(on(new HeldKeys.Ended("x", ALICE))).isEmpty();
        assertThat(rested(1)).isEmpty();
        assertThat(rested(60)).as("no pause without a doubted hold").isEmpty();
    }

    /** A hold that has expired is no longer read. */
    @Test
    void aHoldThatIsDoubtedIsForgottenWhenItsTimeIsOver() {
        holding();
        on(new HeldKeys.Changed("x"));
        values(3, (String) null);
        now = LATER;
        assertThat(rested(1)).isEmpty();
        assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
    }

    /** The store extends a hold that the reading does not see, for example because the two go to different servers. */
    @Test
    void aDoubtThatTheStoreRefutesIsFollowedByALongerPauseEachTime() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(values(3, (String) null)).containsExactly(doubt(ALICE, "x"), REST);
        int pause = 1;
        for (int i = 4; i < 14; i++) {
            assertThat(renewed("x", ALICE)).as("pause %s", pause).isEmpty();
            assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
            for (int second = 1; second < pause; second++) {
                assertThat(rested(1)).containsExactly(REST);
            }
            assertThat(rested(1)).containsExactly(read(i, "x"));
            assertThat(values(i, (String) null)).containsExactly(doubt(ALICE, "x"), REST);
            pause = Math.min(2 * pause, 1 << HeldKeys.MOST_DOUBLINGS);
        }
        assertThat(granted("y", BOB)).as("others are read as ever").containsExactly(read(14, "y"));
        assertThat(values(14, (String) null)).as("one timer").containsExactly(doubt(BOB, "y"));
        assertThat(rested(1)).containsExactly(REST, read(15, "y"));
    }

    /** The answer of the renewal arrives while the server reports nothing. */
    @Test
    void whatIsDoubtedIsReadByTheNextConnection() {
        holding();
        on(new HeldKeys.Changed("x"));
        values(3, (String) null);
        on(new HeldKeys.Paused());
        assertThat(renewed("x", ALICE)).isEmpty();
        assertThat(on(new HeldKeys.Began())).containsExactly(read(6, "x"));
        assertThat(values(6, ALICES)).isEmpty();
        assertThat(rested(1)).as("the pause of before").isEmpty();
        on(new HeldKeys.Changed("x"));
        assertThat(values(7, (String) null)).containsExactly(doubt(ALICE, "x"), REST);
    }

    @Test
    void aHoldThatFollowsADoubtedOneIsReadAtOnce() {
        holding();
        on(new HeldKeys.Changed("x"));
        values(3, BOBS);
        assertThat(granted("x", BOB)).containsExactly(read(4, "x"));
        assertThat(values(4, BOBS)).isEmpty();
        assertThat(rested(1)).isEmpty();
    }

    @Test
    void anOwnerTokenThatBeginsLikeTheValueIsNotEnough() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(values(3, "a".repeat(40))).containsExactly(doubt(ALICE, "x"), REST);
    }

    @Test
    void whateverComesMeanwhileSharesTheNextReading() {
        holding();
        on(new HeldKeys.Changed("x"));
        for (int i = 0; i < 1_000; i++) {
            assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
            assertThat(granted("y" + i % 3, BOB)).isEmpty();
            assertThat(on(new HeldKeys.Changed(null))).isEmpty();
        }
        assertThat(values(3, ALICES)).containsExactly(read(4, "x", "y0", "y1", "y2"));
        assertThat(values(4, ALICES, BOBS, BOBS, BOBS)).isEmpty();
    }

    @Test
    void keysOfNobodyHereAreNotRead() {
        holding();
        assertThat(on(new HeldKeys.Changed("other"))).isEmpty();
        assertThat(on(new HeldKeys.Ended("x", BOB))).isEmpty();
        assertThat(on(new HeldKeys.Ended("x", ALICE))).isEmpty();
        assertThat(on(new HeldKeys.Changed("x"))).as("our own release").isEmpty();
    }

    @Test
    void aFlushIsReadInGroupsAndDoubtsThemAll() {
        on(new HeldKeys.Began());
        granted("0", ALICE);
        IntStream.range(1, 700).forEach(i -> granted(Integer.toString(i), ALICE));
        on(new HeldKeys.Changed(null));
        assertThat(((Read) values(2, ALICES).get(0)).keys()).hasSize(HeldKeys.MAX_IN_ONE);
        List<HeldKeys.Action> rest = values(3);
        assertThat(((Doubt) rest.get(0)).holds()).hasSize(HeldKeys.MAX_IN_ONE);
        assertThat(rest.get(1)).isEqualTo(REST);
        assertThat(((Read) rest.get(2)).keys()).hasSize(700 - HeldKeys.MAX_IN_ONE);
        assertThat(((Doubt) values(4).get(0)).holds()).hasSize(700 - HeldKeys.MAX_IN_ONE);
    }

    /** Earlier reports may have been lost, even those about a hold that was read before. */
    @Test
    void afterABeginningEveryHoldIsRead() {
        assertThat(granted("x", ALICE)).as("nothing tells").isEmpty();
        assertThat(on(new HeldKeys.Began())).containsExactly(read(2, "x"));
        values(2, ALICES);
        granted("y", BOB);
        assertThat(on(new HeldKeys.Paused())).isEmpty();
        assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
        assertThat(values(3, (String) null))
                .as("of a connection that has ended")
                .isEmpty();
        List<HeldKeys.Action> again = on(new HeldKeys.Began());
        assertThat(((Read) again.get(0)).keys()).containsExactlyInAnyOrder("x", "y");
        assertThat(values(3, (String) null)).as("late").isEmpty();
        assertThat(values(((Read) again.get(0)).reading(), (String) null, null)).hasSize(2);
    }

    @Test
    void aReadingCountsForTheHoldAloneForWhichItWasMade() {
        holding();
        on(new HeldKeys.Changed("x"));
        on(new HeldKeys.Ended("x", ALICE));
        assertThat(granted("x", BOB)).isEmpty();
        assertThat(values(3, (String) null)).as("it says nothing of the next").containsExactly(read(4, "x"));
        assertThat(values(4, BOBS)).isEmpty();
        assertThat(renewed("x", ALICE)).as("late").isEmpty();
        on(new HeldKeys.Changed("x"));
        assertThat(values(5, ALICES)).containsExactly(doubt(BOB, "x"), REST);
    }

    @Test
    void aReadingThatFailsIsRepeatedAfterAWhile() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(on(new HeldKeys.Unread(3, false))).containsExactly(new Wait(SECOND));
        assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
        assertThat(on(new HeldKeys.Unread(3, false))).as("once").isEmpty();
        assertThat(on(new HeldKeys.Again())).containsExactly(read(4, "x"));
        on(new HeldKeys.Unread(4, false));
        assertThat(on(new HeldKeys.Began())).as("another connection").isNotEmpty();
    }

    /** An operator does not grant a missing right within a second, and the pause keeps the server's ACL log short. */
    @Test
    void aReadingThatIsRefusedIsRepeatedOnceAMinute() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(on(new HeldKeys.Unread(3, true))).containsExactly(new Wait(60 * SECOND));
        assertThat(on(new HeldKeys.Again())).containsExactly(read(4, "x"));
    }

    /** The timer could not be started. */
    @Test
    void aPauseThatNobodyEndsEndsWithTheNextEventAfterIt() {
        holding();
        on(new HeldKeys.Changed("x"));
        on(new HeldKeys.Unread(3, false));
        now = SECOND - 1;
        assertThat(on(new HeldKeys.Changed("other"))).isEmpty();
        now = SECOND;
        assertThat(on(new HeldKeys.Changed("other"))).containsExactly(read(4, "x"));
    }

    /** While the server reports nothing, no event removes a hold that was left to expire. */
    @Test
    void whatNoServerKeepsIsForgotten() {
        for (int i = 0; i < 10_000; i++) {
            keys.on(new HeldKeys.Held("k" + i, LockName.exactly("k" + i), ALICE, i + 10L, true), i);
        }
        List<HeldKeys.Action> all = keys.on(new HeldKeys.Began(), 10_000);
        assertThat(((Read) all.get(0)).keys()).hasSizeLessThan(100);
        assertThat(renewed("late", BOB)).isEmpty();
    }

    /** The timer that ends the pauses of doubted holds could not be started. */
    @Test
    void aRestThatNothingEndsEndsWithTheNextEventAfterIt() {
        holding();
        on(new HeldKeys.Changed("x"));
        values(3, (String) null);
        now += 2 * SECOND - 1;
        assertThat(on(new HeldKeys.Changed("other"))).isEmpty();
        now += 1;
        assertThat(on(new HeldKeys.Changed("other"))).containsExactly(read(4, "x"));
    }
}
