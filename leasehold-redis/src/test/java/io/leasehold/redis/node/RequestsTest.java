package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.Failure;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that a request is sent and counted until its answer or the end of its time limit, and not longer. */
@Tag("quick")
final class RequestsTest {

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(7);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    /** A runtime whose time limits are due before their scheduling has returned. */
    private static LockRuntime standingStill(LockRuntime real) {
        return (LockRuntime) Proxy.newProxyInstance(
                RequestsTest.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule") && arguments[0].equals(LIMIT_NANOS)) {
                        ((Runnable) arguments[1]).run();
                        return (LockRuntime.Timer) () -> {};
                    }
                    return method.invoke(real, arguments);
                });
    }

    @Test
    void aThreadThatStoodStillForLongerThanTheLimitTellsSoAndSendsNothing() throws Exception {
        LockRuntime real = new SystemLockRuntime();
        LockRuntime runtime = standingStill(real);
        RedisErrors errors = new RedisErrors("the server");
        Deployment where = Deployment.parse(StoreUri.parse(SERVER.server().uri()));
        try (Topology topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), errors, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            CompletableFuture<Object> answer = new Requests(topology, errors, runtime)
                    .<String, Object>send(
                            "set",
                            LIMIT_NANOS,
                            "key",
                            PlainCommand.set("key", "late", 60_000),
                            (done, link) -> done,
                            failure -> failure.kind());

            assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo(FailureKind.UNKNOWN);
            // The caller may have started to undo it by now. The server executes requests of one link in their order.
            CompletableFuture<Void> after = new CompletableFuture<>();
            topology.connected().get(0).send(PlainCommand.TIME, (pong, error) -> after.complete(null));
            after.get(60, TimeUnit.SECONDS);
            assertThat(SERVER.redis().exists("key")).isZero();
        } finally {
            real.close();
        }
    }

    private static void withRequests(CheckedUse use) throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        RedisErrors errors = new RedisErrors("the server");
        Deployment where = Deployment.parse(StoreUri.parse(SERVER.server().uri()));
        try (Topology topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), errors, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            use.of(topology, errors, runtime);
        } finally {
            runtime.close();
        }
    }

    private interface CheckedUse {
        void of(Topology topology, RedisErrors errors, LockRuntime runtime) throws Exception;
    }

    /** Of the maximum number of requests in flight, each is over after its error. */
    @Test
    void whatAnErrorHasAnsweredIsNoLongerUnderWay() throws Exception {
        SERVER.redis().sadd("set", "member");
        withRequests((topology, errors, runtime) -> {
            Requests requests = new Requests(topology, errors, runtime);
            int batch = Requests.MAX_IN_FLIGHT / 8;
            for (int sent = 0; sent <= Requests.MAX_IN_FLIGHT; sent += batch) {
                List<CompletableFuture<FailureKind>> refused = IntStream.range(0, batch)
                        .mapToObj(i -> requests.<String, FailureKind>send(
                                "get",
                                TimeUnit.SECONDS.toNanos(60),
                                "set",
                                new PlainCommand<>("GET", new String[] {"set"}, items -> (String) items.get(0)),
                                (reply, link) -> FailureKind.UNKNOWN,
                                Failure::kind))
                        .toList();
                for (CompletableFuture<FailureKind> one : refused) {
                    assertThat(one.get(60, TimeUnit.SECONDS))
                            .as("a key of another type, after %s requests", sent)
                            .isEqualTo(FailureKind.PERMANENT);
                }
            }
        });
    }

    /** As if a class that the reading needs were missing. */
    @Test
    void anErrorAtTheReadingOfAnAnswerIsTold() throws Exception {
        withRequests((topology, errors, runtime) -> {
            CompletableFuture<FailureKind> answer = new Requests(topology, errors, runtime)
                    .<List<String>, FailureKind>send(
                            "time",
                            TimeUnit.MINUTES.toNanos(10),
                            "key",
                            PlainCommand.TIME,
                            (time, link) -> {
                                throw new NoClassDefFoundError("made by the test");
                            },
                            Failure::kind);
            assertThatThrownBy(() -> answer.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(NoClassDefFoundError.class);
        });
    }

    /** The redirect is found only after the time limit, when the caller may have started to undo. */
    @Test
    void afterTheTimeLimitNothingIsSentAnyMore() throws Exception {
        SERVER.redis().sadd("set", "member");
        withRequests((topology, errors, runtime) -> {
            CompletableFuture<Topology.Detour> way = new CompletableFuture<>();
            Topology moving = (Topology) Proxy.newProxyInstance(
                    RequestsTest.class.getClassLoader(),
                    new Class<?>[] {Topology.class},
                    (proxy, method, arguments) ->
                            method.getName().equals("detour") ? way : method.invoke(topology, arguments));
            SERVER.redis().configResetstat();
            CompletableFuture<FailureKind> answer = new Requests(moving, errors, runtime)
                    .<String, FailureKind>send(
                            "get",
                            TimeUnit.MILLISECONDS.toNanos(200),
                            "set",
                            new PlainCommand<>("GET", new String[] {"set"}, items -> (String) items.get(0)),
                            (reply, link) -> FailureKind.PERMANENT,
                            Failure::kind);
            assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo(FailureKind.UNKNOWN);

            way.complete(new Topology.Detour(topology.connected().get(0), false));

            // The server executes requests of one link in their order.
            topology.connected().get(0).ask(PlainCommand.TIME).get(60, TimeUnit.SECONDS);
            assertThat(SERVER.redis().info("commandstats")).contains("cmdstat_get:calls=1,");
        });
    }
}
