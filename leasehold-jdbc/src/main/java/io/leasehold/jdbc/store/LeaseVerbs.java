package io.leasehold.jdbc.store;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.jdbc.store.TableRows.Locked;
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
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The verbs inside their transaction: reads rows, lets {@link LeaseRules} decide, and stores what changed. Used by the
 * worker's thread alone.
 */
final class LeaseVerbs {

    /** A row that another transaction has locked is requested more often than this, */
    private static final int MIN_TRIES_TO_RENEW = 2;

    /** and for this share of the time limit: the renewals of the batch whose rows are free wait for its answer. */
    private static final int SHARE_FOR_LOCKED_ROWS = 4;

    private final String store;
    private final LockRuntime runtime;
    private final StoreClock clock;
    private final Waking watch;
    private final Lives lives;
    private final TableRows rows;
    private final ReadVerbs readers;

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
        this.rows = new TableRows(settings, runtime, pruneSoon);
        this.readers = new ReadVerbs(settings, runtime, watch, rows);
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
            rows.rowMayBeNew();
            TokenRange tokens = new TokenRange(held.token(), answer.lastToken());
            return new AcquireReply.Granted(
                    new Grant(request.owner(), tokens, readAtNanos, table.incarnation()), List.of());
        }
        boolean waits = request.isWaiting() && watch.isReady();
        if (held.owner().equals(request.owner()) || answer.leftNanos() <= 0 || (waits && !answer.waited())) {
            return null;
        } else if (answer.leftNanos() > held.ttlNanos()) {
            // The clock went back. A transaction bounds the hold in the row, for all later requests.
            return null;
        } else if (request.isWaiting() && held.isReaders()) {
            // It keeps further readers out, by a note that it renews.
            return null;
        }
        Holder holder = held.asHolder(answer.leftNanos());
        if (!waits) {
            return new AcquireReply.Busy(holder, 0, List.of());
        }
        watch.add(request.owner(), request.names(), request.recheckNanos(), answer.leftNanos());
        return new AcquireReply.Queued(holder, 0, List.of());
    }

    AcquireReply acquire(AcquireRequest request, LeaseTable table) throws SQLException {
        Locked locked = readers.withoutDead(rows.lock(request.names(), table), table);
        StoreTime now = locked.now();
        boolean waits = request.isWaiting() && watch.isReady();
        LeaseRules.Decision decision = LeaseRules.acquire(locked.rows(), request, now, waits);
        if (decision instanceof LeaseRules.Grant grant) {
            return granted(grant, request, locked, table);
        } else if (decision instanceof LeaseRules.Wait wait) {
            for (LeaseRow row : wait.rows()) {
                if (row.isRead()) {
                    table.update(row);
                } else {
                    table.note(row);
                }
            }
            if (!waits) {
                return new AcquireReply.Busy(wait.holder(), 0, List.of());
            }
            long lookInNanos = Math.max(0, wait.lookAgainAtNanos() - now.nanos());
            watch.add(request.owner(), request.names(), request.recheckNanos(), lookInNanos);
            return new AcquireReply.Queued(wait.holder(), 0, List.of());
        }
        return exhausted((LeaseRules.Exhausted) decision, request, store);
    }

    private AcquireReply granted(LeaseRules.Grant grant, AcquireRequest request, Locked locked, LeaseTable table)
            throws SQLException {
        for (LeaseRow row : grant.rows()) {
            rows.store(row.heldDuring(lives.own()), locked, table);
        }
        watch.forget(request.owner());
        return new AcquireReply.Granted(
                new Grant(request.owner(), grant.tokens(), locked.now().readAtNanos(), table.incarnation()), List.of());
    }

    static AcquireReply exhausted(LeaseRules.Exhausted decision, AcquireRequest request, String store) {
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
        Locked locked = rows.lock(request.names(), table);
        boolean held = false;
        for (LeaseRow row : locked.rows()) {
            LeaseRow released = LeaseRules.release(row, owner, request.ballot(), locked.now());
            boolean freed = row.held() != null && released.held() == null;
            if (!released.isLike(row)) {
                if (freed || locked.absent().contains(row.name())) {
                    rows.store(released, locked, table);
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
        Locked locked = rows.lock(List.of(request.name()), table);
        LeaseRow row = locked.rows().get(0);
        LeaseRow exported = LeaseRules.export(row, request, locked.now());
        if (!exported.equals(row)) {
            rows.store(exported, locked, table);
        }
        return exported.isHeldBy(request.ticket()) ? new ExportReply.Exported() : new ExportReply.NotOurs();
    }

    AcquireReply resume(AcquireRequest request, OwnerToken ticket, LeaseTable table) throws SQLException {
        Locked locked = rows.lock(request.names(), table);
        LeaseRules.Decision decision = LeaseRules.resume(locked.rows().get(0), request, ticket, locked.now());
        if (decision instanceof LeaseRules.Grant grant) {
            return granted(grant, request, locked, table);
        }
        return decision instanceof LeaseRules.Wait wait
                ? new AcquireReply.Busy(wait.holder(), 0, List.of())
                : exhausted((LeaseRules.Exhausted) decision, request, store);
    }

    /** The hold of a writer that was ended, or null if there was no such hold. */
    LeaseRow.@Nullable Held forceRelease(LockName name, @Nullable String holderId, LeaseTable table)
            throws SQLException {
        long askedAtNanos = runtime.nanoTime();
        LeaseRow stored = table.find(name);
        StoreTime now = clock.readBehindRows(table, askedAtNanos);
        LeaseRow row = stored == null ? null : lives.asOf(stored, now);
        LeaseRow.Held held = row == null ? null : row.held();
        LeaseRow released = row == null ? null : LeaseRules.forceRelease(row, holderId, now);
        if (row == null || held == null || held.isReaders() || released == null) {
            return null;
        }
        table.update(released);
        watch.changed(row, table);
        return held;
    }

    /** See {@link TableRows#prune}. */
    void prune(LeaseTable table) throws SQLException {
        rows.prune(table);
    }

    /** The verbs of readers of the same locks. */
    ReadVerbs readers() {
        return readers;
    }
}
