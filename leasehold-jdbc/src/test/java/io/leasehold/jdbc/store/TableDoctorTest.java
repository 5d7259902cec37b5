package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import java.sql.Connection;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The grades of isolation and time. */
@Tag("quick")
class TableDoctorTest {

    private static Grade isolation(int level) {
        Finding finding = TableOperations.isolation("db", level);
        return finding.grade();
    }

    @Test
    void gradesIsolation() {
        assertThat(isolation(Connection.TRANSACTION_READ_UNCOMMITTED)).isEqualTo(Grade.UNSAFE);
        assertThat(isolation(Connection.TRANSACTION_REPEATABLE_READ)).isEqualTo(Grade.WARNING);
        assertThat(isolation(Connection.TRANSACTION_READ_COMMITTED)).isEqualTo(Grade.GOOD);
        assertThat(isolation(Connection.TRANSACTION_SERIALIZABLE)).isEqualTo(Grade.GOOD);
    }

    @Test
    void gradesTime() {
        assertThat(TableOperations.skew("db", 2_000).grade()).isEqualTo(Grade.GOOD);
        assertThat(TableOperations.skew("db", -2_000).grade()).isEqualTo(Grade.GOOD);
        assertThat(TableOperations.skew("db", 2_001))
                .satisfies(finding -> assertThat(finding.grade()).isEqualTo(Grade.WARNING))
                .satisfies(finding -> assertThat(finding.reason()).contains("2001 ms ahead of ours"));
        assertThat(TableOperations.skew("db", -9_000))
                .satisfies(finding -> assertThat(finding.grade()).isEqualTo(Grade.WARNING))
                .satisfies(finding -> assertThat(finding.reason()).contains("9000 ms behind ours"));
    }

    @Test
    void gradesWhatACrashWouldTake() {
        assertThat(TableOperations.durability("db", "on", "on").grade()).isEqualTo(Grade.GOOD);
        assertThat(TableOperations.durability("db", "on", "local").grade()).isEqualTo(Grade.GOOD);
        assertThat(TableOperations.durability("db", "on", "off"))
                .satisfies(finding -> assertThat(finding.grade()).isEqualTo(Grade.UNSAFE))
                .satisfies(finding -> assertThat(finding.reason()).contains("synchronous_commit off"));
        assertThat(TableOperations.durability("db", "off", "off"))
                .satisfies(finding -> assertThat(finding.grade()).isEqualTo(Grade.UNSAFE))
                .satisfies(finding -> assertThat(finding.reason()).contains("fsync off"));
    }
}
