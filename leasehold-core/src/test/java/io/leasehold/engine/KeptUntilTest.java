package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.KeptUntil;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A deadline that moves. */
@Tag("quick")
class KeptUntilTest {

    private final StillRuntime runtime = new StillRuntime();
    private final AtomicInteger over = new AtomicInteger();
    private final KeptUntil kept = new KeptUntil(runtime, over::incrementAndGet);

    private long in(int seconds) {
        return runtime.nanoTime() + Duration.ofSeconds(seconds).toNanos();
    }

    private int afterSeconds(int seconds) {
        runtime.pass(Duration.ofSeconds(seconds));
        return over.get();
    }

    @Test
    void nothingIsOverBeforeATimeIsGiven() {
        assertThat(afterSeconds(1_000)).isZero();
    }

    @Test
    void itIsOverOnceAtItsTime() {
        kept.atLeast(in(5));
        assertThat(afterSeconds(4)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
        kept.atLeast(in(5));
        assertThat(afterSeconds(10)).isEqualTo(1);
    }

    @Test
    void atLeastMakesItLongerAndNeverShorter() {
        kept.atLeast(in(5));
        kept.atLeast(in(10));
        kept.atLeast(in(2));
        assertThat(afterSeconds(9)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
    }

    @Test
    void exactlyMakesItShorter() {
        kept.atLeast(in(100));
        kept.exactly(in(3));
        kept.atLeast(in(2));
        assertThat(afterSeconds(2)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
    }

    @Test
    void anEndIsFinal() {
        kept.atLeast(in(3));
        kept.end();
        kept.atLeast(in(1));
        assertThat(afterSeconds(10)).isZero();
    }

    /** A timer may fire although it was cancelled, or although its deadline has been moved. */
    @Test
    void aTimerThatFiresTooEarlyOrAfterTheEndRunsNothing() {
        List<Runnable> fired = new ArrayList<>();
        AtomicInteger cancelled = new AtomicInteger();
        LockRuntime uncancellable = (LockRuntime) Proxy.newProxyInstance(
                LockRuntime.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule")) {
                        fired.add((Runnable) arguments[1]);
                        return (LockRuntime.Timer) cancelled::incrementAndGet;
                    }
                    return method.invoke(runtime, arguments);
                });
        KeptUntil moved = new KeptUntil(uncancellable, over::incrementAndGet);
        moved.atLeast(in(5));
        moved.atLeast(in(10));
        runtime.pass(Duration.ofSeconds(5));
        fired.get(0).run();
        assertThat(over).as("it was moved").hasValue(0);
        assertThat(fired).as("and is looked at again").hasSize(2);
        fired.get(0).run();
        assertThat(fired).as("the one that has fired twice leaves one timer").hasSize(3);
        assertThat(cancelled).hasValue(2);
        runtime.pass(Duration.ofSeconds(5));
        fired.get(2).run();
        fired.get(0).run();
        assertThat(over).hasValue(1);

        KeptUntil ended = new KeptUntil(uncancellable, over::incrementAndGet);
        ended.atLeast(in(1));
        ended.end();
        runtime.pass(Duration.ofSeconds(2));
        fired.get(3).run();
        assertThat(over).hasValue(1);
    }

    @Test
    void aTimeThatWasMovedBackNeedsOneTimerOnly() {
        kept.atLeast(in(5));
        kept.exactly(in(9));
        kept.atLeast(in(3));
        assertThat(runtime.timers()).isEqualTo(1);
        kept.exactly(in(2));
        assertThat(runtime.timers()).isEqualTo(1);
        assertThat(afterSeconds(2)).isEqualTo(1);
        assertThat(runtime.timers()).isZero();
        kept.exactly(in(2));
        assertThat(runtime.timers()).as("it is over").isZero();
    }
}
