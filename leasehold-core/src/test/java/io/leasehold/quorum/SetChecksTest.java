package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding.Grade;
import io.leasehold.quorum.QuorumAdmin.Probe;
import io.leasehold.quorum.QuorumAdmin.SetChecks;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the findings about a set that three servers on one machine cannot show. */
@Tag("quick")
class SetChecksTest {

    private static Probe probe(String host, String life, long aheadMicros) {
        return new Probe("redis://" + host + ":6379", life, aheadMicros, 1_000);
    }

    @Test
    void nodesAreIndependentOnHostsOfTheirOwn() {
        assertThat(SetChecks.independence(List.of(probe("a", "1", 0), probe("b", "2", 0)), 2)
                        .grade())
                .isEqualTo(Grade.GOOD);
        assertThat(SetChecks.independence(List.of(probe("a", "1", 0), probe("a", "2", 0)), 2)
                        .grade())
                .isEqualTo(Grade.WARNING);
        assertThat(SetChecks.independence(List.of(probe("a", "1", 0), probe("b", "1", 0)), 2)
                        .grade())
                .as("two names of one server")
                .isEqualTo(Grade.UNSAFE);
    }

    @Test
    void clocksMayDifferByHalfASecondBeyondWhatTheRoundHides() {
        assertThat(SetChecks.clocks(List.of(probe("a", "1", 0), probe("b", "2", 400_000)))
                        .grade())
                .isEqualTo(Grade.GOOD);
        assertThat(SetChecks.clocks(List.of(probe("a", "1", 0), probe("b", "2", 700_000)))
                        .grade())
                .isEqualTo(Grade.WARNING);
        assertThat(SetChecks.clocks(List.of()).grade()).isEqualTo(Grade.GOOD);
    }
}
