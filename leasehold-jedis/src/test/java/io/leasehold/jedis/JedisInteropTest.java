package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A client over Lettuce and one over Jedis exclude each other, and hand over. */
@Tag("quick")
final class JedisInteropTest {

    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = Servers.one();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static LockClient overJedis() {
        return Leasehold.builder().store(JedisStore.at(server.uri())::open).connect();
    }

    private static LockClient overLettuce() {
        return Leasehold.connect(server.uri());
    }

    @Test
    void theyExcludeEachOtherAndHandOver() throws Exception {
        try (LockClient jedis = overJedis();
                LockClient lettuce = overLettuce()) {
            handOver(jedis, lettuce, "order:1");
            handOver(lettuce, jedis, "order:2");
        }
    }

    private static void handOver(LockClient from, LockClient to, String name) throws Exception {
        long before = 0;
        for (int i = 0; i < 10; i++) {
            Lease first = from.named(name).acquire();
            assertThat(first.fencingToken()).isGreaterThan(before);
            Servers.isBusy(to, name);
            CompletableFuture<Lease> waiting = to.named(name).acquireAsync();
            Servers.until(
                    "queued",
                    () -> server.call("EXISTS", "lock:{" + name + "}:queued").equals("1"));
            first.close();
            Lease second = waiting.get(60, TimeUnit.SECONDS);
            assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());
            assertThat(second.isValid()).isTrue();
            before = second.fencingToken();
            second.close();
        }
    }

    /** Both report the same holders. */
    @Test
    void theySeeEachOthersHolders() throws Exception {
        try (LockClient jedis = overJedis();
                LockClient lettuce = overLettuce();
                Lease held = jedis.named("order:3").acquire()) {
            assertThat(held.isValid()).isTrue();
            for (LockClient client : List.of(lettuce, jedis)) {
                assertThat(client.admin().list("order:3", 10))
                        .singleElement()
                        .satisfies(
                                lock -> assertThat(lock.holder().fencingToken()).hasValue(held.fencingToken()));
            }
        }
    }
}
