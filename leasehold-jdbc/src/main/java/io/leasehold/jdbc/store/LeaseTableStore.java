package io.leasehold.jdbc.store;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import java.sql.SQLException;
import java.util.Collections;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A store of locks in a lease table.
 *
 * <p><b>Guarantee.</b> Each verb is one transaction, so that the database decides exclusion; fencing tokens increase as
 * long as the table is kept. <b>Threads.</b> Any thread may call; one thread of the store uses the database and
 * completes the futures. <b>Errors</b> are replies, except from the admin methods.
 *
 * <p>A release is never overtaken by an earlier acquire of its owner token: both pass through the one worker, and a
 * release withdraws an acquire that is still queued.
 */
public final class LeaseTableStore implements LockStore {

    private static final long CLOSE_LIMIT_NANOS = 5_000_000_000L;

    private final StoreSettings settings;
    private final LockRuntime runtime;
    private final WorkQueue queue;
    private final LeaseVerbs verbs;
    private final Worker worker;
    private final Waking watch;
    private final TableOperations operations;
    private final TableAdmin admin;
    private final TablePermits permits;
    private final TableReaders readers;
    private volatile StoreSignals signals = StoreSignals.NONE;

    private LeaseTableStore(StoreSettings settings, LockRuntime runtime) {
        this.settings = settings;
        this.runtime = runtime;
        this.queue = new WorkQueue(runtime, settings.description());
        this.operations = new TableOperations(settings, runtime, queue, this::takenAway);
        this.watch = waking(settings);
        this.verbs = new LeaseVerbs(settings, runtime, watch, this::submitPrune);
        this.admin = new TableAdmin(settings, queue, verbs, this::tellTaken);
        this.permits = new TablePermits(settings, queue, runtime, this::tellTaken);
        this.readers = new TableReaders(queue, runtime, verbs.readers());
        this.worker = new Worker(
                runtime, queue, settings.connections(), settings.dialect(), settings.description(), this::reconnected);
        queue.explainDelaysBy(worker::delayedBy);
    }

    private Waking waking(StoreSettings of) {
        Dialect.Waking waking = of.dialect().waking();
        if (waking instanceof Dialect.ByChanges) {
            return new WakeWatch(runtime, of.clock(), of.lives(), this::submitLook, this::wake);
        } else if (waking instanceof Dialect.ByNotifications notifications) {
            return new NotificationWatch(
                    runtime,
                    notifications.driver(),
                    of.spare(),
                    this::submitEcho,
                    new NotificationWatch.Listener(this::wake, operations::takenWord),
                    of.description());
        }
        return Waking.NONE;
    }

    /** Starts the store's thread. If that fails, the caller closes the connections. */
    public static LeaseTableStore start(StoreSettings settings, LockRuntime runtime) {
        try {
            LeaseTableStore store = new LeaseTableStore(settings, runtime);
            if (settings.lives() != Lives.UNKNOWN) {
                store.submitSweep();
            }
            runtime.startThread("leasehold-jdbc", store.worker);
            return store;
        } catch (RuntimeException | Error e) {
            settings.lives().close();
            throw e;
        }
    }

    @Override
    public String description() {
        return settings.description();
    }

    @Override
    public Guarantees guarantees() {
        return settings.guarantees();
    }

    @Override
    public void listen(StoreSignals listener) {
        signals = listener;
    }

    private void wake(LockName name) {
        signals.wake(name);
    }

    private void takenAway(LockName name) {
        signals.takenAway(name);
    }

    private void reconnected() {
        signals.reconnected();
    }

    private void submitLook() {
        if (watch instanceof WakeWatch looking) {
            queue.submit(Task.reading("a look at what changed", done(looking::look), (kind, error) -> {
                looking.lookFailed();
                return false;
            }));
        }
    }

    private CompletableFuture<Boolean> submitEcho(String payload) {
        Task<Boolean> echo = Task.reading("a test of notifications", done(table -> table.tell(payload)));
        queue.submit(echo);
        return echo.future();
    }

    private void submitPrune() {
        queue.submit(Task.keepingHouse("deletion of old rows", done(verbs::prune)));
    }

    private void submitSweep() {
        queue.submit(Task.reading(
                "a look for dead holders", done(table -> settings.lives().sweep(table.lives()))));
    }

