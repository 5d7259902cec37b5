package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Schedules of one lease that once failed. */
@Tag("quick")
final class GrantMachineTest {

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);

    private static final long SECOND = 1_000_000_000L;
    private static final Timings TIMINGS =
            Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)).maxHold(Duration.ofSeconds(60)), false);

    private final GrantMachine machine = new GrantMachine(TIMINGS, 0, 0);

    @Test
    void aRenewalThatLeftBeforeASuspensionConfirmsNothing() {
        assertThat(machine.on(new GrantMachine.RenewDue(false), 10 * SECOND))
                .containsExactly(new GrantMachine.Renew(false));
        assertThat(machine.on(new GrantMachine.Suspended(), 11 * SECOND)).isEmpty();

        List<GrantMachine.Action> actions = machine.on(new GrantMachine.Renewed(10 * SECOND), 11 * SECOND);

        assertThat(actions).containsExactly(new GrantMachine.Renew(false));
        assertThat(machine.remainingNanos(11 * SECOND)).isZero();

        machine.on(new GrantMachine.Renewed(11 * SECOND), 11 * SECOND + 1);
        assertThat(machine.remainingNanos(11 * SECOND + 1)).isPositive();
    }

    @Test
    void aHeartbeatFromBeforeASuspensionConfirmsNothing() {
        assertThat(machine.on(new GrantMachine.Suspended(), 11 * SECOND))
                .containsExactly(new GrantMachine.Renew(false));

        List<GrantMachine.Action> actions = machine.on(new GrantMachine.Renewed(9 * SECOND), 12 * SECOND);

        assertThat(actions).hasSize(1).first().isInstanceOf(GrantMachine.ArmRenew.class);
        assertThat(machine.remainingNanos(12 * SECOND)).isZero();
    }

    @Test
    void theFailureOfAnOldRenewalIsFollowedByOneThatCounts() {
        machine.on(new GrantMachine.RenewDue(false), 10 * SECOND);
        machine.on(new GrantMachine.Suspended(), 11 * SECOND);
        machine.on(new GrantMachine.RenewFailed(), 12 * SECOND);
        assertThat(machine.remainingNanos(12 * SECOND)).isZero();
        machine.on(new GrantMachine.RenewDue(false), 13 * SECOND);

        machine.on(new GrantMachine.Renewed(13 * SECOND), 13 * SECOND + 1);

        assertThat(machine.remainingNanos(13 * SECOND + 1)).isPositive();
    }

    @Test
    void lostContactIsToldOnceUntilARenewalSucceeds() {
        assertThat(machine.on(new GrantMachine.ContactLost(), SECOND))
                .containsExactly(new GrantMachine.TellAtRisk(TIMINGS.validityNanos() - SECOND));
        assertThat(machine.on(new GrantMachine.ContactLost(), 2 * SECOND)).isEmpty();
        assertThat(machine.remainingNanos(2 * SECOND)).isEqualTo(TIMINGS.validityNanos() - 2 * SECOND);

        machine.on(new GrantMachine.RenewDue(false), 10 * SECOND);
        machine.on(new GrantMachine.Renewed(10 * SECOND), 10 * SECOND + 1);

        assertThat(machine.on(new GrantMachine.ContactLost(), 11 * SECOND)).hasSize(1);
        machine.on(new GrantMachine.ReleaseCalled(NOT_KEPT), 12 * SECOND);
        assertThat(machine.on(new GrantMachine.ContactLost(), 13 * SECOND)).isEmpty();
    }

    @Test
    void noRenewalCarriesTheHoldBeyondMaxHold() {
        long lastMoment = TIMINGS.maxHoldNanos() - TIMINGS.validityNanos();
        for (long at = 9 * SECOND; at <= lastMoment; at += 9 * SECOND) {
            machine.on(new GrantMachine.RenewDue(false), at);
            machine.on(new GrantMachine.Renewed(at), at + 1);
        }
        assertThat(machine.on(new GrantMachine.RenewDue(false), lastMoment))
                .containsExactly(new GrantMachine.Renew(false));
        long sentLater = lastMoment + TIMINGS.batchingNanos();

        machine.on(new GrantMachine.Renewed(sentLater), sentLater + 1);

        assertThat(machine.validUntilAtNanos()).isEqualTo(TIMINGS.maxHoldNanos());
        assertThat(machine.on(new GrantMachine.RenewDue(true), sentLater + SECOND))
                .containsExactly(new GrantMachine.RefuseRenewal(LossCause.MAX_HOLD));
        assertThat(machine.on(new GrantMachine.EndDue(), TIMINGS.maxHoldNanos()))
                .contains(new GrantMachine.TellLost(LossCause.MAX_HOLD));
    }
}
