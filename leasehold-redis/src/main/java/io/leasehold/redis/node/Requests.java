package io.leasehold.redis.node;

import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.Connections;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.wire.Failure;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests over the present link, each once, and completes every answer within its time limit.
 *
 * <p>The requests that a server has not answered are bounded, also those that we have given up, since they are still on their
 * way: with {@value #MOST} of them nothing more is sent, and with half of them nothing that asks for a lock, so that
 * those who hold one can still keep it and give it back.
 *
 * <p>Safe for all threads. Answers complete on the connection's I/O thread or on the timer's.
 */
final class Requests {

    /** About 10 MB of requests, and at 10 to 20 µs for each what a server does within a ninth of a second. */
    static final int MOST = 8_192;

    private final Connections connections;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final AtomicInteger unanswered = new AtomicInteger();

    Requests(Connections connections, RedisErrors errors, LockRuntime runtime) {
        this.connections = connections;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** What a request is about, for messages: the verb and its lock. */
    record Subject(String verb, Object lock) {
        @Override
        public String toString() {
            return verb + " lock \"" + lock + "\"";
        }
    }

    /** Reads an answer; a {@link io.leasehold.LockStoreException} of it goes to admin callers as it is. */
    interface Decoder<R, T> {
        T decode(R reply, Link link);
    }

    /** Runs a script. */
    <T> CompletableFuture<T> run(
            Object subject,
            long timeoutNanos,
            LuaScript script,
            String[] keys,
            String[] arguments,
            Decoder<List<Object>, T> decoder,
            Function<Failure, T> failed) {
        return send(
                script.asksForLocks() ? MOST / 2 : MOST,
                subject,
                timeoutNanos,
                (link, then) -> link.run(script, keys, arguments, then),
                decoder,
                failed);
    }

    /** Sends a request for a lock in whatever form. */
    <R, T> CompletableFuture<T> ask(
            Object subject,
            long timeoutNanos,
            BiConsumer<Link, BiConsumer<@Nullable R, @Nullable Throwable>> request,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        return send(MOST / 2, subject, timeoutNanos, request, decoder, failed);
    }

    /** Sends a request in whatever form. */
    <R, T> CompletableFuture<T> send(
            Object subject,
            long timeoutNanos,
            BiConsumer<Link, BiConsumer<@Nullable R, @Nullable Throwable>> request,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        return send(MOST, subject, timeoutNanos, request, decoder, failed);
    }

    private <R, T> CompletableFuture<T> send(
            int most,
            Object subject,
            long timeoutNanos,
            BiConsumer<Link, BiConsumer<@Nullable R, @Nullable Throwable>> request,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        Link link = connections.current();
        CompletableFuture<T> answer = new CompletableFuture<>();
        if (link == null) {
            complete(answer, () -> failed.apply(errors.notConnected(subject.toString(), connections.failure())));
            return answer;
        }
        int before = unanswered.getAndIncrement();
        if (before >= most) {
            unanswered.decrementAndGet();
            complete(answer, () -> failed.apply(errors.overloaded(subject.toString(), before)));
            return answer;
        }
        LockRuntime.Timer patience = runtime.schedule(timeoutNanos, () -> {
            if (!answer.isDone()) {
                complete(answer, () -> failed.apply(errors.timeout(subject.toString(), timeoutNanos)));
                link.unanswered();
            }
        });
        request.accept(link, (reply, error) -> {
            unanswered.decrementAndGet();
            patience.cancel();
            if (reply != null) {
                complete(answer, () -> decoded(decoder, reply, link, subject, failed));
            } else {
                Throwable cause = error == null ? new IllegalStateException("no answer") : error;
                complete(answer, () -> failed.apply(errors.of(cause, subject.toString())));
            }
        });
        return answer;
    }

    private <R, T> T decoded(Decoder<R, T> decoder, R reply, Link link, Object subject, Function<Failure, T> failed) {
        try {
            return decoder.decode(reply, link);
        } catch (LockStoreException e) {
            throw e;
        } catch (RuntimeException e) {
            return failed.apply(errors.malformed(subject.toString(), e));
        }
    }

    private static <T> void complete(CompletableFuture<T> answer, Supplier<T> result) {
        try {
            answer.complete(result.get());
        } catch (RuntimeException e) {
            answer.completeExceptionally(e);
        }
    }
}
