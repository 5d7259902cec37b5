package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The answers to a check that waits for a renewal, and their times: single cases, and every order of events up to a
 * length.
 */
@Tag("quick")
final class WaitingChecksTest {

    private static final long MS = 1_000_000;
    private static final int DEPTH = 6;
    private static final LockOptions OPTIONS =
            LockOptions.defaults().ttl(Duration.ofSeconds(1)).maxHold(Duration.ofSeconds(3));
    private static final Timings TIMINGS = Timings.of(OPTIONS, false);
    private static final long ANSWER = TIMINGS.answerNanos();

    /** A grant and its waiting checks. */
    private static final class Life {

        private long now = 500 * MS;
        private final GrantMachine machine = new GrantMachine(TIMINGS, now, now);
        private final WaitingChecks waiting = new WaitingChecks(ANSWER);
        private final List<Asked> all = new ArrayList<>();
        private final List<GrantMachine.Action> actions = new ArrayList<>();
        private long sentAt;
        private boolean inFlight;
        private boolean toLeave;

        void on(GrantMachine.Event event) {
            List<GrantMachine.Action> done = machine.on(event, now);
            waiting.after(event, machine, now, done);
            perform(done);
        }

        Asked ask(long neededMillis) {
            Asked asked = new Asked(neededMillis * MS, now);
            all.add(asked);
            List<GrantMachine.Action> done = new ArrayList<>();
            waiting.asked(asked, machine, now, done);
            perform(done);
            return asked;
        }

        private void perform(List<GrantMachine.Action> done) {
            actions.clear();
            actions.addAll(done);
            for (GrantMachine.Action action : done) {
                if (action instanceof WaitingChecks.Answer answer) {
                    answer.check().answered(answer.verdict());
                } else if (action instanceof GrantMachine.Renew) {
                    toLeave = true;
                }
            }
        }

        boolean leave() {
            if (!toLeave) {
                return false;
            }
            toLeave = false;
            inFlight = machine.beginSending();
            sentAt = now;
            on(new GrantMachine.RenewalSent());
            return inFlight;
        }

        boolean answer(boolean renewed) {
            if (!inFlight) {
                return false;
            }
            inFlight = false;
            on(renewed ? new GrantMachine.Renewed(sentAt) : new GrantMachine.RenewFailed());
            return true;
        }

        void pass(long millis) {
            now += millis * MS;
            on(new GrantMachine.EndDue());
        }

        private final class Asked implements WaitingChecks.Check {
            private final long neededNanos;
            private final long atNanos;
            private final List<WaitingChecks.Verdict> verdicts = new ArrayList<>();
            private long answeredAtNanos;

            Asked(long neededNanos, long atNanos) {
                this.neededNanos = neededNanos;
                this.atNanos = atNanos;
            }

            @Override
            public long neededNanos() {
                return neededNanos;
            }

            @Override
            public void answered(WaitingChecks.Verdict verdict) {
                verdicts.add(verdict);
                answeredAtNanos = now;
            }
        }
    }

    private final Life life = new Life();

