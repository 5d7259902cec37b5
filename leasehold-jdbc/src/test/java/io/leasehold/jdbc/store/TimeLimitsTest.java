package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each task is notified of its time limit, whatever happens to the others. */
@Tag("quick")
class TimeLimitsTest {

    private static Task<Object> task(String what) {
        return Task.writing(what, (table, tries) -> "done", (kind, error) -> kind);
    }

    @Test
    void anErrorOfOneTaskCostsNoOtherItsLimit() {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        List<String> told = new ArrayList<>();
        TimeLimits limits = new TimeLimits(runtime, (task, limitNanos) -> {
            told.add(task.what());
            if (told.size() == 1) {
                throw new StackOverflowError("of the first");
            }
        });
        limits.add(task("first"), 1_000_000_000L);
        limits.add(task("second"), 1_000_000_000L);
        limits.add(task("third"), 3_000_000_000L);
        runtime.runFor(Duration.ofSeconds(5));
        assertThat(told).containsExactly("first", "second", "third");
    }

    /** The system had no memory for the next timer; the next task with a limit arms one for the others, too. */
    @Test
    void whatIsUpIsToldThoughNoTimerCanBeArmedForTheOthers() {
        long[] nowNanos = {0};
        boolean[] refuses = {false};
        List<Runnable> timers = new ArrayList<>();
        LockRuntime still = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("nanoTime")) {
                        return nowNanos[0];
                    } else if (refuses[0]) {
                        throw new OutOfMemoryError("made by the test");
                    }
                    timers.add((Runnable) arguments[1]);
                    return (LockRuntime.Timer) () -> {};
                });
        List<String> told = new ArrayList<>();
        TimeLimits limits = new TimeLimits(still, (task, limitNanos) -> told.add(task.what()));
        limits.add(task("first"), 1_000_000_000L);
        limits.add(task("second"), 3_000_000_000L);
        nowNanos[0] = 1_000_000_000L;
        refuses[0] = true;
        assertThatThrownBy(timers.get(0)::run).isInstanceOf(OutOfMemoryError.class);
        assertThat(told).containsExactly("first");
        refuses[0] = false;
        limits.add(task("third"), 3_000_000_000L);
        nowNanos[0] = 4_000_000_000L;
        assertThat(timers).hasSize(2);
        timers.get(1).run();
        assertThat(told).containsExactly("first", "second", "third");
    }
}
