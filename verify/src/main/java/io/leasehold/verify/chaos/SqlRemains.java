package io.leasehold.verify.chaos;

import io.leasehold.LockOptions;
import io.leasehold.simulator.LeaseKind;
import io.leasehold.verify.client.StoreAccess;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The rows of a lease table. Triggers record the deleted rows, and the changes that no statement may make: deleting a
 * held row, replacing a hold that has not ended, lowering a fence.
 */
final class SqlRemains implements Remains {

    /** A client searches for expired records about once a minute, a few at a time. */
    private static final Duration RECORDS_STAY = Duration.ofMinutes(2);

    /** The beginning of the names of rows that list the readers of a lock. */
    private static final String READERS = "readers";

    /** The beginning of the names of rows of permits: their number, which stays, and the held ones. */
    private static final String PERMITS = "permits";

    private static final String OWNER_OF_READERS = "0".repeat(40);

    private final String url;
    private final Duration retention;
    private final boolean postgresql;

    SqlRemains(String url, Duration retention) {
        this.url = url;
        this.retention = retention;
        this.postgresql = url.startsWith("jdbc:postgresql:");
    }

    /** Microseconds since 1970, now and not at the beginning of the transaction. */
    private String micros() {
        return postgresql
                ? "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
                : "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";
    }

    @Override
    public void prepare(LeaseKind kind) throws SQLException {
        new StoreAccess(url, retention, 0)
                .connect(LockOptions.defaults(), "tables")
                .close();
        String held = "(OLD.owner IS NOT NULL AND OLD.expires_at > " + micros() + " * 1000)";
        String note = "INSERT INTO chaos_note (what, name) VALUES ";
        // A release of the last reader, or of a permit, deletes their row.
        String ofOthers = " AND OLD.name NOT LIKE '" + READERS + "%' AND OLD.name NOT LIKE '" + PERMITS + "%'";
        String deleted = note + "(CASE WHEN " + held + ofOthers
                + " THEN 'a held row was deleted' ELSE 'removed' END, OLD.name);";
        String replaced = held + " AND NEW.owner IS NOT NULL AND NEW.owner <> OLD.owner";
        String changed = "IF " + replaced + " AND " + mayNotReplace(kind) + " THEN " + note
                + "('a hold that had not ended was taken', OLD.name); END IF;"
                + " IF NEW.fence < OLD.fence THEN " + note + "('the fence went down', OLD.name); END IF;";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            if (postgresql) {
                statement.execute("CREATE TABLE chaos_note (id BIGSERIAL PRIMARY KEY, what TEXT, name TEXT)");
                trigger(statement, "DELETE", deleted + " RETURN OLD;");
                trigger(statement, "UPDATE", changed + " RETURN NEW;");
            } else {
                statement.execute("CREATE TABLE chaos_note (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(80),"
                        + " name VARBINARY(1024)) ENGINE=InnoDB");
                statement.execute("CREATE TRIGGER chaos_delete AFTER DELETE ON leasehold_lock FOR EACH ROW BEGIN "
                        + deleted + " END");
                statement.execute("CREATE TRIGGER chaos_update AFTER UPDATE ON leasehold_lock FOR EACH ROW BEGIN "
                        + changed + " END");
            }
        }
    }

    /** A downgrade replaces the writer by the owner that stands for readers; a ticket replaces and is replaced. */
    private static String mayNotReplace(LeaseKind kind) {
        return switch (kind) {
            case READERS -> "NEW.owner <> '" + OWNER_OF_READERS + "'";
            case TICKETS -> "1 = 0";
            case LOCKS, PERMITS -> "1 = 1";
        };
    }

    private static void trigger(Statement statement, String event, String body) throws SQLException {
        String name = "chaos_" + event;
        statement.execute(
                "CREATE FUNCTION " + name + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$");
        statement.execute("CREATE TRIGGER " + name + " AFTER " + event
                + " ON leasehold_lock FOR EACH ROW EXECUTE FUNCTION " + name + "()");
    }

    @Override
    public List<String> left() throws SQLException {
        List<String> left = new ArrayList<>(ask("SELECT name FROM leasehold_lock WHERE fence < " + micros() + " - "
                + retention.toNanos() / 1_000 + " AND name NOT LIKE '" + PERMITS + "%' ORDER BY name LIMIT 20"));
        left.replaceAll(name -> "the row of " + name);
        ask("SELECT holder FROM leasehold_client WHERE expires_at < (" + micros() + " - "
                        + RECORDS_STAY.toNanos() / 1_000 + ") * 1000 LIMIT 20")
                .forEach(holder -> left.add("the record of " + holder));
        return left;
    }

    @Override
    public List<String> wrongs() throws SQLException {
        return ask("SELECT CONCAT(what, ': ', name) FROM chaos_note WHERE what <> 'removed' ORDER BY id LIMIT 20");
    }

    @Override
    public OptionalLong removed() throws SQLException {
        return OptionalLong.of(Long.parseLong(
                ask("SELECT COUNT(*) FROM chaos_note WHERE what = 'removed'").get(0)));
    }

    private List<String> ask(String query) throws SQLException {
        List<String> answers = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                answers.add(rows.getString(1));
            }
        }
        return answers;
    }
}
