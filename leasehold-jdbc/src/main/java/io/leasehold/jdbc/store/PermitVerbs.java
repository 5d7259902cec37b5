package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.PermitSet;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Glob;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The verbs on permits inside their transaction. Each locks the header of the name first, so that busy is said only of
 * what no other transaction is changing; and each that changes a slot writes the header, so that a database that reads an old
 * snapshot notices the conflict. Used by the worker's thread alone.
 */
final class PermitVerbs {

    private final StoreSettings settings;
    private final LockRuntime runtime;

    PermitVerbs(StoreSettings settings, LockRuntime runtime) {
        this.settings = settings;
        this.runtime = runtime;
    }

    private PermitTable rows(LockName name, LeaseTable table) {
        return new PermitTable(table, settings.dialect(), name);
    }

    private PermitTable.Locked lock(PermitTable rows) throws SQLException {
        PermitTable.Locked locked = rows.lock(settings.clock(), settings.lives());
        rows.writeBounded(locked);
        return locked;
    }

    AcquireReply acquire(AcquireRequest request, LeaseTable table) throws SQLException {
        LockName name = request.name();
        PermitTable rows = rows(name, table);
        PermitTable.Locked locked = lock(rows);
        int stated = name.permitCount();
        PermitSet set = locked.set().countedBy(stated);
        if (set.count() != stated) {
            return failed(new PermitCountException(name, settings.description(), stated, set.count()));
        }
        StoreTime now = locked.now();
        List<Integer> slots = set.slotsFor(request.owner(), request.reserve());
        if (slots.isEmpty()) {
            return new AcquireReply.Busy(set.soonest(now), 0, List.of());
        }
        TokenRange tokens = set.tokens(request.seenToken(), request.reserve(), now);
        if (tokens == null) {
            return failed(new StoreUnavailableException(
                    "acquire of permits \"" + name + "\" at " + settings.description()
                            + ": the next fencing token would"
                            + " reach 2^53; the wall clock or a stored fence is absurd",
                    null));
        }
        rows.write(set.withFence(tokens.last()), locked);
        for (int i = 0; i < slots.size(); i++) {
            int slot = slots.get(i);
            Held before = set.held().get(slot);
            rows.write(slot, hold(request, tokens.first() + i, before, now), locked);
        }
        Grant grant = new Grant(request.owner(), tokens, now.readAtNanos(), table.incarnation(), slots);
        return new AcquireReply.Granted(grant, List.of());
    }

    /** The hold that the request is granted; one that it has already is not shortened. */
    private Held hold(AcquireRequest request, long token, @Nullable Held before, StoreTime now) {
        long ends = now.nanos() + request.ttlNanos();
        long ttl = request.ttlNanos();
        if (before != null && before.expiresAtNanos() - ends > 0) {
            ends = before.expiresAtNanos();
            ttl = before.ttlNanos();
        }
        String life = settings.lives().own();
        return new Held(request.owner(), request.holderId(), ends, ttl, token, life);
    }

    private static AcquireReply failed(LockStoreException error) {
        return new AcquireReply.Failed(FailureKind.PERMANENT, error, 0);
    }

    /**
     * Renews permits of one name. If another transaction keeps their header locked, this is reported after a part of
     * the time limit: the other renewals of the batch wait for the answer.
     *
     * @param tries the number of transactions begun for these renewals, this one included
     * @param begunAtNanos the arrival of the batch
     * @throws RowLockedException if another transaction has locked the header, and a further one is to try
     */
    RenewReply renew(LockName name, RenewBatch batch, LeaseTable table, int tries, long begunAtNanos)
            throws SQLException {
        PermitTable rows = rows(name, table);
        PermitTable.Locked locked;
        try {
            locked = lock(rows);
        } catch (RowLockedException e) {
            if (LeaseVerbs.isOverForLockedRows(tries, runtime.nanoTime() - begunAtNanos, batch.timeoutNanos())) {
                return new RenewReply(
                        Collections.nCopies(batch.items().size(), new RenewReply.Failed(lockedByAnother(name))));
            }
            throw e;
        }
        List<RenewReply.Item> answers = new ArrayList<>(batch.items().size());
        boolean changed = false;
        for (RenewBatch.Item item : batch.items()) {
            List<Integer> slots = locked.set().slotsOf(item.owner());
            changed |= extend(slots, item.ttlNanos(), rows, locked);
            answers.add(
                    slots.isEmpty()
                            ? new RenewReply.NotOurs()
                            : new RenewReply.Renewed(locked.now().readAtNanos()));
        }
        if (changed) {
            rows.write(locked.set(), locked);
        }
        return new RenewReply(answers);
    }

