package io.leasehold.jdbc.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The boundaries between the results of the rules. */
@Tag("quick")
class LeaseRulesEdgesTest {

    private static final long TTL = Duration.ofSeconds(30).toNanos();
    private static final long PATIENCE = LeaseRules.PATIENCE.toNanos();
    private static final long CLAIM = LeaseRules.CLAIM.toNanos();
    private static final long BEGIN = Duration.ofHours(1).toNanos();
    private static final OwnerToken ANN = OwnerToken.fromHex("a".repeat(40));
    private static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    private static final OwnerToken CAT = OwnerToken.fromHex("c".repeat(40));

    private static StoreTime at(long nanos) {
        return new StoreTime("boot:1", BEGIN + nanos, 1_000_000, 0);
    }

    private static LockName name(String text) {
        return LockName.exactly(text);
    }

    /** Times are counted from the beginning, as in {@link #at}. */
    private static LeaseRow row(@Nullable Held held, @Nullable Waiter waiter, long freedAtNanos) {
        return new LeaseRow(name("x"), "boot:1", held, waiter, BEGIN + freedAtNanos, 5);
    }

    private static Held held(OwnerToken owner, long endNanos) {
        return new Held(owner, "holder", BEGIN + endNanos, TTL, 5, null);
    }

    private static Waiter waiter(OwnerToken owner, long sinceNanos) {
        return new Waiter(owner, BEGIN + sinceNanos);
    }

    private static AcquireRequest request(OwnerToken owner, long ttlNanos) {
        return AcquireRequest.exclusive(List.of(name("x")), owner, "holder", ttlNanos, 1);
    }

    private static LeaseRules.Decision acquire(LeaseRow row, OwnerToken owner, StoreTime now) {
        return LeaseRules.acquire(List.of(row), request(owner, TTL), now, true);
    }

    private static LeaseRow granted(LeaseRow row, OwnerToken owner, StoreTime now) {
        return ((LeaseRules.Grant) acquire(row, owner, now)).rows().get(0);
    }

    @Test
    void whatLiesInTheFutureWasWrittenByAClockAheadAndBeginsNow() {
        LeaseRow free = LeaseRules.asOf(row(null, waiter(BOB, 7), 9), at(5));
        assertThat(free).isEqualTo(row(null, waiter(BOB, 5), 5));
        LeaseRow held = LeaseRules.asOf(row(held(ANN, TTL), waiter(BOB, 7), 0), at(5));
        assertThat(held).isEqualTo(row(held(ANN, TTL), waiter(BOB, 5), 0));
    }

    @Test
    void whatLiesInThePastIsAsItWas() {
        LeaseRow free = row(null, waiter(BOB, 3), 4);
        assertThat(LeaseRules.asOf(free, at(5))).isEqualTo(free);
        LeaseRow held = row(held(ANN, TTL), waiter(BOB, 3), 0);
        assertThat(LeaseRules.asOf(held, at(5))).isEqualTo(held);
    }

    @Test
    void aHoldThatIsOverWasFreedAtItsEndAndNotWhenItWasSeen() {
        LeaseRow over = row(held(ANN, 10), waiter(BOB, 0), 0);
        assertThat(LeaseRules.asOf(over, at(10))).isEqualTo(row(null, waiter(BOB, 0), 10));
        assertThat(LeaseRules.asOf(over, at(5_000))).isEqualTo(row(null, waiter(BOB, 0), 10));
    }

    @Test
    void aFreeLockIsKeptForItsWaiterFromTheEndOfItsPatienceOnAndUntilTheEndOfItsClaim() {
        LeaseRow freed = row(null, waiter(BOB, 0), PATIENCE - 1);
        assertThat(acquire(freed, CAT, at(PATIENCE - 1))).isInstanceOf(LeaseRules.Grant.class);
        assertThat(acquire(freed, CAT, at(PATIENCE))).isInstanceOf(LeaseRules.Wait.class);
        assertThat(acquire(freed, CAT, at(PATIENCE + CLAIM - 2))).isInstanceOf(LeaseRules.Wait.class);
        assertThat(acquire(freed, CAT, at(PATIENCE + CLAIM - 1))).isInstanceOf(LeaseRules.Grant.class);
        LeaseRules.Wait wait = (LeaseRules.Wait) acquire(freed, CAT, at(PATIENCE));
        assertThat(wait.holder()).isNull();
        assertThat(wait.lookAgainAtNanos()).isEqualTo(BEGIN + PATIENCE - 1 + CLAIM);
    }

    @Test
    void aWaiterIsOvertakenUntilTheEndOfItsPatienceAndHasHadItsChanceFromThenOn() {
        LeaseRow freed = row(null, waiter(BOB, 0), -CLAIM);
        assertThat(granted(freed, CAT, at(PATIENCE - 1)).waiter()).isEqualTo(waiter(BOB, 0));
        assertThat(granted(freed, CAT, at(PATIENCE)).waiter()).isNull();
    }

