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
import org.jspecify.annotations.Nullable;

/**
 * Releases locks of a slot that moves to another master: its keys are at two servers then, and no script may use keys
 * of both.
 *
 * <p>Therefore one script raises the fence first, and then another script deletes the lock: a request that arrives in
 * between is stale. A reader is ended with the hash of the readers instead: the lock keeps its ttl, but counts as absent
 * for every request once no reader is left. These scripts do not touch the queue. The whole release is repeated in the
 * background until the slot is at one server again, and then serves the waiters.
 */
final class MigrationFallback {

    private static final long AGAIN_NANOS = 50_000_000L;
    /** The longest time of the repetitions: by then every waiter has retried by itself and found the lock free. */
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
     * Releases the lock with one-key scripts.
     *
     * @param key ends the owner token with the one key of its hold, which also is that of the fence if the name is one of
     *     permits; null if a lock is deleted
     * @param whole repeats the whole release
     */
    CompletableFuture<ReleaseReply> release(
            LockName name,
            ReleaseRequest request,
            @Nullable Supplier<CompletableFuture<ReleaseReply>> key,
            Supplier<CompletableFuture<ReleaseReply>> whole) {
        Supplier<CompletableFuture<ReleaseReply>> end = key != null ? key : () -> delete(name, request);
        CompletableFuture<ReleaseReply> released = name.isPermits()
                ? end.get()
                : raise(name, request)
                        .thenCompose(raised -> raised instanceof ReleaseReply.Failed
                                ? CompletableFuture.completedFuture(raised)
                                : end.get());
        return released.thenApply(reply -> {
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
