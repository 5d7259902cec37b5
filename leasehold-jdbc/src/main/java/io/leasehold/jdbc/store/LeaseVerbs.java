package io.leasehold.jdbc.store;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The verbs inside their transaction: reads rows, lets {@link LeaseRules} decide, and stores what changed. Used by the
 * worker's thread alone.
 */
final class LeaseVerbs {

    /**
     * The number of rows that were created, or granted in one statement that may have created them, between two
     * searches for rows to delete.
     */
    private static final int ROWS_BETWEEN_PRUNES = 64;

    /** A row that another transaction has locked is requested more often than this, */
    private static final int MIN_TRIES_TO_RENEW = 2;

    /** and for this share of the time limit: the renewals of the batch whose rows are free wait for its answer. */
    private static final int SHARE_FOR_LOCKED_ROWS = 4;

    /** The time that creating a row may take at least, even if rows are kept for less than twice that, as in tests. */
    private static final long MIN_TIME_TO_MAKE_NANOS = 100_000_000L;

    private final String store;
    private final LockRuntime runtime;
    private final StoreClock clock;
    private final Waking watch;
    private final Lives lives;
    private final Duration retention;
    private final Runnable pruneSoon;
    private int rowsMade;
    private long prunedTo = -1;

    /**
     * Creates the verbs.
     *
     * @param watch wakes waiters
     * @param pruneSoon lets the worker call {@link #prune} soon
     */
    LeaseVerbs(StoreSettings settings, LockRuntime runtime, Waking watch, Runnable pruneSoon) {
        this.store = settings.description();
        this.runtime = runtime;
        this.clock = settings.clock();
        this.watch = watch;
        this.lives = settings.lives();
        this.retention = settings.retention();
        this.pruneSoon = pruneSoon;
    }

    /** Requests the lock in one statement; returns null if a transaction is needed to decide. */
    @Nullable
    AcquireReply acquireAtOnce(AcquireRequest request, LeaseTable table, long waitNanos) throws SQLException {
        long readAtNanos = runtime.nanoTime();
        QuickAnswer answer = table.acquireAtOnce(request, waitNanos);
        LeaseRow.Held held = answer == null ? null : answer.held();
        if (answer == null || held == null) {
            return null;
        } else if (answer.granted()) {
            watch.forget(request.owner());
            rowMayBeNew();
            TokenRange tokens = new TokenRange(held.token(), answer.lastToken());
            return new AcquireReply.Granted(
                    new Grant(request.owner(), tokens, readAtNanos, table.incarnation()), List.of());
        }
        boolean waits = request.isWaiting() && watch.isReady();
        if (held.owner().equals(request.owner()) || answer.leftNanos() <= 0 || (waits && !answer.waited())) {
            return null;
        }
        Holder holder =
                new Holder(held.holderId(), Duration.ofNanos(answer.leftNanos()), OptionalLong.of(held.token()));
        if (!waits) {
            return new AcquireReply.Busy(holder, 0, List.of());
        }
        watch.add(request.owner(), request.names(), request.recheckNanos(), answer.leftNanos());
        return new AcquireReply.Queued(holder, 0, List.of());
    }

    AcquireReply acquire(AcquireRequest request, LeaseTable table) throws SQLException {
        Locked locked = lock(request.names(), table);
        StoreTime now = locked.now();
        boolean waits = request.isWaiting() && watch.isReady();
        LeaseRules.Decision decision = LeaseRules.acquire(locked.rows(), request, now, waits);
        if (decision instanceof LeaseRules.Grant grant) {
            return granted(grant, request, locked, table);
        } else if (decision instanceof LeaseRules.Wait wait) {
            for (LeaseRow row : wait.rows()) {
                table.note(row);
            }
            if (!waits) {
                return new AcquireReply.Busy(wait.holder(), 0, List.of());
            }
            long lookInNanos = Math.max(0, wait.lookAgainAtNanos() - now.nanos());
            watch.add(request.owner(), request.names(), request.recheckNanos(), lookInNanos);
            return new AcquireReply.Queued(wait.holder(), 0, List.of());
        }
        return exhausted((LeaseRules.Exhausted) decision, request);
    }

    private AcquireReply granted(LeaseRules.Grant grant, AcquireRequest request, Locked locked, LeaseTable table)
            throws SQLException {
        for (LeaseRow row : grant.rows()) {
            store(row.heldDuring(lives.own()), locked, table);
        }
        watch.forget(request.owner());
        return new AcquireReply.Granted(
                new Grant(request.owner(), grant.tokens(), locked.now().readAtNanos(), table.incarnation()), List.of());
    }

    private AcquireReply exhausted(LeaseRules.Exhausted decision, AcquireRequest request) {
        long token = decision.token();
        return new AcquireReply.Failed(
                FailureKind.PERMANENT,
                new StoreUnavailableException(
                        "acquire of " + request.names() + " at " + store + ": fencing token " + token
                                + " would reach 2^53; the wall clock or a stored fence is absurd",
                        null),
                0);
    }

