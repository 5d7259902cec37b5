package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every sequence of events up to a length, with time passing in between, keeps the invariants of a grant. */
@Tag("quick")
final class GrantMachineExhaustiveTest {

    private static final GrantMachine.Keeping NOT_KEPT = new GrantMachine.Keeping(0, 0);

    private static final int DEPTH = 5;
    private static final long MS = 1_000_000;
    static final LockOptions OPTIONS =
            LockOptions.defaults().ttl(Duration.ofSeconds(1)).maxHold(Duration.ofSeconds(3));

    private enum Step {
        RENEW_DUE,
        RENEWED,
        RENEW_FAILED,
        END_DUE,
        TAKEN_AWAY,
        RELEASE,
        SENDING,
        SENT,
        ABANDONED,
        SUSPENDED,
        SUSPECTED,
        DOUBTED,
        CONTACT_LOST,
        A_WHILE,
        A_TTL
    }

    @Test
    void everyOrderOfEventsKeepsTheInvariants() {
        explore(DEPTH, OPTIONS);
    }

    @Test
    void soItDoesWhereNothingRenewsTheLease() {
        explore(DEPTH, OPTIONS.renewal(Renewal.none()));
    }

    /** Takes every sequence of so many events and fewer. */
    static void explore(int depth, LockOptions options) {
        explore(new ArrayList<>(), depth, options);
    }

    private static void explore(List<Step> path, int depth, LockOptions options) {
        Life life = new Life(options);
        for (Step step : path) {
            if (!life.take(step)) {
                return;
            }
        }
        if (path.size() == depth) {
            return;
        }
        for (Step step : Step.values()) {
            path.add(step);
            explore(path, depth, options);
            path.remove(path.size() - 1);
        }
    }

    private static final class Life {

        private final List<Step> taken = new ArrayList<>();
        private long now = 500 * MS;
        private final GrantMachine machine;
        private long renewalSentAt = now;
        private boolean renewing;
        private boolean armed;
        private boolean suspected;
        /** Whether the renewal in flight was sent after the signal. */
        private boolean answersTheSuspicion;

        private boolean sending;
        private boolean lost;
        private boolean released;
        private boolean releaseSent;
        private boolean abandoned;

        Life(LockOptions options) {
            machine = new GrantMachine(Timings.of(options, false), now, now);
        }

        boolean take(Step step) {
            taken.add(step);
            boolean validBefore = valid();
            switch (step) {
                case RENEW_DUE -> {
                    armed = false;
                    on(new GrantMachine.RenewDue(false));
                }
                case RENEWED, RENEW_FAILED -> {
                    if (!renewing) {
                        return false;
                    }
                    renewing = false;
                    // If it was being sent, an Error has met the report of that.
                    sending = false;
                    suspected &= step == Step.RENEW_FAILED || !answersTheSuspicion;
                    on(step == Step.RENEWED ? new GrantMachine.Renewed(renewalSentAt) : new GrantMachine.RenewFailed());
                }
                case END_DUE -> on(new GrantMachine.EndDue());
                case TAKEN_AWAY -> on(new GrantMachine.TakenAway(LossCause.NOT_OURS));
                case RELEASE -> {
                    released = true;
                    on(new GrantMachine.ReleaseCalled(NOT_KEPT));
                }
                case SENDING -> {
                    if (!renewing || sending) {
                        return false;
                    }
                    sending = machine.beginSending();
                    assertThat(sending && (lost || released))
                            .as("no renewal after the end: %s", taken)
                            .isFalse();
                }
                case SENT -> {
                    if (!sending) {
                        return false;
                    }
                    sending = false;
                    on(new GrantMachine.RenewalSent());
                }
                case ABANDONED -> {
                    abandoned = true;
                    on(new GrantMachine.Abandoned(LossCause.LEAKED));
                }
                case SUSPENDED -> on(new GrantMachine.Suspended());
                case SUSPECTED -> {
                    suspected = true;
                    answersTheSuspicion = false;
                    on(new GrantMachine.SuspectedForce());
                }
                case DOUBTED -> {
                    suspected = true;
                    answersTheSuspicion = false;
                    on(new GrantMachine.Doubted());
                }
                case CONTACT_LOST -> on(new GrantMachine.ContactLost());
                case A_WHILE -> now += 350 * MS;
                default -> now += 1_000 * MS;
            }
            if (!validBefore && valid()) {
                assertThat(step).as("only a renewal confirms: %s", taken).isEqualTo(Step.RENEWED);
            }
            if (step == Step.SUSPECTED || step == Step.DOUBTED) {
                assertThat(valid()).as("a hint takes nothing: %s", taken).isEqualTo(validBefore);
            }
            assertThat((lost || released) && valid())
                    .as("never valid after its end: %s", taken)
                    .isFalse();
            assertThat(releaseSent || sending)
                    .as("a release waits only for a renewal that is being sent: %s", taken)
                    .isEqualTo(released || sending);
            if ((suspected || machine.isUnconfirmed()) && machine.isHeld() && !abandoned) {
                assertThat(renewing || armed)
                        .as("in doubt, the store is asked, or will be: %s", taken)
                        .isTrue();
            }
            return true;
        }

