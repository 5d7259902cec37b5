package io.leasehold.jdbc.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class LeaseRulesTest {

    private static final long TTL = Duration.ofSeconds(30).toNanos();
    private static final long WALL = 1_700_000_000_000_000L;
    private static final OwnerToken ANN = owner("a");
    private static final OwnerToken BOB = owner("b");
    private static final OwnerToken CAT = owner("c");
    private static final LockName NAME = LockName.exactly("x");

    private static OwnerToken owner(String digit) {
        return OwnerToken.fromHex(digit.repeat(40));
    }

    private static StoreTime at(long nanos) {
        return new StoreTime("boot:1", nanos, WALL + nanos / 1000, nanos);
    }

    private static long millis(long millis) {
        return millis * 1_000_000;
    }

    private static AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "holder", TTL, 1);
    }

    private static AcquireRequest waiting(OwnerToken owner) {
        return request(owner).waiting(millis(3000));
    }

    private static LeaseRow row(@Nullable Held held, @Nullable Waiter waiter, long freedAtNanos, long fence) {
        return new LeaseRow(NAME, "boot:1", held, waiter, freedAtNanos, fence);
    }

    private static LeaseRow free(long fence) {
        return row(null, null, 0, fence);
    }

    private static LeaseRow heldBy(OwnerToken owner, StoreTime now) {
        return grant(free(5), request(owner), now).rows().get(0);
    }

    private static LeaseRules.Grant grant(LeaseRow row, AcquireRequest request, StoreTime now) {
        return (LeaseRules.Grant) LeaseRules.acquire(List.of(row), request, now, true);
    }

    @Test
    void tokensStartAtTheLargestOfFenceSeenTokenAndWallClock() {
        StoreTime now = at(millis(1));
        assertThat(grant(free(7), request(ANN), now).tokens()).isEqualTo(TokenRange.of(now.wallMicros(), 1));
        long ahead = now.wallMicros() + 50;
        assertThat(grant(free(ahead), request(ANN), now).tokens().first()).isEqualTo(ahead + 1);
        assertThat(grant(free(7), request(ANN).seenToken(ahead), now).tokens().first())
                .isEqualTo(ahead + 1);
        LeaseRules.Grant range = grant(free(ahead), request(ANN).reserve(64), now);
        assertThat(range.tokens()).isEqualTo(TokenRange.of(ahead + 1, 64));
        assertThat(range.rows().get(0).fence()).isEqualTo(ahead + 64);
    }

    @Test
    void tokensAreNeverMadeBeyondTheirLimit() {
        assertThat(LeaseRules.acquire(List.of(free(TokenRange.LIMIT - 2)), request(ANN), at(0), true))
                .isInstanceOf(LeaseRules.Exhausted.class);
    }

    @Test
    void aHeldLockIsBusyUntilItsEnd() {
        LeaseRow held = heldBy(ANN, at(0));
        LeaseRow justBefore = LeaseRules.asOf(held, at(TTL - 1));
        LeaseRules.Wait wait =
                (LeaseRules.Wait) LeaseRules.acquire(List.of(justBefore), request(BOB), at(TTL - 1), true);
        assertThat(wait.holder()).isNotNull();
        assertThat(wait.lookAgainAtNanos()).isEqualTo(TTL);
        assertThat(wait.rows()).isEmpty();
        assertThat(grant(LeaseRules.asOf(held, at(TTL)), request(BOB), at(TTL))
                        .rows()
                        .get(0)
                        .fence())
                .isGreaterThan(held.fence());
    }

    @Test
    void theSameOwnerTokenIsGrantedAgainWithNewTokensAndNoEarlierEnd() {
        LeaseRow held = heldBy(ANN, at(0));
        AcquireRequest shorter = AcquireRequest.exclusive(List.of(NAME), ANN, "holder", TTL / 2, 1);
        LeaseRules.Grant again = grant(held, shorter, at(millis(1)));
        assertThat(again.tokens().first()).isGreaterThan(held.fence());
        assertThat(again.rows().get(0).held()).isNotNull().satisfies(h -> {
            assertThat(h.expiresAtNanos()).isEqualTo(TTL);
            assertThat(h.ttlNanos()).isEqualTo(TTL);
        });
    }

    @Test
    void timesOfAnotherBootAreVoidAndTheFenceIsNot() {
        LeaseRow held = heldBy(ANN, at(0));
        LeaseRow now = LeaseRules.asOf(held, new StoreTime("boot:2", 5, WALL, 5));
        assertThat(now.held()).isNull();
        assertThat(now.fence()).isEqualTo(held.fence());
        assertThat(now.origin()).isEqualTo("boot:2");
    }

    @Test
    void aHoldWithNoMoreLeftThanItsTtlMayBeOfThisBootWhateverItIsCalled() {
        LeaseRow held = heldBy(ANN, at(0));
        assertThat(LeaseRules.mayBeOfThisBoot(held, new StoreTime("boot:2", 0, WALL, 0)))
                .isTrue();
        assertThat(LeaseRules.mayBeOfThisBoot(held, new StoreTime("boot:2", TTL - 1, WALL, 0)))
                .isTrue();
        assertThat(LeaseRules.mayBeOfThisBoot(held, new StoreTime("boot:2", TTL, WALL, 0)))
                .as("its end has come")
                .isFalse();
        assertThat(LeaseRules.mayBeOfThisBoot(held, new StoreTime("boot:2", -1, WALL, 0)))
                .as("no hold has more left than its ttl")
                .isFalse();
        assertThat(LeaseRules.mayBeOfThisBoot(free(5), new StoreTime("boot:2", 0, WALL, 0)))
                .isFalse();
    }

    @Test
    void aHoldThatEndsLaterThanItsTtlAllowsIsCutToOneTtl() {
        LeaseRow held = heldBy(ANN, at(Duration.ofHours(5).toNanos()));
        LeaseRow now = LeaseRules.asOf(held, at(100));
        assertThat(now.held())
                .isNotNull()
                .satisfies(h -> assertThat(h.expiresAtNanos()).isEqualTo(100 + TTL));
    }

    @Test
    void aWaiterMayBeOvertakenForItsPatienceAndThenHasItsTurn() {
        LeaseRow held = heldBy(ANN, at(0));
        LeaseRules.Wait wait = (LeaseRules.Wait) LeaseRules.acquire(List.of(held), waiting(BOB), at(0), true);
        LeaseRow noted = wait.rows().get(0);
        assertThat(noted.waiter()).isEqualTo(new Waiter(BOB, 0));

        LeaseRow soon = LeaseRules.release(noted, ANN, 0, at(millis(19)));
        LeaseRow overtaken = grant(soon, request(CAT), at(millis(19))).rows().get(0);
        assertThat(overtaken.waiter()).as("keeps its place").isEqualTo(new Waiter(BOB, 0));

        LeaseRow later = LeaseRules.release(overtaken, CAT, 0, at(millis(30)));
        LeaseRules.Decision others = LeaseRules.acquire(List.of(later), request(CAT), at(millis(31)), true);
        assertThat(others).isInstanceOf(LeaseRules.Wait.class);
        assertThat(((LeaseRules.Wait) others).lookAgainAtNanos()).isEqualTo(millis(80));
        assertThat(grant(later, waiting(BOB), at(millis(31))).rows().get(0).waiter())
                .isNull();
    }

    @Test
    void aWaiterThatDoesNotComeCostsOneClaimTime() {
        LeaseRow freed = row(null, new Waiter(BOB, 0), millis(30), 5);
        assertThat(LeaseRules.acquire(List.of(freed), request(CAT), at(millis(79)), true))
                .isInstanceOf(LeaseRules.Wait.class);
        assertThat(grant(freed, request(CAT), at(millis(80))).rows().get(0).waiter())
                .isNull();
    }

    @Test
    void withoutNotingNobodyIsNoted() {
        LeaseRules.Wait wait =
                (LeaseRules.Wait) LeaseRules.acquire(List.of(heldBy(ANN, at(0))), waiting(BOB), at(0), false);
        assertThat(wait.rows()).isEmpty();
    }

    @Test
    void severalLocksAreGrantedTogetherOrNotAtAll() {
        LeaseRow free = new LeaseRow(LockName.exactly("a"), "boot:1", null, null, 0, WALL + 99);
        LeaseRow held = heldBy(ANN, at(0));
        AcquireRequest both = AcquireRequest.exclusive(List.of(NAME, LockName.exactly("a")), BOB, "holder", TTL, 1)
                .waiting(1);
        LeaseRules.Wait wait = (LeaseRules.Wait) LeaseRules.acquire(List.of(free, held), both, at(0), true);
        assertThat(wait.rows()).extracting(LeaseRow::name).containsExactly(NAME);
        LeaseRow released = LeaseRules.release(held, ANN, 0, at(0));
        LeaseRules.Grant grant = (LeaseRules.Grant) LeaseRules.acquire(List.of(free, released), both, at(0), true);
        assertThat(grant.tokens().first()).isEqualTo(WALL + 100);
        assertThat(grant.rows()).allSatisfy(row -> assertThat(row.fence()).isEqualTo(WALL + 100));
    }

    @Test
    void renewalExtendsOnlyTheOwnHoldAndNeverShortens() {
        LeaseRow held = heldBy(ANN, at(0));
        assertThat(LeaseRules.renew(held, BOB, TTL, at(1))).isNull();
        assertThat(LeaseRules.renew(held, ANN, millis(1), at(1))).isEqualTo(held);
        assertThat(LeaseRules.renew(held, ANN, TTL, at(5)))
                .isNotNull()
                .satisfies(row -> assertThat(row.held())
                        .isNotNull()
                        .satisfies(h -> assertThat(h.expiresAtNanos()).isEqualTo(5 + TTL)));
        assertThat(LeaseRules.renew(LeaseRules.asOf(held, at(TTL)), ANN, TTL, at(TTL)))
                .isNull();
    }

    @Test
    void releaseTouchesOnlyWhatIsItsOwn() {
        LeaseRow held = heldBy(ANN, at(0));
        assertThat(LeaseRules.release(held, BOB, 0, at(1))).isEqualTo(held);
        LeaseRow released = LeaseRules.release(held, ANN, 0, at(1));
        assertThat(released.held()).isNull();
        assertThat(released.fence()).isEqualTo(held.fence());
        assertThat(LeaseRules.release(released, ANN, 0, at(2))).isEqualTo(released);
    }

    @Test
    void releaseRaisesTheFenceToItsBallotButNotAbsurdly() {
        StoreTime now = at(0);
        assertThat(LeaseRules.release(free(5), ANN, 9, now).fence()).isEqualTo(9);
        assertThat(LeaseRules.release(free(5), ANN, 3, now).fence()).isEqualTo(5);
        assertThat(LeaseRules.release(free(5), ANN, TokenRange.LIMIT - 1, now).fence())
                .isEqualTo(now.wallMicros() + LeaseRules.FENCE_LEAD.toNanos() / 1000);
    }

    @Test
    void forceReleaseComparesTheHolderAndRaisesTheFence() {
        LeaseRow held = heldBy(ANN, at(0));
        assertThat(LeaseRules.forceRelease(held, "somebody else", at(1))).isNull();
        assertThat(LeaseRules.forceRelease(free(5), null, at(1))).isNull();
        LeaseRow freed = LeaseRules.forceRelease(held, "holder", at(1));
        assertThat(freed).isNotNull();
        assertThat(freed.held()).isNull();
        assertThat(freed.fence()).isGreaterThan(held.fence());
    }

    @Test
    void waitersAreWokenForAFreeLockAndForAFreePlaceInTheRow() {
        LeaseRow held = heldBy(ANN, at(0));
        assertThat(LeaseRules.isWorthAsking(null, BOB, at(0))).isTrue();
        assertThat(LeaseRules.isWorthAsking(free(1), BOB, at(0))).isTrue();
        assertThat(LeaseRules.isWorthAsking(held, BOB, at(0))).as("to be noted").isTrue();
        LeaseRow noted = held.with(held.held(), new Waiter(CAT, 0), held.fence());
        assertThat(LeaseRules.isWorthAsking(noted, BOB, at(0))).isFalse();
        LeaseRow kept = row(null, new Waiter(CAT, 0), millis(30), 1);
        assertThat(LeaseRules.isWorthAsking(kept, BOB, at(millis(31)))).isFalse();
        assertThat(LeaseRules.isWorthAsking(kept, CAT, at(millis(31)))).isTrue();
    }
}
