package io.leasehold.verify.sql;

import static io.leasehold.verify.sql.Row.number;
import static io.leasehold.verify.sql.Row.text;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.verify.sql.Flavour.Refusal;
import io.leasehold.verify.sql.Statements.Op;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A model of the database: two tables, row locks until the end of a transaction, and the visibility of rows. Each
 * statement is one step; its answer says whether it must wait. For one thread.
 */
final class RowStore {

    /** The key of the row that describes the store, for its lock: lock names have no control characters. */
    private static final String STORE = "\n";

    private static final int IDLE_ROWS = 20;
    private static final long LIMIT = 9007199254740991L;

    private final Flavour flavour;
    private final LongSupplier micros;
    private final Audit audit;
    private final Map<String, Row> committed = new TreeMap<>();
    private final Map<String, Session> locks = new HashMap<>();
    private @Nullable Object @Nullable [] description;
    private long floor;
    private long commits;
    private long ids;

    /** The answer of a statement. */
    sealed interface Answer {}

    /** Rows, possibly none. */
    record Rows(List<@Nullable Object[]> rows) implements Answer {}

    /** The number of written rows. */
    record Count(int rows) implements Answer {}

    /** An error. */
    record Refused(Refusal why) implements Answer {}

    /** The statement waits for a row: repeat it when a transaction has ended, with the values read so far. */
    record Blocked(Object known) implements Answer {}

    /** Receives each row that a commit changes. */
    interface Audit {
        /** Called with the change; null means no row. */
        void committed(@Nullable Row before, @Nullable Row after, long floor, long micros);
    }

    RowStore(Flavour flavour, LongSupplier micros, Audit audit) {
        this.flavour = flavour;
        this.micros = micros;
        this.audit = audit;
    }

    /** One session. */
    static final class Session {
        private final Map<String, @Nullable Row> written = new LinkedHashMap<>();
        private final List<String> locked = new ArrayList<>();
        private final List<String> told = new ArrayList<>();
        private @Nullable Map<String, Row> snapshot;
        private long snapshotFloor;
        private long raisedFloor = -1;
        private long stoppedMicros = -1;
        private boolean failed;
        private boolean inTransaction;
        private boolean listens;
        private long rowWaitMillis;

        boolean isInTransaction() {
            return inTransaction;
        }

        boolean listens() {
            return listens;
        }

        /** The maximum time that its statement may wait for a row. */
        long rowWaitMillis() {
            return rowWaitMillis;
        }
    }

    /** All committed rows. */
    List<Row> rows() {
        return new ArrayList<>(committed.values());
    }

    long floor() {
        return floor;
    }

    long now() {
        return micros.getAsLong();
    }

    /**
     * Executes a statement.
     *
     * @param known null, or the value of the answer when it was blocked
     * @param told receives the notifications for listeners
     */
    Answer execute(
            Session session,
            Op op,
            @Nullable Object[] params,
            boolean autoCommit,
            @Nullable Object known,
            List<String> told) {
        if (op == Op.COMMIT || op == Op.ROLLBACK) {
            if (op == Op.COMMIT && !session.failed) {
                commit(session, told);
            } else {
                rollback(session);
            }
            return new Count(0);
        } else if (session.failed) {
            return new Refused(Refusal.ABORTED);
        }
        session.inTransaction |= !autoCommit;
        Answer answer = step(session, op, params, known);
        if (answer instanceof Blocked && !flavour.waits) {
            answer = new Refused(Refusal.LOCKED);
        }
        if (answer instanceof Blocked) {
            return answer;
        } else if (answer instanceof Refused && autoCommit) {
            rollback(session);
        } else if (answer instanceof Refused && flavour == Flavour.POSTGRESQL) {
            fail(session);
        } else if (autoCommit) {
            commit(session, told);
        }
        return answer;
    }

    /**
     * At an error, PostgreSQL rolls back the transaction, unlocks its rows, and refuses all further statements except
     * its end.
     */
    private void fail(Session session) {
        free(session);
        session.inTransaction = true;
        session.failed = true;
    }

    /** Ends a wait for a row without success. */
    Answer giveUp(Session session, boolean autoCommit) {
        if (autoCommit) {
            rollback(session);
        } else {
            fail(session);
        }
        return new Refused(Refusal.LOCKED);
    }

