package io.leasehold.servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the wall clock of a real server moves, and no other clock. */
@Timeout(120)
@Tag("quick")
final class ClockShimTest {

    private static ClockShim shim;
    private static RedisServer server;

    @BeforeAll
    static void start() {
        try {
            shim = ClockShim.compile();
            server = RedisServer.builder()
                    .clock(shim.clock())
                    .appendOnly("always")
                    .start();
        } catch (ServerUnavailableException e) {
            abort("no clock of a server can be moved here: " + e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
        if (shim != null) {
            shim.close();
        }
    }

    /** The time by which the server's TIME is ahead of this process, in seconds; exact to a minute at any load. */
    private static double aheadSeconds() {
        String[] time = server.call("TIME").split("\\s+", -1);
        return Long.parseLong(time[0]) + Long.parseLong(time[1]) / 1e6 - System.currentTimeMillis() / 1e3;
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as(what)
                    .isLessThan(Duration.ofSeconds(60).toNanos());
            LockSupport.parkNanos(5_000_000);
        }
    }

    @Test
    void stepsMoveTheWallClockAndSoEndKeysEarlyOrLate() {
        server.clock().reset();
        assertThat(aheadSeconds()).isBetween(-60.0, 60.0);
        server.call("SET", "early", "x", "PX", "600000");
        server.clock().step(Duration.ofHours(1));
        assertThat(aheadSeconds()).isBetween(3_540.0, 3_660.0);
        assertThat(server.call("EXISTS", "early"))
                .as("ten minutes are over at once")
                .isEqualTo("0");
        server.call("SET", "late", "x", "PX", "600000");
        server.clock().step(Duration.ofHours(-2));
        assertThat(aheadSeconds()).isBetween(-3_660.0, -3_540.0);
        assertThat(Long.parseLong(server.call("PTTL", "late"))).isGreaterThan(2 * 3_600_000L);
        assertThat(server.clock().offset()).isEqualTo(Duration.ofHours(-1));
        server.restart();
        assertThat(aheadSeconds()).as("after a restart").isBetween(-3_660.0, -3_540.0);
        assertThat(Long.parseLong(server.call("INFO", "server")
                        .lines()
                        .filter(line -> line.startsWith("uptime_in_seconds:"))
                        .map(line -> line.substring(line.indexOf(':') + 1).strip())
                        .findFirst()
                        .orElseThrow()))
                .isLessThan(60);
    }

    @Test
    void aRateMakesTheClockRunAway() {
        server.clock().reset();
        server.clock().rate(1_000_000);
        double before = aheadSeconds();
        until("twice as fast, it gains a second", () -> aheadSeconds() - before > 1);
        server.clock().rate(0);
        Duration gained = server.clock().offset();
        assertThat(gained).isPositive();
        assertThat(server.clock().offset()).as("and keeps it").isEqualTo(gained);
        server.clock().reset();
        assertThat(server.clock().offset()).isZero();
    }

    @Test
    void aServerWithoutOneSaysSo() {
        try (RedisServer plain = RedisServer.start()) {
            assertThatThrownBy(plain::clock)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Builder.clock");
        }
        assertThat(Objects.requireNonNull(server).isRunning()).isTrue();
    }
}
