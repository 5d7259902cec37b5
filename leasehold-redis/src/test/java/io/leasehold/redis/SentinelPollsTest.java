package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockClient;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the number of questions to Sentinels: during an election, questions cost them time. */
@Timeout(180)
@Tag("full")
final class SentinelPollsTest {

    private static final int ATTEMPTS = 1_000;
    private static final int FEW = 100;
    private static final AtomicInteger NAMES = new AtomicInteger();

    private static long connectionsTo(RedisSentinel sentinel) {
        String field = "total_connections_received:";
        return sentinel.call("INFO", "stats")
                .lines()
                .filter(line -> line.startsWith(field))
                .mapToLong(line -> Long.parseLong(line.substring(field.length()).strip()))
                .findFirst()
                .orElseThrow();
    }

    /** No replica can take over, so the master stays frozen until all attempts have failed. */
    @Test
    void aThousandAttemptsAtAFrozenMasterAskEachSentinelAFewTimes() {
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member.config("replica-priority 0"));
                TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(group.uri());
            List<Long> before = group.sentinels().stream()
                    .map(SentinelPollsTest::connectionsTo)
                    .toList();
            group.primary().freeze();
            try {
                List<CompletableFuture<?>> attempts = IntStream.range(0, ATTEMPTS)
                        .<CompletableFuture<?>>mapToObj(i -> attempt(client))
                        .toList();
                attempts.forEach(CompletableFuture::join);
            } finally {
                group.servers().get(0).thaw();
            }
            for (int i = 0; i < before.size(); i++) {
                long made = connectionsTo(group.sentinels().get(i)) - before.get(i);
                assertThat(made)
                        .as("connections to %s", group.sentinels().get(i))
                        .isLessThan(FEW);
            }
        }
    }

    private static CompletableFuture<?> attempt(LockClient client) {
        return client.named("n" + NAMES.incrementAndGet())
                .attemptAsync(Duration.ofMillis(100))
                .handle((attempt, error) -> error);
    }
}
