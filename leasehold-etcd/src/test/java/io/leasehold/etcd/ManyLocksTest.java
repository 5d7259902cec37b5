package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PlainName;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The behavior of a store when a list exceeds one answer, and the state that it keeps of failed attempts. */
@Tag("full")
class ManyLocksTest {

    private static final int LOCKS = 3_000;
    private static final int VALUE_BYTES = 1_500;
    private static final int MAX_BYTES = 4 * 1024 * 1024;

    private static EtcdServer server;

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void listsThatAreLongerThanAnAnswerMayBeAreRead() throws Exception {
        assertThat(LOCKS * VALUE_BYTES).as("bytes of one answer").isGreaterThan(MAX_BYTES);
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < LOCKS; i++) {
            keys.add(PlainName.of(LockName.of("lock-" + i)) + "/one");
        }
        // In the order of keys, all of "a-b" stands before "a".
        keys.add("a/one");
        keys.add("a-b/one");
        keys.add("a.b/one");
        for (int i = 0; i < LOCKS; i++) {
            keys.add("queue/waiter-" + i);
        }
        // The last in the order of keys, and the first that came.
        put(List.of("queue/zero"), 100);
        put(keys, VALUE_BYTES);
        try (LockClient locks = Leasehold.connect("etcd://127.0.0.1:" + server.port() + "/many");
                Lease lease = locks.named("a:held").acquire()) {
            List<LockName> all = names(locks.admin().list("*", 10_000));
            assertThat(all).hasSize(LOCKS + 5).isSorted();
            assertThat(names(locks.admin().list("*", 3)))
                    .containsExactly(LockName.of("a"), LockName.of("a-b"), LockName.of("a.b"));
            assertThat(names(locks.admin().list("a:*", 10))).containsExactly(LockName.of("a:held"));
            assertThat(names(locks.admin().list("lock-?", 100)))
                    .isEqualTo(IntStream.range(0, 10)
                            .mapToObj(i -> LockName.of("lock-" + i))
                            .toList());
            assertThat(locks.admin().list("queue", 1).get(0).holder().id()).startsWith("zero");
            assertThat(locks.admin().waiters(LockName.of("queue"), 10_000)).hasSize(LOCKS);
            lease.renew();
        }
    }

    private static List<LockName> names(List<LockAdmin.HeldLock> locks) {
        return locks.stream().map(LockAdmin.HeldLock::name).toList();
    }

    private static void put(List<String> keys, int bytes) throws Exception {
        try (Client client =
                Client.builder().endpoints("http://127.0.0.1:" + server.port()).build()) {
            KV kv = client.getKVClient();
            List<CompletableFuture<?>> pending = new ArrayList<>();
            for (String key : keys) {
                String id = key.substring(key.lastIndexOf('/') + 1);
                ByteSequence value = Keys.bytes(id + "-" + "v".repeat(bytes - id.length() - 1));
                pending.add(kv.put(Keys.bytes("many/" + key), value));
                if (pending.size() == 200) {
                    CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new))
                            .get(2, TimeUnit.MINUTES);
                    pending.clear();
                }
            }
            CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new)).get(2, TimeUnit.MINUTES);
        }
    }

    @Test
    void anAttemptThatReachedNobodyIsForgotten() throws Exception {
        int nobody;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = socket.getLocalPort();
        }
        LockRuntime runtime = new SystemLockRuntime();
        EtcdStore store =
                new EtcdStore(EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + nobody + "/nobody")), runtime);
        try {
            List<CompletableFuture<AcquireReply>> replies = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                replies.add(store.acquire(AcquireRequest.exclusive(
                        List.of(LockName.of("nobody")),
                        OwnerToken.draw(runtime),
                        "tester",
                        Duration.ofSeconds(2).toNanos(),
                        Duration.ofMillis(50).toNanos())));
            }
            for (CompletableFuture<AcquireReply> reply : replies) {
                assertThat(reply.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Failed.class);
            }
            long start = System.nanoTime();
            while (store.attempts() > 0) {
                assertThat(System.nanoTime() - start)
                        .as("%d attempts are remembered", store.attempts())
                        .isLessThan(Duration.ofSeconds(30).toNanos());
                LockSupport.parkNanos(10_000_000);
            }
        } finally {
            store.close();
            runtime.close();
        }
    }
}
