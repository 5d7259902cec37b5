package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** The password of a database user changes while leases are held: no lease is lost, and waiters continue. */
interface CredentialsTests {

    String OLD = "s3cret-old";
    String NEW = "s3cret-new";

    /** The store without user and password. */
    String uri();

    SqlDialect dialect();

    /** Sets the password of the user app, creating it if necessary, and ends its sessions. */
    void setPassword(String password) throws SQLException;

    /** Returns the credentials that the test sets, and remembers the calling thread. */
    final class Vault implements CredentialsProvider {
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

    @Test
    default void livesThroughARotation() throws Exception {
        setPassword(OLD);
        Vault vault = new Vault();
        try (LockClient holding =
                        Leasehold.builder().store(uri()).credentials(vault).connect();
                LockClient waiting =
                        Leasehold.builder().store(uri()).credentials(vault).connect()) {
            livesThroughARotation(holding, waiting, vault);
        }
        assertThat(vault.threads).isNotEmpty().allMatch(name -> name.startsWith("leasehold-callback"));
    }

    /** A data source that changes its password by itself. */
    @Test
    default void overADataSourceToo() throws Exception {
        setPassword(OLD);
        Vault vault = new Vault();
        SimpleDataSource source = new SimpleDataSource(() -> {
            vault.credentials();
            return DriverManager.getConnection(uri(), "app", vault.password);
        });
        try (LockClient holding = Leasehold.builder()
                        .store(runtime -> JdbcStores.over(source, dialect(), runtime))
                        .connect();
                LockClient waiting = Leasehold.builder()
                        .store(runtime -> JdbcStores.over(source, dialect(), runtime))
                        .connect()) {
            livesThroughARotation(holding, waiting, vault);
        }
    }

    private void livesThroughARotation(LockClient holding, LockClient waiting, Vault vault) throws Exception {
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

    @Test
    default void patienceEndsWithTheRefusal() throws Exception {
        setPassword(OLD);
        Vault vault = new Vault();
        try (LockClient locks =
                Leasehold.builder().store(uri()).credentials(vault).connect()) {
            setPassword(NEW);
            // The first attempt detects the broken connection, and may have been sent over it.
            assertThatThrownBy(() -> locks.named("order:3").tryAcquire(Duration.ofSeconds(2)))
                    .isInstanceOf(LockStoreException.class);
            assertThatThrownBy(() -> locks.named("order:4").tryAcquire(Duration.ofSeconds(2)))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageNotContaining("s3cret");
        }
        // At the start, waiting is pointless.
        assertThatThrownBy(() ->
                        Leasehold.builder().store(uri()).credentials(vault).connect())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageNotContaining("s3cret");
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(uri() + "?user=app&password=s3cret")
                        .credentials(vault)
                        .connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("use only one of them")
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
