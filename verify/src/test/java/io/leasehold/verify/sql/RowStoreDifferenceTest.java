package io.leasehold.verify.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.jdbc.StoresOverModel;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.verify.sql.RowStore.Answer;
import io.leasehold.verify.sql.RowStore.Blocked;
import io.leasehold.verify.sql.RowStore.Refused;
import io.leasehold.verify.sql.RowStore.Rows;
import io.leasehold.verify.sql.RowStore.Session;
import io.leasehold.verify.sql.Statements.Op;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The model of each database answers like the database: random statements of several sessions, to both.
 *
 * <p>InnoDB also locks gaps between rows, and the row next to a second new row. If another session may have done so,
 * MariaDB may refuse a statement that the model allows, and both transactions are restarted. It must never allow more
 * than the model.
 */
@Tag("full")
@Timeout(180)
final class RowStoreDifferenceTest {

    private static final int SEQUENCES = 60;
    private static final int STATEMENTS = 60;
    private static final int SESSIONS = 3;
    private static final String CONTENTION = "error " + SqlTrouble.CONTENTION;
    private static final long FAR_AHEAD = 4_000_000_000_000_000_000L;

    private static final Op[] OPS = {
        Op.FIND,
        Op.FIND,
        Op.FIND_UNLESS_LOCKED,
        Op.FIND_UNLESS_LOCKED,
        Op.READ,
        Op.INSERT,
        Op.INSERT,
        Op.UPDATE,
        Op.NOTE,
        Op.EXTEND,
        Op.HELD,
        Op.IDLE,
        Op.DELETE,
        Op.DELETE,
        Op.ACQUIRE,
        Op.ACQUIRE,
        Op.ACQUIRE,
        Op.FLOOR,
        Op.LOCK_FLOOR,
        Op.RAISE_FLOOR,
        Op.COMMIT,
        Op.COMMIT,
        Op.COMMIT,
        Op.ROLLBACK
    };

    @TempDir
    private Path directory;

    private long micros;

    /** One session at the database and at the model. */
    private static final class Pair {
        private final Connection real;
        private final Session model = new Session();
        /** Whether its transaction may have locked more than rows of the model. */
        private boolean locksMore;

        Pair(Connection real) {
            this.real = real;
        }
    }

    /** A database, as far as it is compared. */
    private record Compared(Flavour flavour, Dialect dialect, List<Pair> pairs) {
        private Compared {
            pairs = List.copyOf(pairs);
        }
    }

    /** Opens a session. */
    private interface Connecting {
        Connection connect() throws SQLException;
    }

    @Test
    void postgreSqlAndTheModelAnswerAlike() throws IOException, SQLException {
        assumeTrue(
                (System.getProperty("os.name") + " " + System.getProperty("os.arch")).equals("Linux amd64"),
                "no PostgreSQL server here: the archive is for Linux on x86-64");
        try (EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setOverrideWorkingDirectory(directory.resolve("programs").toFile())
                .setDataDirectory(directory.resolve("data"))
                .setLocaleConfig("locale", "C")
                .start()) {
            assertThat(compare(Flavour.POSTGRESQL, postgres.getPostgresDatabase()::getConnection))
                    .as("refusals of what the model allows")
                    .isZero();
        }
    }

    @Test
    void mariaDbAndTheModelAnswerAlike() throws IOException, SQLException {
        try (MariaDb server = MariaDb.start(directory)) {
            assertThat(compare(Flavour.MARIADB, server::connect))
                    .as("refusals of what the model allows, because of locks beside rows")
                    .isLessThan(SEQUENCES * STATEMENTS / 5);
        }
    }

    @Test
    void h2AndTheModelAnswerAlike() throws SQLException {
        // Without the limit it would wait for two seconds, and then report the same.
        String url = "jdbc:h2:mem:difference;LOCK_TIMEOUT=1";
        assertThat(compare(Flavour.H2, () -> DriverManager.getConnection(url)))
                .as("refusals of what the model allows")
                .isZero();
    }