    /**
     * Renews every hold that can be renewed. A row that another transaction has locked does not prevent the renewal of
     * the others. The first transaction for a batch skips it; the second waits for it briefly, if the database can;
     * further ones request it until a part of the time limit has passed. Then it is reported. Each transaction renews
     * everything again.
     *
     * @param tries the number of transactions begun for this batch, this one included
     * @param begunAtNanos the arrival of the batch
     * @return null if another transaction is needed
     */
    @Nullable
    RenewReply renew(RenewBatch batch, LeaseTable table, int tries, long begunAtNanos) throws SQLException {
        long askedAtNanos = runtime.nanoTime();
        List<@Nullable LeaseRow> found = new ArrayList<>(batch.items().size());
        Set<LockName> lockedByOthers = new HashSet<>();
        for (RenewBatch.Item item : batch.items()) {
            LeaseRow row = table.isPatient() ? table.find(item.name()) : table.findUnlessLocked(item.name());
            if (row == null && !table.isPatient() && isHeldBy(item.owner(), table.read(item.name()))) {
                lockedByOthers.add(item.name());
            }
            found.add(row);
        }
        StoreTime now = clock.readBehindRows(table, askedAtNanos);
        List<RenewReply.Item> answers = new ArrayList<>(batch.items().size());
        for (int i = 0; i < found.size(); i++) {
            RenewBatch.Item item = batch.items().get(i);
            answers.add(
                    lockedByOthers.contains(item.name())
                            ? new RenewReply.Failed(lockedByAnother(item.name()))
                            : renew(item, found.get(i), table, now));
        }
        boolean last = isOverForLockedRows(tries, runtime.nanoTime() - begunAtNanos, batch.timeoutNanos());
        return lockedByOthers.isEmpty() || last ? new RenewReply(answers) : null;
    }

    /** Whether renewals of rows that other transactions have locked are reported, and not repeated any more. */
    static boolean isOverForLockedRows(int tries, long waitedNanos, long limitNanos) {
        return tries > MIN_TRIES_TO_RENEW && waitedNanos >= limitNanos / SHARE_FOR_LOCKED_ROWS;
    }

    private RenewReply.Item renew(RenewBatch.Item item, @Nullable LeaseRow stored, LeaseTable table, StoreTime now)
            throws SQLException {
        if (stored == null) {
            return new RenewReply.NotOurs();
        }
        LeaseRow renewed = LeaseRules.renew(lives.asOf(stored, now), item.owner(), item.ttlNanos(), now);
        LeaseRow.Held held = renewed == null ? null : renewed.held();
        if (held == null) {
            return new RenewReply.NotOurs();
        }
        if (!held.equals(stored.held())) {
            table.extend(item.name(), held);
        }
        return new RenewReply.Renewed(now.readAtNanos());
    }

    private static boolean isHeldBy(OwnerToken owner, @Nullable LeaseRow row) {
        LeaseRow.Held held = row == null ? null : row.held();
        return held != null && held.owner().equals(owner);
    }

    private StoreUnavailableException lockedByAnother(LockName name) {
        return new StoreUnavailableException(
                "renewal of \"" + name + "\" at " + store
                        + ": another transaction keeps its row locked; end that transaction",
                null);
    }

    ReleaseReply release(ReleaseRequest request, LeaseTable table) throws SQLException {
        OwnerToken owner = request.owner();
        watch.forget(owner);
        Locked locked = lock(request.names(), table);
        boolean held = false;
        for (LeaseRow row : locked.rows()) {
            LeaseRow released = LeaseRules.release(row, owner, request.ballot(), locked.now());
            boolean freed = row.held() != null && released.held() == null;
            if (!released.equals(row)) {
                if (freed || locked.absent().contains(row.name())) {
                    store(released, locked, table);
                } else {
                    table.note(released);
                }
                watch.changed(row, table);
            }
            held |= freed;
        }
        return held ? new ReleaseReply.Released() : new ReleaseReply.NotOurs();
    }

    ExportReply export(ExportRequest request, LeaseTable table) throws SQLException {
        watch.forget(request.owner());
        Locked locked = lock(List.of(request.name()), table);
        LeaseRow row = locked.rows().get(0);
        LeaseRow exported = LeaseRules.export(row, request, locked.now());
        if (!exported.equals(row)) {
            store(exported, locked, table);
        }
        return exported.isHeldBy(request.ticket()) ? new ExportReply.Exported() : new ExportReply.NotOurs();
    }

    AcquireReply resume(AcquireRequest request, OwnerToken ticket, LeaseTable table) throws SQLException {
        Locked locked = lock(request.names(), table);
        LeaseRules.Decision decision = LeaseRules.resume(locked.rows().get(0), request, ticket, locked.now());
        if (decision instanceof LeaseRules.Grant grant) {
            return granted(grant, request, locked, table);
        }
        return decision instanceof LeaseRules.Wait wait
                ? new AcquireReply.Busy(wait.holder(), 0, List.of())
                : exhausted((LeaseRules.Exhausted) decision, request);
    }

