package io.leasehold.redis.node;

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
 * Sends requests to the server that serves their key, each once, and completes every answer within its time limit.
 *
 * <p>A request that a server refused since another one serves its slot goes on to that one: it had no effect. Safe for all
 * threads. Answers complete on the connection's I/O thread or on the timer's.
 *
 * <p>The requests that are not answered are bounded, also those that we have given up, since they are still on their
 * way: with {@value #MAX_IN_FLIGHT} of them nothing more is sent, and with half of them nothing that asks for a lock, so that
 * those who hold one can still keep it and give it back.
 */
final class Requests {

    /** About 10 MB of requests, and at 10 to 20 µs for each what a server does within a ninth of a second. */
    static final int MAX_IN_FLIGHT = 8_192;

    /** A slot that is still elsewhere after this is being moved to and fro. */
    private static final int MAX_DETOURS = 5;

    /** The time limit of what operators ask. */
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
            return verb + " lock \"" + lock + "\"";
        }
    }

    /** Reads an answer; a {@link io.leasehold.LockStoreException} of it goes to admin callers as it is. */
    interface Decoder<R, T> {
        T decode(R reply, Link link);
    }

    /** How a request is put on a link: its text, where it has one, leaves only if the answer is still wanted. */
    private interface Form<R> {
        void send(Link link, BooleanSupplier wanted, BiConsumer<@Nullable R, @Nullable Throwable> then);
    }

    /** Runs a script where its first key is served. */
    <T> CompletableFuture<T> run(
            Object subject,
            long timeoutNanos,
            ScriptCall call,
            Decoder<List<Object>, T> decoder,
            Function<Failure, T> failed) {
        Form<List<Object>> form = (link, wanted, then) -> link.run(call, wanted, then);
        return new Request<>(most(call), subject, timeoutNanos, call.keys()[0], form, decoder, failed).begin();
    }

    private static int most(ScriptCall call) {
        return call.script().asksForLocks() ? MAX_IN_FLIGHT / 2 : MAX_IN_FLIGHT;
    }

    /** Runs a script, and waits until replicas have what it wrote. */
    <T> CompletableFuture<T> runAcknowledged(
            Object subject,
            long timeoutNanos,
            ScriptCall call,
            Decoder<Acknowledged, T> decoder,
            Function<Failure, T> failed) {
        Form<Acknowledged> form = (link, wanted, then) -> link.runAcknowledged(call, wanted, then);
        return new Request<>(most(call), subject, timeoutNanos, call.keys()[0], form, decoder, failed).begin();
    }

    /** Sends a command that asks for a lock to where its key is served. */
    <R, T> CompletableFuture<T> ask(
            Object subject,
            long timeoutNanos,
            String key,
            PlainCommand<R> command,
            Decoder<R, T> decoder,
            Function<Failure, T> failed) {
        return new Request<>(MAX_IN_FLIGHT / 2, subject, timeoutNanos, key, form(command), decoder, failed).begin();
    }

    /** Sends a command to where a key is served. */
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

    /** Asks for an operator, where a key is served: the answer, or the error of the failure. */
    <R> CompletableFuture<R> sendOrThrow(Object subject, String key, PlainCommand<R> command) {
        return orThrow(subject, key, command).begin();
    }

    /** The same at this server. */
    <R> CompletableFuture<R> sendOrThrow(Object subject, Link server, PlainCommand<R> command) {
        return orThrow(subject, "", command).begin(server);
    }

    private <R> Request<R, R> orThrow(Object subject, String key, PlainCommand<R> command) {
        return new Request<>(
                MAX_IN_FLIGHT, subject, OPERATOR_NANOS, key, form(command), (reply, link) -> reply, failure -> {
                    throw failure.error();
                });
    }

    /** The same by a script. */
    <T> CompletableFuture<T> runOrThrow(Object subject, ScriptCall call, Decoder<List<Object>, T> decoder) {
        return run(subject, OPERATOR_NANOS, call, decoder, failure -> {
            throw failure.error();
        });
    }

    /** One request on its way. */
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
            // Before the timer: a thread may stand still here for longer than the limit.
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
            // After the time limit the caller may have begun to undo: then nothing is sent any more.
            BiConsumer<@Nullable R, @Nullable Throwable> then = (reply, error) -> {
                unanswered.decrementAndGet();
                answered(link, detours, reply, error);
            };
            try {
                form.send(link, () -> !answer.isDone(), then);
            } catch (RuntimeException | Error e) {
                // A driver that throws tells nothing more.
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
                // Its time limit may be called off already: nothing else would tell who asked.
                answer.completeExceptionally(e);
            }
        }
    }
}
