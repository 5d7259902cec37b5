package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The session timeout that a ttl needs, so that all of it is sure. */
@Tag("quick")
class SessionTimesTest {

    @ParameterizedTest
    @CsvSource({
        // The leader may not have heard of a third of the timeout, and of a tick.
        "1,     0,    2",
        "2,     0,    3",
        "1000,  0,    1500",
        "18000, 2000, 30000",
        // The driver pings at least every 10 s.
        "20000, 0,    30000",
        "20001, 0,    30001",
        "18001, 2000, 30001",
        "30000, 2000, 42000"
    })
    void aWholeTtlIsSure(long ttlMillis, long tickMillis, int timeoutMillis) {
        Duration tick = Duration.ofMillis(tickMillis);
        long ttlNanos = Duration.ofMillis(ttlMillis).toNanos();
        assertThat(Session.timeoutMillisFor(ttlNanos, tick)).isEqualTo(timeoutMillis);
        assertThat(timeoutMillis - Math.min(timeoutMillis / 3, 10_000) - tickMillis)
                .as("what is sure of it")
                .isGreaterThanOrEqualTo(ttlMillis);
    }

    @Test
    void aPartOfAMillisecondCounts() {
        assertThat(Session.timeoutMillisFor(30_000_000_001L, Duration.ZERO)).isEqualTo(40_001);
        assertThat(Session.timeoutMillisFor(30_000_000_000L, Duration.ZERO)).isEqualTo(40_000);
    }

    @Test
    void noTimeoutIsBeyondWhatZooKeeperKnows() {
        assertThat(Session.timeoutMillisFor(Duration.ofDays(100).toNanos(), Duration.ofSeconds(2)))
                .isEqualTo(Integer.MAX_VALUE);
    }
}
