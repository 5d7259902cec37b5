package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * At whichever read of a clock an Error occurs in an attempt, the attempt ends or continues, and no lock stays taken
 * without a holder.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class WaiterErrorsTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30));

    private StillRuntime runtime;
    private SilentStore store;
    private EngineClient client;
    private CompletableFuture<Lease> wanted;

    private interface Step {
        void run();
    }

    private void grant(SilentStore.Asked<AcquireRequest, AcquireReply> asked) {
        asked.answer().complete(granted(asked.request(), 2_000_000_000L));
    }

    private static AcquireReply granted(AcquireRequest request, long sentAtNanos) {
        return new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(5, 1), sentAtNanos, Incarnation.DURABLE), List.of());
    }

    private void ask() {
        wanted = client.named(NAME).acquireAsync();
    }

    private void busy() {
        store.acquires().get(0).answer().complete(new AcquireReply.Busy(null, 7, List.of()));
    }

    /**
     * Fails each read in turn during the step, until the step makes no further read. The step before it runs without
     * failures.
     */
    private void whicheverReadingFails(String what, Step before, Step step) {
        boolean met = true;
        for (int at = 1; met; at++) {
            runtime = new StillRuntime();
            runtime.pass(Duration.ofSeconds(1));
            store = new SilentStore();
            client = new EngineClient(runtime, store, OPTIONS, "", List.of(), false, null);
            wanted = null;
            before.run();
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            runtime.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            boolean refused = false;
            try {
                step.run();
            } catch (InternalError e) {
                refused = wanted == null;
            }
            runtime.beforeAClockIsRead(() -> {});
            met = reads.get() >= at;
            isOver("read " + at + " while " + what, refused);
        }
    }

    private void isOver(String as, boolean refused) {
        store.answersAtOnce(request -> granted(request, runtimeNow()));
        store.acquires().forEach(this::grant);
        runtime.pass(Duration.ofMinutes(1));
        if (!refused) {
            assertThat(wanted).as(as).isDone();
        }
        Set<OwnerToken> ended = new HashSet<>();
        if (!refused && !wanted.isCompletedExceptionally()) {
            wanted.join().releaseAsync();
        }
        CompletableFuture<Lease> next = client.named(NAME).acquireAsync();
        runtime.pass(Duration.ofMinutes(1));
        assertThat(next).as(as).isCompleted();
        next.join().releaseAsync();
        runtime.pass(Duration.ofSeconds(1));
        store.releases().forEach(request -> ended.add(request.owner()));
        for (var asked : store.acquires()) {
            assertThat(ended).as(as).contains(asked.request().owner());
        }
        runtime.passesInWaits();
        long began = runtime.nanoTime();
        client.close();
        assertThat(Duration.ofNanos(runtime.nanoTime() - began)).as(as).isLessThan(Duration.ofMillis(100));
    }

    private long runtimeNow() {
        return runtime.nanoTime();
    }

    @Test
    void itIsAskedFor() {
        whicheverReadingFails("it is asked for", () -> {}, this::ask);
    }

    @Test
    void itIsGranted() {
        whicheverReadingFails(
                "it is granted", this::ask, () -> grant(store.acquires().get(0)));
    }

    @Test
    void itIsToldBusy() {
        whicheverReadingFails("it is told busy", this::ask, this::busy);
    }

    @Test
    void itLooksAgain() {
        whicheverReadingFails(
                "it looks again",
                () -> {
                    ask();
                    busy();
                },
                () -> runtime.pass(Duration.ofSeconds(20)));
    }

    @Test
    void itIsWoken() {
        whicheverReadingFails(
                "it is woken",
                () -> {
                    ask();
                    busy();
                },
                () -> store.ear().wake(NAME));
    }

    @Test
    void itIsWithdrawn() {
        whicheverReadingFails("it is withdrawn", this::ask, () -> wanted.cancel(false));
    }
}
