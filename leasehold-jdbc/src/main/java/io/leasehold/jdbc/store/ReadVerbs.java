package io.leasehold.jdbc.store;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.ReadRules;
import io.leasehold.jdbc.lease.ReaderSet;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The verbs of readers inside their transaction: each locks the row of the lock, and then reads its readers. Used by the
 * worker's thread alone.
 */
final class ReadVerbs {

    private final StoreSettings settings;
    private final LockRuntime runtime;
    private final Waking watch;
    private final TableRows rows;

    /** Creates the verbs. */
    ReadVerbs(StoreSettings settings, LockRuntime runtime, Waking watch, TableRows rows) {
        this.settings = settings;
        this.runtime = runtime;
        this.watch = watch;
        this.rows = rows;
    }

    /** The row of a lock, locked, and its readers. */
    private record Locked(ReadTable table, LeaseRow row, ReadTable.Found found, TableRows.Locked rows) {
        StoreTime now() {
            return rows.now();
        }

        ReaderSet readers() {
            return found.current();
        }
    }

    private Locked lock(LockName name, LeaseTable table) throws SQLException {
        return readersOf(rows.lock(List.of(name.asExclusive()), table), table);
    }

    /** Reads the readers of a lock whose row is locked, and stores it if they have ended. */
    private Locked readersOf(TableRows.Locked locked, LeaseTable table) throws SQLException {
        LeaseRow row = locked.rows().get(0);
        ReadTable readers = new ReadTable(table, row.name());
        ReadTable.Found found = readers.read(locked.stored().get(0), row, locked.now(), settings.lives());
        if (!row.isRead() || !found.isChanged()) {
            return new Locked(readers, row, found, locked);
        }
        // Stored whatever is decided: the lock is kept for a waiter from now on, and bounded ends come.
        LeaseRow current = found.current().in(row, locked.now());
        readers.write(found.current(), found, locked.now());
        rows.store(current, locked, table);
        ReadTable.Found stored =
                new ReadTable.Found(found.current(), found.current().held());
        return new Locked(readers, current, stored, locked.with(current));
    }

    /**
     * The rows, if readers hold without those that have died. Where the table does not know lives, the row of the lock ends
     * with its last reader.
     */
    TableRows.Locked withoutDead(TableRows.Locked locked, LeaseTable table) throws SQLException {
        boolean knowsLives = settings.dialect().leases().lives() != null;
        return knowsLives && locked.rows().size() == 1 && locked.rows().get(0).isRead()
                ? readersOf(locked, table).rows()
                : locked;
    }

    private void store(LeaseRow row, ReaderSet readers, Locked locked, LeaseTable table) throws SQLException {
        locked.table().write(readers, locked.found(), locked.now());
        rows.store(row, locked.rows(), table);
    }

    /**
     * How this process takes part.
     *
     * @param wakes whether waiters are woken; otherwise a free lock is kept longer for one that polls
     */
    private ReadRules.Terms terms(boolean wakes) {
        return new ReadRules.Terms(settings.lives().own(), wakes ? LeaseRules.CLAIM : ReadRules.OLDER_NOTE);
    }

    AcquireReply acquire(AcquireRequest request, LeaseTable table) throws SQLException {
        Locked locked = lock(request.name(), table);
        boolean wakes =
                request.isWaiting() ? watch.isReady() : !(settings.dialect().waking() instanceof Dialect.Polling);
        LeaseRules.Decision decision =
                ReadRules.acquire(locked.row(), locked.readers(), request, terms(wakes), locked.now());
        if (!(decision instanceof LeaseRules.Wait wait)) {
            return decided(decision, request, locked, table);
        }
        for (LeaseRow row : wait.rows()) {
            table.note(row);
        }
        if (!request.isWaiting() || !wakes) {
            return new AcquireReply.Busy(wait.holder(), 0, List.of());
        }
        long lookInNanos = Math.max(0, wait.lookAgainAtNanos() - locked.now().nanos());
        watch.add(request.owner(), request.names(), request.recheckNanos(), lookInNanos);
        return new AcquireReply.Queued(wait.holder(), 0, List.of());
    }

    private AcquireReply decided(LeaseRules.Decision decision, AcquireRequest request, Locked locked, LeaseTable table)
            throws SQLException {
        if (decision instanceof ReadRules.Shared shared) {
            store(shared.row(), shared.readers(), locked, table);
            watch.forget(request.owner());
            return new AcquireReply.Granted(
                    new Grant(request.owner(), shared.tokens(), locked.now().readAtNanos(), table.incarnation()),
                    List.of());
        }
        return decision instanceof LeaseRules.Wait wait
                ? new AcquireReply.Busy(wait.holder(), 0, List.of())
                : LeaseVerbs.exhausted((LeaseRules.Exhausted) decision, request, settings.description());
    }

