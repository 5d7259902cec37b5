package io.leasehold.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.testkit.virtual.VirtualWorld;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the rules for leases of which some share a lock. */
@Tag("quick")
final class KindSpansTest {

    private static final SimulationPlan CALM = new SimulationPlan(1, 1, 1, 1, 1, 0, 0, 0, List.of());

    private final RunLog log = new RunLog(VirtualWorld.seeded(1));
    private final KindSpans spans = new KindSpans(log);

    private List<String> problems() {
        spans.judge(CALM);
        return log.problems;
    }

    @Test
    void readersShareALock() {
        spans.begins("a", "lock", true, 2, 0, 100);
        spans.begins("b", "lock", true, 1, 50, 150);
        spans.begins("c", "other", false, 1, 50, 150);
        assertThat(problems()).isEmpty();
    }

    @Test
    void aWriterBesideAReaderIsAnOverlap() {
        spans.begins("a", "lock", true, 1, 0, 100);
        spans.begins("b", "lock", false, 2, 50, 150);
        assertThat(problems()).hasSize(1).first().asString().startsWith("overlap");
    }

    @Test
    void aReaderHasALargerTokenThanTheWriterBeforeItAndNotThanAReader() {
        spans.begins("a", "lock", false, 5, 0, 10);
        spans.begins("b", "lock", true, 7, 20, 30);
        spans.begins("c", "lock", true, 6, 40, 50);
        assertThat(problems()).isEmpty();
        spans.begins("d", "lock", true, 5, 60, 70);
        assertThat(problems()).hasSize(1).first().asString().startsWith("token");
    }

    @Test
    void aWriterHasALargerTokenThanEachLeaseBeforeIt() {
        spans.begins("a", "lock", true, 7, 0, 10);
        spans.begins("b", "lock", false, 6, 20, 30);
        assertThat(problems()).hasSize(1).first().asString().startsWith("token");
    }
}
