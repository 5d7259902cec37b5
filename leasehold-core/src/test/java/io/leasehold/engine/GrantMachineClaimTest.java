package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.engine.GrantMachine.ArmEnd;
import io.leasehold.engine.GrantMachine.ArmRenew;
import io.leasehold.engine.GrantMachine.Renew;
import io.leasehold.engine.GrantMachine.SendRelease;
import io.leasehold.engine.GrantMachine.TellAtRisk;
import io.leasehold.engine.GrantMachine.TellLost;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A lease that begins from a message: valid for the claim, until a renewal is answered. */
@Tag("quick")
final class GrantMachineClaimTest {

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);
    private static final long MS = 1_000_000;
    private static final long BEGAN = 5_000 * MS;
    private static final long NOW = BEGAN + 10 * MS;
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults(), false);
    private static final long CLAIM = TIMINGS.claimNanos();
    private static final long UNTIL = BEGAN + TIMINGS.claimValidityNanos(CLAIM);

    private final GrantMachine machine = new GrantMachine(TIMINGS, BEGAN, CLAIM, NOW);

    private void begins() {
        assertThat(machine.begin(0)).containsExactly(new ArmEnd(UNTIL), new Renew(false));
    }

    @Test
    void itIsValidForTheClaimLessItsDriftAndIsRenewedAtOnce() {
        begins();
        assertThat(CLAIM).isEqualTo(4_000 * MS);
        assertThat(UNTIL - BEGAN).isEqualTo((4_000 - 40 - 2) * MS);
        assertThat(machine.remainingNanos(NOW)).isEqualTo(UNTIL - NOW);
        assertThat(machine.isClaimed()).isTrue();
    }

    @Test
    void theRenewalBeginsTheTtl() {
        begins();
        long sent = NOW + 50 * MS;
        long next = sent + TIMINGS.renewalNanos();
        assertThat(machine.on(new GrantMachine.Renewed(sent), sent + MS))
                .containsExactly(new ArmRenew(next, next - TIMINGS.togetherNanos()));
        assertThat(machine.remainingNanos(sent)).isEqualTo(TIMINGS.validityNanos());
        assertThat(machine.isClaimed()).isFalse();
    }

    /** The claim is short by its nature; only a failure is a risk. */
    @Test
    void itIsAtRiskWhenTheRenewalHasFailedAndIsRenewedAgainSoon() {
        begins();
        assertThat(machine.on(new GrantMachine.EndDue(), NOW + MS)).containsExactly(new ArmEnd(UNTIL));
        long failed = NOW + 3_050 * MS;
        assertThat(machine.on(new GrantMachine.RenewFailed(), failed))
                .containsExactly(new ArmRenew(failed + 100 * MS, failed + 100 * MS), new TellAtRisk(UNTIL - failed));
        assertThat(machine.on(new GrantMachine.RenewDue(false), failed + 100 * MS))
                .containsExactly(new Renew(false));
        assertThat(machine.on(new GrantMachine.RenewFailed(), failed + 150 * MS))
                .containsExactly(new ArmRenew(failed + 350 * MS, failed + 350 * MS));
    }

    @Test
    void withoutAnAnswerItIsLostAtTheEndOfTheClaim() {
        begins();
        assertThat(machine.on(new GrantMachine.EndDue(), UNTIL - 1)).containsExactly(new ArmEnd(UNTIL));
        assertThat(machine.on(new GrantMachine.EndDue(), UNTIL)).containsExactly(new TellLost(LossCause.EXPIRED));
        assertThat(machine.on(new GrantMachine.Renewed(NOW), UNTIL + MS)).isEmpty();
        assertThat(machine.remainingNanos(UNTIL + MS)).isZero();
    }

    @Test
    void itIsLostIfTheStoreDoesNotKeepTheLock() {
        begins();
        assertThat(machine.on(new GrantMachine.Denied(), NOW + MS)).containsExactly(new TellLost(LossCause.NOT_OURS));
    }

    /** After a fail-over that has lost the hand-over, the new primary may have the place of the waiter. */
    @Test
    void aPlaceThatTheStoreMayHaveIsLeft() {
        begins();
        machine.on(new GrantMachine.Denied(), NOW + MS);
        assertThat(machine.on(new GrantMachine.ReleaseCalled(NOT_KEPT), NOW + 2 * MS))
                .containsExactly(new GrantMachine.SendUndo());
    }

    @Test
    void afterARenewalTheStoreHasNoPlace() {
        begins();
        machine.on(new GrantMachine.Renewed(NOW), NOW + MS);
        machine.on(new GrantMachine.Denied(), NOW + 2 * MS);
        assertThat(machine.on(new GrantMachine.ReleaseCalled(NOT_KEPT), NOW + 3 * MS))
                .containsExactly(new GrantMachine.LeaveToEnd());
    }

    @Test
    void aReleaseBeforeTheRenewalReplacesIt() {
        begins();
        assertThat(machine.on(new GrantMachine.ReleaseCalled(NOT_KEPT), NOW)).containsExactly(new SendRelease());
        assertThat(machine.beginSending()).isFalse();
        assertThat(machine.on(new GrantMachine.RenewDue(false), NOW + MS)).isEmpty();
    }

    @Test
    void aReleaseWhileTheRenewalIsSentFollowsIt() {
        begins();
        assertThat(machine.beginSending()).isTrue();
        assertThat(machine.on(new GrantMachine.ReleaseCalled(NOT_KEPT), NOW)).isEmpty();
        assertThat(machine.on(new GrantMachine.RenewalSent(), NOW)).containsExactly(new SendRelease());
        assertThat(machine.on(new GrantMachine.Renewed(NOW), NOW + MS)).isEmpty();
        assertThat(machine.remainingNanos(NOW + MS)).isZero();
    }

    /** A request that left before the sleep says nothing of it: another one follows, as it does for any lease. */
    @Test
    void aSleepDuringTheRenewalIsFollowedByAnother() {
        begins();
        machine.on(new GrantMachine.Suspended(), NOW + MS);
        assertThat(machine.remainingNanos(NOW + MS)).isZero();
        assertThat(machine.on(new GrantMachine.Renewed(NOW), NOW + 2 * MS)).isEqualTo(List.of(new Renew(false)));
        assertThat(machine.isClaimed()).isTrue();
        machine.on(new GrantMachine.Renewed(NOW + 2 * MS), NOW + 3 * MS);
        assertThat(machine.remainingNanos(NOW + 2 * MS)).isEqualTo(TIMINGS.validityNanos());
    }
}
