package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of many waiters: their cost at the server while they wait, and the order in which they are served. */
@Timeout(300)
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
class RedisCrowdTest {

    private static final Duration FOR_LONG = Duration.ofMinutes(4);
    private static final int NAMES = 300;
    private static final int WAITERS = 10_000;
    private static final int PROCESSES = 100;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final List<LockClient> clients = new ArrayList<>();

    @AfterEach
    void closeAll() {
        clients.forEach(LockClient::close);
    }

    private LockClient client(LockOptions options) {
        LockClient client = Leasehold.builder()
                .store("redis://127.0.0.1:" + SERVER.server().port())
                .defaults(options)
                .connect();
        clients.add(client);
        return client;
    }

    private static long queued(String lock) {
        return StoredQueue.everybody(SERVER.redis(), "lock:{" + lock + "}").size();
    }

    private static long calls(String command) {
        return SERVER.redis()
                .info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_" + command + ":calls="))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf('=') + 1, line.indexOf(','))))
                .sum();
    }

    @Test
    void aHundredWaitingProcessesAskOncePerRecheckAndAreServedInTheirOrder() throws Exception {
        Lease held = client(LockOptions.defaults()).named("hot").acquire();
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < PROCESSES; i++) {
            int number = i;
            LockClient client = client(LockOptions.defaults().fairness(Fairness.STRICT_FIFO));
            all.add(client.named("hot").attemptAsync(FOR_LONG).thenAccept(attempt -> {
                order.add(number);
                attempt.orElseThrow().releaseAsync();
            }));
            long expected = i + 1L;
            until("it is queued", () -> queued("hot") == expected);
        }
        SERVER.redis().configResetstat();
        long startNanos = System.nanoTime();
        // The test measures the cost of ten seconds of waiting, even if they take longer here.
        TimeUnit.SECONDS.sleep(10);
        long asked = calls("evalsha");
        double seconds = (System.nanoTime() - startNanos) / 1e9;

        held.release();

        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).get(4, TimeUnit.MINUTES);
        long rechecks = (long) Math.ceil(seconds / 3);
        assertThat(asked).as("rechecks, and the holder's renewal").isBetween(100L, PROCESSES * rechecks + 2);
        assertThat(order).isSorted().hasSize(PROCESSES);
        assertThat(calls("evalsha") - asked)
                .as("one to take it and one to release it, and what rechecks fell into the rounds")
                .isLessThan(PROCESSES * (3 + (long) ((System.nanoTime() - startNanos) / 3e9)));
    }

    @Test
    void tenThousandAsynchronousWaitersNeedTwoConnections() throws Exception {
        LockClient holder = client(LockOptions.defaults());
        LockClient waiter = client(LockOptions.defaults());
        List<Lease> held = holdAll(holder);
        Map<String, Long> last = new ConcurrentHashMap<>();
        AtomicInteger disorder = new AtomicInteger();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < WAITERS; i++) {
            String name = "name-" + i % NAMES;
            all.add(waiter.named(name)
                    .attemptAsync(FOR_LONG)
                    .thenApply(Attempt::orElseThrow)
                    .thenAccept(lease -> {
                        Long before = last.put(name, lease.fencingToken());
                        if (before != null && before >= lease.fencingToken()) {
                            disorder.incrementAndGet();
                        }
                        lease.releaseAsync();
                    }));
        }
        until("one of each name is queued", () -> queued("name-0") == 1 && queued("name-" + (NAMES - 1)) == 1);
        // The connection of the test, two of the waiter, one of the holder, and former ones that are not closed yet.
        until("few connections", () -> SERVER.redis().clientList().lines().count() <= 4);

        held.forEach(Lease::releaseAsync);

        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).get(4, TimeUnit.MINUTES);
        assertThat(SERVER.redis().clientList().lines().count()).isLessThanOrEqualTo(4);
        assertThat(disorder).hasValue(0);
        assertThat(last).hasSize(NAMES);
        until("all is released", () -> SERVER.redis().keys("lock:{*}").stream().allMatch(key -> key.endsWith("fence")));
    }

    private static List<Lease> holdAll(LockClient holder) {
        List<CompletableFuture<Lease>> held = new ArrayList<>();
        for (int i = 0; i < NAMES; i++) {
            held.add(holder.named("name-" + i).acquireAsync());
        }
        return held.stream().map(CompletableFuture::join).toList();
    }
}
