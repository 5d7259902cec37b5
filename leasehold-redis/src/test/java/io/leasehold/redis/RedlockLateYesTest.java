package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests 1,000 times, with delays of a proxy, that a yes after the answer leaves no wrong key. The ttl is two minutes,
 * so that a key that is soon gone was removed and has not expired.
 */
@Timeout(180)
@Tag("full")
final class RedlockLateYesTest {

    private static final int TIMES = 1_000;
    private static final Duration TTL = Duration.ofMinutes(2);

    private static RedlockServers servers;

    private LockClient locks;
    private LockClient rival;

    @BeforeAll
    static void start() {
        servers = RedlockServers.start(5, "120s", "2s");
        servers.declareNew();
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @BeforeEach
    void open() throws InterruptedException {
        locks = client();
        rival = client();
        locks.named("known").acquire().close();
        rival.named("known").acquire().close();
    }

    @AfterEach
    void close() {
        for (int node = 0; node < 5; node++) {
            servers.proxy(node).delay(Duration.ZERO);
        }
        locks.close();
        rival.close();
    }

    private static LockClient client() {
        return Leasehold.builder()
                .store(servers.uriOverProxies())
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect();
    }

    private static int keys(RedisServer server, String glob) {
        return (int) server.call("KEYS", "lock:{" + glob + "}")
                .lines()
                .filter(line -> line.contains("lock:{"))
                .count();
    }

    private static int keys(String glob) {
        int found = 0;
        for (int node = 0; node < 5; node++) {
            found += keys(servers.server(node), glob);
        }
        return found;
    }

    /** The number of deletions at the server. */
    private static long deletions(RedisServer server) {
        return server.call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_del:calls="))
                .mapToLong(line -> Long.parseLong(line.substring("cmdstat_del:calls=".length(), line.indexOf(','))))
                .sum();
    }

    /** One second is enough on an idle machine; a busy machine has half a minute, a quarter of the ttl. */
    private static void soonNoKey(String glob) {
        long start = System.nanoTime();
        while (keys(glob) > 0) {
            assertThat(System.nanoTime() - start).as("keys are left").isLessThan(TimeUnit.SECONDS.toNanos(30));
            LockSupport.parkNanos(10_000_000);
        }
        System.out.printf("late yes: the last key was gone %d ms after the last answer%n", millisSince(start));
    }

    private static long millisSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1_000_000;
    }

    /** The lock is won and released before the two slow nodes have answered; every tenth time two clients compete. */
    @Test
    void afterAWonAttempt() throws Exception {
        servers.proxy(1).delay(Duration.ofMillis(15));
        servers.proxy(3).toClient().delay(Duration.ofMillis(25));
        for (int i = 0; i < TIMES; i++) {
            String name = "late-" + i;
            if (i % 10 == 0) {
                var mine = locks.named(name).attemptAsync(Duration.ZERO);
                var theirs = rival.named(name).attemptAsync(Duration.ZERO);
                giveBack(mine.get(60, TimeUnit.SECONDS));
                giveBack(theirs.get(60, TimeUnit.SECONDS));
            } else {
                locks.named(name).acquire().close();
            }
        }
        soonNoKey("late-*");
    }

    private static void giveBack(Attempt<Lease> attempt) {
        if (attempt instanceof Attempt.Acquired<Lease> acquired) {
            acquired.lease().close();
        }
    }

    /** The round is lost, since another client holds three nodes, before the two slow and free ones say yes. */
    @Test
    void afterALostAttempt() throws Exception {
        for (int node = 0; node < 3; node++) {
            servers.server(node)
                    .call(
                            "EVAL",
                            "for i = 0, " + (TIMES - 1)
                                    + " do redis.call('SET', 'lock:{lost-' .. i .. '}', 'a stranger', 'PX', 900000)"
                                    + " end",
                            "0");
        }
        long deletedAtFour = deletions(servers.server(3));
        long deletedAtFive = deletions(servers.server(4));
        servers.proxy(3).delay(Duration.ofMillis(10));
        servers.proxy(4).toClient().delay(Duration.ofMillis(20));
        for (int i = 0; i < TIMES; i++) {
            assertThat(locks.named("lost-" + i).attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
        }
        long start = System.nanoTime();
        while (keys(servers.server(3), "lost-*") + keys(servers.server(4), "lost-*") > 0) {
            assertThat(System.nanoTime() - start).as("wrong keys are left").isLessThan(TimeUnit.SECONDS.toNanos(30));
            LockSupport.parkNanos(10_000_000);
        }
        System.out.printf("late yes: the last wrong key was gone %d ms after the last answer%n", millisSince(start));
        assertThat(deletions(servers.server(3)) - deletedAtFour)
                .as("they were there, but where a busy machine sent the undo first")
                .isBetween(TIMES - TIMES / 20L, (long) TIMES);
        assertThat(deletions(servers.server(4)) - deletedAtFive)
                .as("they were there, but where a busy machine sent the undo first")
                .isBetween(TIMES - TIMES / 20L, (long) TIMES);
        for (int node = 0; node < 3; node++) {
            assertThat(keys(servers.server(node), "lost-*"))
                    .as("the strangers' keys")
                    .isEqualTo(TIMES);
        }
    }
}
