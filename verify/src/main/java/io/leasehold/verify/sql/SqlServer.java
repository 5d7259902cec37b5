package io.leasehold.verify.sql;

import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.verify.run.RunCounts;
import io.leasehold.verify.sql.RowStore.Answer;
import io.leasehold.verify.sql.RowStore.Blocked;
import io.leasehold.verify.sql.RowStore.Session;
import io.leasehold.verify.sql.Statements.Op;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The database server in the virtual world: sessions, waits for rows, limits of idle transactions, notifications, and a
 * clock of its own.
 */
final class SqlServer {

    private static final long FIRST_MICROS = 1_893_456_000_000_000L;

    /** The limit that each transaction sets with PostgreSQL, and that ends a connection of the other databases. */
    private static final Duration IDLE_LIMIT = Duration.ofSeconds(5);

    final VirtualRuntime host;
    final RowStore store;
    private final RunCounts<SqlFault> counts;
    private final long firstNanos;
    private final Map<Wire, Waiting> waiting = new LinkedHashMap<>();
    private final Map<Wire, Live> sessions = new LinkedHashMap<>();
    private long steppedMicros;
    private boolean down;

    /** One request. */
    record Request(Op op, List<@Nullable Object> params, boolean autoCommit, Wire wire, long number) {}

    private record Waiting(Request request, Object known, io.leasehold.spi.LockRuntime.Timer limit) {}

    private static final class Live {
        private final Session session = new Session();
        private long requests;
    }

    SqlServer(VirtualRuntime host, Flavour flavour, RowStore.Audit audit, RunCounts<SqlFault> counts) {
        this.host = host;
        this.counts = counts;
        this.firstNanos = host.nanoTime();
        this.store = new RowStore(flavour, this::micros, audit);
    }

    long micros() {
        return FIRST_MICROS + (host.nanoTime() - firstNanos) / 1000 + steppedMicros;
    }

    void stepClock(Duration by) {
        steppedMicros += by.toNanos() / 1000;
    }

    boolean isDown() {
        return down;
    }

    /** Accepts a connection. */
    void accept(Wire wire) {
        sessions.put(wire, new Live());
    }

    /** Processes a request. */
    void receive(Request request) {
        Live live = sessions.get(request.wire());
        if (live == null) {
            request.wire().toldBroken();
            return;
        }
        live.requests++;
        answerOrWait(request, live.session, null, new ArrayList<>());
        retryWaiting();
    }

    /** Whether the request was answered. */
    private boolean answerOrWait(Request request, Session session, @Nullable Object known, List<String> told) {
        Answer answer =
                store.execute(session, request.op(), request.params().toArray(), request.autoCommit(), known, told);
        if (answer instanceof Blocked blocked) {
            counts.saw(SqlFault.ROW_WAITED_FOR);
            Waiting before = waiting.get(request.wire());
            io.leasehold.spi.LockRuntime.Timer limit = before != null
                    ? before.limit()
                    : host.schedule(session.rowWaitMillis() * 1_000_000L, () -> waitIsOver(request));
            waiting.put(request.wire(), new Waiting(request, blocked.known(), limit));
            return false;
        }
        done(request, session, answer, told);
        return true;
    }

    private void done(Request request, Session session, Answer answer, List<String> told) {
        request.wire().reply(request, answer);
        told.forEach(payload -> sessions.forEach((wire, live) -> {
            if (live.session.listens()) {
                counts.saw(payload.startsWith("\n") ? "echoes" : "notifications", 1);
                wire.tell(payload);
            }
        }));
        Live live = sessions.get(request.wire());
        if (live != null && session.isInTransaction()) {
            long requests = live.requests;
            host.schedule(IDLE_LIMIT.toNanos(), () -> {
                if (live.requests == requests && session.isInTransaction()) {
                    counts.saw(SqlFault.TRANSACTION_ENDED_AS_IDLE);
                    end(request.wire());
                }
            });
        }
    }

    private void waitIsOver(Request request) {
        Live live = sessions.get(request.wire());
        if (waiting.remove(request.wire()) != null && live != null) {
            counts.saw(SqlFault.ROW_WAITED_FOR_IN_VAIN);
            done(request, live.session, store.giveUp(live.session, request.autoCommit()), List.of());
            retryWaiting();
        }
    }

    /** Repeats the waiting requests, in order of arrival, since a transaction may have ended. */
    private void retryWaiting() {
        boolean again = !waiting.isEmpty();
        while (again) {
            again = false;
            for (Waiting one : new ArrayList<>(waiting.values())) {
                Live live = sessions.get(one.request().wire());
                if (live != null
                        && stillWaits(one)
                        && answerOrWait(one.request(), live.session, one.known(), new ArrayList<>())) {
                    one.limit().cancel();
                    waiting.remove(one.request().wire());
                    again = true;
                }
            }
        }
    }

    private boolean stillWaits(Waiting one) {
        Waiting now = waiting.get(one.request().wire());
        return now != null && now.request().number() == one.request().number();
    }

    /** Ends a session: its open transaction is rolled back. */
    void end(Wire wire) {
        Live live = sessions.remove(wire);
        Waiting one = waiting.remove(wire);
        if (one != null) {
            one.limit().cancel();
        }
        if (live != null) {
            store.rollback(live.session);
            retryWaiting();
        }
    }

    /** Ends all sessions, and refuses new ones for this time; committed rows stay. */
    void crash(Duration span) {
        down = true;
        List<Wire> all = new ArrayList<>(sessions.keySet());
        all.forEach(wire -> {
            end(wire);
            wire.toldBroken();
        });
        host.world().after(span, () -> down = false);
    }

    /** Locks a row for this time, as a backup or an open console does. */
    void keepLocked(String name, Duration span) {
        Session stranger = new Session();
        store.execute(stranger, Op.FIND_UNLESS_LOCKED, new Object[] {name}, false, null, new ArrayList<>());
        host.world().after(span, () -> {
            store.rollback(stranger);
            retryWaiting();
        });
    }
}