    private Answer step(Session session, Op op, @Nullable Object[] p, @Nullable Object known) {
        return switch (op) {
            case FIND -> find(session, text(p, 0), false, known);
            case FIND_UNLESS_LOCKED -> find(session, text(p, 0), true, null);
            case READ -> rows(visible(session).get(text(p, 0)));
            case INSERT -> insert(session, p);
            case UPDATE -> write(session, text(p, 10), row -> row.updated(p));
            case NOTE -> write(session, text(p, 3), row -> row.noted(p));
            case EXTEND -> write(session, text(p, 2), row -> row.extended(number(p, 0), number(p, 1)));
            case DELETE -> write(session, text(p, 0), row -> null);
            case HELD -> held(session);
            case IDLE -> idle(session, number(p, 0), number(p, 1));
            case ACQUIRE -> acquire(session, p, known);
            case CREATE -> new Count(0);
            case DESCRIBE -> describe(p);
            case STORE -> description == null ? new Rows(List.of()) : one(description);
            case FLOOR -> {
                visible(session);
                yield one(
                        session.raisedFloor >= 0
                                ? session.raisedFloor
                                : session.snapshot != null ? session.snapshotFloor : floor);
            }
            case LOCK_FLOOR -> lock(session, STORE) ? one(latestFloor(session)) : new Rows(List.of());
            case RAISE_FLOOR -> {
                if (!lock(session, STORE)) {
                    yield new Blocked(STORE);
                }
                session.raisedFloor = Math.max(latestFloor(session), number(p, 0));
                yield new Count(1);
            }
            case DISTINCT -> one((long) Dialect.Store.LOOK_ALIKES);
            case MICROS -> one(time(session));
            case LIMITS -> {
                session.rowWaitMillis = millis(text(p, 0));
                yield one(text(p, 0));
            }
            case TELL -> {
                session.told.add(text(p, 0));
                yield one("");
            }
            case LISTEN, UNLISTEN -> {
                session.listens = op == Op.LISTEN;
                yield new Count(0);
            }
            case ASK -> one(1L);
            case NO_RIGHT -> new Refused(Refusal.NO_RIGHT);
            case COMMIT, ROLLBACK -> throw new IllegalArgumentException(op + " is no statement");
        };
    }

    private long latestFloor(Session session) {
        return Math.max(floor, session.raisedFloor);
    }

    private long time(Session session) {
        if (!flavour.timeStandsStill || !session.inTransaction) {
            return micros.getAsLong();
        }
        if (session.stoppedMicros < 0) {
            session.stoppedMicros = micros.getAsLong();
        }
        return session.stoppedMicros;
    }

    private boolean lock(Session session, String key) {
        Session has = locks.putIfAbsent(key, session);
        if (has == null) {
            session.locked.add(key);
        }
        return has == null || has == session;
    }

    private boolean isLockedByAnother(Session session, String key) {
        Session has = locks.get(key);
        return has != null && has != session;
    }

    /** Whether the session would meet such a row if it wrote now. */
    boolean isThere(Session session, String name) {
        return latest(session, name) != null;
    }

    /** The last committed row, or the one that this session has written. */
    private @Nullable Row latest(Session session, String name) {
        return session.written.containsKey(name) ? session.written.get(name) : committed.get(name);
    }

    /** The rows that a plain read returns. */
    private Map<String, Row> visible(Session session) {
        if (flavour.readsFromSnapshot && session.inTransaction && session.snapshot == null) {
            session.snapshot = new TreeMap<>(committed);
            session.snapshotFloor = floor;
        }
        Map<String, Row> base = session.snapshot == null ? committed : session.snapshot;
        if (session.written.isEmpty()) {
            return base;
        }
        Map<String, Row> seen = new TreeMap<>(base);
        session.written.forEach((name, row) -> {
            if (row == null) {
                seen.remove(name);
            } else {
                seen.put(name, row);
            }
        });
        return seen;
    }

    /** Locks the current row. If it was deleted during the wait, the result is no row, even if the name has another. */
    private Answer find(Session session, String name, boolean skips, @Nullable Object known) {
        Row row = latest(session, name);
        if (known != null && (row == null || !known.equals(row.id()))) {
            return found(null);
        } else if (row == null) {
            return found(null);
        } else if (isLockedByAnother(session, name)) {
            return skips ? found(null) : new Blocked(row.id());
        }
        lock(session, name);
        return found(row);
    }

    /** PostgreSQL returns the time in a column after the row, even if there is none. */
    private Answer found(@Nullable Row row) {
        if (flavour != Flavour.POSTGRESQL) {
            return rows(row);
        }
        @Nullable Object[] columns = new @Nullable Object[12];
        if (row != null) {
            System.arraycopy(row.columns(), 0, columns, 0, 11);
        }
        columns[11] = micros.getAsLong();
        return one(columns);
    }

    private Answer insert(Session session, @Nullable Object[] p) {
        String name = text(p, 0);
        if (isLockedByAnother(session, name)) {
            return new Blocked(name);
        } else if (latest(session, name) != null) {
            return new Refused(Refusal.DUPLICATE);
        }
        lock(session, name);
        session.written.put(name, Row.of(++ids, name, p, 1));
        return new Count(1);
    }

    private interface Change {
        @Nullable
        Row of(Row row);
    }

