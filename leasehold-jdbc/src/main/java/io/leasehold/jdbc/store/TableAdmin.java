package io.leasehold.jdbc.store;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.toolkit.Glob;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** Inspects the rows of a lease table, and releases a lock by force. */
final class TableAdmin implements StoreAdmin {

    /** The limit for these requests, for which the caller gives none. */
    private static final long LIMIT_NANOS = 10_000_000_000L;

    private final StoreSettings settings;
    private final WorkQueue queue;
    private final LeaseVerbs verbs;
    private final BiFunction<LockName, LeaseRow.Held, CompletableFuture<?>> taken;

    /**
     * Uses the table behind the queue.
     *
     * @param taken notifies the holder that its lock was taken; the caller awaits its result
     */
    TableAdmin(
            StoreSettings settings,
            WorkQueue queue,
            LeaseVerbs verbs,
            BiFunction<LockName, LeaseRow.Held, CompletableFuture<?>> taken) {
        this.settings = settings;
        this.queue = queue;
        this.verbs = verbs;
        this.taken = taken;
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return queue.submit(
                Task.reading(
                        "a look at " + name,
                        (table, tries) -> describe(name, table, settings.clock().read(table))),
                LIMIT_NANOS);
    }

    private Optional<HeldLock> describe(LockName name, LeaseTable table, StoreTime now) throws SQLException {
        LeaseRow stored = table.read(name);
        return stored == null ? Optional.empty() : record(stored, now, table);
    }

    /** Queries the holder's life, so two results for one row may differ. */
    private Optional<HeldLock> record(LeaseRow stored, StoreTime now, LeaseTable table) throws SQLException {
        return Optional.ofNullable(
                        ReadVerbs.current(stored, table, settings, now).holder(now))
                .map(holder -> new HeldLock(stored.name(), holder));
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return queue.submit(
                Task.reading(
                        "a look at the readers of " + name,
                        (table, tries) -> verbs.readers().list(name, limit, table)),
                LIMIT_NANOS);
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        Glob names = Glob.of(glob);
        return queue.submit(
                Task.reading(
                        "listing " + glob,
                        (table, tries) ->
                                list(names, limit, table, settings.clock().read(table))),
                LIMIT_NANOS);
    }

    private List<HeldLock> list(Glob names, int limit, LeaseTable table, StoreTime now) throws SQLException {
        List<HeldLock> records = table.held(names::matches, row -> record(row, now, table), limit);
        records.sort(Comparator.comparing(HeldLock::name));
        return records;
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return queue.submit(
                        Task.writing("force-release of " + name, (table, tries) -> forceRelease(name, holderId, table)),
                        LIMIT_NANOS)
                .thenCompose(losers -> CompletableFuture.allOf(losers.stream()
                                .map(held -> taken.apply(name, held))
                                .toArray(CompletableFuture<?>[]::new))
                        .handle((told, error) -> !losers.isEmpty()));
    }

    private List<LeaseRow.Held> forceRelease(LockName name, @Nullable String holderId, LeaseTable table)
            throws SQLException {
        List<LeaseRow.Held> readers = verbs.readers().forceRelease(name, holderId, table);
        LeaseRow.Held writer = readers.isEmpty() ? verbs.forceRelease(name, holderId, table) : null;
        return writer == null ? readers : List.of(writer);
    }
}
