package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.AcquireMachine.Action;
import io.leasehold.engine.AcquireMachine.Event;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs every sequence of events up to a length, each with the clock standing or jumping. A model of the shell knows
 * what a store could remember, and fails the test if anything would be left behind.
 */
@Tag("full")
final class AcquireMachineExhaustiveTest {

    private static final int DEPTH = 5;
    private static final long MS = 1_000_000;
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(1));
    private static final OwnerToken OWNER = OwnerToken.fromHex("00".repeat(OwnerToken.BYTES));

    private enum Step {
        STARTED,
        GRANTED,
        GRANTED_LATE,
        BUSY,
        QUEUED,
        REFUSED,
        SPENT,
        NO_EFFECT,
        UNKNOWN,
        PERMANENT,
        WOKEN,
        HANDED_OVER,
        TIMER,
        TIME_PASSES,
        GAVE_UP,
        OFFERED
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 50, Long.MAX_VALUE})
    void everyOrderOfEventsEndsInExactlyOneOutcomeAndLeavesNothing(long maxWaitMs) {
        explore(new ArrayList<>(), maxWaitMs == Long.MAX_VALUE ? Long.MAX_VALUE : maxWaitMs * MS);
    }

    private static void explore(List<Step> path, long maxWaitNanos) {
        Shell shell = new Shell(maxWaitNanos);
        for (Step step : path) {
            if (!shell.take(step)) {
                return;
            }
        }
        new Shell(maxWaitNanos, path).mustComeToAnEnd();
        if (path.size() == DEPTH) {
            return;
        }
        for (Step step : Step.values()) {
            path.add(step);
            explore(path, maxWaitNanos);
            path.remove(path.size() - 1);
        }
    }

    /** The knowledge of a correct shell and of the store behind it. */
    private static final class Shell {

        private final List<Step> taken = new ArrayList<>();
        private final AcquireMachine machine;
        private long now = 1_000 * MS;
        private boolean inFlight;
        private boolean ownerEnded;
        /** Whether the store may hold, queue or still receive something of the current owner token. */
        private boolean mayBeRemembered;

        private boolean holds;
        private int outcomes;
        /** The highest ballot proposed under the current owner token, and that of the request in flight. */
        private long highest;

        private long proposed;

        Shell(long maxWaitNanos) {
            Timings timings = Timings.of(OPTIONS, false);
            WaitPolicy policy = new WaitPolicy(OPTIONS.recheck().toNanos(), OPTIONS.retry());
            machine = new AcquireMachine("lock \"x\"", timings, policy, maxWaitNanos, false, now);
        }

        Shell(long maxWaitNanos, List<Step> path) {
            this(maxWaitNanos);
            path.forEach(this::take);
        }

        /** Returns false if the step cannot happen now: a reply needs a request in flight. */
        boolean take(Step step) {
            taken.add(step);
            switch (step) {
                case STARTED -> on(new AcquireMachine.Started());
                case WOKEN -> on(new AcquireMachine.Woken());
                case HANDED_OVER -> {
                    long last = highest + 5;
                    if (!ownerEnded) {
                        highest = last;
                        proposed = Math.max(proposed, last);
                    }
                    on(new AcquireMachine.HandedOver(last));
                }
                case TIMER -> on(new AcquireMachine.TimerFired());
                case GAVE_UP -> on(new AcquireMachine.GaveUp());
                case TIME_PASSES -> now += 60 * MS;
                case OFFERED -> offered();
                default -> {
                    if (!inFlight) {
                        return false;
                    }
                    inFlight = false;
                    if (step != Step.SPENT) {
                        highest = Math.max(highest, proposed);
                    }
                    on(new AcquireMachine.Replied(reply(step), 0));
                }
            }
            return true;
        }

        private AcquireReply reply(Step step) {
            StoreUnavailableException error = new StoreUnavailableException("down", null);
            Holder holder = new Holder("other", Duration.ofMillis(10), OptionalLong.empty());
            switch (step) {
                case GRANTED, GRANTED_LATE -> {
                    mayBeRemembered = true;
                    holds = true;
                    long sentAtNanos = step == Step.GRANTED ? now : now - 980 * MS;
                    return new AcquireReply.Granted(
                            new Grant(OWNER, new TokenRange(proposed, proposed), sentAtNanos, Incarnation.DURABLE),
                            List.of());
                }
                case QUEUED -> {
                    mayBeRemembered = true;
                    return new AcquireReply.Queued(holder, proposed, List.of());
                }
                case UNKNOWN -> {
                    mayBeRemembered = true;
                    return new AcquireReply.Failed(FailureKind.UNKNOWN, error, proposed);
                }
                case BUSY -> {
                    return new AcquireReply.Busy(holder, proposed, List.of());
                }
                case REFUSED -> {
                    return new AcquireReply.Refused("quarantine", 5 * MS, proposed, List.of());
                }
                case SPENT -> {
                    return new AcquireReply.Refused("too far ahead", 0, 0, List.of(), true);
                }
                default -> {
                    FailureKind kind = step == Step.PERMANENT ? FailureKind.PERMANENT : FailureKind.NO_EFFECT;
                    return new AcquireReply.Failed(kind, error, proposed);
                }
            }
        }

        private void on(Event event) {
            for (Action action : machine.on(event, now)) {
                if (action instanceof AcquireMachine.Send send) {
                    assertThat(inFlight).as("one request in flight: %s", taken).isFalse();
                    assertThat(outcomes)
                            .as("nothing sent after the outcome: %s", taken)
                            .isZero();
                    assertThat(ownerEnded && !send.freshOwner())
                            .as("nothing but its end is sent with an ended owner token: %s", taken)
                            .isFalse();
                    ownerEnded &= !send.freshOwner();
                    highest = send.freshOwner() ? 0 : highest;
                    assertThat(send.ballotSoFar())
                            .as("what is proposed next beats all before: %s", taken)
                            .isEqualTo(highest);
                    proposed = highest + 1;
                    inFlight = true;
                } else if (action instanceof AcquireMachine.Undo undo) {
                    assertThat(inFlight)
                            .as("no undo while a request is in flight: %s", taken)
                            .isFalse();
                    assertThat(undo.ballot())
                            .as("the undo raises the fence to the ballot: %s", taken)
                            .isEqualTo(highest);
                    ownerEnded = true;
                    mayBeRemembered = false;
                    holds = false;
                } else if (action instanceof AcquireMachine.Finish finish) {
                    finished(finish.outcome());
                }
            }
        }

        private void offered() {
            if (machine.offered() == AcquireMachine.Offer.ACCEPTED) {
                assertThat(inFlight || mayBeRemembered)
                        .as("a lease of this process is taken only by who has nothing at the store: %s", taken)
                        .isFalse();
                outcomes++;
            }
            assertThat(outcomes).as("one outcome: %s", taken).isLessThanOrEqualTo(1);
        }

        private void finished(AcquireMachine.Outcome outcome) {
            outcomes++;
            assertThat(outcomes).as("one outcome: %s", taken).isEqualTo(1);
            if (outcome instanceof AcquireMachine.Acquired acquired) {
                assertThat(acquired.ballot())
                        .as("its release raises the fence to the ballot: %s", taken)
                        .isEqualTo(highest);
                assertThat(holds)
                        .as("acquired is what the store granted: %s", taken)
                        .isTrue();
                mayBeRemembered = false;
                holds = false;
            } else if (!inFlight) {
                assertThat(mayBeRemembered)
                        .as("nothing is left behind: %s", taken)
                        .isFalse();
            }
        }

        /** In any state, a withdrawal and the reply in flight end the attempt, and nothing is left behind. */
        void mustComeToAnEnd() {
            on(new AcquireMachine.GaveUp());
            assertThat(outcomes).as("one outcome in the end: %s", taken).isEqualTo(1);
            if (inFlight) {
                take(Step.GRANTED);
            }
            assertThat(mayBeRemembered)
                    .as("a late grant is released: %s", taken)
                    .isFalse();
            assertThat(machine.isOver()).as("over: %s", taken).isTrue();
        }
    }
}
