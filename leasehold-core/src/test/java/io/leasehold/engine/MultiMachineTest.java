package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.AmbiguousAcquireException;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The step after each answer to an atomic request for several locks. */
@Tag("quick")
final class MultiMachineTest {

    private static final long START = 1_000;
    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final Timings TIMINGS = Timings.of(LockOptions.defaults().ttl(Duration.ofSeconds(30)), false);
    private static final AcquireReply GRANTED = new AcquireReply.Granted(
            new Grant(OwnerToken.fromHex("a".repeat(40)), TokenRange.of(1, 1), START, Incarnation.DURABLE), List.of());

    private static MultiMachine machine(long maxWaitNanos) {
        return new MultiMachine("locks", TIMINGS, maxWaitNanos, START);
    }

    private static AcquireReply failed(FailureKind kind) {
        return new AcquireReply.Failed(kind, new StoreUnavailableException("away", null), 0);
    }

    private static MultiMachine.Decision after(AcquireReply reply, long maxWaitNanos) {
        return machine(maxWaitNanos).onReply(reply, false, START);
    }

    @Test
    void whatIsGrantedIsKeptWhileItIsValidForLongEnough() {
        long lastAt = START + TIMINGS.validityNanos() - TIMINGS.minimumValidityNanos();
        MultiMachine.Decision kept = machine(0).onReply(GRANTED, false, lastAt);
        assertThat(kept.next()).isInstanceOf(MultiMachine.Keep.class);
        assertThat(kept.undo()).isFalse();
        MultiMachine.Decision late = machine(0).onReply(GRANTED, false, lastAt + 1);
        assertThat(late.next()).isInstanceOf(MultiMachine.Fail.class);
        assertThat(late.undo()).isTrue();
        assertThat(machine(SECOND).onReply(GRANTED, false, lastAt + 1))
                .isEqualTo(new MultiMachine.Decision(true, new MultiMachine.TakeOneByOne()));
    }

    @Test
    void whatIsGrantedToACallerThatHasGoneIsUndone() {
        assertThat(machine(SECOND).onReply(GRANTED, true, START))
                .isEqualTo(new MultiMachine.Decision(true, new MultiMachine.Leave()));
    }

    @Test
    void wherePatienceIsLeftTheyAreTakenOneByOne() {
        AcquireReply busy = new AcquireReply.Busy(null, 0, List.of());
        assertThat(after(busy, 0)).isEqualTo(new MultiMachine.Decision(false, new MultiMachine.TakeOneByOne()));
        assertThat(after(failed(FailureKind.UNKNOWN), SECOND))
                .isEqualTo(new MultiMachine.Decision(true, new MultiMachine.TakeOneByOne()));
    }

    @Test
    void aFailureIsTheEndWithoutPatienceAndOneThatLastsAlways() {
        assertThat(after(failed(FailureKind.NO_EFFECT), 0).next()).isInstanceOf(MultiMachine.Fail.class);
        assertThat(after(failed(FailureKind.PERMANENT), SECOND).next()).isInstanceOf(MultiMachine.Fail.class);
        MultiMachine.Decision unknown = after(failed(FailureKind.UNKNOWN), 0);
        assertThat(unknown.undo()).isTrue();
        assertThat(unknown.next())
                .isInstanceOfSatisfying(
                        MultiMachine.Fail.class,
                        end -> assertThat(end.error()).isInstanceOf(AmbiguousAcquireException.class));
    }

    @Test
    void withoutPatienceTheEndSaysWhy() {
        LockStoreException away = new StoreUnavailableException("away", null);
        assertThat(reason(new AcquireReply.Failed(FailureKind.NO_EFFECT, away, 0)))
                .isSameAs(away);
        AcquireReply refused = new AcquireReply.Refused("too young", 0, 5, List.of());
        assertThat(reason(refused)).hasMessage("locks were refused: too young");
        assertThat(after(refused, SECOND).next()).isInstanceOf(MultiMachine.TakeOneByOne.class);
        Throwable late = ((MultiMachine.Fail) machine(0)
                        .onReply(GRANTED, false, START + TIMINGS.validityNanos())
                        .next())
                .error();
        assertThat(late)
                .hasMessageStartingWith("locks were granted too slowly: less than "
                        + TIMINGS.minimumValidityNanos() / 1_000_000 + " ms");
    }

    private static Throwable reason(AcquireReply reply) {
        return ((MultiMachine.Fail) after(reply, 0).next()).error();
    }

    /** An owner token that is spent without a request to the store has left nothing there. */
    @Test
    void aRefusalLeavesSomethingOnlyIfTheTokenIsSpentAndWasSent() {
        assertThat(after(refused(5, true), SECOND).undo()).isTrue();
        assertThat(after(refused(0, true), SECOND).undo()).isFalse();
        assertThat(after(refused(5, false), SECOND).undo()).isFalse();
    }

    private static AcquireReply refused(long ballot, boolean spent) {
        return new AcquireReply.Refused("too young", 0, ballot, List.of(), spent);
    }

    @Test
    void patienceIsCountedFromTheBeginningAndNeverNegative() {
        assertThat(machine(Long.MAX_VALUE / 2).patienceLeftNanos(START + 1)).isEqualTo(Long.MAX_VALUE / 2 - 1);
        assertThat(machine(SECOND).patienceLeftNanos(START + 1)).isEqualTo(SECOND - 1);
        assertThat(machine(SECOND).patienceLeftNanos(START + 2 * SECOND)).isZero();
        assertThat(machine(Long.MAX_VALUE).patienceLeftNanos(START + SECOND)).isEqualTo(Long.MAX_VALUE);
    }
}
