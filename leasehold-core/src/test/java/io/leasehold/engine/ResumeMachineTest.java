package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Holder;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class ResumeMachineTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long START = 7 * SECOND;
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false);
    private final LockStoreException error = new StoreUnavailableException("made by the test", null);

    private static ResumeMachine machine(long maxWaitNanos, long claimNanos) {
        return new ResumeMachine("the ticket", TIMINGS, maxWaitNanos, claimNanos, START);
    }

    private static AcquireReply granted(long sentAtNanos) {
        OwnerToken owner = OwnerToken.fromHex("a".repeat(40));
        return new AcquireReply.Granted(
                new Grant(owner, TokenRange.of(5, 1), sentAtNanos, Incarnation.DURABLE), List.of());
    }

    private AcquireReply failed(FailureKind kind, long ballot) {
        return new AcquireReply.Failed(kind, error, ballot);
    }

    @Test
    void aGrantIsHeld() {
        ResumeMachine machine = machine(0, SECOND);
        assertThat(machine.on(granted(START), START + 1)).isInstanceOf(ResumeMachine.Hold.class);
        assertThat(machine.isUnknown()).isFalse();
        assertThat(machine.ballot()).isEqualTo(5);
    }

    @Test
    void aGrantWhoseAnswerWasSlowIsExtendedBeforeItIsShown() {
        ResumeMachine machine = machine(60 * SECOND, 60 * SECOND);
        long late = START + TIMINGS.validityNanos() - TIMINGS.minimumValidityNanos() + 1;
        assertThat(machine.on(granted(START), late)).isInstanceOf(ResumeMachine.Again.class);
        assertThat(machine.isUnknown())
                .as("the store may have swapped the ticket")
                .isTrue();
        assertThat(machine.on(granted(late), late + 1)).isInstanceOf(ResumeMachine.Hold.class);
    }

    @Test
    void anyOtherHolderAndAFreeLockRefuseTheTicket() {
        Holder other = new Holder("host/1/x", Duration.ofSeconds(1), OptionalLong.empty());
        assertThat(machine(SECOND, SECOND).on(new AcquireReply.Busy(other, 3, List.of()), START))
                .isEqualTo(new ResumeMachine.Refuse(other));
        ResumeMachine machine = machine(SECOND, SECOND);
        machine.on(failed(FailureKind.UNKNOWN, 3), START);
        assertThat(machine.on(new AcquireReply.Busy(null, 4, List.of()), START))
                .isEqualTo(new ResumeMachine.Refuse(null));
        assertThat(machine.isUnknown()).isFalse();
    }

    @Test
    void failuresAreRepeatedWithGrowingPausesUntilThePatienceEnds() {
        ResumeMachine machine = machine(SECOND, 60 * SECOND);
        assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START)).isEqualTo(new ResumeMachine.Again(10_000_000L));
        assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START)).isEqualTo(new ResumeMachine.Again(20_000_000L));
        assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START + SECOND - 1))
                .isEqualTo(new ResumeMachine.Again(1));
        assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START + SECOND))
                .isEqualTo(new ResumeMachine.Fail(error));
        assertThat(machine.isUnknown()).isFalse();
    }

    @Test
    void theClaimEndsTheRepetitionsToo() {
        ResumeMachine machine = machine(Long.MAX_VALUE, 2 * SECOND);
        assertThat(machine.on(failed(FailureKind.UNKNOWN, 9), START + SECOND)).isInstanceOf(ResumeMachine.Again.class);
        assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START + 2 * SECOND))
                .isInstanceOfSatisfying(
                        ResumeMachine.Fail.class,
                        fail -> assertThat(fail.error())
                                .isInstanceOf(AmbiguousAcquireException.class)
                                .hasMessageContaining("made by the test")
                                .hasCause(error));
        assertThat(machine.isUnknown()).isTrue();
        assertThat(machine.ballot()).isEqualTo(9);
    }

    @Test
    void aPermanentFailureEndsTheAttempt() {
        assertThat(machine(SECOND, SECOND).on(failed(FailureKind.PERMANENT, 0), START))
                .isEqualTo(new ResumeMachine.Fail(error));
        ResumeMachine machine = machine(SECOND, SECOND);
        machine.on(failed(FailureKind.UNKNOWN, 1), START);
        assertThat(machine.on(failed(FailureKind.PERMANENT, 0), START))
                .isInstanceOfSatisfying(
                        ResumeMachine.Fail.class,
                        fail -> assertThat(fail.error()).isInstanceOf(AmbiguousAcquireException.class));
    }

    @Test
    void aRefusalIsRepeatedAfterItsTime() {
        ResumeMachine machine = machine(SECOND, SECOND);
        assertThat(machine.on(new AcquireReply.Refused("not now", 300_000_000L, 1, List.of()), START))
                .isEqualTo(new ResumeMachine.Again(300_000_000L));
        assertThat(machine.isUnknown()).isFalse();
        machine.on(new AcquireReply.Refused("no replica", 1, 2, List.of(), true), START);
        assertThat(machine.isUnknown()).as("the server has swapped the ticket").isTrue();
        assertThat(machine.on(new AcquireReply.Refused("no replica", 1, 3, List.of(), true), START + SECOND))
                .isInstanceOf(ResumeMachine.Fail.class);
    }

    @Test
    void anAttemptThatContinuesAnotherIsUnknownUntilItIsAnswered() {
        // A store that chooses the tokens reports no ballot.
        for (long ballot : new long[] {8, 0}) {
            ResumeMachine machine = machine(0, SECOND);
            machine.continues(ballot);
            assertThat(machine.ballot()).isEqualTo(ballot);
            assertThat(machine.on(failed(FailureKind.NO_EFFECT, 0), START))
                    .isInstanceOfSatisfying(
                            ResumeMachine.Fail.class,
                            fail -> assertThat(fail.error()).isInstanceOf(AmbiguousAcquireException.class));
            assertThat(machine.isUnknown()).isTrue();
        }
    }
}
