package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of what an exclusive lock costs each member of a set, also after readers have waited for it. */
@Timeout(120)
@Tag("quick")
final class MemberCommandsTest {

    private static final int PAIRS = 10;
    private static final LockName NAME = LockName.of("turn");
    /** Nine for a pair, so 45 over five members. */
    private static final Map<String, Long> PAIR =
            Map.of("evalsha", 2L, "time", 1L, "mget", 2L, "set", 2L, "exists", 1L, "del", 1L);

    private final String lock = KeyLayout.standard().lock(NAME);
    private RedlockServers servers;
    private LockClient client;
    private LockClient other;

    @BeforeEach
    void start() {
        servers = RedlockServers.start(3, "30s");
        servers.declareNew();
        client = connect();
        other = connect();
        // The first rounds connect and send the scripts' texts.
        pairs();
    }

    @AfterEach
    void stop() {
        client.close();
        other.close();
        servers.close();
    }

    private LockClient connect() {
        return Leasehold.builder().store(servers.uri()).connect();
    }

    private static SharedLock shared(LockClient client) {
        return client.readWrite(NAME.text())
                .with(options -> options.ttl(Duration.ofSeconds(30)).recheck(Duration.ofSeconds(9)));
    }

    private void pairs() {
        for (int i = 0; i < PAIRS; i++) {
            shared(client).write().acquireAsync().join().close();
        }
        NodeBench.until("it is free at the last member", () -> membersWith(lock) == 0);
    }

    private List<RedisServer> members() {
        return IntStream.range(0, servers.size()).mapToObj(servers::server).toList();
    }

    /** Asks with a command that no script of a pair uses. */
    private long membersWith(String key) {
        return members().stream()
                .filter(server -> !server.call("TYPE", key).strip().equals("none"))
                .count();
    }

    /** A member that answers late gets further requests, but not in every round. */
    private void pairsAreTheTwoShortScripts() {
        Map<String, Long> expected = new TreeMap<>();
        PAIR.forEach((command, count) -> expected.put(command, PAIRS * count));
        List<Map<String, Long>> counted = List.of();
        for (int round = 0; round < 5; round++) {
            counted = CommandCounts.during(members(), this::pairs).stream()
                    .map(CommandCounts::calls)
                    .toList();
            counted.forEach(calls -> calls.keySet().removeAll(List.of("type", "ping")));
            if (counted.stream().allMatch(expected::equals)) {
                return;
            }
        }
        assertThat(counted).containsOnly(expected);
    }

    @Test
    void aPairIsNineCommandsAtEachMember() {
        pairsAreTheTwoShortScripts();
    }

    /** What tells writers that a reader waits is gone with the last that waits. */
    @Test
    void aPairCostsTheSameOnceNoReaderWaits() throws Exception {
        WriteLease writer = shared(client).write().acquire();
        CompletableFuture<Lease> reader = shared(other).read().acquireAsync();
        NodeBench.until("it waits", () -> membersWith(KeyLayout.readersWait(lock)) == 3);
        writer.close();
        reader.get(5, TimeUnit.SECONDS).close();
        NodeBench.until("it is free", () -> membersWith(lock) == 0);
        pairsAreTheTwoShortScripts();

        writer = shared(client).write().acquire();
        reader = shared(other).read().acquireAsync();
        NodeBench.until("it waits", () -> membersWith(KeyLayout.readersWait(lock)) == 3);
        reader.cancel(false);
        NodeBench.until("it has left", () -> membersWith(KeyLayout.readWatchers(lock)) == 0);
        writer.close();
        NodeBench.until("it is free", () -> membersWith(lock) == 0);
        pairsAreTheTwoShortScripts();
    }
}
