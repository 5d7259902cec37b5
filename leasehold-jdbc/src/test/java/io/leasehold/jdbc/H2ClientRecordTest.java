package io.leasehold.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;

@Tag("full")
class H2ClientRecordTest implements ClientRecordTests {

    @Override
    public String storeUri() {
        return "jdbc:h2:mem:records;DB_CLOSE_DELAY=-1";
    }

    @Override
    public Connection administrator() throws SQLException {
        return DriverManager.getConnection(storeUri());
    }
}
