package io.leasehold.spi.method;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.LossCause;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The interrupts after a loss: the body that each one reaches, and the interrupts that stay. */
@Tag("quick")
class LossInterruptTest {

    /** A hold that is lost when the test says so. */
    private static final class Losing {
        private final List<Consumer<LossCause>> told = new ArrayList<>();
        private boolean toldAtOnce;

        Hold hold() {
            return (Hold) Proxy.newProxyInstance(
                    Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                        @SuppressWarnings("unchecked")
                        Consumer<LossCause> one = (Consumer<LossCause>) args[0];
                        told.add(one);
                        if (toldAtOnce) {
                            one.accept(LossCause.EXPIRED);
                        }
                        return null;
                    });
        }

        void lose() {
            told.forEach(one -> one.accept(LossCause.EXPIRED));
        }
    }

    private final Losing outer = new Losing();
    private final Losing inner = new Losing();

    @AfterEach
    void nothingStaysOnTheThread() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private static boolean isInterrupted() {
        return Thread.currentThread().isInterrupted();
    }

    @Test
    void anInterruptThatTheBodyHasNotUsedIsTakenBack() {
        LossInterrupt interrupt = LossInterrupt.armed(outer.hold());
        outer.lose();
        assertThat(isInterrupted()).isTrue();
        interrupt.callOff();
        assertThat(isInterrupted()).isFalse();
        outer.lose();
        assertThat(isInterrupted()).as("the body has ended").isFalse();
    }

    @Test
    void anInterruptOfAnotherStaysWhereALossFollowsIt() {
        LossInterrupt interrupt = LossInterrupt.armed(outer.hold());
        Thread.currentThread().interrupt();
        outer.lose();
        interrupt.callOff();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptThatWasAlsoThatOfABodyAroundStaysForThat() {
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        LossInterrupt between = LossInterrupt.armed(new Losing().hold());
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        outer.lose();
        ofInner.callOff();
        between.callOff();
        assertThat(isInterrupted()).isTrue();
        ofOuter.callOff();
    }

    /** The inner body has consumed the interrupt as its own, and ends at once. */
    @Test
    void anInterruptThatTheInnerBodyHasUsedComesForTheBodyAround() {
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        outer.lose();
        assertThat(Thread.interrupted()).isTrue();
        ofInner.callOff();
        assertThat(isInterrupted()).isTrue();
        ofOuter.callOff();
    }

    /** The outer body is not interrupted again for a loss that it has already noticed. */
    @Test
    void anInterruptThatABodyAroundHasUsedDoesNotComeAgain() {
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        outer.lose();
        assertThat(Thread.interrupted()).isTrue();
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        ofInner.callOff();
        assertThat(isInterrupted()).isFalse();
        ofOuter.callOff();
    }

    /** The second body inside the same outer body. */
    @Test
    void theBodyAroundIsFoundBehindEachBodyInIt() {
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        LossInterrupt.armed(new Losing().hold()).callOff();
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        outer.lose();
        ofInner.callOff();
        assertThat(isInterrupted()).isTrue();
        ofOuter.callOff();
        assertThat(isInterrupted()).isFalse();
        LossInterrupt.armed(new Losing().hold()).callOff();
        assertThat(isInterrupted()).isFalse();
    }

    @Test
    void aLossThatIsKnownAlreadyIsTakenBackAndAnInterruptOfAnotherStays() {
        outer.toldAtOnce = true;
        LossInterrupt.armed(outer.hold()).callOff();
        assertThat(isInterrupted()).isFalse();
        Thread.currentThread().interrupt();
        LossInterrupt.armed(outer.hold()).callOff();
        assertThat(Thread.interrupted()).isTrue();
    }
}
