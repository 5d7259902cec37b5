package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the redirects, limits and answers of requests. */
@Tag("quick")
@Timeout(120)
final class RequestExchangesTest extends NodeExchanges {

    // ---- requests

    private Requests requests() {
        return new Requests(topology, where.errors(), runtime);
    }

    private static CompletableFuture<String> time(Requests requests, long limitNanos) {
        return requests.send(
                "read the clock",
                limitNanos,
                LOCK,
                PlainCommand.TIME,
                (time, link) -> time.get(0),
                failure -> failure.kind() + ": " + failure.error().getMessage());
    }

    /** Holders can still renew and release their locks when no request for a lock is sent any more. */
    @Test
    void whatAsksForLocksIsRefusedFirst() throws Exception {
        says(LuaScript.ACQUIRE, bulks("yes", "1"));
        says(LuaScript.RELEASE, bulks("released"));
        // Answers belong to requests by their order, so those without an answer have a connection of their own.
        server.says("SILENT", ScriptedRedis.SILENCE);
        runtime.hurry(TimeUnit.SECONDS.toNanos(3), LIMIT_NANOS);
        try (Topology beside =
                Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime)) {
            answer(beside.open());
            Link silent = beside.current(LOCK);
            Requests requests = requests();
            for (int i = 1; i < Requests.MAX_IN_FLIGHT / 2; i++) {
                assertThat(unanswered(requests, silent)).isNotDone();
            }
            assertThat(acquire(requests)).as("the last that may").isEqualTo("yes");
            CompletableFuture<String> one = unanswered(requests, silent);
            assertThat(acquire(requests))
                    .startsWith("NO_EFFECT")
                    .contains(Integer.toString(Requests.MAX_IN_FLIGHT / 2));
            assertThat(asked(requests)).startsWith("NO_EFFECT");
            for (int i = Requests.MAX_IN_FLIGHT / 2 + 1; i < Requests.MAX_IN_FLIGHT; i++) {
                assertThat(unanswered(requests, silent)).isNotDone();
            }
            assertThat(run(requests, LuaScript.RELEASE)).as("the last that may").isEqualTo("released");
            assertThat(unanswered(requests, silent)).isNotDone();
            assertThatThrownBy(() -> answer(unanswered(requests, silent))).hasMessageContaining("has not answered");
            assertThat(run(requests, LuaScript.RELEASE)).startsWith("NO_EFFECT");
            assertThat(one).isNotDone();
        }
    }

    private static CompletableFuture<String> unanswered(Requests requests, Link silent) {
        return requests.sendOrThrow(
                "wait", silent, new PlainCommand<>("SILENT", new String[0], items -> (String) items.get(0)));
    }

    private static String acquire(Requests requests) throws Exception {
        return run(requests, LuaScript.ACQUIRE);
    }

    private static String asked(Requests requests) throws Exception {
        return answer(requests.ask(
                "ask",
                LIMIT_NANOS,
                LOCK,
                new PlainCommand<>("GET", new String[] {"x"}, items -> (String) items.get(0)),
                (reply, link) -> reply,
                failure -> failure.kind().toString()));
    }

    private static String run(Requests requests, LuaScript script) throws Exception {
        return answer(requests.run(
                "run",
                LIMIT_NANOS,
                new ScriptCall(script, new String[] {LOCK}, new String[0]),
                (reply, link) -> (String) reply.get(0),
                failure -> failure.kind() + ": " + failure.error().getMessage()));
    }

    @Test
    void anAnswerThatDoesNotComeIsToldInTimeAndToTheTopology() throws Exception {
        server.says("TIME", ScriptedRedis.SILENCE);
        List<Object> told = new CopyOnWriteArrayList<>();
        Topology watched = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Topology.class}, (self, method, arguments) -> {
                    if (method.getName().equals("unanswered")) {
                        told.add(arguments[0]);
                        return null;
                    }
                    return method.invoke(topology, arguments);
                });
        Requests requests = new Requests(watched, where.errors(), runtime);
        assertThat(answer(time(requests, TimeUnit.MILLISECONDS.toNanos(30))))
                .startsWith("UNKNOWN")
                .contains("read the clock");
        until("it is notified", () -> told.size() == 1);
        assertThat(told).containsExactly(topology.current(LOCK));
    }

    /** A slot that moves back and forth redirects a request five times at most. */
    @Test
    void aRequestIsLedOnFiveTimes() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        server.says("TIME", command -> {
            asked.incrementAndGet();
            return "-ASK 5 127.0.0.1:1\r\n";
        });
        Topology leading = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Topology.class},
                (self, method, arguments) -> method.getName().equals("detour")
                        ? CompletableFuture.completedFuture(new Topology.Detour(topology.current(LOCK), true))
                        : method.invoke(topology, arguments));
        Requests requests = new Requests(leading, where.errors(), runtime);
        assertThat(answer(time(requests, LIMIT_NANOS))).contains("ASK 5");
        assertThat(asked).hasValue(6);
        assertThat(server.asked("ASKING")).isEqualTo(5);
        server.says("EVALSHA", "-ASK 5 127.0.0.1:1\r\n");
        assertThat(run(requests, LuaScript.ACQUIRE)).contains("ASK 5");
        assertThat(server.asked("ASKING")).isEqualTo(10);
        server.says("GET", "-ASK 5 127.0.0.1:1\r\n");
        assertThat(asked(requests)).isNotEmpty();
        assertThat(server.asked("ASKING")).isEqualTo(15);
    }

    @Test
    void aWayThatIsNotFoundSaysWhy() throws Exception {
        server.says("TIME", "-MOVED 5 127.0.0.1:1\r\n");
        for (Throwable why :
                List.of(new StoreUnavailableException("nobody is there", null), new IllegalStateException("hidden"))) {
            Topology lost = (Topology) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {Topology.class},
                    (self, method, arguments) -> method.getName().equals("detour")
                            ? CompletableFuture.failedFuture(why)
                            : method.invoke(topology, arguments));
            String told = answer(time(new Requests(lost, where.errors(), runtime), LIMIT_NANOS));
            assertThat(told).startsWith("NO_EFFECT").doesNotContain("hidden");
            if (why instanceof LockStoreException) {
                assertThat(told).contains("nobody is there");
            }
        }
    }

    @Test
    void anAnswerThatCannotBeReadIsNoAnswer() throws Exception {
        says(LuaScript.ACQUIRE, "*0\r\n");
        assertThat(acquire(requests())).startsWith("UNKNOWN").contains("gave an answer to run that cannot be read");
        server.says("TIME", bulks("5", "6"));
        CompletableFuture<Object> refused = requests()
                .<List<String>, Object>send(
                        "read the clock",
                        LIMIT_NANOS,
                        LOCK,
                        PlainCommand.TIME,
                        (time, link) -> {
                            throw new StoreAccessException("as it is", null);
                        },
                        failure -> failure);
        assertThatThrownBy(() -> answer(refused)).hasCauseInstanceOf(LockStoreException.class);
    }
}
