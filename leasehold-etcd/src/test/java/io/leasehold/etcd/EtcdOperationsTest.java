package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The findings of the doctor about the members and alarms of a cluster. */
@Tag("quick")
class EtcdOperationsTest {

    @ParameterizedTest
    @CsvSource({
        "1, 0, WARNING, if one fails",
        "1, 1, UNSAFE, no majority",
        "2, 0, WARNING, if one fails",
        "2, 1, UNSAFE, no majority",
        "3, 0, GOOD, ''",
        "3, 1, WARNING, 'of which 1 do not answer'",
        "3, 2, UNSAFE, no majority",
        "4, 0, WARNING, an even number",
        "4, 1, WARNING, 'of which 1 do not answer'",
        "4, 2, UNSAFE, no majority",
        "5, 0, GOOD, ''",
        "5, 2, WARNING, 'of which 2 do not answer'",
        "5, 3, UNSAFE, no majority"
    })
    void gradesMajorities(int members, int silent, Grade grade, String reason) {
        Finding finding = EtcdOperations.quorum("e", members, silent);
        assertThat(finding.check()).isEqualTo("quorum");
        assertThat(finding.grade()).isEqualTo(grade);
        assertThat(finding.reason()).contains(reason).contains("e has " + members + " member(s)");
    }

    @Test
    void gradesAlarms() {
        assertThat(EtcdOperations.alarms("e", List.of()).grade()).isEqualTo(Grade.GOOD);
        Finding full = EtcdOperations.alarms("e", List.of("NOSPACE", "CORRUPT"));
        assertThat(full.check()).isEqualTo("alarms");
        assertThat(full.grade()).isEqualTo(Grade.UNSAFE);
        assertThat(full.reason()).contains("NOSPACE, CORRUPT");
    }
}
