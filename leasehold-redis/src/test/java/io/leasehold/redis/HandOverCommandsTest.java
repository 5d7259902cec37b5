package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a server carries out for a lock that goes from one process to another, told by its own counts. */
@Timeout(120)
@Tag("quick")
final class HandOverCommandsTest {

    private static final int ROUNDS = 20;
    private static final String KEY = "lock:{hot}";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    /** Nobody asks again by itself meanwhile. */
    private static LockClient client() {
        return Leasehold.builder()
                .store(SERVER.server().uri())
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMinutes(4)))
                .connect();
    }

    /** Its own commands, and the questions of this test, are not the scripts'. */
    private static Map<String, Long> ofScripts(CommandCounts counts) {
        return counts.calls().entrySet().stream()
                .filter(count ->
                        !List.of("evalsha", "eval", "ping", "get", "info").contains(count.getKey()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    @Test
    void joiningTheQueueReleaseAndConfirmationAreSixteenCommandsInThreeScripts() throws Exception {
        try (LockClient one = client();
                LockClient other = client()) {
            LockClient[] clients = {one, other};
            Lease[] held = {one.named("hot").acquire()};
            // The first rounds subscribe, send the scripts' texts and try the common case.
            for (int i = 0; i < 4; i++) {
                handOver(clients[(i + 1) % 2], held);
            }
            CommandCounts counts = CommandCounts.during(List.of(SERVER.server()), () -> {
                        for (int i = 0; i < ROUNDS; i++) {
                            handOver(clients[(i + 1) % 2], held);
                        }
                    })
                    .get(0);
            held[0].close();
            assertThat(counts.of("evalsha")).isEqualTo(3 * ROUNDS);
            Map<String, Long> commands = ofScripts(counts);
            assertThat(commands.values().stream().mapToLong(count -> count).sum())
                    .as("%s", commands)
                    .isLessThanOrEqualTo(16 * ROUNDS);
            assertThat(commands.get("mget")).isEqualTo(3 * ROUNDS);
        }
    }

    private static void handOver(LockClient next, Lease[] held) {
        CompletableFuture<Lease> waiting = next.named("hot").acquireAsync();
        until(
                "it waits",
                () -> StoredQueue.of(SERVER.redis().get(KEY + ":queued"))
                                .waiters()
                                .size()
                        == 1);
        held[0].close();
        held[0] = waiting.orTimeout(60, TimeUnit.SECONDS).join();
    }
}
