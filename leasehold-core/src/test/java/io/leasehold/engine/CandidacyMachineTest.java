package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.CandidacyMachine.Action;
import io.leasehold.engine.CandidacyMachine.Event;
import io.leasehold.engine.CandidacyMachine.Phase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every order of events in every state that a candidacy can reach. */
@Tag("quick")
final class CandidacyMachineTest {

    private static final int MAX_FAILURES = 3;

    /** A candidacy with its surroundings: the activities that are in progress outside of the machine. */
    private record World(
            CandidacyMachine machine,
            boolean attempt,
            boolean withdrawal,
            boolean callback,
            boolean hasLease,
            boolean releasing,
            boolean grace,
            boolean pause,
            boolean toldOfEnd) {

        static World begun() {
            return new World(CandidacyMachine.standing(), true, false, false, false, false, false, false, false);
        }

        /** Returns the events that may happen next. */
        List<Event> possible() {
            List<Event> events = new ArrayList<>();
            if (attempt && !withdrawal) {
                events.add(new Event.Elected());
                events.add(new Event.AttemptFailed(true));
                if (machine.failures() < MAX_FAILURES) {
                    events.add(new Event.AttemptFailed(false));
                }
            }
            if (withdrawal) {
                events.add(new Event.Withdrawn());
            }
            if (callback) {
                events.add(new Event.Returned(false));
                if (machine.failures() < MAX_FAILURES) {
                    events.add(new Event.Returned(true));
                }
                events.add(new Event.Resign(true));
                events.add(new Event.Close(true));
            }
            if (hasLease) {
                events.add(new Event.Lost());
            }
            if (releasing) {
                events.add(new Event.Released(true));
                events.add(new Event.Released(false));
            }
            if (grace) {
                events.add(new Event.GraceOver());
            }
            if (pause) {
                events.add(new Event.PauseOver());
            }
            events.add(new Event.Resign(false));
            events.add(new Event.Close(false));
            return events;
        }

        /** Ends the activity that the event has completed, and begins the actions of the machine. */
        World after(Event event) {
            boolean isAttempt = event instanceof Event.Elected || event instanceof Event.AttemptFailed;
            World now = new World(
                    machine,
                    attempt && !isAttempt && !(event instanceof Event.Withdrawn),
                    withdrawal && !(event instanceof Event.Withdrawn),
                    callback && !(event instanceof Event.Returned),
                    hasLease && !(event instanceof Event.Lost),
                    releasing && !(event instanceof Event.Released),
                    grace && !(event instanceof Event.GraceOver),
                    pause && !(event instanceof Event.PauseOver),
                    toldOfEnd);
            CandidacyMachine.Step step = machine.on(event);
            for (Action action : step.actions()) {
                now = now.does(action, event);
            }
            return new World(
                    step.next(),
                    now.attempt,
                    now.withdrawal,
                    now.callback,
                    now.hasLease,
                    now.releasing,
                    now.grace,
                    now.pause,
                    now.toldOfEnd);
        }

        private World does(Action action, Event event) {
            switch (action) {
                case STAND -> {
                    assertThat(callback).as("stands while its callback runs").isFalse();
                    assertThat(hasLease || releasing)
                            .as("stands before its term was released")
                            .isFalse();
                    assertThat(attempt || pause || machine.closing())
                            .as("stands twice")
                            .isFalse();
                    return new World(machine, true, false, false, false, false, false, false, false);
                }
                case LEAD -> {
                    assertThat(event).isInstanceOf(Event.Elected.class);
                    assertThat(callback).as("leads twice at a time").isFalse();
                    return new World(machine, false, false, true, true, false, false, false, false);
                }
                case WITHDRAW -> {
                    assertThat(attempt).as("has something to withdraw").isTrue();
                    return new World(machine, true, true, callback, hasLease, releasing, grace, pause, toldOfEnd);
                }
                case TELL_END -> {
                    assertThat(callback).as("is notified only while it runs").isTrue();
                    return new World(machine, attempt, withdrawal, true, hasLease, releasing, grace, pause, true);
                }
                case ARM_GRACE -> {
                    return new World(machine, attempt, withdrawal, callback, hasLease, releasing, true, pause, true);
                }
                case WARN -> {
                    assertThat(callback && toldOfEnd)
                            .as("it continues although it was notified")
                            .isTrue();
                    return this;
                }
                case RELEASE -> {
                    assertThat(releasing).as("releases twice").isFalse();
                    assertThat(!callback || toldOfEnd)
                            .as("releases next to a callback that was not notified")
                            .isTrue();
                    // The shell cancels the timer.
                    return new World(machine, attempt, withdrawal, callback, false, true, false, pause, toldOfEnd);
                }
                case PAUSE -> {
                    assertThat(callback || hasLease || releasing || attempt)
                            .as("pauses next to something")
                            .isFalse();
                    return new World(machine, false, false, false, false, false, false, true, false);
                }
                case END -> {
                    assertThat(callback || hasLease || releasing)
                            .as("leaves something")
                            .isFalse();
                    assertThat(machine.phase()).as("ends twice").isNotEqualTo(Phase.ENDED);
                    // The shell cancels the timer.
                    return new World(machine, false, false, false, false, false, false, false, false);
                }
                default -> throw new AssertionError(action);
            }
        }

        /** Ends every activity once the candidacy is to close. */
        World closed() {
            World now = after(new Event.Close(false));
            for (int i = 0; i < 20 && now.machine.phase() != Phase.ENDED; i++) {
                Event next = now.withdrawal
                        ? new Event.Withdrawn()
                        : now.callback ? new Event.Returned(false) : new Event.Released(true);
                now = now.after(next);
            }
            return now;
        }
    }

