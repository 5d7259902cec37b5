package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.Succession.Verdict.IS_FORGOTTEN;
import static io.leasehold.redis.topology.Succession.Verdict.IS_REPLACED;
import static io.leasehold.redis.topology.Succession.Verdict.STAYS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests that a node on the wrong side of a partition does not restore its former table, and that a Cluster that was
 * created anew is found.
 */
@Tag("quick")
final class SuccessionTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final Succession succession = new Succession();
    /** The clock overflows during the test. */
    private final long start = Long.MAX_VALUE - SECOND / 2;

    private static SlotTable table(long epoch) {
        List<Object> range = List.of(0L, 16_383L, List.of("10.0.0.1", 7001L, "id"));
        return SlotTable.parse("asked", List.of(range), "cluster_current_epoch:" + epoch + "\r\n");
    }

    private static SlotTable none(long epoch) {
        return SlotTable.parse("asked", List.of(), "cluster_current_epoch:" + epoch + "\r\n");
    }

    @Test
    void aLaterTableReplacesAtOnce() {
        assertThat(succession.of(SlotTable.empty(), table(0), start)).isEqualTo(IS_REPLACED);
        assertThat(succession.of(SlotTable.empty(), none(0), start)).isEqualTo(IS_REPLACED);
        assertThat(succession.of(table(4), table(4), start)).isEqualTo(IS_REPLACED);
        assertThat(succession.of(table(4), table(5), start)).isEqualTo(IS_REPLACED);
        assertThat(succession.of(table(4), none(5), start))
                .as("a node that was reset")
                .isEqualTo(STAYS);
        assertThat(succession.isInDoubt()).isFalse();
    }

    @Test
    void anEarlierOneHasToBeAllThatIsKnownForASecond() {
        assertThat(succession.of(table(4), table(3), start)).isEqualTo(STAYS);
        assertThat(succession.isInDoubt()).isTrue();
        assertThat(succession.of(table(4), table(3), start + SECOND - 1)).isEqualTo(STAYS);
        assertThat(succession.of(table(4), none(3), start + SECOND)).isEqualTo(STAYS);
        assertThat(succession.isInDoubt()).isTrue();
        assertThat(succession.of(table(4), table(3), start + SECOND)).isEqualTo(IS_FORGOTTEN);
        assertThat(succession.isInDoubt()).isFalse();
        assertThat(succession.of(table(4), table(3), start + SECOND))
                .as("the next one")
                .isEqualTo(STAYS);
    }

    @Test
    void oneNodeThatKnowsOursEndsTheDoubt() {
        succession.of(table(4), table(3), start);
        assertThat(succession.of(table(4), table(4), start + SECOND)).isEqualTo(IS_REPLACED);
        assertThat(succession.isInDoubt()).isFalse();
        assertThat(succession.of(table(4), table(3), start + 2 * SECOND)).isEqualTo(STAYS);
        assertThat(succession.of(table(4), table(3), start + 2 * SECOND + SECOND / 2))
                .isEqualTo(STAYS);
        assertThat(succession.of(table(4), table(3), start + 3 * SECOND)).isEqualTo(IS_FORGOTTEN);
    }
}
