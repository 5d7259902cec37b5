package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Releases while a slot is being moved: its keys are at two servers then, and no script may name keys of both.
 *
 * <p>So the fence is raised by itself, first, and then the lock is deleted by itself: whatever arrives in between is stale. The queue
 * is left alone; the whole release is repeated in the background until the slot is in one place again, and serves the waiters then.
 */
final class MigrationFallback {

    private static final long AGAIN_NANOS = 50_000_000L;
    /** By then every waiter has asked again by itself, and found the lock free. */
    private static final long LONGEST_NANOS = 60_000_000_000L;

    private final Requests requests;
    private final ReplyDecoder decoder;
    private final NodeSettings settings;
    private final LockRuntime runtime;
    private volatile boolean closed;

    MigrationFallback(Requests requests, ReplyDecoder decoder, NodeSettings settings, LockRuntime runtime) {
        this.requests = requests;
        this.decoder = decoder;
        this.settings = settings;
        this.runtime = runtime;
    }

    /**
     * Releases what one-key scripts can.
     *
     * @param whole the whole release, once more
     */
    CompletableFuture<ReleaseReply> release(
            LockName name, ReleaseRequest request, Supplier<CompletableFuture<ReleaseReply>> whole) {
        return raise(name, request)
                .thenCompose(raised -> raised instanceof ReleaseReply.Failed
                        ? CompletableFuture.completedFuture(raised)
                        : delete(name, request))
                .thenApply(reply -> {
                    if (!(reply instanceof ReleaseReply.Failed)) {
                        serveLater(whole, runtime.nanoTime());
                    }
                    return reply;
                });
    }

    private CompletableFuture<ReleaseReply> raise(LockName name, ReleaseRequest request) {
        return requests.run(
                new Requests.Subject("release", name),
                request.timeoutNanos(),
                new ScriptCall(
                        LuaScript.RAISE_FENCE,
                        new String[] {KeyLayout.fence(settings.keys().lock(name))},
                        new String[] {
                            Long.toString(request.ballot()),
                            Long.toString(settings.retentionMicros()),
                            Long.toString(settings.boundMicros())
                        }),
                (reply, link) -> decoder.release(reply),
                FailedReplies::releaseFailed);
    }

    private CompletableFuture<ReleaseReply> delete(LockName name, ReleaseRequest request) {
        return requests.run(
                new Requests.Subject("release", name),
                request.timeoutNanos(),
                new ScriptCall(
                        LuaScript.RELEASE_KEY,
                        new String[] {settings.keys().lock(name)},
                        new String[] {request.owner().hex()}),
                (reply, link) -> decoder.release(reply),
                FailedReplies::releaseFailed);
    }

    private void serveLater(Supplier<CompletableFuture<ReleaseReply>> whole, long sinceAtNanos) {
        runtime.schedule(AGAIN_NANOS, () -> {
            if (closed) {
                return;
            }
            whole.get().whenComplete((reply, error) -> {
                boolean again = error != null || reply instanceof ReleaseReply.Failed;
                if (again && runtime.nanoTime() - sinceAtNanos < LONGEST_NANOS) {
                    serveLater(whole, sinceAtNanos);
                }
            });
        });
    }

    void close() {
        closed = true;
    }
}