    /** Extends the holds of these slots; returns whether one was extended. */
    private static boolean extend(List<Integer> slots, long ttlNanos, PermitTable rows, PermitTable.Locked locked)
            throws SQLException {
        boolean changed = false;
        long until = locked.now().nanos() + ttlNanos;
        for (int slot : slots) {
            Held held = Objects.requireNonNull(locked.set().held().get(slot));
            if (until - held.expiresAtNanos() > 0) {
                rows.write(
                        slot,
                        new Held(held.owner(), held.holderId(), until, ttlNanos, held.token(), held.life()),
                        locked);
                changed = true;
            }
        }
        return changed;
    }

    private StoreUnavailableException lockedByAnother(LockName name) {
        return new StoreUnavailableException(
                "renewal of permits \"" + name + "\" at " + settings.description()
                        + ": another transaction keeps their row locked; end that transaction",
                null);
    }

    ReleaseReply release(ReleaseRequest request, LeaseTable table) throws SQLException {
        PermitTable rows = rows(request.names().get(0), table);
        PermitTable.Locked locked = lock(rows);
        long fence = locked.set().fenceAfter(request.ballot(), locked.now());
        if (locked.absent()) {
            raiseFloor(fence, table);
            return new ReleaseReply.NotOurs();
        }
        freeStored(request.owner(), rows, locked);
        rows.write(locked.set().withFence(fence), locked);
        return locked.set().slotsOf(request.owner()).isEmpty()
                ? new ReleaseReply.NotOurs()
                : new ReleaseReply.Released();
    }

    /** Keeps the fence of a name without a header: a header would stay forever. */
    private static void raiseFloor(long fence, LeaseTable table) throws SQLException {
        if (fence > table.fenceFloor() && fence > table.lockFenceFloor()) {
            table.fenceWritten(fence);
            table.raiseFenceFloor(fence);
        }
    }

    /** Deletes the rows of this owner token, even if its hold has ended. */
    private static void freeStored(OwnerToken owner, PermitTable rows, PermitTable.Locked locked) throws SQLException {
        for (int slot : locked.stored().keySet()) {
            Held hold = locked.stored().get(slot);
            if (hold != null && hold.owner().equals(owner)) {
                rows.free(slot);
            }
        }
    }

    Optional<PermitsStatus> describe(LockName name, LeaseTable table) throws SQLException {
        PermitTable.Locked read = rows(name, table).read(settings.clock(), settings.lives());
        return read.set().count() == 0
                ? Optional.empty()
                : Optional.of(read.set().status(name, read.now()));
    }

    List<PermitsStatus> list(String glob, int limit, LeaseTable table) throws SQLException {
        Glob wanted = Glob.of(glob);
        List<LockName> names = new ArrayList<>(PermitTable.names(table, settings.dialect()));
        names.removeIf(name -> !wanted.matches(name));
        names.sort(null);
        List<PermitsStatus> found = new ArrayList<>();
        for (LockName name : names) {
            if (found.size() < limit) {
                describe(name, table)
                        .filter(permits -> !permits.held().isEmpty())
                        .ifPresent(found::add);
            }
        }
        return found;
    }

    boolean change(LockName name, int count, long version, LeaseTable table) throws SQLException {
        PermitTable rows = rows(name, table);
        PermitTable.Locked locked = lock(rows);
        if (locked.set().version() != version) {
            return false;
        }
        rows.write(locked.set().changedTo(count), locked);
        return true;
    }

    /** The hold that was ended, or null if there was no such hold. */
    @Nullable
    Held forceRelease(LockName name, int slot, @Nullable String holderId, LeaseTable table) throws SQLException {
        PermitTable rows = rows(name, table);
        PermitTable.Locked locked = lock(rows);
        Held held = locked.set().held().get(slot);
        if (held == null || (holderId != null && !held.holderId().equals(holderId))) {
            return null;
        }
        long fence = Math.min(Math.max(locked.set().fence() + 1, locked.now().wallMicros()), TokenRange.LIMIT - 1);
        freeStored(held.owner(), rows, locked);
        rows.write(locked.set().withFence(fence), locked);
        return held;
    }
}
