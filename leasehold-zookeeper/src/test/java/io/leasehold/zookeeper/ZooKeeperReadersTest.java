package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers at a real server: next to Curator's mutex, and the option that all clients share. */
@Tag("full")
class ZooKeeperReadersTest {

    private static TestingServer server;
    private static CuratorFramework curator;

    @BeforeAll
    static void start() {
        server = Ensemble.single();
        curator = CuratorFrameworkFactory.newClient(server.getConnectString(), new RetryOneTime(100));
        curator.start();
    }

    @AfterAll
    static void stop() throws Exception {
        curator.close();
        server.close();
    }

    private static String uri(String chroot, String options) {
        return "zk://" + server.getConnectString() + "/" + chroot + "?tickTime=" + Ensemble.TICK_MILLIS + "ms"
                + options;
    }

    private static LockClient client() {
        return Leasehold.builder().store(uri("foreign", "&readers=true")).connect();
    }

    /** Curator's mutex knows no readers. */
    @Test
    void readersAndCuratorsMutexExcludeEachOther() throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(curator, "/foreign/mutex");
        try (LockClient one = client();
                LockClient other = client()) {
            Lease first = one.readWrite("mutex").read().acquire();
            Lease second = other.readWrite("mutex").read().acquire();
            assertThat(mutex.acquire(300, TimeUnit.MILLISECONDS)).isFalse();
            CompletableFuture<Boolean> held = new CompletableFuture<>();
            CompletableFuture<Void> ends = new CompletableFuture<>();
            Thread holder = new Thread(() -> {
                try {
                    held.complete(mutex.acquire(30, TimeUnit.SECONDS));
                    ends.get(30, TimeUnit.SECONDS);
                    mutex.release();
                } catch (Exception e) {
                    held.completeExceptionally(e);
                }
            });
            holder.start();
            while (one.admin().waiters("mutex", 10).isEmpty()) {
                Thread.sleep(5);
            }
            assertThat(one.readWrite("mutex").read().tryAcquire(Duration.ZERO)).isNull();
            CompletableFuture<Lease> behind = one.readWrite("mutex").read().acquireAsync();
            second.close();
            Thread.sleep(200);
            assertThat(held).as("the first reader is still before it").isNotDone();
            first.close();
            assertThat(held.get(20, TimeUnit.SECONDS)).isTrue();
            Thread.sleep(200);
            assertThat(behind).isNotDone();
            ends.complete(null);
            behind.get(20, TimeUnit.SECONDS).close();
            holder.join();
        }
    }

    @Test
    void curatorsMutexWaitsOnWhenTheWriterBeforeItBecomesAReader() throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(curator, "/foreign/downgraded");
        try (LockClient client = client()) {
            WriteLease writer = client.readWrite("downgraded").write().acquire();
            CompletableFuture<Boolean> held = new CompletableFuture<>();
            Thread waiter = new Thread(() -> {
                try {
                    held.complete(mutex.acquire(30, TimeUnit.SECONDS));
                    mutex.release();
                } catch (Exception e) {
                    held.completeExceptionally(e);
                }
            });
            waiter.start();
            while (client.admin().waiters("downgraded", 10).isEmpty()) {
                Thread.sleep(5);
            }
            Lease reader = writer.downgrade();
            Thread.sleep(200);
            assertThat(held).isNotDone();
            assertThat(reader.isValid()).isTrue();
            reader.close();
            assertThat(held.get(20, TimeUnit.SECONDS)).isTrue();
            waiter.join();
        }
    }

    @Test
    void clientsOfAnEarlierVersionAndReadersDoNotOpenOneStore() {
        try (LockClient readers =
                Leasehold.builder().store(uri("agreed", "&readers=true")).connect()) {
            assertThat(readers.keepsReaders()).isTrue();
            assertThatThrownBy(
                            () -> Leasehold.builder().store(uri("agreed", "")).connect())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll("without readers=true", "\"tokenBase=0 readers=true\"");
        }
        try (LockClient plain = Leasehold.builder().store(uri("before", "")).connect()) {
            assertThat(plain.keepsReaders()).isFalse();
            assertThatThrownBy(() -> plain.readWrite("x")).isInstanceOf(UnsafeStoreException.class);
            assertThatThrownBy(() -> Leasehold.builder()
                            .store(uri("before", "&readers=true"))
                            .connect())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("with readers=true");
        }
    }

    @Test
    void tokensOfManyDowngradesWithWaitersBehindIncrease() throws Exception {
        try (LockClient one = client();
                LockClient other = client()) {
            long last = 0;
            WriteLease writer = one.readWrite("next").write().acquire();
            for (int i = 0; i < 20; i++) {
                CompletableFuture<WriteLease> next =
                        (i % 2 == 0 ? other : one).readWrite("next").write().acquireAsync();
                while (one.admin().waiters("next", 10).isEmpty()) {
                    Thread.sleep(1);
                }
                assertThat(writer.fencingToken()).isGreaterThan(last);
                try (Lease reader = writer.downgrade()) {
                    assertThat(reader.fencingToken()).isEqualTo(writer.fencingToken() + 1);
                    last = reader.fencingToken();
                }
                writer = next.get(20, TimeUnit.SECONDS);
            }
            writer.close();
        }
    }
}
