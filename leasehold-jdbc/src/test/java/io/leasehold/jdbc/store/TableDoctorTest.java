package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Finding;
import io.leasehold.Finding.Grade;
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
        assertThat(TableOperations.skew("db", 100).grade()).isEqualTo(Grade.GOOD);
        assertThat(TableOperations.skew("db", -9_000).grade()).isEqualTo(Grade.WARNING);
    }
}
