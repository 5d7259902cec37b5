package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.heldOrReported;
import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of faults of one server during leases: after each fault, old and new clients soon acquire locks. */
@Timeout(120)
@Tag("full")
final class RedisServerFaultTest {

    private static final String KEY = "lock:{held}";

    @Test
    void aPlannedRestartWithItsFileNeitherLosesNorLengthensALease() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b.appendOnly("everysec"));
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held")
                    .with(o -> o.ttl(Duration.ofSeconds(40)).renewal(Renewal.none()))
                    .acquire();
            long started = System.nanoTime();
            long before = Long.parseLong(server.call("PTTL", KEY));

            server.stop();
            server.restart();

            long after = Long.parseLong(server.call("PTTL", KEY));
            long passedMillis = (System.nanoTime() - started) / 1_000_000;
            assertThat(after).as("not lost").isPositive();
            assertThat(after).as("not lengthened").isLessThanOrEqualTo(before);
            assertThat(after)
                    .as("not shortened by more than the time that passed")
                    .isGreaterThan(before - passedMillis - 50);
            assertThat(held.isValid()).isTrue();
            bench.obtainsSoon(server.uri(), client, "free");
            heldOrReported(held, bench.client(server.uri()), "held");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }

    @Test
    void aRestartWithoutDataIsReportedToTheHolder() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();

            server.restartEmpty();

            bench.obtainsSoon(server.uri(), client, "free");
            until("its holder knows", () -> !held.isValid());
            bench.obtainsSoon(server.uri(), client, "held");
            nothingIsHeld(List.of(server));
        }
    }

    @Test
    void pausedClientsGoOnWhenThePauseIsOver() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();

            server.call("CLIENT", "PAUSE", "1500");
            long start = System.nanoTime();
            client.named("free").attempt(Duration.ofSeconds(20)).orElseThrow().close();

            assertThat(System.nanoTime() - start).as("it was paused").isGreaterThan(1_000_000_000L);
            bench.obtainsSoon(server.uri(), client, "free", "other");
            heldOrReported(held, client, "held");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }

    @Test
    void aServerThatCannotSaveSaysSoAndServesAgainWhenItCan(@TempDir Path directory) throws Exception {
        try (RedisServer server =
                        RedisUnderTest.start(b -> b.directory(directory).config("save 3600 1000000"));
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();
            Path inTheWay = directory.resolve("dump.rdb");
            Files.deleteIfExists(inTheWay);
            Files.createDirectories(inTheWay.resolve("occupied"));
            server.call("BGSAVE");
            until("saving has failed", () -> server.call("INFO", "persistence").contains("rdb_last_bgsave_status:err"));

            assertThatThrownBy(() -> client.named("free").tryAcquire(Duration.ofMillis(300)))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("MISCONF")
                    .hasMessageContaining("disk");

            Files.delete(inTheWay.resolve("occupied"));
            Files.delete(inTheWay);
            server.call("BGSAVE");
            until("saving works", () -> server.call("INFO", "persistence").contains("rdb_last_bgsave_status:ok"));
            bench.obtainsSoon(server.uri(), client, "free");
            heldOrReported(held, client, "held");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }

    @Test
    void fullMemoryRefusesNewLocksAndKeepsOldOnes() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b.config("maxmemory-policy noeviction"));
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();
            server.call("CONFIG", "SET", "maxmemory", "1");

            assertThatThrownBy(() -> client.named("free").tryAcquire(Duration.ofMillis(300)))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("OOM");
            assertThat(held.isValid()).isTrue();

            server.call("CONFIG", "SET", "maxmemory", "0");
            bench.obtainsSoon(server.uri(), client, "free");
            heldOrReported(held, client, "held");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }

    @Test
    void aBusyScriptOfSomebodyElseEndsAndLocksGoOn() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();
            Thread busy = new Thread(() -> {
                try {
                    server.call("EVAL", "while true do end", "0");
                } catch (RuntimeException killed) {
                    // This is the normal end.
                }
            });
            busy.setDaemon(true);
            server.call(
                    "CONFIG",
                    "SET",
                    server.version().isAtLeast(7, 0) ? "busy-reply-threshold" : "lua-time-limit",
                    "50");
            busy.start();
            until("it is busy", () -> isBusy(server));
            assertThatThrownBy(() -> client.named("free").tryAcquire(Duration.ofMillis(300)))
                    .isInstanceOf(io.leasehold.LockStoreException.class);

            server.call("SCRIPT", "KILL");
            // The script ends a moment after the answer, and a client that connects before that is refused.
            until("the script has ended", () -> !isBusy(server));

            bench.obtainsSoon(server.uri(), client, "free");
            heldOrReported(held, client, "held");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }

    private static boolean isBusy(RedisServer server) {
        try {
            server.call("PING");
            return false;
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage()).contains("BUSY");
        }
    }

    @Test
    void forgottenScriptsAreSentAnew() throws InterruptedException {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(server.uri());
            Lease held = client.named("held").acquire();

            server.call("SCRIPT", "FLUSH");

            bench.obtainsSoon(server.uri(), client, "free");
            server.call("SCRIPT", "FLUSH");
            held.renew();
            server.call("SCRIPT", "FLUSH");
            held.close();
            nothingIsHeld(List.of(server));
        }
    }
}
