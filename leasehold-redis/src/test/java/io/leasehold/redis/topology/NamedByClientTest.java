package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.KeyLayout;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that connections follow the master that a client library names. */
@Tag("quick")
final class NamedByClientTest {

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private final AtomicReference<RedisUri> master = new AtomicReference<>(at(1));
    private final List<String> named = new CopyOnWriteArrayList<>();
    private final NamedByClient naming = new NamedByClient(
            () -> {
                RedisUri now = master.get();
                if (now == null) {
                    throw new IllegalStateException("closed");
                }
                return now;
            },
            runtime,
            server -> named.add(server.address()));

    @AfterEach
    void close() {
        naming.close();
        runtime.close();
    }

    private static RedisUri at(int port) {
        return RedisUri.given("client", "127.0.0.1", port, 0, false, KeyLayout.standard());
    }

    private void until(String last) {
        long start = System.nanoTime();
        while (named.isEmpty() || !named.get(named.size() - 1).equals(last)) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(1_000_000);
        }
    }

    private void untilNamed(int times) {
        long start = System.nanoTime();
        while (named.size() < times) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Test
    void theMasterIsToldAtEveryLookAndAClientThatFailsEndsNothing() {
        naming.watch();
        naming.watch();
        until("127.0.0.1:1");
        master.set(null);
        master.set(at(2));
        until("127.0.0.1:2");
        int before = named.size();
        untilNamed(before + 2);
        assertThat(named.subList(before, before + 2)).containsOnly("127.0.0.1:2");
    }

    @Test
    void whoAsksIsToldAtOnce() {
        naming.ask();
        naming.ask();
        assertThat(named).containsExactly("127.0.0.1:1", "127.0.0.1:1");
        naming.close();
        naming.ask();
        assertThat(named).hasSize(2);
    }

    @Test
    void noMasterIsAStoreThatIsNotThere() {
        master.set(null);
        assertThatThrownBy(() -> naming.locate().get(60, TimeUnit.SECONDS))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("closed");
        naming.ask();
        assertThat(named).isEmpty();
    }
}
