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

/** Tests of the keys that are read after each message and of the holds that are doubted after each reading. */
@Tag("quick")
final class HeldKeysTest {

    private static final OwnerToken ALICE = OwnerToken.fromHex("a".repeat(40));
    private static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    private static final String ALICES = "a".repeat(40) + ":17:host/1/x";
    private static final String BOBS = "b".repeat(40) + ":18:host/1/x";
    private static final long LATER = 1_000;

    private final HeldKeys keys = new HeldKeys();

    private List<HeldKeys.Action> on(HeldKeys.Event event) {
        return keys.on(event, 0);
    }

    private List<HeldKeys.Action> granted(String key, OwnerToken owner) {
        return on(new HeldKeys.Held(key, LockName.exactly(key), owner, LATER, true));
    }

    private List<HeldKeys.Action> renewed(String key, OwnerToken owner) {
        return on(new HeldKeys.Held(key, LockName.exactly(key), owner, LATER, false));
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

    /** Reports from the start, one hold, read once. */
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
        assertThat(values(3, BOBS)).as("overwritten").containsExactly(doubt(ALICE, "x"));
        assertThat(on(new HeldKeys.Changed("x"))).as("doubted once").isEmpty();
        assertThat(renewed("x", ALICE)).as("it was ours after all").containsExactly(read(4, "x"));
        assertThat(values(4, (String) null)).as("deleted").containsExactly(doubt(ALICE, "x"));
    }

    @Test
    void anOwnerTokenThatBeginsLikeTheValueIsNotEnough() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(values(3, "a".repeat(40))).containsExactly(doubt(ALICE, "x"));
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
        assertThat(((Read) rest.get(1)).keys()).hasSize(700 - HeldKeys.MAX_IN_ONE);
        assertThat(((Doubt) values(4).get(0)).holds()).hasSize(700 - HeldKeys.MAX_IN_ONE);
    }

    /** Earlier reports may have been lost, even for a hold that was read before. */
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
        assertThat(values(((Read) again.get(0)).reading(), (String) null, null)).hasSize(1);
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
        assertThat(values(5, ALICES)).containsExactly(doubt(BOB, "x"));
    }

    @Test
    void aReadingThatFailsIsRepeatedAfterAWhile() {
        holding();
        on(new HeldKeys.Changed("x"));
        assertThat(on(new HeldKeys.Unread(3))).containsExactly(new Wait());
        assertThat(on(new HeldKeys.Changed("x"))).isEmpty();
        assertThat(on(new HeldKeys.Unread(3))).as("once").isEmpty();
        assertThat(on(new HeldKeys.Again())).containsExactly(read(4, "x"));
        on(new HeldKeys.Unread(4));
        assertThat(on(new HeldKeys.Began())).as("another connection").isNotEmpty();
    }

    /** No event reports expired holds while the server reports nothing. */
    @Test
    void whatNoServerKeepsIsForgotten() {
        for (int i = 0; i < 10_000; i++) {
            keys.on(new HeldKeys.Held("k" + i, LockName.exactly("k" + i), ALICE, i + 10L, true), i);
        }
        List<HeldKeys.Action> all = keys.on(new HeldKeys.Began(), 10_000);
        assertThat(((Read) all.get(0)).keys()).hasSizeLessThan(100);
        assertThat(renewed("late", BOB)).isEmpty();
    }
}
