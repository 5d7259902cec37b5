package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The readers of locks in a lease table: submits their verbs to the worker. Safe for use by any thread. */
final class TableReaders {

    private final WorkQueue queue;
    private final LockRuntime runtime;
    private final ReadVerbs verbs;

    /** Uses the table behind the queue. */
    TableReaders(WorkQueue queue, LockRuntime runtime, ReadVerbs verbs) {
        this.queue = queue;
        this.runtime = runtime;
        this.verbs = verbs;
    }

    CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return submit(
                request,
                "acquire of " + request.name() + " as a reader",
                (table, tries) -> verbs.acquire(request, table));
    }

    CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return submit(
                request, "downgrade of " + request.name(), (table, tries) -> verbs.downgrade(request, writer, table));
    }

    private CompletableFuture<AcquireReply> submit(AcquireRequest request, String what, Task.Work<AcquireReply> work) {
        @Nullable LockStoreException refusal = ReadTable.refusal(request.name());
        if (refusal != null) {
            return CompletableFuture.completedFuture(new AcquireReply.Failed(FailureKind.PERMANENT, refusal, 0));
        }
        return queue.submit(
                Task.<AcquireReply>acquiring(
                        request.owner(), what, null, work, (kind, error) -> new AcquireReply.Failed(kind, error, 0)),
                request.timeoutNanos());
    }

    CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        if (ReadTable.refusal(request.names().get(0)) != null) {
            return CompletableFuture.completedFuture(new ReleaseReply.NotOurs());
        }
        return queue.submit(
                Task.<ReleaseReply>writing(
                        "release of " + request.names() + " as a reader",
                        (table, tries) -> verbs.release(request, table),
                        ReleaseReply.Failed::new),
                request.timeoutNanos());
    }

    /** Renews readers of one lock in a transaction of their own. */
    CompletableFuture<RenewReply> renew(LockName name, RenewBatch part) {
        long begunAtNanos = runtime.nanoTime();
        return queue.submit(
                Task.renewing(
                        "renewal of " + name + " as a reader",
                        (table, tries) -> verbs.renew(name, part, table, tries, begunAtNanos),
                        (kind, error) ->
                                new RenewReply(Collections.nCopies(part.items().size(), new RenewReply.Failed(error)))),
                part.timeoutNanos());
    }
}
