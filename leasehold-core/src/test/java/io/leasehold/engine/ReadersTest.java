package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of readers and writers of one client at the store in memory. */
@Tag("quick")
@Timeout(60)
final class ReadersTest {

    private static final LockName NAME = LockName.exactly("a");

    private final LockClient client = Leasehold.connect("memory:");
    private final SharedLock lock = client.readWrite(NAME);

    @AfterEach
    void close() {
        client.close();
    }

    /** Runs the steps on another thread, and returns its result. */
    private static <T> T elsewhere(java.util.concurrent.Callable<T> steps) {
        CompletableFuture<T> done = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        done.complete(steps.call());
                    } catch (Throwable e) {
                        done.completeExceptionally(e);
                    }
                })
                .start();
        return done.join();
    }

    @Test
    void readersExcludeWritersAndWritersExcludeReaders() throws InterruptedException {
        Lease one = lock.read().acquire();
        Lease other = elsewhere(() -> lock.read().acquire());
        assertThat(lock.write().tryAcquire(Duration.ofMillis(20))).isNull();
        assertThat(client.named(NAME).tryAcquire(Duration.ofMillis(20))).isNull();
        one.close();
        assertThat(client.named(NAME).tryAcquire(Duration.ofMillis(20))).isNull();
        other.close();
        try (WriteLease writer = lock.write().acquire()) {
            assertThat(writer.fencingToken()).isGreaterThan(other.fencingToken());
            assertThat(lock.read().tryAcquire(Duration.ofMillis(20))).isNull();
        }
        try (Lease plain = client.named(NAME).acquire()) {
            assertThat(plain.isValid()).isTrue();
            assertThat(lock.read().tryAcquire(Duration.ZERO)).isNull();
        }
    }

    @Test
    void aDowngradeLetsOtherReadersIn() throws InterruptedException {
        WriteLease writer = lock.write().acquire();
        CompletableFuture<Lease> waiting = lock.read().acquireAsync();
        Lease reader = writer.downgrade();
        assertThat(reader.fencingToken()).isGreaterThan(writer.fencingToken());
        assertThat(waiting.join().isValid()).isTrue();
        assertThat(reader.isValid()).isTrue();
        assertThat(lock.write().tryAcquire(Duration.ofMillis(20))).isNull();
        assertThat(writer.release()).isEqualTo(ReleaseOutcome.DOWNGRADED);
        reader.close();
        waiting.join().close();
        lock.write().acquire().close();
    }

    @Test
    void anOperatorSeesTheReadersAndReleasesThem() throws InterruptedException {
        Lease one = lock.read().acquire();
        CompletableFuture<Object> lost = new CompletableFuture<>();
        one.onLost(lost::complete);
        assertThat(client.admin().readers(NAME, 10)).extracting(Holder::id).containsExactly(client.holderId());
        assertThat(client.admin().readers("a", 10)).hasSize(1);
        assertThat(client.admin().readers(NAME.asRead(), 10)).hasSize(1);
        assertThat(client.admin().inspect(NAME)).isPresent();
        assertThat(client.admin().forceRelease(NAME, "another")).isFalse();
        assertThat(client.admin().forceRelease(NAME, null)).isTrue();
        lost.join();
        assertThat(one.isValid()).isFalse();
        assertThat(client.admin().readers(NAME, 10)).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.admin().inspect(NAME.asRead()))
                .withMessageContaining("readers(name)");
        assertThatIllegalArgumentException().isThrownBy(() -> client.admin().forceRelease(NAME.asRead(), null));
        assertThatIllegalArgumentException().isThrownBy(() -> client.admin().waiters(NAME.asRead(), 5));
        assertThatIllegalArgumentException().isThrownBy(() -> client.admin().readers(NAME.asPermits(), 5));
        assertThatIllegalArgumentException().isThrownBy(() -> client.admin().readers(NAME, 0));
    }

    @Test
    void theNameOfReadersIsNoNameOfALock() {
        LockName readers = NAME.asRead();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.named(readers))
                .withMessageContaining("readWrite(name.asExclusive()).read()");
        assertThatIllegalArgumentException().isThrownBy(() -> client.all(NAME, readers));
        assertThatIllegalArgumentException().isThrownBy(() -> client.election(readers));
        assertThatIllegalArgumentException().isThrownBy(() -> client.permits(readers, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> client.readWrite(readers));
        assertThatIllegalArgumentException().isThrownBy(() -> client.readWrite(NAME.asPermits(2)));
        assertThat(lock.name()).isEqualTo(NAME);
        assertThat(lock.toString()).isEqualTo("SharedLock[a at memory:]");
    }

    @Test
    void aThreadThatWouldWaitForItselfIsRefused() throws InterruptedException {
        Lease reader = lock.read().acquire();
        assertThatThrownBy(() -> lock.read().acquire())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("asReadWriteLock()");
        assertThatThrownBy(() -> lock.write().acquire())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("downgrade()");
        assertThatThrownBy(() -> client.named(NAME).acquire()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> client.all(LockName.exactly("b"), NAME).acquire())
                .isInstanceOf(IllegalStateException.class);
        assertThat(lock.write().tryAcquire(Duration.ofMillis(10)))
                .as("with patience")
                .isNull();
        try (Lease nested = lock.read().tryAcquire(Duration.ofSeconds(1))) {
            assertThat(nested).isNotNull();
        }
        reader.close();
        try (WriteLease writer = lock.write().acquire()) {
            assertThatThrownBy(() -> lock.read().acquire())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("downgrade()");
            assertThatThrownBy(() -> lock.write().acquire()).isInstanceOf(IllegalStateException.class);
            Lease after = writer.downgrade();
            assertThatThrownBy(() -> lock.write().acquire()).isInstanceOf(IllegalStateException.class);
            after.close();
        }
        lock.read().acquire().close();
        lock.write().acquire().close();
    }

    @Test
    void anotherThreadMayWaitForTheReader() throws InterruptedException {
        Lease reader = lock.read().acquire();
        CompletableFuture<Long> written = new CompletableFuture<>();
        Thread other = new Thread(() -> {
            try (WriteLease writer = lock.write().acquire()) {
                written.complete(writer.fencingToken());
            } catch (Throwable e) {
                written.completeExceptionally(e);
            }
        });
        other.start();
        while (client.admin().waiters(NAME, 5).isEmpty()) {
            Thread.onSpinWait();
        }
        // Until then, it would share the hold of the first.
        Thread.sleep(25);
        assertThat(elsewhere(() -> lock.read().tryAcquire(Duration.ofMillis(30))))
                .as("a reader that comes later waits behind the writer")
                .isNull();
        reader.close();
        assertThat(written.join()).isGreaterThan(reader.fencingToken());
        other.join();
    }

    @Test
    void anInterruptEndsTheWaitOfItsReaderOnly() throws InterruptedException {
        WriteLease writer = lock.write().acquire();
        CompletableFuture<Object> ended = new CompletableFuture<>();
        CountDownLatch begun = new CountDownLatch(1);
        Thread reader = new Thread(() -> {
            begun.countDown();
            try {
                ended.complete(lock.read().acquire());
            } catch (InterruptedException e) {
                ended.complete("interrupted");
            }
        });
        reader.start();
        begun.await();
        while (client.admin().waiters(NAME, 5).isEmpty()) {
            Thread.onSpinWait();
        }
        CompletableFuture<Lease> other = lock.read().acquireAsync();
        reader.interrupt();
        assertThat(ended.join()).isEqualTo("interrupted");
        assertThat(client.admin().waiters(NAME, 5)).as("the other waits").hasSize(1);
        writer.close();
        assertThat(other.join().isValid()).isTrue();
        other.join().close();
    }

    @Test
    void anInterruptOfTheLastReaderWithdrawsItsPlace() throws InterruptedException {
        WriteLease writer = lock.write().acquire();
        Thread reader = new Thread(() -> {
            try {
                lock.read().acquire().close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        reader.start();
        while (client.admin().waiters(NAME, 5).isEmpty()) {
            Thread.onSpinWait();
        }
        reader.interrupt();
        reader.join();
        assertThat(client.admin().waiters(NAME, 5)).isEmpty();
        writer.close();
    }

    @Test
    void aWriteLeaseIsPassedOnWithinTheProcess() throws InterruptedException {
        WriteLease writer = lock.write().acquire();
        CompletableFuture<WriteLease> next = lock.write().acquireAsync();
        writer.close();
        try (WriteLease second = next.join()) {
            Lease reader = second.downgrade();
            assertThat(reader.fencingToken()).isGreaterThan(second.fencingToken());
            reader.close();
        }
    }
}