    AcquireReply downgrade(AcquireRequest request, OwnerToken writer, LeaseTable table) throws SQLException {
        Locked locked = lock(request.name(), table);
        AcquireReply reply = decided(
                ReadRules.downgrade(locked.row(), locked.readers(), request, writer, terms(true), locked.now()),
                request,
                locked,
                table);
        if (reply instanceof AcquireReply.Granted) {
            watch.changed(locked.row(), table);
        }
        return reply;
    }

    /**
     * Renews readers of one lock. If another transaction keeps its row locked, this is reported after a part of the time
     * limit: the other renewals of the batch wait for the answer.
     *
     * @param tries the number of transactions begun for these renewals, this one included
     * @param begunAtNanos the arrival of the batch
     * @throws RowLockedException if another transaction has locked the row, and a further one is to try
     */
    RenewReply renew(LockName name, RenewBatch batch, LeaseTable table, int tries, long begunAtNanos)
            throws SQLException {
        Locked locked;
        try {
            locked = lock(name, table);
        } catch (RowLockedException e) {
            if (LeaseVerbs.isOverForLockedRows(tries, runtime.nanoTime() - begunAtNanos, batch.timeoutNanos())) {
                return new RenewReply(
                        Collections.nCopies(batch.items().size(), new RenewReply.Failed(lockedByAnother(name))));
            }
            throw e;
        }
        ReadRules.Change change = new ReadRules.Change(locked.row(), locked.readers());
        List<RenewReply.Item> answers = new ArrayList<>(batch.items().size());
        for (RenewBatch.Item item : batch.items()) {
            ReadRules.Change next =
                    ReadRules.renew(change.row(), change.readers(), item.owner(), item.ttlNanos(), locked.now());
            change = next == null ? change : next;
            answers.add(
                    next == null
                            ? new RenewReply.NotOurs()
                            : new RenewReply.Renewed(locked.now().readAtNanos()));
        }
        if (!change.readers().equals(locked.readers())) {
            store(change.row(), change.readers(), locked, table);
        }
        return new RenewReply(answers);
    }

    private StoreUnavailableException lockedByAnother(LockName name) {
        return new StoreUnavailableException(
                "renewal of \"" + name + "\" as a reader at " + settings.description()
                        + ": another transaction keeps its row locked; end that transaction",
                null);
    }

    ReleaseReply release(ReleaseRequest request, LeaseTable table) throws SQLException {
        OwnerToken owner = request.owner();
        watch.forget(owner);
        Locked locked = lock(request.names().get(0), table);
        ReadRules.Change change =
                ReadRules.release(locked.row(), locked.readers(), owner, request.ballot(), locked.now());
        boolean isFreed = locked.row().held() != null && change.row().held() == null;
        boolean hasLeft = !Objects.equals(locked.row().waiter(), change.row().waiter());
        if (!change.row().equals(locked.row()) || !change.readers().equals(locked.readers())) {
            store(change.row(), change.readers(), locked, table);
        }
        if (isFreed || hasLeft) {
            watch.changed(locked.row(), table);
        }
        return change.readers().equals(locked.readers()) ? new ReleaseReply.NotOurs() : new ReleaseReply.Released();
    }

    /** The readers that were removed. */
    List<Held> forceRelease(LockName name, @Nullable String holderId, LeaseTable table) throws SQLException {
        TableRows.Locked row = rows.lock(List.of(name.asExclusive()), table);
        if (!row.rows().get(0).isRead()) {
            return List.of();
        }
        Locked locked = readersOf(row, table);
        ReadRules.Change change = ReadRules.forceRelease(locked.row(), locked.readers(), holderId, locked.now());
        if (change == null) {
            return List.of();
        }
        store(change.row(), change.readers(), locked, table);
        watch.changed(locked.row(), table);
        List<Held> removed = new ArrayList<>(locked.readers().held().values());
        removed.removeAll(change.readers().held().values());
        return removed;
    }

    /** The row, read without a lock, as its readers hold it now. */
    static LeaseRow current(LeaseRow stored, LeaseTable table, StoreSettings settings, StoreTime now)
            throws SQLException {
        LeaseRow row = settings.lives().asOf(stored, now);
        return row.isRead() ? read(stored, row, table, settings, now).in(row, now) : row;
    }

    /** The readers of a lock, read without a lock. */
    static ReaderSet read(LeaseRow stored, LeaseRow row, LeaseTable table, StoreSettings settings, StoreTime now)
            throws SQLException {
        return new ReadTable(table, row.name())
                .read(stored, row, now, settings.lives())
                .current();
    }

    List<Holder> list(LockName name, int limit, LeaseTable table) throws SQLException {
        LeaseRow stored = table.read(name.asExclusive());
        StoreTime now = settings.clock().read(table);
        LeaseRow row = stored == null ? null : settings.lives().asOf(stored, now);
        return row == null || stored == null || !row.isRead()
                ? List.of()
                : read(stored, row, table, settings, now).held().values().stream()
                        .limit(limit)
                        .map(reader -> reader.asHolder(reader.expiresAtNanos() - now.nanos()))
                        .toList();
    }
}
