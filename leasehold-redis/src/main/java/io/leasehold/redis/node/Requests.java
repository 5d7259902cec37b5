package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.Acknowledged;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends each request once to the server that serves its key, and completes every answer within its time limit.
 *
 * <p>If a server refuses a request because another one serves its slot, the request had no effect and is sent to that
 * server. Safe for all threads. Answers complete on the connection's I/O thread or on the timer's.
 *
 * <p>The number of unanswered requests is bounded. It includes requests that were given up, since they are still in
 * flight, but not those of a link that was closed, although other clients may keep its connection. At
 * {@value #MAX_IN_FLIGHT} unanswered requests, nothing more is sent. At half of that, no request for a lock is sent, so
 * that holders can still renew and release their locks.
 */
final class Requests {

    /**
     * The most unanswered requests: about 10 MB, which a server executes within a ninth of a second, at 10 to 20 µs
     * each.
     */
    static final int MAX_IN_FLIGHT = 8_192;

    /** The most redirects of a request: a slot that is still elsewhere moves back and forth. */
    private static final int MAX_DETOURS = 5;

    /** The time limit of an operator's request. */
    private static final long OPERATOR_NANOS = 5_000_000_000L;

    private final Topology topology;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final AtomicInteger unanswered = new AtomicInteger();

    Requests(Topology topology, RedisErrors errors, LockRuntime runtime) {
        this.topology = topology;
        this.errors = errors;
        this.runtime = runtime;
    }

    /** The subject of a request, for messages: the verb and its lock. */
    record Subject(String verb, Object lock) {
        @Override
        public String toString() {
            String kind = " lock \"";
            if (lock instanceof LockName name && !name.equals(name.asExclusive())) {
                kind = name.isPermits() ? " permits \"" : " read lock \"";
            }
            return verb + kind + lock + "\"";
        }
    }

    /**
     * Reads an answer. If it throws a {@link io.leasehold.LockStoreException}, administrative callers get it unchanged.
     */
    interface Decoder<R, T> {
        T decode(R reply, Link link);
    }

    /** The way to send a request on a link. The text of a script is sent only if the answer is still wanted. */
    private interface Form<R> {
        void send(Link link, BooleanSupplier wanted, BiConsumer<@Nullable R, @Nullable Throwable> then);
    }

    /** Runs a script at the server of its first key. */
    <T> CompletableFuture<T> run(
            Object subject,
            long timeoutNanos,
            ScriptCall call,
            Decoder<List<Object>, T> decoder,
            Function<Failure, T> failed) {
        Form<List<Object>> form = (link, wanted, then) -> link.run(call, wanted, then);
        return new Request<>(most(call), subject, timeoutNanos, call.first(), form, decoder, failed).begin();
    }

    private static int most(ScriptCall call) {
        return call.script().asksForLocks() ? MAX_IN_FLIGHT / 2 : MAX_IN_FLIGHT;
    }

    /** Runs a script and waits until replicas have its writes. */
    <T> CompletableFuture<T> runAcknowledged(
            Object subject,
            long timeoutNanos,
            ScriptCall call,
            Decoder<Acknowledged, T> decoder,
            Function<Failure, T> failed) {
        Form<Acknowledged> form = (link, wanted, then) -> link.runAcknowledged(call, wanted, then);
        return new Request<>(most(call), subject, timeoutNanos, call.first(), form, decoder, failed).begin();
    }

    /** Sends a command that requests a lock to the server of its key. */
    <R, T> CompletableFuture<T> ask(
            Object subject,
            long timeoutNanos,
            String key,
            PlainCommand<R> command,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        return new Request<>(MAX_IN_FLIGHT / 2, subject, timeoutNanos, key, form(command), decoder, failed).begin();
    }

    /** Sends a command to the server of a key. */
    <R, T> CompletableFuture<T> send(
            Object subject,
            long timeoutNanos,
            String key,
            PlainCommand<R> command,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        return new Request<>(MAX_IN_FLIGHT, subject, timeoutNanos, key, form(command), decoder, failed).begin();
    }

    private static <R> Form<R> form(PlainCommand<R> command) {
        return (link, wanted, then) -> link.send(command, then);
    }

    /** Sends an operator's command to the server of a key. The future gets the answer or the error of the failure. */
    <R> CompletableFuture<R> sendOrThrow(Object subject, String key, PlainCommand<R> command) {
        return orThrow(subject, key, command).begin();
    }

    /** Sends an operator's command to this server. */
    <R> CompletableFuture<R> sendOrThrow(Object subject, Link server, PlainCommand<R> command) {
        return orThrow(subject, "", command).begin(server);
    }

    private <R> Request<R, R> orThrow(Object subject, String key, PlainCommand<R> command) {
        return new Request<>(
                MAX_IN_FLIGHT, subject, OPERATOR_NANOS, key, form(command), (reply, link) -> reply, failure -> {
                    throw failure.error();
                });
    }

    /** Runs an operator's script. */
    <T> CompletableFuture<T> runOrThrow(Object subject, ScriptCall call, Decoder<List<Object>, T> decoder) {
        return run(subject, OPERATOR_NANOS, call, decoder, failure -> {
            throw failure.error();
        });
    }

    /** One request in flight. */
    private final class Request<R, T> {
        private final int most;
        private final Object subject;
        private final long timeoutNanos;
        private final String key;
        private final Form<R> form;
        private final Decoder<R, T> decoder;
        private final Function<Failure, T> failed;
        private final CompletableFuture<T> answer = new CompletableFuture<>();
        private volatile @Nullable Link asked;
        private LockRuntime.@Nullable Timer patience;

        private Request(
                int most,
                Object subject,
                long timeoutNanos,
                String key,
                Form<R> form,
                Decoder<R, T> decoder,
                Function<Failure, T> failed) {
            this.most = most;
            this.subject = subject;
            this.timeoutNanos = timeoutNanos;
            this.key = key;
            this.form = form;
            this.decoder = decoder;
            this.failed = failed;
        }

        private CompletableFuture<T> begin() {
            return begin(topology.current(key));
        }

        private CompletableFuture<T> begin(@Nullable Link link) {
            if (link == null) {
                complete(() -> failed.apply(errors.notConnected(subject.toString(), topology.failure(key))));
                return answer;
            }
            int before = unanswered.get();
            if (before >= most) {
                complete(() -> failed.apply(errors.overloaded(subject.toString(), before)));
                return answer;
            }
            // Set this before the timer starts: the thread may pause here for longer than the limit.
            asked = link;
            patience = runtime.schedule(timeoutNanos, this::timedOut);
            if (!answer.isDone()) {
                go(link, 0);
            }
            return answer;
        }

        private void timedOut() {
            Link last = asked;
            if (!answer.isDone() && last != null) {
                complete(() -> failed.apply(errors.timeout(subject.toString(), timeoutNanos)));
                topology.unanswered(last);
            }
        }

        private void go(Link link, int detours) {
            asked = link;
            unanswered.incrementAndGet();
            // After the time limit the caller may have started to undo, so nothing more is sent then.
            BiConsumer<@Nullable R, @Nullable Throwable> then = (reply, error) -> {
                unanswered.decrementAndGet();
                answered(link, detours, reply, error);
            };
            try {
                form.send(link, () -> !answer.isDone(), then);
            } catch (RuntimeException | Error e) {
                // A driver that throws does not call the callback.
                then.accept(null, e);
            }
        }

        private void answered(Link link, int detours, @Nullable R reply, @Nullable Throwable error) {
            if (reply != null) {
                settle(() -> decoded(reply, link));
                return;
            }
            Throwable cause = error == null ? new IllegalStateException("no answer") : Failure.unwrapped(error);
            CompletableFuture<Topology.Detour> detour = detour(link, cause);
            if (detour == null || detours == MAX_DETOURS) {
                settle(() -> failed.apply(errors.of(cause, subject.toString())));
            } else {
                follow(detour, detours);
            }
        }

        private @Nullable CompletableFuture<Topology.Detour> detour(Link link, Throwable cause) {
            return cause instanceof ServerRefusal && cause.getMessage() != null
                    ? topology.detour(key, link, RedisErrors.ofCommand(cause.getMessage()))
                    : null;
        }

        private void follow(CompletableFuture<Topology.Detour> detour, int before) {
            detour.whenComplete((way, error) -> {
                if (way == null) {
                    LockStoreException reason =
                            error != null && Failure.unwrapped(error) instanceof LockStoreException known
                                    ? known
                                    : null;
                    settle(() -> failed.apply(errors.notConnected(subject.toString(), reason)));
                } else if (!answer.isDone()) {
                    go(way.asking() ? way.link().asking() : way.link(), before + 1);
                }
            });
        }

        private void settle(Supplier<T> result) {
            LockRuntime.Timer timer = patience;
            if (timer != null) {
                timer.cancel();
            }
            complete(result);
        }

        private T decoded(R reply, Link link) {
            try {
                return decoder.decode(reply, link);
            } catch (LockStoreException e) {
                throw e;
            } catch (RuntimeException e) {
                return failed.apply(errors.malformed(subject.toString(), e));
            }
        }

        private void complete(Supplier<T> result) {
            try {
                answer.complete(result.get());
            } catch (RuntimeException | Error e) {
                // The timer may be cancelled already, so without this the caller would get no answer.
                answer.completeExceptionally(e);
            }
        }
    }
}
