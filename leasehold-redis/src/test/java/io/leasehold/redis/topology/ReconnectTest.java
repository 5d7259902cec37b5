package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.KillArgs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that a lost connection is retried after less than 2 s in all, on a machine of any speed. */
@Timeout(120)
@Tag("full")
class ReconnectTest {

    private static final long PROMISED_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Before the first try. */
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Driver driver = new LettuceDriver(real(), new DriverThreads());
    private final AtomicInteger asked = new AtomicInteger();
    private WatchedRuntime runtime = watched(delay -> true);
    private volatile RedisUri place = real();

    private static WatchedRuntime watched(LongPredicate happens) {
        return new WatchedRuntime(new SystemLockRuntime(), happens);
    }

    private static RedisUri real() {
        return RedisUri.parse(StoreUri.parse(SERVER.server().uri()));
    }

    private static RedisUri at(ServerSocket socket) {
        return RedisUri.parse(StoreUri.parse("redis://127.0.0.1:" + socket.getLocalPort()));
    }

    @AfterEach
    void close() {
        driver.close();
        runtime.close();
    }

    private Connections connected() throws Exception {
        return connected(() -> {
            asked.incrementAndGet();
            return CompletableFuture.completedFuture(place);
        });
    }

    private Connections connected(Connections.Locator locator) throws Exception {
        Connections connections =
                new Connections(driver, locator, Expectation.SERVER, "node", new RedisErrors("node"), runtime);
        connections.open().get(60, TimeUnit.SECONDS);
        return connections;
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** A server that accepts connections, as the kernel does for a frozen process, and does not answer. */
    private static ServerSocket silent() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    /** Timers of two seconds or more do not fire here, so every observed try comes sooner. */
    @Test
    void aTryFollowsTheOneBeforeWithinTwoSeconds() throws Exception {
        runtime.close();
        runtime = watched(delay -> delay < PROMISED_NANOS);
        try (ServerSocket silent = silent();
                Connections connections = connected()) {
            int before = runtime.delays().size();
            try (ServerSocket gone = silent()) {
                place = at(gone);
            }
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            int refused = asked.get() + 10;
            until(() -> asked.get() >= refused);
            place = at(silent);
            int unanswered = asked.get() + 3;
            until(() -> asked.get() >= unanswered);
            List<Long> delays = runtime.delays();

            assertThat(Connections.PATIENCE_NANOS + longestPause(delays.subList(before, delays.size())))
                    .as("a try that failed at the last moment, and the pause before the next one")
                    .isLessThan(PROMISED_NANOS);

            place = real();
            until(() -> connections.current() != null);
        }
    }

    private static long longestPause(List<Long> delays) {
        return delays.stream()
                .mapToLong(Long::longValue)
                .filter(delay -> delay < Connections.PATIENCE_NANOS)
                .max()
                .orElseThrow();
    }

    @Test
    void whereTheServerIsKnownToBeIsGoneToAtOnce() throws Exception {
        runtime.close();
        runtime = watched(delay -> delay < Connections.PATIENCE_NANOS);
        try (ServerSocket silent = silent();
                Connections connections = connected()) {
            place = at(silent);
            int before = asked.get();
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            until(() -> asked.get() > before);

            place = real();
            until(() -> {
                int tries = asked.get();
                connections.leaveUnlessAt(real());
                return asked.get() > tries;
            });
            until(() -> connections.current() != null);
        }
    }

    /**
     * A try that takes longer than a second is not given up: on a slow network it may be the only one that succeeds.
     */
    @Test
    void whoIsSlowIsNotGivenUp() throws Exception {
        runtime.close();
        runtime = watched(delay -> delay < PROMISED_NANOS);
        List<CompletableFuture<RedisUri>> ways = new CopyOnWriteArrayList<>();
        try (Connections connections = connected(() -> {
            if (asked.incrementAndGet() == 1) {
                return CompletableFuture.completedFuture(real());
            }
            CompletableFuture<RedisUri> way = new CompletableFuture<>();
            ways.add(way);
            return way;
        })) {
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            until(() -> ways.size() == 3);
            ways.get(0).complete(real());
            until(() -> connections.current() != null);
            Link link = connections.current();
            ways.subList(1, 3).forEach(way -> way.complete(real()));
            assertThat(connections.current()).isSameAs(link);
        }
    }

    @Test
    void aSubscriptionThatIsNotAnsweredIsMadeAnew() throws Exception {
        try (ForgetfulServer server = new ForgetfulServer("somewhere")) {
            Subscriptions subscriptions = new Subscriptions(
                    driver,
                    Connections.Locator.fixed(RedisUri.parse(StoreUri.parse("redis://127.0.0.1:" + server.port()))),
                    "somewhere",
                    "wake-ups",
                    new RedisErrors("node"),
                    runtime,
                    message -> {});
            CompletableFuture<Boolean> first = subscriptions.started("");
            assertThat(first.get(60, TimeUnit.SECONDS)).as("the first try").isFalse();
            until(() -> subscriptions.isLive(""));
            subscriptions.close();
        }
    }

    /** As when the Sentinels name another master while the subscription to the former one is being made. */
    @Test
    void aSubscriptionThatIsMadeAtAFormerPlaceIsMadeAnew() throws Exception {
        String channel = "moved";
        try (RedisServer other = RedisUnderTest.start(b -> b)) {
            RedisUri elsewhere = RedisUri.parse(StoreUri.parse(other.uri()));
            CompletableFuture<RedisUri> former = new CompletableFuture<>();
            Subscriptions subscriptions = new Subscriptions(
                    driver,
                    new Connections.Locator() {
                        @Override
                        public CompletableFuture<RedisUri> locate() {
                            return asked.getAndIncrement() == 0 ? former : CompletableFuture.completedFuture(elsewhere);
                        }

                        @Override
                        public boolean isStill(RedisUri server) {
                            return server.address().equals(place.address());
                        }
                    },
                    channel,
                    "wake-ups",
                    new RedisErrors("node"),
                    runtime,
                    message -> {});
            assertThat(subscriptions.started("")).isNotDone();
            place = elsewhere;
            subscriptions.leaveUnlessStillThere();
            former.complete(real());

            until(() -> other.call("PUBSUB", "CHANNELS", channel).equals(channel));
            until(() -> SERVER.redis().pubsubChannels(channel).isEmpty());
            subscriptions.close();
        }
    }

    /** After any number of tries for the previous link. */
    @Test
    void eachLossIsFollowedByATryAtOnce() throws Exception {
        try (Connections connections = connected()) {
            for (int i = 0; i < 2; i++) {
                try (ServerSocket gone = silent()) {
                    place = at(gone);
                }
                int before = runtime.delays().size();
                int refused = asked.get() + 6;
                SERVER.redis().clientKill(KillArgs.Builder.skipme());
                until(() -> asked.get() >= refused);

                assertThat(firstPause(before)).isLessThanOrEqualTo(FIRST_NANOS);

                place = real();
                until(() -> connections.current() != null);
            }
        }
    }

    @Test
    void eachLossOfASubscriptionIsFollowedByATryAtOnce() throws Exception {
        Subscriptions subscriptions = new Subscriptions(
                driver,
                () -> {
                    asked.incrementAndGet();
                    return CompletableFuture.completedFuture(place);
                },
                "again",
                "wake-ups",
                new RedisErrors("node"),
                runtime,
                message -> {});
        assertThat(subscriptions.started("").get(60, TimeUnit.SECONDS)).isTrue();
        for (int i = 0; i < 2; i++) {
            try (ServerSocket gone = silent()) {
                place = at(gone);
            }
            int before = runtime.delays().size();
            int refused = asked.get() + 6;
            SERVER.server().call("CLIENT", "KILL", "TYPE", "pubsub");
            until(() -> asked.get() >= refused);

            assertThat(firstPause(before)).isLessThanOrEqualTo(FIRST_NANOS);

            place = real();
            until(() -> subscriptions.isLive(""));
        }
        subscriptions.close();
    }

    /** It is closed during the try: its caller gets the failure at once, and no connection is left. */
    @Test
    void aSubscriptionThatIsClosedWhileItIsBeingMadeLeavesNothing() throws Exception {
        CompletableFuture<RedisUri> way = new CompletableFuture<>();
        Subscriptions subscriptions = new Subscriptions(
                driver, () -> way, "closed", "wake-ups", new RedisErrors("node"), runtime, message -> {});
        CompletableFuture<Boolean> first = subscriptions.started("");
        assertThat(first).isNotDone();
        long before = subscribed();

        subscriptions.close();

        assertThat(first.get(60, TimeUnit.SECONDS)).isFalse();
        way.complete(real());
        until(() -> subscribed() > before);
        until(() -> SERVER.redis().pubsubChannels("closed").isEmpty());
        assertThat(subscriptions.isLive("")).isFalse();
    }

    private static long subscribed() {
        return SERVER.server()
                .call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_subscribe:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*:calls=(\\d+),.*", "$1")))
                .sum();
    }

    private long firstPause(int before) {
        List<Long> delays = runtime.delays();
        return delays.subList(before, delays.size()).stream()
                .filter(delay -> delay < Connections.PATIENCE_NANOS)
                .findFirst()
                .orElseThrow();
    }
}
