package io.leasehold.jdbc.store;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
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
     * How long a row is kept after its last token. What is deleted leaves its fence in the store's floor, so tokens go
     * on increasing; the time only bounds how often rows of names in use are made anew.
     */
    static final Duration RETENTION = Duration.ofHours(24);

    /** Rows made between two looks for rows to delete, of which each deletes up to 100. */
    private static final int ROWS_BETWEEN_PRUNES = 64;

    private final String store;
    private final @Nullable Waking watch;
    private final Lives lives;
    private final Runnable pruneSoon;
    private int rowsMade;
    private int quickGrants;

    /**
     * The verbs.
     *
     * @param watch wakes waiters, or null if they poll
     * @param lives to which holds are bound
     * @param pruneSoon lets the worker call {@link #prune} soon
     */
    LeaseVerbs(String store, @Nullable Waking watch, Lives lives, Runnable pruneSoon) {
        this.store = store;
        this.watch = watch;
        this.lives = lives;
        this.pruneSoon = pruneSoon;
    }

    /** Asks in one statement; null if a transaction is needed to tell. */
    @Nullable
    AcquireReply acquireAtOnce(AcquireRequest request, LeaseTable table, long readAtNanos) throws SQLException {
        LeaseTable.Quick answer = table.acquireAtOnce(request);
        LeaseRow.Held held = answer == null ? null : answer.held();
        if (answer == null || held == null) {
            return null;
        } else if (answer.granted()) {
            if (watch != null) {
                watch.forget(request.owner());
            }
            if (quickGrants++ % ROWS_BETWEEN_PRUNES == 0) {
                pruneSoon.run();
            }
            TokenRange tokens = new TokenRange(held.token(), answer.lastToken());
            return new AcquireReply.Granted(
                    new Grant(request.owner(), tokens, readAtNanos, table.incarnation()), List.of());
        }
        boolean waits = watch != null && request.isWaiting() && watch.isReady();
        if (held.owner().equals(request.owner()) || answer.leftNanos() <= 0 || (waits && !answer.waited())) {
            return null;
        }
        Holder holder =
                new Holder(held.holderId(), Duration.ofNanos(answer.leftNanos()), OptionalLong.of(held.token()));
        if (!waits || watch == null) {
            return new AcquireReply.Busy(holder, 0, List.of());
        }
        watch.add(request.owner(), request.names(), request.recheckNanos(), answer.leftNanos());
        return new AcquireReply.Queued(holder, 0, List.of());
    }

    AcquireReply acquire(AcquireRequest request, LeaseTable table, StoreTime now) throws SQLException {
        List<LeaseRow> rows = new ArrayList<>(request.names().size());
        Set<LockName> absent = new HashSet<>();
        for (LockName name : request.names()) {
            rows.add(current(name, table, now, absent));
        }
        boolean waits = watch != null && request.isWaiting() && watch.isReady();
        LeaseRules.Decision decision = LeaseRules.acquire(rows, request, now, waits);
        if (decision instanceof LeaseRules.Grant grant) {
            for (LeaseRow row : grant.rows()) {
                store(row.heldDuring(lives.own()), absent.contains(row.name()), table, now);
            }
            if (watch != null) {
                watch.forget(request.owner());
            }
            return new AcquireReply.Granted(
                    new Grant(request.owner(), grant.tokens(), now.readAtNanos(), table.incarnation()), List.of());
        } else if (decision instanceof LeaseRules.Wait wait) {
            for (LeaseRow row : wait.rows()) {
                table.update(row);
            }
            if (!waits || watch == null) {
                return new AcquireReply.Busy(wait.holder(), 0, List.of());
            }
            long lookInNanos = Math.max(0, wait.lookAgainAtNanos() - now.nanos());
            watch.add(request.owner(), request.names(), request.recheckNanos(), lookInNanos);
            return new AcquireReply.Queued(wait.holder(), 0, List.of());
        }
        long token = ((LeaseRules.Exhausted) decision).token();
        return new AcquireReply.Failed(
                FailureKind.PERMANENT,
                new StoreUnavailableException(
                        "acquire of " + request.names() + " at " + store + ": fencing token " + token
                                + " would reach 2^53; the wall clock or a stored fence is absurd",
                        null),
                0);
    }

    RenewReply renew(RenewBatch batch, LeaseTable table, StoreTime now) throws SQLException {
        List<RenewReply.Item> answers = new ArrayList<>(batch.items().size());
        for (RenewBatch.Item item : batch.items()) {
            LeaseRow stored = table.find(item.name());
            LeaseRow row = stored == null ? null : lives.asOf(stored, now);
            LeaseRow renewed = row == null ? null : LeaseRules.renew(row, item.owner(), item.ttlNanos(), now);
            if (renewed != null && !renewed.equals(stored)) {
                table.update(renewed);
            }
            answers.add(renewed == null ? new RenewReply.NotOurs() : new RenewReply.Renewed(now.readAtNanos()));
        }
        return new RenewReply(answers);
    }

    ReleaseReply release(ReleaseRequest request, LeaseTable table, StoreTime now) throws SQLException {
        OwnerToken owner = request.owner();
        if (watch != null) {
            watch.forget(owner);
        }
        boolean held = false;
        for (LockName name : request.names()) {
            Set<LockName> absent = new HashSet<>();
            LeaseRow row = current(name, table, now, absent);
            LeaseRow released = LeaseRules.release(row, owner, request.ballot(), now);
            held |= row.held() != null && released.held() == null;
            if (!released.equals(row)) {
                store(released, !absent.isEmpty(), table, now);
                changed(row, table);
            }
        }
        return held ? new ReleaseReply.Released() : new ReleaseReply.NotOurs();
    }

    /** The hold that was ended, or null if there was no such hold. */
    LeaseRow.@Nullable Held forceRelease(LockName name, @Nullable String holderId, LeaseTable table, StoreTime now)
            throws SQLException {
        LeaseRow stored = table.find(name);
        LeaseRow row = stored == null ? null : lives.asOf(stored, now);
        LeaseRow.Held held = row == null ? null : row.held();
        LeaseRow released = row == null ? null : LeaseRules.forceRelease(row, holderId, now);
        if (row == null || held == null || released == null) {
            return null;
        }
        table.update(released);
        changed(row, table);
        return held;
    }

    private void changed(LeaseRow before, LeaseTable table) throws SQLException {
        if (watch != null) {
            watch.changed(before, table);
        }
    }

    private LeaseRow current(LockName name, LeaseTable table, StoreTime now, Set<LockName> absent) throws SQLException {
        LeaseRow stored = table.find(name);
        if (stored == null) {
            absent.add(name);
            return LeaseRow.absent(name, now, table.fenceFloor());
        }
        LeaseRow row = lives.asOf(stored, now);
        if (row.held() == null && LeaseRules.asOf(stored, now).held() != null) {
            // Its holder is dead. Written whatever is decided: for a waiter it is kept from now on, not from each look
            // on.
            table.update(row);
        }
        // A row of an earlier boot may be older than what was committed last: a loss of power may lie between.
        return stored.origin().equals(now.origin()) ? row : row.withFenceAbove(table.fenceFloor());
    }

    private void store(LeaseRow row, boolean absent, LeaseTable table, StoreTime now) throws SQLException {
        if (!absent) {
            table.update(row);
            return;
        }
        table.insert(row);
        if (rowsMade++ % ROWS_BETWEEN_PRUNES == 0) {
            prune(table, now);
        }
    }

    /** Deletes rows that nobody has used for the retention, keeping their fences in the floor. */
    void prune(LeaseTable table, StoreTime now) throws SQLException {
        long floor = 0;
        for (LeaseRow row : table.below(now.wallMicros() - RETENTION.toNanos() / 1000)) {
            if (lives.asOf(row, now).held() == null) {
                floor = Math.max(floor, row.fence());
                table.delete(row.name());
            }
        }
        if (floor > 0 && floor > table.fenceFloor()) {
            table.raiseFenceFloor(floor);
        }
    }
}
