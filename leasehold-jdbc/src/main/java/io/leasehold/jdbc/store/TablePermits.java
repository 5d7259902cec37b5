package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StorePermits;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** The permits of a lease table: submits their verbs to the worker. Safe for use by any thread. */
final class TablePermits implements StorePermits {

    /** The limit for the requests of operators, for which the caller gives none. */
    private static final long LIMIT_NANOS = 10_000_000_000L;

    private final WorkQueue queue;
    private final LockRuntime runtime;
    private final PermitVerbs verbs;
    private final BiFunction<LockName, LeaseRow.Held, CompletableFuture<?>> taken;

    /**
     * Uses the table behind the queue.
     *
     * @param taken notifies the holder that its permit was taken; the caller awaits its result
     */
    TablePermits(
            StoreSettings settings,
            WorkQueue queue,
            LockRuntime runtime,
            BiFunction<LockName, LeaseRow.Held, CompletableFuture<?>> taken) {
        this.queue = queue;
        this.runtime = runtime;
        this.verbs = new PermitVerbs(settings, runtime);
        this.taken = taken;
    }

    CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        LockStoreException refusal = PermitTable.refusal(request.names().get(0));
        if (refusal != null) {
            return CompletableFuture.completedFuture(new AcquireReply.Failed(FailureKind.PERMANENT, refusal, 0));
        }
        return queue.submit(
                Task.<AcquireReply>acquiring(
                        request.owner(),
                        "acquire of permits " + request.name(),
                        null,
                        (table, tries) -> verbs.acquire(request, table),
                        (kind, error) -> new AcquireReply.Failed(kind, error, 0)),
                request.timeoutNanos());
    }

    CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        if (PermitTable.refusal(request.names().get(0)) != null) {
            return CompletableFuture.completedFuture(new ReleaseReply.NotOurs());
        }
        return queue.submit(
                Task.<ReleaseReply>writing(
                        "release of permits " + request.names(),
                        (table, tries) -> verbs.release(request, table),
                        ReleaseReply.Failed::new),
                request.timeoutNanos());
    }

    /** Renews permits of one name in a transaction of their own. */
    CompletableFuture<RenewReply> renew(LockName name, RenewBatch part) {
        long begunAtNanos = runtime.nanoTime();
        return queue.submit(
                Task.renewing(
                        "renewal of permits " + name,
                        (table, tries) -> verbs.renew(name, part, table, tries, begunAtNanos),
                        (kind, error) ->
                                new RenewReply(Collections.nCopies(part.items().size(), new RenewReply.Failed(error)))),
                part.timeoutNanos());
    }

    @Override
    public boolean takesSeveral() {
        return true;
    }

    @Override
    public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
        if (PermitTable.refusal(name) != null) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        return queue.submit(
                Task.reading("a look at permits " + name, (table, tries) -> verbs.describe(name, table)), LIMIT_NANOS);
    }

    @Override
    public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
        return queue.submit(
                Task.reading("listing permits " + glob, (table, tries) -> verbs.list(glob, limit, table)), LIMIT_NANOS);
    }

    @Override
    public CompletableFuture<Boolean> change(LockName name, int count, long version) {
        LockStoreException refusal = PermitTable.refusal(name);
        if (refusal != null) {
            return CompletableFuture.failedFuture(refusal);
        }
        return queue.submit(
                Task.writing(
                        "change of the count of permits " + name,
                        (table, tries) -> verbs.change(name, count, version, table)),
                LIMIT_NANOS);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
        if (PermitTable.refusal(name) != null) {
            return CompletableFuture.completedFuture(false);
        }
        return queue.submit(
                        Task.writing(
                                "force-release of slot " + slot + " of permits " + name,
                                (table, tries) -> Optional.ofNullable(verbs.forceRelease(name, slot, holderId, table))),
                        LIMIT_NANOS)
                .thenCompose(loser -> loser.map(held -> taken.apply(name, held).<Boolean>handle((told, error) -> true))
                        .orElseGet(() -> CompletableFuture.completedFuture(false)));
    }
}
