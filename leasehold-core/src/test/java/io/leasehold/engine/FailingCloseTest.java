package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Wherever an Error occurs in a close, the close ends: the store is closed, and no thread waits. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class FailingCloseTest {

    /** More than the number of reads of clocks, or of timers, in a close. */
    private static final int MANY = 80;

    private static AcquireReply grantTo(AcquireRequest request, long nowNanos) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(1, 64), nowNanos, Incarnation.DURABLE), List.of());
    }

    /** A client that holds one lock, waits for another, and has an attempt on several locks in progress. */
    private static final class Scene {
        private final StillRuntime runtime = new StillRuntime();
        private final SilentStore store = new SilentStore();
        private final LockClient client =
                Leasehold.builder().store(store).runtime(runtime).connect();
        private final CompletableFuture<Lease> held = client.named("held").acquireAsync();
        private final CompletableFuture<Lease> behind;
        private final CompletableFuture<?> several;

        Scene() {
            store.acquires()
                    .get(0)
                    .answer()
                    .complete(grantTo(store.acquires().get(0).request(), runtime.nanoTime()));
            behind = client.named("held").acquireAsync();
            several = client.all(LockName.exactly("x"), LockName.exactly("y")).acquireAsync();
            runtime.passesInWaits();
        }

        void close() {
            try {
                client.close(Duration.ofMillis(100));
            } catch (InternalError e) {
                assertThat(e).hasMessageContaining("made by the test");
            }
        }

        void assertClosed(int at) {
            assertThat(store.isClosed())
                    .as("the store is closed, though step %d failed", at)
                    .isTrue();
            assertThat(behind).as("step %d", at).isDone();
            assertThat(several).as("step %d", at).isDone();
            assertThat(held.join().isValid()).as("step %d", at).isFalse();
        }
    }

    @Test
    void whicheverReadingOfAClockFails() {
        for (int at = 1; at <= MANY; at++) {
            Scene scene = new Scene();
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            scene.runtime.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            scene.close();
            scene.runtime.beforeAClockIsRead(() -> {});
            scene.assertClosed(at);
        }
    }

    @Test
    void whicheverTimerCannotBeArmed() {
        for (int at = 0; at < 12; at++) {
            Scene scene = new Scene();
            scene.runtime.failToStart(1, at);
            scene.close();
            scene.runtime.failToStart(0);
            scene.assertClosed(at);
        }
    }
}
