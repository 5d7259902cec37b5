package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerException;
import io.leasehold.servers.ServerUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Real servers; a test is skipped visibly if the machine lacks the binaries. */
final class Servers {

    static final Duration PATIENCE = Duration.ofSeconds(60);

    private Servers() {}

    static <T> T orSkip(Supplier<T> start) {
        try {
            return start.get();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }

    static RedisServer one() {
        return orSkip(() -> RedisServer.builder().start());
    }

    /** The keys of a lock at servers, except its fence, which expires by itself. */
    static List<String> kept(List<RedisServer> servers, LockName name) {
        String lock = "lock:{" + name.text() + "}";
        List<String> keys = List.of(lock, lock + ":queued", lock + ":behind", lock + ":wanted", lock + ":watchers");
        return servers.stream()
                .flatMap(server -> keys.stream()
                        .map(key -> server.call("TYPE", key).strip().equals("none") ? null : key))
                .filter(Objects::nonNull)
                .sorted()
                .toList();
    }

    static void isBusy(LockClient locks, String name) throws InterruptedException {
        assertThat(locks.named(name).tryAcquire(Duration.ZERO)).isNull();
    }

    /** A broken connection counts as false: servers that change roles drop their clients. */
    static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!holds(condition)) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new AssertionError(what + ": not within " + PATIENCE);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static boolean holds(BooleanSupplier condition) {
        try {
            return condition.getAsBoolean();
        } catch (ServerException e) {
            return false;
        }
    }
}
