package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import io.leasehold.SharedLock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of {@link SharedLock#asReadWriteLock()}. */
@Tag("quick")
@Timeout(60)
@SuppressWarnings("LockNotBeforeTry")
final class ReadWriteViewTest {

    private static final LockName NAME = LockName.exactly("a");

    private final LockClient client = Leasehold.connect("memory:");
    private final SharedLock lock = client.readWrite(NAME);
    private final ReadWriteLock view = lock.asReadWriteLock();
    private final ReentrantLockView read = (ReentrantLockView) view.readLock();
    private final ReentrantLockView write = (ReentrantLockView) view.writeLock();

    @AfterEach
    void close() {
        client.close();
    }

    private static boolean elsewhere(java.util.function.BooleanSupplier step) {
        return CompletableFuture.supplyAsync(step::getAsBoolean, task -> new Thread(task).start())
                .join();
    }

    /** Whether another thread can take this lock now. */
    private static boolean isFree(ReentrantLockView which) {
        return elsewhere(() -> {
            boolean taken = which.tryLock();
            if (taken) {
                which.unlock();
            }
            return taken;
        });
    }

    @Test
    void readersShareAndAreCountedPerThread() {
        read.lock();
        read.lock();
        assertThat(read.getHoldCount()).isEqualTo(2);
        assertThat(write.getHoldCount()).isZero();
        assertThat(isFree(read)).isTrue();
        assertThat(isFree(write)).isFalse();
        read.unlock();
        assertThat(isFree(write)).isFalse();
        read.unlock();
        assertThat(isFree(write)).isTrue();
        assertThatThrownBy(read::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("read lock");
    }

    @Test
    void writersExcludeAllAndAreReentrant() throws InterruptedException {
        write.lockInterruptibly();
        assertThat(write.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(isFree(read)).isFalse();
        assertThat(isFree(write)).isFalse();
        write.unlock();
        write.unlock();
        assertThat(isFree(read)).isTrue();
    }

    @Test
    void aReaderDoesNotBecomeAWriter() {
        read.lock();
        assertThatThrownBy(write::lock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("holds the read lock");
        assertThatThrownBy(write::tryLock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> client.named(NAME).asReentrantLock().lock())
                .isInstanceOf(IllegalMonitorStateException.class);
        assertThat(read.isHeldByCurrentThread()).isTrue();
        read.unlock();
        write.lock();
        write.unlock();
    }

    @Test
    void aWriterReadsWithoutTheStoreAndBecomesAReader() {
        write.lock();
        long token = write.fencingToken();
        read.lock();
        read.lock();
        assertThat(read.fencingToken()).isEqualTo(token);
        assertThat(isFree(read)).isFalse();
        write.unlock();
        assertThat(read.fencingToken()).as("the token of a reader").isGreaterThan(token);
        assertThat(read.isHeldByCurrentThread()).isTrue();
        assertThat(isFree(read)).isTrue();
        assertThat(isFree(write)).isFalse();
        read.unlock();
        assertThat(isFree(write)).isFalse();
        read.unlock();
        assertThat(isFree(write)).isTrue();
    }

    @Test
    void aWriterThatHasReadStaysAWriter() {
        write.lock();
        read.lock();
        read.unlock();
        assertThat(isFree(read)).isFalse();
        assertThat(write.release()).contains(ReleaseOutcome.RELEASED);
        assertThat(isFree(write)).isTrue();
    }

    @Test
    void theOutcomeOfAnUnlockThatDowngrades() {
        write.lock();
        read.lock();
        assertThat(write.release()).contains(ReleaseOutcome.DOWNGRADED);
        assertThat(read.release()).contains(ReleaseOutcome.RELEASED);
    }

    @Test
    void theReentrantViewOfTheLockIsTheWriteLock() {
        ReentrantLockView plain = client.named(NAME).asReentrantLock();
        plain.lock();
        assertThat(write.getHoldCount()).isEqualTo(1);
        read.lock();
        plain.unlock();
        assertThat(isFree(read)).isTrue();
        assertThat(isFree(plain)).isFalse();
        read.unlock();
    }

    @Test
    void aLostWriterDoesNotBecomeAReader() {
        write.lock();
        read.lock();
        client.admin().forceRelease(NAME, null);
        assertThatThrownBy(write::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(read.isHeldByCurrentThread()).isFalse();
        assertThat(isFree(write)).isTrue();
        read.lock();
        assertThat(read.isHeldByCurrentThread()).as("a new hold").isTrue();
        assertThat(read.getHoldCount()).isEqualTo(1);
        read.unlock();
        assertThat(isFree(write)).isTrue();
    }

    @Test
    void aLostReaderIsToldOnceAndMayThenWrite() {
        read.lock();
        client.admin().forceRelease(NAME, null);
        assertThatThrownBy(read::lock).isInstanceOf(LeaseLostException.class);
        write.lock();
        assertThat(write.isHeldByCurrentThread()).isTrue();
        assertThat(read.getHoldCount()).isZero();
        write.unlock();
    }

    @Test
    void aReaderIsRefusedAWaitForItselfOutsideOfTheView() throws InterruptedException {
        read.lock();
        assertThatThrownBy(() -> lock.write().acquire()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> lock.read().acquire()).isInstanceOf(IllegalStateException.class);
        read.unlock();
        write.lock();
        assertThatThrownBy(() -> lock.read().acquire()).isInstanceOf(IllegalStateException.class);
        write.unlock();
        lock.read().acquire().close();
    }

    @Test
    void conditionsAreNotSupported() {
        assertThatThrownBy(() -> view.readLock().newCondition()).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> view.writeLock().newCondition()).isInstanceOf(UnsupportedOperationException.class);
        assertThat(view.toString()).isEqualTo("ReadWriteLock[a]");
    }
}
