package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the reasons why a node's vote does not count. */
@Tag("quick")
final class DistrustTest {

    private static final long SECOND_NANOS = 1_000_000_000L;

    @Test
    void aClockAsideIsToldWithItsSideAndWithWholeSecondsThatAreLeft() {
        assertThat(Distrust.skewed(2_500_000, 2 * SECOND_NANOS).text())
                .isEqualTo("its clock is +2.5 s from the median of all nodes; excluded for 2 s more");
        assertThat(Distrust.skewed(-2_500_000, 2 * SECOND_NANOS + 1).text())
                .isEqualTo("its clock is -2.5 s from the median of all nodes; excluded for 3 s more");
        assertThat(Distrust.skewed(1, 0).text()).endsWith("excluded for 1 s more");
    }
}