    /** Work whose result is not awaited. */
    private interface Chore {
        void run(LeaseTable table) throws SQLException;
    }

    private static Task.Work<Boolean> done(Chore chore) {
        return (table, tries) -> {
            chore.run(table);
            return true;
        };
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        settings.connections().needFor(request.ttlNanos());
        operations.requestedBy(request.holderId());
        if (request.names().get(0).isPermits()) {
            return permits.acquire(request);
        } else if (request.names().get(0).isRead()) {
            return readers.acquire(request);
        }
        return queue.submit(
                Task.<AcquireReply>acquiring(
                        request.owner(),
                        "acquire of " + request.names(),
                        settings.dialect().leases().acquire() == null
                                        || request.names().size() > 1
                                ? null
                                : (table, waitNanos) -> verbs.acquireAtOnce(request, table, waitNanos),
                        (table, tries) -> verbs.acquire(request, table),
                        (kind, error) -> new AcquireReply.Failed(kind, error, 0)),
                request.timeoutNanos());
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        settings.connections()
                .needFor(batch.items().stream()
                        .mapToLong(RenewBatch.Item::ttlNanos)
                        .max()
                        .orElse(0));
        return BatchParts.isShared(batch)
                ? BatchParts.renew(batch, this::renewShared, this::renewLocks)
                : renewLocks(batch);
    }

    private CompletableFuture<RenewReply> renewShared(LockName name, RenewBatch part) {
        return name.isPermits() ? permits.renew(name, part) : readers.renew(name, part);
    }

    private CompletableFuture<RenewReply> renewLocks(RenewBatch batch) {
        long begunAtNanos = runtime.nanoTime();
        return queue.submit(
                Task.renewing(
                        "renewal of " + batch.items().size() + " lease(s)",
                        (table, tries) -> verbs.renew(batch, table, tries, begunAtNanos),
                        (kind, error) -> new RenewReply(
                                Collections.nCopies(batch.items().size(), new RenewReply.Failed(error)))),
                batch.timeoutNanos());
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        queue.takeBackAcquire(request.owner());
        if (request.names().get(0).isPermits()) {
            return permits.release(request);
        } else if (request.names().get(0).isRead()) {
            return readers.release(request);
        }
        return queue.submit(
                Task.<ReleaseReply>writing(
                        "release of " + request.names(),
                        (table, tries) -> verbs.release(request, table),
                        ReleaseReply.Failed::new),
                request.timeoutNanos());
    }

    @Override
    public boolean keepsReaders() {
        return true;
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        settings.connections().needFor(request.ttlNanos());
        operations.requestedBy(request.holderId());
        queue.takeBackAcquire(writer);
        return readers.downgrade(request, writer);
    }

    @Override
    public boolean keepsTickets() {
        return true;
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        queue.takeBackAcquire(request.owner());
        return queue.submit(
                Task.<ExportReply>writing(
                        "export of " + request.name(),
                        (table, tries) -> verbs.export(request, table),
                        ExportReply.Failed::new),
                request.timeoutNanos());
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        settings.connections().needFor(request.ttlNanos());
        operations.requestedBy(request.holderId());
        return queue.submit(
                Task.<AcquireReply>acquiring(
                        request.owner(),
                        "resumption of " + request.names(),
                        null,
                        (table, tries) -> verbs.resume(request, ticket, table),
                        (kind, error) -> new AcquireReply.Failed(kind, error, 0)),
                request.timeoutNanos());
    }

    /** Notifies a hold of this client directly, and that of another client through the store. */
    private CompletableFuture<?> tellTaken(LockName name, LeaseRow.Held loser) {
        signals.lost(loser.owner(), LossCause.FORCE_RELEASED);
        return operations.tellTaken(name, loser.holderId());
    }

    @Override
    public StoreAdmin admin() {
        return admin;
    }

    @Override
    public Optional<StorePermits> permits() {
        return Optional.of(permits);
    }

    @Override
    public StoreOperations operations() {
        return operations;
    }

    @Override
    public void close() {
        queue.close();
        watch.close();
        CompletableFuture<Void> over = worker.ended().copy();
        LockRuntime.Timer limit = runtime.schedule(CLOSE_LIMIT_NANOS, () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            // The worker ends by itself; the interrupt was meant for this thread.
            Thread.currentThread().interrupt();
        } finally {
            limit.cancel();
            settings.lives().close();
        }
    }
}
