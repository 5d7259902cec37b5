package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.Client;
import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.EtcdServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The password of a user of etcd changes while leases are held: nothing is lost, and waiters continue. */
@Tag("full")
final class EtcdCredentialsTest {

    private static final String OLD = "s3cret-old";
    private static final String NEW = "s3cret-new";

    private static EtcdServer server;

    @BeforeAll
    static void start() throws Exception {
        server = EtcdTckTest.startOrSkip();
        try (Client root = Client.builder().endpoints(endpoint()).build()) {
            var auth = root.getAuthClient();
            auth.userAdd(Keys.bytes("root"), Keys.bytes("root")).get();
            auth.roleAdd(Keys.bytes("root")).get();
            auth.userGrantRole(Keys.bytes("root"), Keys.bytes("root")).get();
            auth.userAdd(Keys.bytes("app"), Keys.bytes(OLD)).get();
            auth.roleAdd(Keys.bytes("locks")).get();
            auth.roleGrantPermission(
                            Keys.bytes("locks"),
                            Keys.bytes("leasehold"),
                            Keys.bytes("leaseholt"),
                            io.etcd.jetcd.auth.Permission.Type.READWRITE)
                    .get();
            auth.userGrantRole(Keys.bytes("app"), Keys.bytes("locks")).get();
            auth.authEnable().get();
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static String endpoint() {
        return "http://127.0.0.1:" + server.port();
    }

    private static String uri() {
        return "etcd://127.0.0.1:" + server.port();
    }

    /** Ends the tokens of the user, too. */
    private static void setPassword(String password) throws Exception {
        try (Client root = Client.builder()
                .endpoints(endpoint())
                .user(Keys.bytes("root"))
                .password(Keys.bytes("root"))
                .build()) {
            root.getAuthClient()
                    .userChangePassword(Keys.bytes("app"), Keys.bytes(password))
                    .get();
        }
    }

    /** Provides the credentials of the test, and remembers where it was called. */
    private static final class Vault implements CredentialsProvider {
        private final AtomicInteger asked = new AtomicInteger();
        private final Set<String> threads = ConcurrentHashMap.newKeySet();
        private volatile String password = OLD;

        @Override
        public Credentials credentials() {
            asked.incrementAndGet();
            threads.add(Thread.currentThread().getName());
            return Credentials.of("app", password);
        }
    }

    private static LockClient connect(CredentialsProvider provider) {
        return Leasehold.builder().store(uri()).credentials(provider).connect();
    }

    @Test
    void livesThroughARotation() throws Exception {
        setPassword(OLD);
        Vault vault = new Vault();
        try (LockClient holding = connect(vault);
                LockClient waiting = connect(vault)) {
            Lease lease = holding.named("order:1").acquire();
            CompletableFuture<Lease> next = waiting.named("order:1").acquireAsync();
            setPassword(NEW);
            int before = vault.asked.get();
            CompletableFuture<Lease> during = waiting.named("order:2").acquireAsync();
            until("refused a few times", () -> vault.asked.get() >= before + 4);
            assertThat(next).isNotDone();
            assertThat(during).isNotDone();

            vault.password = NEW;

            until("renewed", () -> {
                try {
                    lease.renew();
                    return true;
                } catch (LockStoreException e) {
                    assertThat(e).hasMessageNotContaining("s3cret");
                    return false;
                }
            });
            assertThat(lease.isValid()).isTrue();
            during.get(60, TimeUnit.SECONDS).close();
            lease.close();
            try (Lease second = next.get(60, TimeUnit.SECONDS)) {
                assertThat(second.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
        assertThat(vault.threads).isNotEmpty().allMatch(name -> name.startsWith("leasehold-"));
        assertThat(vault.threads).noneMatch(name -> name.contains("timer"));
    }

    @Test
    void patienceEndsWithTheRefusal() throws Exception {
        setPassword(OLD);
        Vault vault = new Vault();
        try (LockClient locks = connect(vault)) {
            setPassword(NEW);
            assertThatThrownBy(() -> locks.named("order:3").tryAcquire(Duration.ofMillis(500)))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("credentials provider")
                    .hasMessageNotContaining("s3cret");
        }
        // At the start, the client has no reason to wait.
        assertThatThrownBy(() -> connect(vault))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageNotContaining("s3cret");
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(uri().replace("//", "//app:s3cret@"))
                        .credentials(vault)
                        .connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a credentials provider is also set")
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void aProviderThatFailsIsSaidSoWithoutItsWords() {
        assertThatThrownBy(() -> connect(() -> {
                    throw new IOException("token s3cret-token has ended");
                }))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("credentials provider")
                .hasMessageNotContaining("s3cret");
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(20_000_000);
        }
    }
}