    /** Returns how often the database refused a statement that the model allows. */
    private int compare(Flavour flavour, Connecting connecting) throws SQLException {
        Dialect dialect = StoresOverModel.statements(flavour.dialect);
        List<Pair> pairs = new ArrayList<>();
        try {
            for (int i = 0; i < SESSIONS; i++) {
                pairs.add(new Pair(connecting.connect()));
            }
            try (Statement statement = pairs.get(0).real.createStatement()) {
                for (String create : dialect.store().create()) {
                    statement.execute(create);
                }
                statement.execute("INSERT INTO leasehold_store VALUES (1, 1, 'one', 'database', 0)");
            }
            Compared compared = new Compared(flavour, dialect, pairs);
            int refusals = 0;
            for (int seed = 1; seed <= SEQUENCES; seed++) {
                refusals += compare(seed, compared);
            }
            timePassesAlike(compared);
            return refusals;
        } finally {
            for (Pair pair : pairs) {
                pair.real.close();
            }
        }
    }

    private int compare(int seed, Compared compared) throws SQLException {
        RowStore store = new RowStore(compared.flavour(), () -> micros, (before, after, floor, at) -> {});
        List<Pair> fresh = new ArrayList<>();
        for (Pair pair : compared.pairs()) {
            pair.real.setAutoCommit(true);
            fresh.add(new Pair(pair.real));
        }
        try (Statement statement = fresh.get(0).real.createStatement()) {
            statement.execute("DELETE FROM leasehold_lock");
            statement.execute("UPDATE leasehold_store SET fence_floor = 0");
        }
        SplittableRandom random = new SplittableRandom(seed);
        List<String> said = new ArrayList<>();
        int refusals = 0;
        for (int i = 0; i < STATEMENTS; i++) {
            int at = random.nextInt(SESSIONS);
            Pair pair = fresh.get(at);
            Op op = op(OPS[random.nextInt(OPS.length)], pair, compared.flavour());
            @Nullable Object[] params = params(op, random);
            said.add("session " + at + ": " + op + " " + Arrays.toString(params));
            boolean wasThere = isThere(store, pair, op, params);
            String real = real(pair.real, op, params, compared);
            String model = model(store, pair.model, op, params);
            said.add("  " + real);
            if (compared.flavour() == Flavour.MARIADB) {
                boolean refused = !model.equals(real) && real.equals(op == Op.FIND_UNLESS_LOCKED ? "[]" : CONTENTION);
                if (refused && fresh.stream().anyMatch(other -> other != pair && other.locksMore)) {
                    refusals++;
                    said.add("  which only MariaDB refuses");
                    end(pair, store);
                    continue;
                }
                locks(pair, op, real, wasThere);
            }
            assertThat(model).as("seed %d:%n%s", seed, String.join("\n", said)).isEqualTo(real);
            if (compared.flavour() == Flavour.H2 && real.equals(CONTENTION)) {
                // As the store does. A transaction of H2 that continues may wait forever for a row that it has locked
                // itself.
                end(pair, store);
            }
        }
        for (Pair pair : fresh) {
            end(pair, store);
        }
        return refusals;
    }

    private static boolean isThere(RowStore store, Pair pair, Op op, @Nullable Object[] params) {
        return switch (op) {
            case FIND_UNLESS_LOCKED, UPDATE, NOTE, EXTEND ->
                store.isThere(pair.model, String.valueOf(params[op == Op.FIND_UNLESS_LOCKED ? 0 : params.length - 1]));
            default -> true;
        };
    }

    /**
     * The operation that the store uses with this database: only PostgreSQL grants in one statement, and is instructed
     * to wait.
     */
    private static Op op(Op drawn, Pair pair, Flavour flavour) {
        if (flavour != Flavour.POSTGRESQL && (drawn == Op.FIND || drawn == Op.ACQUIRE)) {
            return Op.FIND_UNLESS_LOCKED;
        }
        return drawn == Op.ACQUIRE && pair.model.isInTransaction() ? Op.COMMIT : drawn;
    }

    /** A missing row is a gap, a deleted row becomes one, and a row that was in the way is locked. */
    private static void locks(Pair pair, Op op, String real, boolean wasThere) {
        switch (op) {
            case COMMIT, ROLLBACK -> pair.locksMore = false;
            case FIND_UNLESS_LOCKED, UPDATE, NOTE, EXTEND -> pair.locksMore |= !wasThere;
            case INSERT -> pair.locksMore |= real.equals(CONTENTION);
            case DELETE -> pair.locksMore = true;
            default -> {
                // Locks rows, or nothing.
            }
        }
    }

