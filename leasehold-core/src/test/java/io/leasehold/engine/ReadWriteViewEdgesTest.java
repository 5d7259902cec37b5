package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReentrantLockView;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that reads inside of its exclusive lock, when that is lost or cannot be downgraded. */
@Tag("quick")
@Timeout(60)
@SuppressWarnings("LockNotBeforeTry")
final class ReadWriteViewEdgesTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
            .connect();

    private final ReadWriteLock view = client.readWrite("a").asReadWriteLock();
    private final ReentrantLockView read = (ReentrantLockView) view.readLock();
    private final ReentrantLockView write = (ReentrantLockView) view.writeLock();

    private void enterBoth() {
        store.answersAtOnce(this::granted);
        write.lock();
        read.lock();
        assertThat(store.acquires()).hasSize(1);
    }

    private AcquireReply granted(AcquireRequest request) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(1_000, 1), runtime.nanoTime(), Incarnation.DURABLE),
                List.of());
    }

    /** Lets the next check find that the machine was suspended, and that the store does not answer. */
    private void makeUnconfirmed() {
        runtime.suspend(Duration.ofHours(1));
        store.failNext(new InternalError("made by the test"));
        runtime.passesInWaits();
    }

    @Test
    void whatWasRegisteredThroughTheReadLockStaysAfterTheDowngrade() {
        enterBoth();
        List<LossCause> told = new ArrayList<>();
        read.onLost(told::add);
        read.interruptOnLoss();
        runtime.schedule(5, () -> {
            var asked = store.downgrades().get(0);
            asked.answer().complete(granted(asked.request()));
        });
        runtime.passesInWaits();
        write.unlock();
        assertThat(told).isEmpty();
        store.ear().lost(store.downgrades().get(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThat(told).containsExactly(LossCause.FORCE_RELEASED);
        assertThat(Thread.interrupted()).isTrue();
        assertThatThrownBy(read::unlock).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aWriterThatCannotBeConfirmedIsLostForItsReaderToo() {
        enterBoth();
        makeUnconfirmed();
        assertThat(write.isHeldByCurrentThread()).isFalse();
        assertThat(read.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(write::unlock).isInstanceOf(LeaseLostException.class);
        read.lock();
        assertThat(read.getHoldCount()).isEqualTo(1);
        assertThat(read.isHeldByCurrentThread()).isTrue();
        read.unlock();
    }

    @Test
    void afterThatTheReadLockIsANewHoldEvenWithoutAnUnlock() {
        enterBoth();
        makeUnconfirmed();
        assertThat(write.isHeldByCurrentThread()).isFalse();
        read.lock();
        assertThat(store.acquires()).hasSize(2);
        assertThat(read.isHeldByCurrentThread()).isTrue();
        assertThat(write.getHoldCount()).isZero();
        read.unlock();
        write.lock();
        write.unlock();
    }

    @Test
    void aReaderThatCannotBeConfirmedIsLostForItsWriterToo() {
        enterBoth();
        makeUnconfirmed();
        assertThat(read.isHeldByCurrentThread()).isFalse();
        write.lock();
        assertThat(write.getHoldCount()).isEqualTo(1);
        assertThat(write.isHeldByCurrentThread()).isTrue();
        write.unlock();
        assertThat(store.acquires()).hasSize(2);
    }

    @Test
    void aDowngradeThatIsRefusedReleasesTheLock() {
        enterBoth();
        store.shared = false;
        assertThatThrownBy(write::unlock).isInstanceOf(UnsafeStoreException.class);
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .containsExactly(store.acquires().get(0).request().owner());
        assertThat(write.getHoldCount()).isZero();
        assertThat(read.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void aWriterDoesNotReadWhereTheStoreKeepsNoReaders() {
        store.answersAtOnce(this::granted);
        write.lock();
        store.shared = false;
        assertThatThrownBy(read::lock).isInstanceOf(UnsafeStoreException.class);
        assertThat(read.getHoldCount()).isZero();
        write.unlock();
        assertThat(store.releases()).hasSize(1);
    }
}
