package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that connections are closed once and that those that ended by themselves are not kept. */
@Tag("quick")
class DriverTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static RedisUri server() {
        return RedisUri.parse(StoreUri.parse(SERVER.server().uri()));
    }

    /** The proxy for them has more than a thousand methods. */
    @Test
    void aConnectionHasNoBlockingCommands() throws Exception {
        LettuceDriver driver = new LettuceDriver(server(), new DriverThreads());
        try {
            assertThat(driver.connectOnce(server()).get(60, TimeUnit.SECONDS).sync())
                    .isNull();
        } finally {
            driver.close();
        }
    }

    private static Set<?> kept(LettuceDriver driver) throws ReflectiveOperationException {
        Field client = LettuceDriver.class.getDeclaredField("client");
        client.setAccessible(true);
        Field closeables = AbstractRedisClient.class.getDeclaredField("closeableResources");
        closeables.setAccessible(true);
        return (Set<?>) closeables.get(client.get(driver));
    }

    @Test
    void endingTwiceAndThenClosingWarnsOfNothing() throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            for (int i = 0; i < 20; i++) {
                LettuceDriver driver = new LettuceDriver(server(), new DriverThreads());
                RedisConnection connection = driver.connect(server()).get(60, TimeUnit.SECONDS);
                PushConnection pushes = driver.connectForPushes(server()).get(60, TimeUnit.SECONDS);
                connection.close();
                connection.close();
                driver.close();
                // As when a subscription fails because of the close.
                pushes.close();
            }
        } finally {
            System.setErr(before);
        }
        assertThat(log.toString(StandardCharsets.UTF_8)).doesNotContain("already closed");
    }

    @Test
    void aConnectionThatEndedByItselfIsNotKept() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        LettuceDriver driver = new LettuceDriver(server(), new DriverThreads());
        keepsOnlyOne(driver, driver, runtime);
    }

    @Test
    void aSharedConnectionThatEndedByItselfIsNotKept() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        LettuceDriver driver = new LettuceDriver(server(), new DriverThreads());
        keepsOnlyOne(new SharedDriver(new SharedDriver.Shared(driver), runtime, driver::close), driver, runtime);
    }

    private static void keepsOnlyOne(Driver client, LettuceDriver driver, LockRuntime runtime) throws Exception {
        try (Connections connections = new Connections(
                client,
                Connections.Locator.fixed(server()),
                Expectation.SERVER,
                "node",
                new RedisErrors("node"),
                runtime)) {
            connections.open().get(60, TimeUnit.SECONDS);
            for (int i = 0; i < 5; i++) {
                Link link = connections.current();
                SERVER.redis().clientKill(io.lettuce.core.KillArgs.Builder.skipme());
                long start = System.nanoTime();
                while (connections.current() == null || connections.current() == link) {
                    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
                    LockSupport.parkNanos(1_000_000);
                }
            }
            long start = System.nanoTime();
            while (kept(driver).size() > 1) {
                assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
                LockSupport.parkNanos(1_000_000);
            }
        } finally {
            client.close();
            runtime.close();
        }
    }

    /**
     * The threads of the application's client keep running: a connection after the close would stay open permanently.
     */
    @Test
    void whatComesAfterTheCloseIsEnded() throws Exception {
        RedisClient client = RedisClient.create();
        LockRuntime runtime = new SystemLockRuntime();
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            RedisUri late = LettuceUris.read(RedisURI.create("127.0.0.1", proxy.port()), KeyLayout.standard())
                    .askingForLogin();
            CompletableFuture<Credentials> login = new CompletableFuture<>();
            LettuceDriver driver = LettuceDriver.over(client, Deployment.of(late));
            driver.logInWith(new CredentialsDesk(login::get, "the server", runtime));
            List<CompletableFuture<?>> connections = List.of(driver.connect(late), driver.connectForPushes(late));
            driver.close();
            login.complete(Credentials.of("app", "s3cret"));
            for (CompletableFuture<?> connection : connections) {
                assertThatThrownBy(() -> connection.get(60, TimeUnit.SECONDS))
                        .isInstanceOf(java.util.concurrent.ExecutionException.class);
            }
            assertThat(proxy.connections().accepted()).isZero();
            assertThatThrownBy(() -> driver.connectForPushes(late).get(60, TimeUnit.SECONDS))
                    .hasMessageContaining("closed");
            assertThatThrownBy(() -> driver.connect(late).get(60, TimeUnit.SECONDS))
                    .hasMessageContaining("closed");
        } finally {
            runtime.close();
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    /** The handshake is under way when the driver is closed. */
    @Test
    void whatIsBeingConnectedToDuringTheCloseIsEnded() throws Exception {
        SERVER.server().call("ACL", "SETUSER", "app", "on", ">s3cret", "+@all");
        RedisClient client = RedisClient.create();
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            RedisUri slow = LettuceUris.read(
                    RedisURI.create("redis://app:s3cret@127.0.0.1:" + proxy.port()), KeyLayout.standard());
            LettuceDriver driver = LettuceDriver.over(client, Deployment.of(slow));
            proxy.toClient().stall();
            CompletableFuture<?> connection = driver.connect(slow);
            until(() -> proxy.connections().accepted() == 1);
            driver.close();
            proxy.resume();

            assertThatThrownBy(() -> connection.get(60, TimeUnit.SECONDS))
                    .isInstanceOf(java.util.concurrent.ExecutionException.class);
            until(() -> proxy.connections().open() == 0);
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    /** The thread stays interrupted: once after the connections, once after the threads. */
    @Test
    void anInterruptDuringTheCloseIsKept() throws Exception {
        DriverThreads threads = new DriverThreads();
        LettuceDriver driver = new LettuceDriver(server(), threads);
        driver.connect(server()).get(60, TimeUnit.SECONDS);
        // Another driver uses the threads, so the first close does not end them.
        threads.use();
        Thread.currentThread().interrupt();
        driver.close();
        assertThat(Thread.interrupted()).as("after the connections").isTrue();
        Thread.currentThread().interrupt();
        threads.release();
        assertThat(Thread.interrupted()).as("after the threads").isTrue();
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** As when its credentials arrive late: the caller has already got the failure. */
    @Test
    void aConnectionThatComesAfterItsTimeIsEnded() throws Exception {
        WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
        runtime.hurry(0, TimeUnit.MILLISECONDS.toNanos(1));
        LettuceDriver driver = new LettuceDriver(server(), new DriverThreads());
        try {
            CompletableFuture<PushConnection> connecting = new CompletableFuture<>();
            Driver slow = (Driver) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Driver.class}, (self, method, given) -> connecting);
            CompletableFuture<?> limited = StepLimit.ofPushes(slow, server(), new RedisErrors("node"), runtime);
            assertThatThrownBy(() -> limited.get(60, TimeUnit.SECONDS)).hasMessageContaining("in time");
            PushConnection late = driver.connectForPushes(server()).get(60, TimeUnit.SECONDS);

            connecting.complete(late);

            until(() -> !late.isOpen());
        } finally {
            driver.close();
            runtime.close();
        }
    }

    /** Lettuce's own connections resend it after a reconnect; then the second one finds the key. */
    @Test
    void overAClientThatReconnectsNothingIsSentTwice() throws Exception {
        for (AbstractRedisClient client :
                List.<AbstractRedisClient>of(RedisClient.create(), RedisClusterClient.create("redis://127.0.0.1"))) {
            assertThat(client.getOptions().isAutoReconnect()).isTrue();
            try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
                RedisUri through = LettuceUris.read(RedisURI.create("127.0.0.1", proxy.port()), KeyLayout.standard());
                LettuceDriver driver = LettuceDriver.over(client, Deployment.of(through));
                StatefulRedisConnection<String, String> connection =
                        driver.connectOnce(through).get(60, TimeUnit.SECONDS);
                String key = "once:" + client.getClass().getSimpleName();
                proxy.loseNextReplyTo(request -> request.contains(key));
                RedisFuture<Long> asked = connection.async().incr(key);
                assertThatThrownBy(() -> asked.get(60, TimeUnit.SECONDS))
                        .isInstanceOf(java.util.concurrent.ExecutionException.class);
                // "Not connected", or the end of the channel if the driver is still processing that.
                assertThatThrownBy(() -> connection.async().incr(key).get(60, TimeUnit.SECONDS))
                        .isInstanceOf(java.util.concurrent.ExecutionException.class);
                // Another one would need a separate connection.
                driver.connect(through)
                        .get(60, TimeUnit.SECONDS)
                        .ask(PlainCommand.TIME)
                        .get(60, TimeUnit.SECONDS);
                assertThat(SERVER.redis().get(key)).isEqualTo("1");
                assertThat(proxy.connections().accepted()).isEqualTo(2);
                driver.close();
            } finally {
                client.shutdown(0, 2, TimeUnit.SECONDS);
            }
        }
    }
}