    @Test
    void aCheckSendsARenewalAndPassesByItsSendingTime() {
        life.pass(500);
        Life.Asked check = life.ask(900);
        assertThat(life.leave()).isTrue();
        life.pass(30);
        life.answer(true);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Passed());
        assertThat(life.waiting.isEmpty()).isTrue();
    }

    @Test
    void whatTheWayOfTheAnswerHasTakenIsMissing() {
        life.pass(500);
        Life.Asked check = life.ask(960);
        life.leave();
        life.pass(29);
        life.answer(true);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.TooLittle());
    }

    @Test
    void checksShareARenewal() {
        life.pass(500);
        Life.Asked one = life.ask(900);
        Life.Asked other = life.ask(800);
        life.leave();
        assertThat(life.toLeave).isFalse();
        life.answer(true);
        assertThat(one.verdicts).containsExactly(new WaitingChecks.Passed());
        assertThat(other.verdicts).containsExactly(new WaitingChecks.Passed());
        assertThat(life.toLeave).isFalse();
        assertThat(life.machine.renewals()).isOne();
    }

    @Test
    void aRenewalThatLeftBeforeCountsIfItIsEnough() {
        life.pass(400);
        life.on(new GrantMachine.RenewDue(false));
        life.leave();
        life.pass(40);
        Life.Asked check = life.ask(900);
        life.answer(true);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Passed());
        assertThat(life.machine.renewals()).isOne();
    }

    @Test
    void oneThatIsNotEnoughOrFailsIsFollowedByAnother() {
        for (boolean succeeds : new boolean[] {true, false}) {
            Life held = new Life();
            held.pass(400);
            held.on(new GrantMachine.RenewDue(false));
            held.leave();
            held.pass(40);
            Life.Asked check = held.ask(960);
            held.answer(succeeds);
            assertThat(check.verdicts).isEmpty();
            assertThat(held.leave()).isTrue();
            // Again the whole time limit of the store.
            held.pass(ANSWER / MS - 71);
            held.pass(1);
            assertThat(check.verdicts).isEmpty();
            held.now = held.sentAt + 10 * MS;
            held.answer(true);
            assertThat(check.verdicts).containsExactly(new WaitingChecks.Passed());
        }
    }

    @Test
    void aRenewalThatWaitsForItsBatchIsSentNow() {
        life.pass(400);
        life.on(new GrantMachine.RenewDue(false));
        Life.Asked check = life.ask(900);
        assertThat(life.actions).contains(new WaitingChecks.Hurry());
        life.leave();
        life.answer(false);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Failed());
    }

    @Test
    void aWaitEndsAtTheTimeLimitOfTheStore() {
        life.pass(500);
        Life.Asked check = life.ask(900);
        life.leave();
        assertThat(life.waiting.firstLimitAtNanos()).isEqualTo(life.now + ANSWER);
        life.pass(ANSWER / MS - 1);
        assertThat(check.verdicts).isEmpty();
        life.pass(1);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Unanswered());
        life.answer(true);
        assertThat(check.verdicts).hasSize(1);
    }

    @Test
    void aWaitEndsWithTheValidity() {
        life.pass(950);
        Life.Asked check = life.ask(900);
        life.leave();
        life.pass(38);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Lost(LossCause.EXPIRED));
    }

    @Test
    void aDenialAReleaseAndAnotherHolderEndEachWaitOnce() {
        List<GrantMachine.Event> ends = List.of(
                new GrantMachine.Denied(),
                new GrantMachine.TakenAway(LossCause.SESSION_LOST),
                new GrantMachine.ReleaseCalled(new GrantMachine.Keeping(0, 0)),
                new GrantMachine.Deserted(new GrantMachine.Keeping(0, 0)));
        for (GrantMachine.Event end : ends) {
            Life held = new Life();
            held.pass(500);
            List<Life.Asked> checks = List.of(held.ask(900), held.ask(950));
            held.leave();
            held.on(end);
            held.answer(true);
            LossCause cause = held.machine.cause();
            WaitingChecks.Verdict expected =
                    cause == null ? new WaitingChecks.GivenBack() : new WaitingChecks.Lost(cause);
            assertThat(checks).allSatisfy(check -> assertThat(check.verdicts).containsExactly(expected));
            // A later check is answered at once.
            assertThat(held.ask(100).verdicts).containsExactly(expected);
            assertThat(held.waiting.isEmpty()).isTrue();
        }
    }

    @Test
    void atTheCapOfItsHoldNothingIsWaitedFor() {
        for (long until = 0; until < 2_400; until += 300) {
            life.on(new GrantMachine.RenewDue(false));
            life.leave();
            life.answer(true);
            life.pass(300);
        }
        Life.Asked check = life.ask(900);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.RenewedNoMore(LossCause.MAX_HOLD));
    }

    @Test
    void whatWasAnsweredAcrossASuspensionProvesNothing() {
        life.pass(500);
        Life.Asked check = life.ask(900);
        life.leave();
        life.on(new GrantMachine.Suspended());
        life.answer(true);
        assertThat(check.verdicts).isEmpty();
        assertThat(life.leave()).isTrue();
        life.answer(true);
        assertThat(check.verdicts).containsExactly(new WaitingChecks.Passed());
    }

    @Test
    void oneThatIsWithdrawnIsNotAnsweredAndTheOthersAre() {
        life.pass(500);
        Life.Asked gone = life.ask(900);
        Life.Asked other = life.ask(900);
        List<GrantMachine.Action> actions = new ArrayList<>();
        life.waiting.withdrawn(gone, actions);
        assertThat(actions).containsExactly(new WaitingChecks.LimitMoved());
        life.leave();
        life.answer(true);
        assertThat(gone.verdicts).isEmpty();
        assertThat(other.verdicts).containsExactly(new WaitingChecks.Passed());
    }

    private enum Step {
        ASK_LITTLE,
        ASK_MUCH,
        RENEW_DUE,
        LEAVE,
        RENEWED,
        FAILED,
        SUSPENDED,
        LOST,
        RELEASE,
        GIVEN_BACK,
        A_WHILE,
        LONG
    }

    @Test
    void everyOrderOfEventsAnswersEachCheckOnceAndInTime() {
        explore(new ArrayList<>());
    }

    private static void explore(List<Step> path) {
        Life life = new Life();
        for (Step step : path) {
            if (!take(life, step)) {
                return;
            }
            mustHold(life, path);
        }
        if (path.size() == DEPTH) {
            finish(life, path);
            return;
        }
        for (Step step : Step.values()) {
            path.add(step);
            explore(path);
            path.remove(path.size() - 1);
        }
    }

    private static boolean take(Life life, Step step) {
        switch (step) {
            case ASK_LITTLE -> life.ask(500);
            case ASK_MUCH -> life.ask(970);
            case RENEW_DUE -> life.on(new GrantMachine.RenewDue(false));
            case LEAVE -> {
                return life.leave();
            }
            case RENEWED, FAILED -> {
                return life.answer(step == Step.RENEWED);
            }
            case SUSPENDED -> life.on(new GrantMachine.Suspended());
            case LOST -> life.on(new GrantMachine.TakenAway(LossCause.NOT_OURS));
            case RELEASE -> life.on(new GrantMachine.ReleaseCalled(new GrantMachine.Keeping(0, 0)));
            case GIVEN_BACK -> {
                List<GrantMachine.Action> actions = new ArrayList<>();
                life.waiting.givenBack(actions);
                life.perform(actions);
            }
            case A_WHILE -> life.pass(40);
            default -> life.pass(450);
        }
        return true;
    }

    private static void mustHold(Life life, List<Step> path) {
        for (Life.Asked check : life.all) {
            assertThat(check.verdicts).as("once: %s", path).hasSizeLessThanOrEqualTo(1);
            if (check.verdicts.isEmpty()) {
                assertThat(life.machine.isHeld())
                        .as("none waits for what has ended: %s", path)
                        .isTrue();
                assertThat(life.machine.isRenewing())
                        .as("none waits for nothing: %s", path)
                        .isTrue();
                assertThat(life.waiting.firstLimitAtNanos() - life.now)
                        .as("each has a limit ahead: %s", path)
                        .isPositive();
            } else if (check.answeredAtNanos == life.now
                    && check.verdicts.contains(new WaitingChecks.Passed())
                    && life.machine.isHeld()) {
                assertThat(life.machine.remainingNanos(life.now))
                        .as("it passes by what is left: %s", path)
                        .isGreaterThanOrEqualTo(life.machine.isUnconfirmed() ? 0 : check.neededNanos);
            }
            if (check.verdicts.contains(new WaitingChecks.TooLittle())) {
                assertThat(life.sentAt - check.atNanos)
                        .as("at risk after its own renewal only: %s", path)
                        .isNotNegative();
            }
        }
    }

    private static void finish(Life life, List<Step> path) {
        life.pass(2_000);
        assertThat(life.waiting.isEmpty()).as("an end for all: %s", path).isTrue();
        life.all.forEach(
                check -> assertThat(check.verdicts).as("once: %s", path).hasSize(1));
    }
}