        private boolean valid() {
            return machine.remainingNanos(now) > 0;
        }

        private void on(GrantMachine.Event event) {
            for (GrantMachine.Action action : machine.on(event, now)) {
                if (action instanceof GrantMachine.Renew || action instanceof GrantMachine.Verify) {
                    assertThat(renewing).as("one renewal in flight: %s", taken).isFalse();
                    assertThat(lost || released || abandoned)
                            .as("no renewal when over: %s", taken)
                            .isFalse();
                    renewing = true;
                    answersTheSuspicion = suspected;
                    renewalSentAt = now;
                } else if (action instanceof GrantMachine.ArmRenew) {
                    armed = true;
                } else if (action instanceof GrantMachine.TellLost) {
                    assertThat(lost || releaseSent)
                            .as("lost once, and not after a release: %s", taken)
                            .isFalse();
                    lost = true;
                } else if (action instanceof GrantMachine.End end) {
                    assertThat(releaseSent).as("released once: %s", taken).isFalse();
                    assertThat(sending)
                            .as("no release while a renewal is leaving: %s", taken)
                            .isFalse();
                    assertThat(end instanceof GrantMachine.SendRelease)
                            .as("released only if it was not lost: %s", taken)
                            .isEqualTo(!lost);
                    releaseSent = true;
                } else if (action instanceof GrantMachine.ArmEnd arm) {
                    assertThat(arm.atNanos() - now)
                            .as("the end is ahead: %s", taken)
                            .isPositive();
                }
            }
        }
    }

    @Test
    void aRenewalMovesTheEndByItsOwnSending() {
        GrantMachine machine = new GrantMachine(Timings.of(OPTIONS, false), 0, 0);
        machine.on(new GrantMachine.RenewDue(false), 300 * MS);
        machine.on(new GrantMachine.Renewed(300 * MS), 350 * MS);
        assertThat(machine.validUntilAtNanos()).isEqualTo(300 * MS + 988 * MS);
    }

    @Test
    void aLateSuccessDoesNotUndoALoss() {
        GrantMachine machine = new GrantMachine(Timings.of(OPTIONS, false), 0, 0);
        machine.on(new GrantMachine.RenewDue(false), 300 * MS);
        List<GrantMachine.Action> actions = machine.on(new GrantMachine.Renewed(300 * MS), 988 * MS);
        assertThat(actions).containsExactly(new GrantMachine.TellLost(LossCause.EXPIRED));
        assertThat(machine.remainingNanos(988 * MS)).isZero();
    }

    @Test
    void renewalsStopWhenTheyWouldPassMaxHold() {
        GrantMachine machine = new GrantMachine(Timings.of(OPTIONS, false), 0, 0);
        long now = 0;
        long sentAt = 0;
        while (now < 4_000 * MS) {
            now += 300 * MS;
            List<GrantMachine.Action> actions = machine.on(new GrantMachine.RenewDue(false), now);
            if (actions.contains(new GrantMachine.TellLost(LossCause.MAX_HOLD))) {
                assertThat(now).isLessThanOrEqualTo(3_000 * MS + 300 * MS);
                return;
            }
            if (actions.contains(new GrantMachine.Renew(false))) {
                sentAt = now;
                machine.on(new GrantMachine.Renewed(sentAt), now);
            }
        }
        throw new AssertionError("it was held for longer than maxHold; last renewal sent at " + sentAt / MS + " ms");
    }
}