    private static void end(Pair pair, RowStore store) throws SQLException {
        if (!pair.real.getAutoCommit()) {
            pair.real.rollback();
            pair.real.setAutoCommit(true);
        }
        store.rollback(pair.model);
        pair.locksMore = false;
    }

    /** Whether the first reading of the time is current, and later readings in the same transaction are later. */
    private void timePassesAlike(Compared compared) throws SQLException {
        RowStore store = new RowStore(compared.flavour(), () -> micros, (before, after, floor, at) -> {});
        Pair pair = compared.pairs().get(0);
        String sql = ((Dialect.DatabaseTime) compared.dialect().clock()).micros();
        pair.real.setAutoCommit(false);
        run(pair.real, compared.dialect().leases().read(), new Object[] {"none"}, Op.READ);
        model(store, pair.model, Op.READ, new Object[] {"none"});
        List<Integer> real = new ArrayList<>();
        List<Integer> model = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            LockSupport.parkNanos(5_000_000L);
            long asked = System.currentTimeMillis() * 1000;
            micros = asked;
            String told = run(pair.real, sql, new Object[0], Op.MICROS).replaceAll("\\D", "");
            real.add(Long.signum(Long.parseLong(told) - asked + 1_000));
            told = model(store, pair.model, Op.MICROS, new Object[0]).replaceAll("\\D", "");
            model.add(Long.signum(Long.parseLong(told) - asked + 1_000));
        }
        end(pair, store);
        assertThat(model).isEqualTo(real);
    }

    private static @Nullable Object[] params(Op op, SplittableRandom random) {
        String name = "lock-" + random.nextInt(2);
        return switch (op) {
            case FIND, FIND_UNLESS_LOCKED, READ, DELETE -> new @Nullable Object[] {name};
            case INSERT -> {
                @Nullable Object[] row = row(random);
                @Nullable Object[] all = new @Nullable Object[11];
                all[0] = name;
                System.arraycopy(row, 0, all, 1, 10);
                yield all;
            }
            case UPDATE -> {
                @Nullable Object[] all = Arrays.copyOf(row(random), 11);
                all[10] = name;
                yield all;
            }
            case NOTE -> new @Nullable Object[] {waiter(random), 5L, (long) random.nextInt(100), name};
            case EXTEND -> new @Nullable Object[] {expiry(random), 7L, name};
            case IDLE -> new @Nullable Object[] {(long) random.nextInt(50), 50L + random.nextInt(100)};
            case RAISE_FLOOR -> new @Nullable Object[] {(long) random.nextInt(1_000)};
            case ACQUIRE ->
                new @Nullable Object[] {
                    "1ms",
                    name,
                    "o" + random.nextInt(3),
                    "h",
                    1_000L,
                    (long) random.nextInt(10),
                    (long) random.nextInt(3)
                };
            default -> new @Nullable Object[0];
        };
    }

    private static @Nullable Object[] row(SplittableRandom random) {
        boolean held = random.nextBoolean();
        return new @Nullable Object[] {
            "database",
            held ? "o" + random.nextInt(3) : null,
            held ? "h" : null,
            expiry(random),
            9L,
            (long) random.nextInt(100),
            waiter(random),
            3L,
            4L,
            (long) random.nextInt(100)
        };
    }

    private static long expiry(SplittableRandom random) {
        return random.nextBoolean() ? 1L : FAR_AHEAD;
    }

    private static @Nullable String waiter(SplittableRandom random) {
        return random.nextInt(3) == 0 ? "o" + random.nextInt(3) : null;
    }

    private static boolean isAlone(Op op) {
        return op == Op.ACQUIRE;
    }

    private String real(Connection connection, Op op, @Nullable Object[] params, Compared compared)
            throws SQLException {
        Dialect dialect = compared.dialect();
        if (op == Op.COMMIT || op == Op.ROLLBACK) {
            if (!connection.getAutoCommit()) {
                end(connection, op);
            }
            return "count";
        }
        try {
            if (!isAlone(op) && connection.getAutoCommit()) {
                connection.setAutoCommit(false);
                String limits = ((Dialect.ByDriver) dialect.transaction()).limits();
                if (limits != null) {
                    run(connection, limits, new Object[] {"1ms"}, Op.LIMITS);
                }
            }
            return run(connection, text(op, dialect), params, op);
        } catch (SQLException e) {
            SqlTrouble trouble = dialect.troubles().apply(e);
            return trouble == SqlTrouble.CONTENTION
                    ? CONTENTION
                    : "error " + trouble + (trouble == SqlTrouble.OTHER ? "" : e);
        }
    }

    private static void end(Connection connection, Op op) throws SQLException {
        if (op == Op.COMMIT) {
            try {
                connection.commit();
            } catch (SQLException e) {
                // If the transaction had failed, the driver reports that it is rolled back.
                connection.rollback();
            }
        } else {
            connection.rollback();
        }
        connection.setAutoCommit(true);
    }

    private String run(Connection connection, @Nullable String sql, @Nullable Object[] params, Op op)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(Objects.requireNonNull(sql))) {
            for (int i = 0; i < params.length; i++) {
                if (params[i] instanceof Long number) {
                    statement.setLong(i + 1, number);
                } else {
                    statement.setString(i + 1, (String) params[i]);
                }
            }
            if (!statement.execute()) {
                return "count";
            }
            try (ResultSet result = statement.getResultSet()) {
                List<List<@Nullable String>> rows = new ArrayList<>();
                while (result.next()) {
                    List<@Nullable String> row = new ArrayList<>();
                    for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
                        Object value = result.getObject(i);
                        row.add(
                                value instanceof byte[]
                                        ? result.getString(i)
                                        : value == null ? null : String.valueOf(value));
                    }
                    rows.add(row);
                    if (op == Op.ACQUIRE) {
                        micros = result.getLong(8);
                    }
                }
                return said(op, rows);
            }
        }
    }

    private static String model(RowStore store, Session session, Op op, @Nullable Object[] params) {
        List<String> told = new ArrayList<>();
        if (op == Op.COMMIT || op == Op.ROLLBACK) {
            store.execute(session, op, params, false, null, told);
            return "count";
        }
        Answer answer = store.execute(session, op, params, isAlone(op), null, told);
        if (answer instanceof Blocked) {
            answer = store.giveUp(session, isAlone(op));
        }
        if (answer instanceof Refused refused) {
            return refused.why() == Flavour.Refusal.ABORTED ? "error " + SqlTrouble.OTHER : CONTENTION;
        } else if (answer instanceof Rows rows) {
            List<List<@Nullable String>> texts = new ArrayList<>();
            for (@Nullable Object[] row : rows.rows()) {
                List<@Nullable String> text = new ArrayList<>();
                for (Object value : row) {
                    text.add(value == null ? null : String.valueOf(value));
                }
                texts.add(text);
            }
            return said(op, texts);
        }
        return "count";
    }

    /** The result without the time that a row comes with. */
    private static String said(Op op, List<List<@Nullable String>> rows) {
        List<String> texts = new ArrayList<>();
        for (List<@Nullable String> row : rows) {
            boolean timed = op == Op.FIND || op == Op.FIND_UNLESS_LOCKED;
            texts.add(String.valueOf(timed ? row.subList(0, 11) : row));
        }
        if (op == Op.IDLE) {
            // The order of rows with equal fences is not specified.
            Collections.sort(texts);
        }
        return texts.toString();
    }

    private static @Nullable String text(Op op, Dialect dialect) {
        Dialect.Leases leases = dialect.leases();
        return switch (op) {
            case FIND -> leases.find();
            case FIND_UNLESS_LOCKED -> leases.findUnlessLocked();
            case READ -> leases.read();
            case INSERT -> leases.insert();
            case UPDATE -> leases.update();
            case NOTE -> leases.note();
            case EXTEND -> leases.extend();
            case HELD -> leases.held();
            case IDLE -> leases.idle();
            case DELETE -> leases.delete();
            case ACQUIRE -> leases.acquire();
            case FLOOR -> dialect.store().floor();
            case LOCK_FLOOR -> dialect.store().lockFloor();
            case RAISE_FLOOR -> dialect.store().raiseFloor();
            default -> throw new IllegalArgumentException(op + " has no text");
        };
    }
}