    @Test
    void whoHasTheLockWaitsNoMore() {
        LeaseRow freed = row(null, waiter(BOB, 0), 0);
        assertThat(granted(freed, BOB, at(1)).waiter()).as("granted at once").isNull();
        LeaseRow held = row(held(ANN, TTL), waiter(BOB, 0), 0);
        assertThat(LeaseRules.release(held, BOB, 0, at(1)).waiter())
                .as("withdrawn")
                .isNull();
        assertThat(LeaseRules.release(held, CAT, 0, at(1)).waiter())
                .as("another was withdrawn")
                .isEqualTo(waiter(BOB, 0));
        LeaseRow unawaited = row(held(ANN, TTL), null, 0);
        assertThat(LeaseRules.release(unawaited, CAT, 0, at(1))).isEqualTo(unawaited);
    }

    @Test
    void theSameOwnerTokenThatAsksAgainHoldsAsLongAsItAskedForLast() {
        LeaseRow again = granted(row(held(ANN, TTL), null, 0), ANN, at(10));
        assertThat(again.held())
                .isNotNull()
                .satisfies(held -> assertThat(held.expiresAtNanos()).isEqualTo(BEGIN + 10 + TTL));
    }

    @Test
    void ofSeveralLocksTheFirstHolderIsToldAndTheFirstEndIsLookedAt() {
        Held late = new Held(ANN, "the first", BEGIN + 50, TTL, 8, null);
        Held soon = new Held(BOB, "the second", BEGIN + 30, TTL, 9, null);
        AcquireRequest both = AcquireRequest.exclusive(List.of(name("a"), name("b")), CAT, "holder", TTL, 1);
        for (boolean soonComesFirst : new boolean[] {true, false}) {
            LeaseRow one = new LeaseRow(name("a"), "boot:1", soonComesFirst ? soon : late, null, 0, 5);
            LeaseRow other = new LeaseRow(name("b"), "boot:1", soonComesFirst ? late : soon, null, 0, 5);
            LeaseRules.Wait wait = (LeaseRules.Wait) LeaseRules.acquire(List.of(one, other), both, at(20), true);
            assertThat(wait.lookAgainAtNanos()).isEqualTo(BEGIN + 30);
            assertThat(wait.holder())
                    .isEqualTo(
                            soonComesFirst
                                    ? new Holder("the second", Duration.ofNanos(10), OptionalLong.of(9))
                                    : new Holder("the first", Duration.ofNanos(30), OptionalLong.of(8)));
        }
        LeaseRow keptForBob = new LeaseRow(name("a"), "boot:1", null, waiter(BOB, 0), BEGIN + PATIENCE, 5);
        LeaseRow held = new LeaseRow(name("b"), "boot:1", held(ANN, TTL), null, 0, 5);
        for (List<LeaseRow> rows : List.of(List.of(keptForBob, held), List.of(held, keptForBob))) {
            LeaseRules.Wait wait = (LeaseRules.Wait) LeaseRules.acquire(rows, both, at(PATIENCE), true);
            assertThat(wait.lookAgainAtNanos()).isEqualTo(BEGIN + PATIENCE + CLAIM);
        }
    }

    @Test
    void whoHoldsALockMayAskForItWhoeverWaits() {
        LeaseRow held = row(held(ANN, TTL), waiter(BOB, 0), 0);
        assertThat(LeaseRules.isWorthAsking(held, ANN, at(1))).isTrue();
        assertThat(LeaseRules.isWorthAsking(held, BOB, at(1))).isFalse();
    }

    @Test
    void nobodyHoldsAFreeLock() {
        assertThat(row(null, null, 0).holder(at(0))).isNull();
    }

    @Test
    void aRowIsWrittenWithTheLifeOfItsHolderItsOriginAndAFenceThatNothingLowers() {
        LeaseRow held = row(held(ANN, TTL), waiter(BOB, 1), 2);
        Held alive = new Held(ANN, "holder", BEGIN + TTL, TTL, 5, "life");
        assertThat(held.heldDuring("life")).isEqualTo(row(alive, waiter(BOB, 1), 2));
        LeaseRow free = row(null, waiter(BOB, 1), 2);
        assertThat(free.heldDuring("life")).isEqualTo(free);
        assertThat(held.countedFrom("boot:2"))
                .isEqualTo(new LeaseRow(name("x"), "boot:2", held(ANN, TTL), waiter(BOB, 1), BEGIN + 2, 5));
        assertThat(held.withFenceAbove(4)).isEqualTo(held);
        assertThat(held.withFenceAbove(6))
                .isEqualTo(new LeaseRow(name("x"), "boot:1", held(ANN, TTL), waiter(BOB, 1), BEGIN + 2, 6));
    }
}