    /** The hold that was ended, or null if there was no such hold. */
    LeaseRow.@Nullable Held forceRelease(LockName name, @Nullable String holderId, LeaseTable table)
            throws SQLException {
        long askedAtNanos = runtime.nanoTime();
        LeaseRow stored = table.find(name);
        StoreTime now = clock.readBehindRows(table, askedAtNanos);
        LeaseRow row = stored == null ? null : lives.asOf(stored, now);
        LeaseRow.Held held = row == null ? null : row.held();
        LeaseRow released = row == null ? null : LeaseRules.forceRelease(row, holderId, now);
        if (row == null || held == null || released == null) {
            return null;
        }
        table.update(released);
        watch.changed(row, table);
        return held;
    }

    /**
     * Rows that no other transaction can write before this one ends.
     *
     * @param rows without parts that have ended by time or death
     * @param absent the names that have no row yet
     * @param now not before the last row was locked
     */
    private record Locked(List<LeaseRow> rows, Set<LockName> absent, StoreTime now) {}

    private Locked lock(List<LockName> names, LeaseTable table) throws SQLException {
        long askedAtNanos = runtime.nanoTime();
        List<@Nullable LeaseRow> found = new ArrayList<>(names.size());
        Set<LockName> absent = new HashSet<>();
        for (LockName name : names) {
            LeaseRow row = table.find(name);
            found.add(row);
            if (row == null) {
                absent.add(name);
            }
        }
        StoreTime now = clock.readBehindRows(table, askedAtNanos);
        // Read after the rows: a client that deletes a row raises the floor in the same transaction.
        long floor = absent.isEmpty() ? 0 : table.fenceFloor();
        List<LeaseRow> rows = new ArrayList<>(names.size());
        for (int i = 0; i < found.size(); i++) {
            LeaseRow stored = found.get(i);
            rows.add(stored == null ? LeaseRow.absent(names.get(i), now, floor) : current(stored, table, now));
        }
        return new Locked(rows, absent, now);
    }

    private LeaseRow current(LeaseRow stored, LeaseTable table, StoreTime now) throws SQLException {
        LeaseRow row = lives.asOf(stored, now);
        LeaseRow.Held held = row.held();
        LeaseRow.Held before = stored.held();
        if (held == null && LeaseRules.asOf(stored, now).held() != null) {
            // Its holder is dead. Written whatever the decision: the lock is kept for a waiter from now on, and not
            // from each later check on.
            table.update(row);
        } else if (held != null && before != null && held.expiresAtNanos() != before.expiresAtNanos()) {
            // The clock went back. Written whatever is decided, for the same reason.
            table.extend(row.name(), held);
        }
        // A row of an earlier boot may be older than the last commit: a loss of power may have happened in between.
        return stored.origin().equals(now.origin()) ? row : row.withFenceAbove(table.fenceFloor());
    }

    private void store(LeaseRow row, Locked locked, LeaseTable table) throws SQLException {
        if (!locked.absent().contains(row.name())) {
            table.update(row);
            return;
        }
        table.insert(row);
        // A missing row cannot be locked: another one of this name may have been created and deleted since time and
        // floor were read. No row is deleted before the retention is over, so a reading of the time that is younger
        // than that is above all tokens of that row.
        if (runtime.nanoTime() - locked.now().readAtNanos()
                >= Math.max(retention.toNanos() / 2, MIN_TIME_TO_MAKE_NANOS)) {
            throw RowLockedException.madeTooSlowly("the row of " + row.name());
        }
        rowMayBeNew();
    }

    private void rowMayBeNew() {
        if (rowsMade++ % ROWS_BETWEEN_PRUNES == 0) {
            pruneSoon.run();
        }
    }

    /**
     * Deletes a few rows that were not used for the retention, and keeps their fences in the floor. Deletes only rows
     * that it has locked and that have not changed since they were read: another client may be acquiring the lock.
     */
    void prune(LeaseTable table) throws SQLException {
        // One client at a time is enough; the others do not wait.
        long floorBefore = table.lockFenceFloor();
        StoreTime now = clock.read(table);
        long floor = floorBefore;
        List<LeaseRow> idle = table.between(prunedTo, now.wallMicros() - retention.toNanos() / 1000);
        for (LeaseRow row : idle) {
            if (lives.asOf(row, now).held() == null && row.equals(table.findUnlessLocked(row.name()))) {
                floor = Math.max(floor, row.fence());
                table.delete(row.name());
            }
        }
        if (floor > floorBefore) {
            table.raiseFenceFloor(floor);
        }
        if (idle.size() < Dialect.Leases.IDLE_ROWS) {
            prunedTo = -1;
        } else {
            // Rows that are left because they are held or locked must not hide the rows behind them.
            prunedTo = idle.get(idle.size() - 1).fence();
            pruneSoon.run();
        }
    }
}
