package io.leasehold.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;

@Tag("quick")
class H2RowProtectionTest implements RowProtectionTests, LockedReadersTests {

    @Override
    public Connection transaction() throws SQLException {
        return RowProtectionTests.super.transaction();
    }

    @Override
    public Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:h2:mem:rows;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000");
    }
}
