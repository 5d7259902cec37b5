package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.KillArgs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How long a lost connection is not tried again at most, whatever the machine: less than 2 s in all. */
@Timeout(120)
class ReconnectTest {

    private static final long PROMISED_NANOS = TimeUnit.SECONDS.toNanos(2);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Driver driver = new Driver(real(), new DriverThreads());
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
        Connections connections = new Connections(
                driver,
                () -> {
                    asked.incrementAndGet();
                    return CompletableFuture.completedFuture(place);
                },
                Expectation.SERVER,
                "node",
                new RedisErrors("node"),
                runtime);
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

    /** Accepts, as the kernel does for a frozen process, and says nothing. */
    private static ServerSocket silent() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    @Test
    void theLongestPauseAndTheLongestPatienceAreBelowTwoSecondsTogether() throws Exception {
        try (ServerSocket silent = silent();
                Connections connections = connected()) {
            int before = runtime.delays().size();
            try (ServerSocket gone = silent()) {
                place = at(gone);
            }
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            int refused = asked.get() + 10;
            until(() -> asked.get() >= refused);
            long longestPause =
                    longest(runtime.delays().subList(before, runtime.delays().size()));
            place = at(silent);
            int unanswered = asked.get() + 3;
            until(() -> asked.get() >= unanswered);
            long longestPatience =
                    longest(runtime.delays().subList(before, runtime.delays().size()));

            assertThat(longestPause + longestPatience)
                    .as("tried and not answered a moment too early, then paused")
                    .isLessThan(PROMISED_NANOS);

            place = real();
            until(() -> connections.current() != null);
        }
    }

    private static long longest(List<Long> delays) {
        return delays.stream().mapToLong(Long::longValue).max().orElseThrow();
    }

    @Test
    void whereTheServerIsKnownToBeIsGoneToAtOnce() throws Exception {
        runtime.close();
        runtime = watched(delay -> delay < Connections.ANSWER_AGAIN_NANOS);
        try (ServerSocket silent = silent();
                Connections connections = connected()) {
            place = at(silent);
            int before = asked.get();
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            until(() -> asked.get() > before);

            place = real();
            until(() -> {
                connections.leaveUnlessAt(real());
                return connections.current() != null;
            });
            assertThat(connections.current()).isNotNull();
        }
    }

    @Test
    void aSubscriptionThatIsNotAnsweredIsTriedElsewhere() throws Exception {
        try (ServerSocket silent = silent()) {
            place = at(silent);
            Subscriptions subscriptions = new Subscriptions(
                    driver,
                    () -> {
                        asked.incrementAndGet();
                        return CompletableFuture.completedFuture(place);
                    },
                    "somewhere",
                    "wake-ups",
                    new RedisErrors("node"),
                    runtime,
                    message -> {});
            CompletableFuture<Boolean> first = subscriptions.started("");
            assertThat(first.get(60, TimeUnit.SECONDS)).as("nobody said yes").isFalse();
            place = real();
            until(() -> subscriptions.isLive(""));
            subscriptions.close();
        }
    }
}
