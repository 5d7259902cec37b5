package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the silence of a connection, with a clock that the test advances. */
@Tag("quick")
final class LinkTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime real = new SystemLockRuntime();
    private final AtomicLong laterNanos = new AtomicLong();
    private final LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
            LinkTest.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                Object answer = method.invoke(real, arguments);
                return method.getName().equals("nanoTime") ? (Long) answer + laterNanos.get() : answer;
            });
    private final RedisUri place = RedisUri.parse(StoreUri.parse(SERVER.server().uri()));
    private final Driver driver = new LettuceDriver(place, new DriverThreads());

    @AfterEach
    void close() {
        driver.close();
        real.close();
    }

    private Link link() throws Exception {
        return new Connections(
                        driver,
                        Connections.Locator.fixed(place),
                        Expectation.SERVER,
                        "node",
                        new RedisErrors("node"),
                        runtime)
                .open()
                .get(60, TimeUnit.SECONDS);
    }

    private static <T> CompletableFuture<Throwable> asked(Link link, PlainCommand<T> command) {
        CompletableFuture<Throwable> answered = new CompletableFuture<>();
        link.<T>send(command, (reply, error) -> answered.complete(error));
        return answered;
    }

    private void passes(long millis) {
        laterNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /**
     * A server that loads its data or is full answers like this for minutes; one late answer does not close the
     * connection then.
     */
    @Test
    void anErrorIsAnAnswer() throws Exception {
        SERVER.redis().sadd("set", "member");
        Link link = link();
        assertThat(asked(link, new PlainCommand<>("GET", new String[] {"set"}, items -> (String) items.get(0)))
                        .get(60, TimeUnit.SECONDS))
                .hasMessageContaining("WRONGTYPE");

        passes(10_000);
        link.unanswered();

        assertThat(asked(link, PlainCommand.TIME).get(60, TimeUnit.SECONDS)).isNull();
    }

    @Test
    void silenceCountsFromTheFirstRequestWithoutAnAnswer() throws Exception {
        Link link = link();
        asked(link, PlainCommand.TIME).get(60, TimeUnit.SECONDS);
        passes(10_000);
        SERVER.server().freeze();
        try {
            CompletableFuture<Throwable> first = asked(link, PlainCommand.TIME);
            passes(2_000);
            link.unanswered();
            CompletableFuture<Throwable> second = asked(link, PlainCommand.TIME);
            assertThat(link.isOpen()).isTrue();
            passes(1_100);

            link.unanswered();

            assertThat(first.get(60, TimeUnit.SECONDS)).isNotNull();
            assertThat(second.get(60, TimeUnit.SECONDS)).isNotNull();
            assertThat(link.isOpen()).isFalse();
        } finally {
            SERVER.server().thaw();
        }
    }

    /** A request may wait for an earlier {@code WAIT} and then for its own: that is not silence. */
    @Test
    void aServerThatWaitsForReplicasIsNotSilent() throws Exception {
        RedisUri waiting = RedisUri.parse(StoreUri.parse(SERVER.server().uri() + "?waitReplicas=1&waitTimeout=2s"));
        Link link = new Connections(
                        driver,
                        Connections.Locator.fixed(waiting),
                        Expectation.SERVER,
                        "node",
                        new RedisErrors("node"),
                        runtime)
                .open()
                .get(60, TimeUnit.SECONDS);
        SERVER.server().freeze();
        try {
            CompletableFuture<Throwable> answered = new CompletableFuture<>();
            link.runAcknowledged(
                    new ScriptCall(LuaScript.INSPECT, new String[] {"lock:{x}"}, new String[0]),
                    () -> true,
                    (reply, error) -> answered.complete(error));
            passes(6_900);
            link.unanswered();
            assertThat(link.isOpen()).isTrue();
            passes(100);

            link.unanswered();

            assertThat(answered.get(60, TimeUnit.SECONDS)).isNotNull();
            assertThat(link.isOpen()).isFalse();
        } finally {
            SERVER.server().thaw();
        }
    }

    @Test
    void aLinkThatWasNotMadeForItWaitsForNoReplicas() throws Exception {
        CompletableFuture<Throwable> answered = new CompletableFuture<>();
        link().runAcknowledged(
                        new ScriptCall(LuaScript.INSPECT, new String[] {"lock:{x}"}, new String[0]),
                        () -> true,
                        (reply, error) -> answered.complete(error));
        assertThat(answered.get(60, TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
    }
}
