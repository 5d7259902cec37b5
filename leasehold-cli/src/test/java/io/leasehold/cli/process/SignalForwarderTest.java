package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that each signal is delivered once, and none is lost between two receivers. */
@Tag("quick")
class SignalForwarderTest {

    private final SignalForwarder signals = new SignalForwarder();
    private final List<ForwardedSignal> got = new ArrayList<>();

    @Test
    void whatComesBetweenTwoReceiversIsHandedOverOnce() {
        signals.received(ForwardedSignal.INT);
        signals.received(ForwardedSignal.TERM);
        signals.handTo(got::add);
        assertThat(got).containsExactly(ForwardedSignal.INT, ForwardedSignal.TERM);
        signals.handTo(null);
        signals.handTo(got::add);
        assertThat(got).hasSize(2);
    }

    @Test
    void aReceiverThatIsNotResponsibleAnyMoreGetsNone() {
        signals.handTo(got::add);
        signals.received(ForwardedSignal.HUP);
        signals.handTo(null);
        signals.received(ForwardedSignal.USR1);
        assertThat(got).containsExactly(ForwardedSignal.HUP);
        List<ForwardedSignal> next = new ArrayList<>();
        signals.handTo(next::add);
        signals.received(ForwardedSignal.TERM);
        assertThat(next).containsExactly(ForwardedSignal.USR1, ForwardedSignal.TERM);
        assertThat(got).hasSize(1);
    }

    /**
     * A receiver that ends the process must have done so before its successor begins a step that must not stay
     * incomplete.
     */
    @Test
    void aReceiverIsReplacedOnlyWhenItHasFinished() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        signals.handTo(signal -> {
            begun.countDown();
            await(mayEnd);
            got.add(signal);
        });
        Thread arrives = new Thread(() -> signals.received(ForwardedSignal.INT));
        arrives.start();
        begun.await();
        assertThat(signals.first()).as("seen at once").isEqualTo(ForwardedSignal.INT);
        List<ForwardedSignal> seenByTheNext = new ArrayList<>();
        Thread replaces = new Thread(() -> {
            signals.handTo(null);
            seenByTheNext.addAll(got);
        });
        replaces.start();
        while (replaces.getState() != Thread.State.BLOCKED) {
            assertThat(replaces.isAlive()).as("waits for the receiver").isTrue();
            Thread.onSpinWait();
        }
        mayEnd.countDown();
        replaces.join();
        assertThat(seenByTheNext).containsExactly(ForwardedSignal.INT);
        arrives.join();
    }

    /** INT and TERM together: one report, not two. */
    @Test
    void twoSignalsAreReceivedOneAfterTheOther() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        signals.handTo(signal -> {
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            LockSupport.parkNanos(1_000);
            inside.decrementAndGet();
        });
        List<Thread> arriving = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            arriving.add(new Thread(() -> signals.received(ForwardedSignal.TERM)));
        }
        arriving.forEach(Thread::start);
        for (Thread thread : arriving) {
            thread.join();
        }
        assertThat(most).hasValue(1);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void theFirstIsRemembered() {
        assertThat(signals.first()).isNull();
        signals.handTo(got::add);
        signals.received(ForwardedSignal.HUP);
        signals.received(ForwardedSignal.TERM);
        assertThat(signals.first()).isEqualTo(ForwardedSignal.HUP);
    }
}
