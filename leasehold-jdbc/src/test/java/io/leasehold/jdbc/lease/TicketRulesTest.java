package io.leasehold.jdbc.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of {@link LeaseRules#export} and {@link LeaseRules#resume}, after the variants of the formal model. */
@Tag("quick")
class TicketRulesTest {

    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final long TTL = 30 * SECOND;
    private static final long WALL = 1_700_000_000_000_000L;
    private static final OwnerToken HOLDER = owner("a");
    private static final OwnerToken TICKET = owner("b");
    private static final OwnerToken CLAIMANT = owner("c");
    private static final OwnerToken RIVAL = owner("d");
    private static final LockName NAME = LockName.exactly("x");

    private static OwnerToken owner(String digit) {
        return OwnerToken.fromHex(digit.repeat(40));
    }

    private static StoreTime at(long nanos) {
        return new StoreTime("boot:1", nanos, WALL + nanos / 1000, nanos);
    }

    private static AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "holder", TTL, 1);
    }

    private static ExportRequest request(long ballot, long claimNanos) {
        return new ExportRequest(NAME, HOLDER, ballot, TICKET, 7, "ticket of holder", claimNanos, 1);
    }

    private static LeaseRow held(StoreTime now) {
        LeaseRow free = new LeaseRow(NAME, "boot:1", null, null, 0, 5);
        return ((LeaseRules.Grant) LeaseRules.acquire(List.of(free), request(HOLDER), now, true))
                .rows()
                .get(0)
                .heldDuring("life");
    }

    @Test
    void theTicketTakesThePlaceOfTheHolderForTheClaimAndBelongsToNoProcess() {
        LeaseRow row = held(at(0))
                .with(held(at(0)).held(), new Waiter(RIVAL, 3), held(at(0)).fence());
        LeaseRow exported = LeaseRules.export(row, request(0, 2 * SECOND), at(SECOND));
        assertThat(exported.held()).isEqualTo(new Held(TICKET, "ticket of holder", 3 * SECOND, 2 * SECOND, 7, null));
        assertThat(exported.waiter()).isEqualTo(row.waiter());
        assertThat(LeaseRules.export(exported, request(0, 2 * SECOND), at(2 * SECOND)))
                .as("a copy")
                .isEqualTo(exported);
        assertThat(LeaseRules.asOf(exported, at(3 * SECOND)).held()).isNull();
    }

    /** The variant export-does-not-raise. */
    @Test
    void anExportRaisesTheFence() {
        LeaseRow row = held(at(0));
        long ballot = row.fence() + 1_000_000;
        assertThat(LeaseRules.export(row, request(ballot, SECOND), at(0)).fence())
                .isEqualTo(ballot);
        LeaseRow other = LeaseRules.resume(row, request(HOLDER), HOLDER, at(0)) instanceof LeaseRules.Grant grant
                ? grant.rows().get(0)
                : row;
        LeaseRow free = other.freedAt(1);
        LeaseRow raised = LeaseRules.export(free, request(ballot, SECOND), at(2));
        assertThat(raised.fence()).as("even if the holder is gone").isEqualTo(ballot);
        assertThat(raised.held()).isNull();
        assertThat(LeaseRules.export(row, request(Long.MAX_VALUE, SECOND), at(0))
                        .fence())
                .isEqualTo(Math.max(row.fence(), WALL) + 7_500_000);
    }

    @Test
    void anExportTouchesNoOtherHolder() {
        LeaseRow row = held(at(0));
        LeaseRow others = row.with(new Held(RIVAL, "rival", TTL, TTL, 9, null), null, row.fence());
        assertThat(LeaseRules.export(others, request(0, SECOND), at(0))).isEqualTo(others);
    }

    /** The variants resume-as-acquire and resume-below-the-fence. */
    @Test
    void aResumeSwapsTheTicketOnceForTheClaimantWithALargerToken() {
        LeaseRow exported = LeaseRules.export(held(at(0)), request(WALL + 70, SECOND), at(0));
        LeaseRules.Grant won = (LeaseRules.Grant) LeaseRules.resume(exported, request(CLAIMANT), TICKET, at(1));
        LeaseRow row = won.rows().get(0);
        assertThat(won.tokens().first()).isGreaterThan(WALL + 70);
        assertThat(row.fence()).isEqualTo(won.tokens().last());
        assertThat(row.isHeldBy(CLAIMANT)).isTrue();
        assertThat(row.held().expiresAtNanos()).isEqualTo(1 + TTL);
        assertThat(LeaseRules.resume(row, request(RIVAL), TICKET, at(2))).isInstanceOf(LeaseRules.Wait.class);
        assertThat(LeaseRules.resume(row, request(CLAIMANT), TICKET, at(2)))
                .as("a lost reply")
                .isInstanceOf(LeaseRules.Grant.class);
        assertThat(LeaseRules.renew(row, TICKET, TTL, at(2))).isNull();
        assertThat(LeaseRules.release(row, TICKET, 0, at(2))).isEqualTo(row);
    }

    /** The variant resume-keeps-the-claim. */
    @Test
    void aResumeEndsTheClaim() {
        LeaseRow exported = LeaseRules.export(held(at(0)), request(0, 100 * SECOND), at(0));
        LeaseRules.Grant won = (LeaseRules.Grant) LeaseRules.resume(exported, request(CLAIMANT), TICKET, at(1));
        LeaseRow row = won.rows().get(0);
        assertThat(row.held().expiresAtNanos())
                .as("one ttl, not the rest of the claim")
                .isEqualTo(1 + TTL);
        LeaseRow renewed = LeaseRules.renew(row, CLAIMANT, 3 * TTL, at(2));
        LeaseRules.Grant again = (LeaseRules.Grant) LeaseRules.resume(renewed, request(CLAIMANT), TICKET, at(3));
        assertThat(again.rows().get(0).held().expiresAtNanos())
                .as("a copy shortens no hold of its own")
                .isEqualTo(2 + 3 * TTL);
    }

    /** The variant resume-takes-free. */
    @Test
    void aResumeNeverTakesAFreeLock() {
        LeaseRow exported = LeaseRules.export(held(at(0)), request(0, SECOND), at(0));
        LeaseRow over = LeaseRules.asOf(exported, at(SECOND));
        assertThat(LeaseRules.resume(over, request(CLAIMANT), TICKET, at(SECOND)))
                .isInstanceOfSatisfying(LeaseRules.Wait.class, wait -> {
                    assertThat(wait.holder()).isNull();
                    assertThat(wait.rows()).isEmpty();
                });
    }
}