    private Answer write(Session session, String name, Change change) {
        Row row = latest(session, name);
        boolean isLocked = isLockedByAnother(session, name);
        if (row == null) {
            return isLocked && flavour.writesMeetRowsBeingMade ? new Blocked(name) : new Count(0);
        } else if (isLocked) {
            return new Blocked(name);
        }
        lock(session, name);
        session.written.put(name, change.of(row));
        return new Count(1);
    }

    private Answer held(Session session) {
        List<@Nullable Object[]> found = new ArrayList<>();
        visible(session).values().stream().filter(row -> row.owner() != null).forEach(row -> found.add(row.columns()));
        return new Rows(found);
    }

    private Answer idle(Session session, long least, long most) {
        List<@Nullable Object[]> found = new ArrayList<>();
        visible(session).values().stream()
                .filter(row -> row.fence() > least && row.fence() < most)
                .sorted(Comparator.comparingLong(Row::fence))
                .limit(IDLE_ROWS)
                .forEach(row -> found.add(row.columns()));
        return new Rows(found);
    }

    private Answer describe(@Nullable Object[] p) {
        if (description != null) {
            return new Refused(Refusal.DUPLICATE);
        }
        description = p.clone();
        return new Count(1);
    }

    /**
     * The values that a statement that grants at once has read at its beginning: a wait for a row does not change them.
     */
    private record Begun(long micros, long floor, long commits) {}

    /** See {@code PostgresDialect.ACQUIRE}: time and floor are read at the beginning of the statement. */
    private Answer acquire(Session session, @Nullable Object[] p, @Nullable Object known) {
        session.rowWaitMillis = millis(text(p, 0));
        String name = text(p, 1);
        String owner = text(p, 2);
        Begun begun = known instanceof Begun before ? before : new Begun(micros.getAsLong(), floor, commits);
        if (isLockedByAnother(session, name)) {
            return new Blocked(begun);
        }
        long ttl = number(p, 4);
        long more = number(p, 6);
        long nowNanos = begun.micros() * 1000;
        long token = Math.max(Math.max(1, begun.micros()), Math.max(number(p, 5), begun.floor() + 1));
        Row row = committed.get(name);
        boolean fits = token + more < LIMIT;
        if (row == null && !fits) {
            return new Rows(List.of());
        }
        boolean granted = fits
                && (row == null
                        || ((row.owner() == null || row.expiresAt() <= nowNanos)
                                && (row.waiter() == null || row.waiter().equals(owner))
                                && row.fence() + 1 + more < LIMIT));
        if (granted) {
            long first = row == null ? token : Math.max(row.fence() + 1, token);
            Row now = new Row(
                    row == null ? ++ids : row.id(),
                    row == null ? 0 : row.bornAt(),
                    name,
                    "database",
                    owner,
                    text(p, 3),
                    nowNanos + ttl,
                    ttl,
                    first,
                    null,
                    0,
                    row == null ? nowNanos : row.freedAt(),
                    first + more);
            lock(session, name);
            session.written.put(name, now);
            return one(seen(now, begun, true));
        }
        // A row that was missing when the statement began is not visible, though it is in the way.
        Row there = Objects.requireNonNull(row, "row");
        return there.bornAt() > begun.commits() ? new Rows(List.of()) : one(seen(there, begun, false));
    }

    private static @Nullable Object[] seen(Row row, Begun begun, boolean granted) {
        return new @Nullable Object[] {
            row.owner(),
            row.holder(),
            row.expiresAt(),
            row.ttl(),
            row.token(),
            row.fence(),
            row.waiter(),
            begun.micros(),
            granted
        };
    }

    private void commit(Session session, List<String> told) {
        commits++;
        floor = latestFloor(session);
        session.written.forEach((name, row) -> {
            Row before = row == null
                    ? committed.remove(name)
                    : committed.put(name, row.bornAt() == 0 ? row.committedAfter(commits) : row);
            audit.committed(before, row, floor, micros.getAsLong());
        });
        told.addAll(session.told);
        free(session);
    }

    /** Rolls back the transaction. */
    void rollback(Session session) {
        free(session);
    }

    private void free(Session session) {
        session.locked.forEach(locks::remove);
        session.locked.clear();
        session.written.clear();
        session.told.clear();
        session.snapshot = null;
        session.raisedFloor = -1;
        session.stoppedMicros = -1;
        session.failed = false;
        session.inTransaction = false;
        session.rowWaitMillis = 0;
    }

    private static long millis(String limit) {
        return Long.parseLong(limit.substring(0, limit.length() - 2));
    }

    private static Answer rows(@Nullable Row row) {
        return row == null ? new Rows(List.of()) : one(row.columns());
    }

    private static Answer one(@Nullable Object... columns) {
        List<@Nullable Object[]> rows = new ArrayList<>();
        rows.add(columns);
        return new Rows(rows);
    }
}
