package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each task hears that its time is up, whatever becomes of the others. */
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
}