    @Test
    void everyOrderOfEventsKeepsTheRules() {
        Set<World> seen = new HashSet<>(Set.of(World.begun()));
        Deque<World> next = new ArrayDeque<>(seen);
        while (!next.isEmpty()) {
            World world = next.remove();
            for (Event event : world.possible()) {
                World after = world.after(event);
                if (seen.add(after)) {
                    next.add(after);
                }
            }
            assertThat(world.closed().machine().phase())
                    .as("a candidacy that is closed ends: from %s", world)
                    .isEqualTo(Phase.ENDED);
            if (world.machine().phase() == Phase.STANDING) {
                assertThat(world.attempt()).as("it stands: %s", world).isTrue();
            } else if (world.machine().phase() == Phase.PAUSING) {
                assertThat(world.pause()).as("its pause ends: %s", world).isTrue();
            } else if (world.toldOfEnd() && world.callback() && world.hasLease()) {
                assertThat(world.grace())
                        .as("a term that is not released has a bound: %s", world)
                        .isTrue();
            }
        }
        assertThat(seen).hasSizeGreaterThan(50);
    }

    @Test
    void onlyAFailureInARowMakesThePauseLonger() {
        CandidacyMachine failed =
                CandidacyMachine.standing().on(new Event.AttemptFailed(false)).next();
        failed = failed.on(new Event.PauseOver())
                .next()
                .on(new Event.AttemptFailed(false))
                .next();
        assertThat(failed.failures()).isEqualTo(2);
        CandidacyMachine led =
                failed.on(new Event.PauseOver()).next().on(new Event.Elected()).next();
        led = led.on(new Event.Returned(false))
                .next()
                .on(new Event.Released(true))
                .next();
        assertThat(led).isEqualTo(CandidacyMachine.standing());
    }

    @Test
    void whoResignsLetsTheOthersComeFirst() {
        for (boolean ordered : new boolean[] {true, false}) {
            CandidacyMachine led =
                    CandidacyMachine.standing().on(new Event.Elected()).next();
            CandidacyMachine.Step resigned = led.on(new Event.Resign(false))
                    .next()
                    .on(new Event.Returned(false))
                    .next()
                    .on(new Event.Released(ordered));
            assertThat(resigned.actions()).containsExactly(ordered ? Action.STAND : Action.PAUSE);
            assertThat(resigned.next().failures()).isZero();
            CandidacyMachine.Step returned =
                    led.on(new Event.Returned(false)).next().on(new Event.Released(ordered));
            assertThat(returned.actions()).containsExactly(Action.STAND);
        }
    }

    @Test
    void whoLosesATermThatItHasResignedLetsTheOthersComeFirstToo() {
        CandidacyMachine resigned = CandidacyMachine.standing()
                .on(new Event.Elected())
                .next()
                .on(new Event.Resign(false))
                .next()
                .on(new Event.Lost())
                .next();
        assertThat(resigned.on(new Event.Returned(false))
                        .next()
                        .on(new Event.Released(false))
                        .actions())
                .containsExactly(Action.PAUSE);
    }
}
