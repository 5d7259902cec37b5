package io.leasehold.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** What a lease table records about a lock: an owner and a waiter, or neither. */
final class KeptRows {

    private KeptRows() {}

    /** Opens a connection of an administrator. */
    interface Administrator {
        Connection connect() throws SQLException;
    }

    static List<String> of(Administrator administrator, String name) {
        List<String> kept = new ArrayList<>();
        try (Connection connection = administrator.connect();
                PreparedStatement query =
                        connection.prepareStatement("SELECT owner, waiter FROM leasehold_lock WHERE name = ?")) {
            query.setString(1, name);
            try (ResultSet rows = query.executeQuery()) {
                while (rows.next()) {
                    for (String column : List.of("owner", "waiter")) {
                        String value = rows.getString(column);
                        if (value != null) {
                            kept.add(column + " " + value);
                        }
                    }
                }
            }
            return kept;
        } catch (SQLException e) {
            throw new IllegalStateException("the lease table cannot be read", e);
        }
    }
}
