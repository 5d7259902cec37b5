package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.lettuce.core.resource.ClientResources;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the end of the threads, and that an interrupt does not shorten the wait for it. */
@Tag("quick")
@Timeout(120)
final class DriverThreadsTest {

    @Test
    void theyAreFewAndEndWithTheirLastUser() {
        DriverThreads threads = new DriverThreads();
        ClientResources resources = threads.use();
        assertThat(threads.use()).isSameAs(resources);
        assertThat(resources.ioThreadPoolSize()).isEqualTo(2);
        assertThat(resources.computationThreadPoolSize()).isEqualTo(2);
        assertThat(resources.commandLatencyRecorder().isEnabled()).isFalse();
        threads.release();
        assertThat(resources.eventExecutorGroup().isShuttingDown()).isFalse();
        threads.release();
        assertThat(resources.eventExecutorGroup().isShuttingDown()).isTrue();
    }

    @Test
    void ofADriverThatCannotBeMadeNoneIsLeft() throws InterruptedException {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        assertThatThrownBy(() -> Leasehold.connect("rediss://127.0.0.1:1?ca=/no/such/file.pem"))
                .isInstanceOf(IllegalArgumentException.class);
        List<Thread> timers = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lettuce-timer") && !before.contains(thread))
                .toList();
        for (Thread timer : timers) {
            timer.join(30_000);
            assertThat(timer.isAlive()).as(timer.getName()).isFalse();
        }
    }

    @Test
    void borrowedOnesAreNeverEnded() throws Exception {
        ClientResources resources = ClientResources.create();
        DriverThreads threads = DriverThreads.borrowed(resources);
        assertThat(threads.use()).isSameAs(resources);
        threads.release();
        assertThat(resources.eventExecutorGroup().isShuttingDown()).isFalse();
        resources.shutdown(0, 2, TimeUnit.SECONDS).get();
    }

    /** The timer of the network library clears the interrupt status of the thread that starts it. */
    @Test
    void whoIsInterruptedWhenTheyAreMadeStaysSo() {
        Thread.currentThread().interrupt();
        DriverThreads threads = new DriverThreads();
        assertThat(Thread.interrupted()).isTrue();
        threads.use();
        threads.release();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void anEndIsWaitedForNoLongerThanItsTime() {
        assertThat(DriverThreads.isDoneWithin(CompletableFuture.completedFuture("done"), 0))
                .isTrue();
        assertThat(DriverThreads.isDoneWithin(CompletableFuture.failedFuture(new IllegalStateException()), 0))
                .isFalse();
        assertThat(DriverThreads.isDoneWithin(new CompletableFuture<>(), 0)).isFalse();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void anInterruptBeginsTheWaitAnewAndIsKept() {
        InterruptedOnce future = new InterruptedOnce();
        assertThat(DriverThreads.isDoneWithin(future, 7)).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(future.waits).isEqualTo(2);
        assertThat(future.waitedSeconds).isEqualTo(14);
    }

    private static final class InterruptedOnce extends CompletableFuture<String> {
        private int waits;
        private long waitedSeconds;

        @Override
        public String get(long time, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
            waits++;
            waitedSeconds += unit.toSeconds(time);
            if (waits == 1) {
                throw new InterruptedException();
            }
            return "done";
        }
    }
}
