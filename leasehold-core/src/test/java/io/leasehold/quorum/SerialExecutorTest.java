package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class SerialExecutorTest {

    private final SerialExecutor serial = new SerialExecutor();
    private final List<String> ran = new ArrayList<>();

    @Test
    void whatATaskLeadsToComesAfterIt() {
        serial.run(() -> {
            serial.run(() -> ran.add("second"));
            ran.add("first");
        });
        assertThat(ran).containsExactly("first", "second");
    }

    /** This applies to an Error, too: otherwise the tasks after it would wait forever. */
    @Test
    void aTaskThatFailsHoldsUpNothing() {
        serial.run(() -> {
            serial.run(() -> ran.add("after the error"));
            throw new InternalError("no thread (made by the test)");
        });
        serial.run(() -> ran.add("last"));
        assertThat(ran).containsExactly("after the error", "last");
    }
}
