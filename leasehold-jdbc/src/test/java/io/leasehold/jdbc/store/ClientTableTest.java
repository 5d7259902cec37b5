package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.PostgresDialect;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A failed search for the table of clients is not taken for a missing table: operators would permanently get no
 * records.
 */
@Tag("quick")
class ClientTableTest {

    private static Connection failing(String state) {
        return (Connection) Proxy.newProxyInstance(
                ClientTableTest.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> {
                    throw new SQLException("made by the test", state);
                });
    }

    @Test
    void onlyWhatDoesNotPassIsTakenForAMissingTable() throws SQLException {
        for (String state : List.of("55P03", "57014", "08006")) {
            assertThatThrownBy(
                            () -> ClientTable.findOrMake(failing(state), PostgresDialect.dialect(), "store X", false))
                    .as(state)
                    .hasMessage("made by the test");
        }
        assertThat(ClientTable.findOrMake(failing("42501"), PostgresDialect.dialect(), "store X", false))
                .isFalse();
    }
}
