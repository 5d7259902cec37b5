package io.leasehold.jdbc.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the decisions on permits in a lease table. */
@Tag("quick")
class PermitSetTest {

    private static final StoreTime NOW = new StoreTime("here", 1_000, 5_000_000, 0);

    private static OwnerToken owner(String digit) {
        return OwnerToken.fromHex(digit.repeat(40));
    }

    private static Held held(String digit, long expires) {
        return new Held(owner(digit), "holder " + digit, expires, 10_000, 7, null);
    }

    private static PermitSet setOf(int count, int... slots) {
        SortedMap<Integer, Held> held = new TreeMap<>();
        for (int slot : slots) {
            held.put(slot, held(Integer.toString(slot), 9_000 - slot));
        }
        return new PermitSet(count, 1, count, 100, held);
    }

    @Test
    void anOwnerTokenHasTheSlotThatItHolds() {
        PermitSet set = setOf(3, 1);
        assertThat(set.slotsFor(owner("1"), 1)).as("although slot 0 is free").containsExactly(1);
        assertThat(set.slotsFor(owner("a"), 1)).containsExactly(0);
        assertThat(setOf(3, 0, 1).slotsFor(owner("a"), 1)).containsExactly(2);
        assertThat(setOf(2, 0, 1).slotsFor(owner("a"), 1)).isEmpty();
        assertThat(setOf(2, 0, 1).slotsOf(owner("a"))).isEmpty();
    }

    @Test
    void severalSlotsAreTheLowestFreeOnesOrNone() {
        assertThat(setOf(5, 1).slotsFor(owner("a"), 3)).containsExactly(0, 2, 3);
        assertThat(setOf(5, 1, 2, 3).slotsFor(owner("a"), 3)).as("two are free").isEmpty();
        SortedMap<Integer, Held> own = new TreeMap<>();
        own.put(1, held("a", 9_000));
        own.put(3, held("a", 9_000));
        PermitSet set = new PermitSet(5, 5, 5, 100, own);
        assertThat(set.slotsFor(owner("a"), 2)).as("a second request").containsExactly(1, 3);
        assertThat(set.slotsOf(owner("a"))).containsExactly(1, 3);
    }

    @Test
    void slotsBeyondALowerCountAreKeptAndNotGranted() {
        PermitSet lower = setOf(3, 0, 2).changedTo(1);
        assertThat(lower.version()).as("above those of clients").isEqualTo(1_001);
        assertThat(lower.changedTo(1).version()).isEqualTo(1_002);
        assertThat(lower.most()).as("the slots to be read").isEqualTo(3);
        assertThat(lower.slotsFor(owner("2"), 1)).containsExactly(2);
        assertThat(lower.slotsFor(owner("a"), 1)).isEmpty();
    }

    @Test
    void theFirstClientSetsTheCount() {
        PermitSet absent = PermitSet.absent(50);
        assertThat(absent.countedBy(4).count()).isEqualTo(4);
        assertThat(absent.countedBy(4).version()).isEqualTo(4);
        assertThat(setOf(2).countedBy(4).count()).isEqualTo(2);
        assertThat(absent.changedTo(4).version()).as("above those of clients").isEqualTo(1_001);
    }

    @Test
    void tokensExceedTheFenceTheClockAndWhatTheClientHasSeen() {
        assertThat(setOf(1).tokens(0, 2, NOW)).isEqualTo(TokenRange.of(5_000_000, 2));
        assertThat(setOf(1).tokens(6_000_000, 1, NOW)).isEqualTo(TokenRange.of(6_000_001, 1));
        assertThat(setOf(1).withFence(7_000_000).tokens(0, 1, NOW)).isEqualTo(TokenRange.of(7_000_001, 1));
        assertThat(setOf(1).withFence(TokenRange.LIMIT - 2).tokens(0, 1, NOW)).isNull();
    }

    @Test
    void anEndRaisesTheFenceAsFarAsAllowed() {
        assertThat(setOf(1).fenceAfter(5_000_001, NOW)).isEqualTo(5_000_001);
        assertThat(setOf(1).fenceAfter(50, NOW)).as("never lowered").isEqualTo(100);
        assertThat(setOf(1).fenceAfter(99_000_000, NOW)).isEqualTo(12_500_000);
    }

    @Test
    void theHolderThatEndsFirstIsShown() {
        Holder soonest = setOf(3, 0, 1, 2).soonest(NOW);
        assertThat(soonest).isNotNull();
        assertThat(soonest.id()).isEqualTo("holder 2");
        assertThat(soonest.remainingTtl()).isEqualTo(Duration.ofNanos(7_998));
        assertThat(setOf(3).soonest(NOW)).isNull();
        PermitsStatus status = setOf(3, 0, 2).status(LockName.exactly("pool").asPermits(), NOW);
        assertThat(status.held()).extracting(PermitsStatus.HeldPermit::slot).containsExactly(0, 2);
    }
}
