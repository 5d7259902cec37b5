package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Schedules of one lease that went wrong once. */
@Tag("quick")
final class GrantMachineTest {

    private static final GrantEvent.Keeping NOT_KEPT = new GrantEvent.Keeping(0, 0);

    private static final long SECOND = 1_000_000_000L;
    private static final Timings TIMINGS =
            Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)).maxHold(Duration.ofSeconds(60)), false);

    private final GrantMachine machine = new GrantMachine(TIMINGS, 0, 0);

    @Test
    void aRenewalThatLeftBeforeASuspensionConfirmsNothing() {
        assertThat(machine.on(new GrantEvent.RenewDue(false), 10 * SECOND))
                .containsExactly(new GrantAction.Renew(false));
        assertThat(machine.on(new GrantEvent.Suspended(), 11 * SECOND)).isEmpty();

        List<GrantAction> actions = machine.on(new GrantEvent.Renewed(10 * SECOND), 11 * SECOND);

        assertThat(actions).containsExactly(new GrantAction.Renew(false));
        assertThat(machine.remainingNanos(11 * SECOND)).isZero();

        machine.on(new GrantEvent.Renewed(11 * SECOND), 11 * SECOND + 1);
        assertThat(machine.remainingNanos(11 * SECOND + 1)).isPositive();
    }

    @Test
    void aHeartbeatFromBeforeASuspensionConfirmsNothing() {
        assertThat(machine.on(new GrantEvent.Suspended(), 11 * SECOND)).containsExactly(new GrantAction.Renew(false));

        List<GrantAction> actions = machine.on(new GrantEvent.Renewed(9 * SECOND), 12 * SECOND);

        assertThat(actions).hasSize(1).first().isInstanceOf(GrantAction.ArmRenew.class);
        assertThat(machine.remainingNanos(12 * SECOND)).isZero();
    }

    @Test
    void theFailureOfAnOldRenewalIsFollowedByOneThatCounts() {
        machine.on(new GrantEvent.RenewDue(false), 10 * SECOND);
        machine.on(new GrantEvent.Suspended(), 11 * SECOND);
        machine.on(new GrantEvent.RenewFailed(), 12 * SECOND);
        assertThat(machine.remainingNanos(12 * SECOND)).isZero();
        machine.on(new GrantEvent.RenewDue(false), 13 * SECOND);

        machine.on(new GrantEvent.Renewed(13 * SECOND), 13 * SECOND + 1);

        assertThat(machine.remainingNanos(13 * SECOND + 1)).isPositive();
    }

    @Test
    void lostContactIsToldOnceUntilARenewalSucceeds() {
        assertThat(machine.on(new GrantEvent.ContactLost(), SECOND))
                .containsExactly(new GrantAction.TellAtRisk(TIMINGS.validityNanos() - SECOND));
        assertThat(machine.on(new GrantEvent.ContactLost(), 2 * SECOND)).isEmpty();
        assertThat(machine.remainingNanos(2 * SECOND)).isEqualTo(TIMINGS.validityNanos() - 2 * SECOND);

        machine.on(new GrantEvent.RenewDue(false), 10 * SECOND);
        machine.on(new GrantEvent.Renewed(10 * SECOND), 10 * SECOND + 1);

        assertThat(machine.on(new GrantEvent.ContactLost(), 11 * SECOND)).hasSize(1);
        machine.on(new GrantEvent.ReleaseCalled(NOT_KEPT), 12 * SECOND);
        assertThat(machine.on(new GrantEvent.ContactLost(), 13 * SECOND)).isEmpty();
    }

    @Test
    void noRenewalCarriesTheHoldBeyondMaxHold() {
        long lastMoment = TIMINGS.maxHoldNanos() - TIMINGS.validityNanos();
        for (long at = 9 * SECOND; at <= lastMoment; at += 9 * SECOND) {
            machine.on(new GrantEvent.RenewDue(false), at);
            machine.on(new GrantEvent.Renewed(at), at + 1);
        }
        assertThat(machine.on(new GrantEvent.RenewDue(false), lastMoment))
                .containsExactly(new GrantAction.Renew(false));
        long sentLater = lastMoment + TIMINGS.batchingNanos();

        machine.on(new GrantEvent.Renewed(sentLater), sentLater + 1);

        assertThat(machine.validUntilAtNanos()).isEqualTo(TIMINGS.maxHoldNanos());
        assertThat(machine.on(new GrantEvent.RenewDue(true), sentLater + SECOND))
                .containsExactly(new GrantAction.RefuseRenewal(LossCause.MAX_HOLD));
        assertThat(machine.on(new GrantEvent.EndDue(), TIMINGS.maxHoldNanos()))
                .contains(new GrantAction.TellLost(LossCause.MAX_HOLD));
    }
}
