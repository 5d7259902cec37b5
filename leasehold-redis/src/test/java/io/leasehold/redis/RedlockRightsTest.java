package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.WriteLease;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the rights of one server are enough for the members of a set. */
@Timeout(120)
@Tag("full")
final class RedlockRightsTest {

    private static String uri(List<RedisServer> servers) {
        return servers.stream()
                .map(server -> "&node="
                        + URLEncoder.encode(
                                "redis://app:secret@127.0.0.1:" + server.port() + "?name=n" + server.port(),
                                StandardCharsets.UTF_8))
                .collect(Collectors.joining("", "redlock:?maxTtl=30s&nodeTimeout=2s", ""));
    }

    private static void declareNew(String uri) {
        SystemLockRuntime runtime = new SystemLockRuntime();
        LockStore store = new RedlockStoreProvider().open(StoreUri.parse(uri), runtime);
        try {
            store.members()
                    .orElseThrow()
                    .declareNew(TimeUnit.SECONDS.toNanos(20))
                    .join();
        } finally {
            store.close();
            runtime.close();
        }
    }

    @Test
    void theDocumentedRightsAreEnough() throws Exception {
        try (RedisServer one = server();
                RedisServer two = server();
                RedisServer three = server()) {
            List<RedisServer> servers = List.of(one, two, three);
            String uri = uri(servers);
            declareNew(uri);
            try (LockClient holder = Leasehold.connect(uri);
                    LockClient waiter = Leasehold.connect(uri)) {
                Lease held = holder.named("a").acquire();
                held.renew();
                CompletableFuture<Lease> waiting = waiter.named("a").acquireAsync();
                String watchers = KeyLayout.watchers(KeyLayout.standard().lock(LockName.exactly("a")));
                NodeBench.until(
                        "it waits",
                        () -> servers.stream()
                                .allMatch(server ->
                                        server.call("EXISTS", watchers).equals("1")));
                held.close();
                waiting.get(60, TimeUnit.SECONDS).close();
                readersShare(holder, waiter);
            }
            for (RedisServer server : servers) {
                List<String> lines = server.call("ACL", "LOG").lines().toList();
                assertThat(IntStream.range(1, lines.size())
                                .filter(i -> lines.get(i - 1).equals("object"))
                                .mapToObj(lines::get))
                        .as("what it does without")
                        .isSubsetOf("client", "client|maint_notifications", "client|info");
            }
        }
    }

    private static void readersShare(LockClient one, LockClient other) throws Exception {
        WriteLease writer = one.readWrite("a").write().acquire();
        CompletableFuture<Lease> waiting = other.readWrite("a").read().acquireAsync();
        Lease reader = writer.downgrade();
        reader.renew();
        Lease second = waiting.get(60, TimeUnit.SECONDS);
        assertThat(one.admin().readers(LockName.exactly("a"), 10)).hasSize(2);
        CompletableFuture<WriteLease> next = one.readWrite("a").write().acquireAsync();
        reader.close();
        second.close();
        next.get(60, TimeUnit.SECONDS).close();
    }

    private static RedisServer server() {
        return RedisUnderTest.start(b ->
                b.user("app", "on >secret resetchannels " + RedisErrors.RIGHTS + " " + RedisErrors.RIGHT_OF_READERS));
    }
}
