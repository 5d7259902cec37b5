package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Acquirable;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The waits of an interrupted caller, and their limits. */
@Tag("quick")
@Timeout(120)
final class InterruptedAcquireTest {

    private static final LockName ONE = LockName.exactly("one");
    private static final LockName OTHER = LockName.exactly("other");

    private final SilentStore store = new SilentStore();
    private LockClient client;

    @AfterEach
    void close() {
        client.close(Duration.ZERO);
    }

    /** The end of a call: the exception that it threw, and whether the thread was interrupted once more. */
    private record Ended(Throwable thrown, boolean interruptedAgain, int releasesBefore) {}

    private final CompletableFuture<Ended> ended = new CompletableFuture<>();

    private Thread asking(Duration nodeTimeout, Function<LockClient, Acquirable<?>> lock) {
        LockOptions options = LockOptions.defaults().ttl(Duration.ofHours(1)).nodeTimeout(nodeTimeout);
        client = Leasehold.builder().store(store).defaults(options).connect();
        Thread caller = new Thread(() -> {
            Throwable thrown = catchThrowable(() -> lock.apply(client).acquire());
            ended.complete(new Ended(
                    thrown,
                    Thread.currentThread().isInterrupted(),
                    store.releases().size()));
        });
        caller.start();
        await(() -> !store.acquires().isEmpty());
        return caller;
    }

    private static void await(java.util.function.BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    private void grant() {
        var asked = store.acquires().get(0);
        AcquireRequest request = asked.request();
        Grant grant = new Grant(request.owner(), TokenRange.of(1, 64), System.nanoTime(), Incarnation.DURABLE);
        asked.answer().complete(new AcquireReply.Granted(grant, List.of()));
    }

    private void waitsForTheUndo(Function<LockClient, Acquirable<?>> lock) throws Exception {
        Thread caller = asking(Duration.ofMinutes(10), lock);
        caller.interrupt();
        // The caller has consumed the interrupt, and continues to wait.
        await(() -> !caller.isInterrupted());
        await(() -> caller.getState() == Thread.State.WAITING);
        assertThat(ended).isNotDone();
        grant();
        Ended how = ended.get(60, TimeUnit.SECONDS);
        assertThat(how.thrown()).isInstanceOf(InterruptedException.class);
        assertThat(how.interruptedAgain()).isFalse();
        assertThat(how.releasesBefore()).isEqualTo(1);
        assertThat(store.releases())
                .singleElement()
                .extracting(ReleaseRequest::kind)
                .isEqualTo(ReleaseRequest.Kind.UNDO);
    }

    @Test
    void theUndoOfALateGrantIsWaitedFor() throws Exception {
        waitsForTheUndo(locks -> locks.named(ONE));
    }

    @Test
    void soIsThatOfSeveralLocks() throws Exception {
        waitsForTheUndo(locks -> locks.all(ONE, OTHER));
    }

    @Test
    void aStoreThatDoesNotAnswerIsWaitedForForOneNodeTimeout() throws Exception {
        long beganAtNanos = System.nanoTime();
        Thread caller = asking(Duration.ofMillis(300), locks -> locks.named(ONE));
        caller.interrupt();
        assertThat(ended.get(60, TimeUnit.SECONDS).thrown()).isInstanceOf(InterruptedException.class);
        assertThat(System.nanoTime() - beganAtNanos).isGreaterThanOrEqualTo(300_000_000L);
    }

    @Test
    void aSecondInterruptEndsTheWaitAndIsKept() throws Exception {
        Thread caller = asking(Duration.ofMinutes(10), locks -> locks.named(ONE));
        caller.interrupt();
        await(() -> !caller.isInterrupted());
        await(() -> caller.getState() == Thread.State.WAITING);
        caller.interrupt();
        Ended how = ended.get(60, TimeUnit.SECONDS);
        assertThat(how.thrown()).isInstanceOf(InterruptedException.class);
        assertThat(how.interruptedAgain()).isTrue();
        grant();
        await(() -> !store.releases().isEmpty());
    }

    @Test
    void theCloseOfTheClientEndsTheWait() throws Exception {
        Thread caller = asking(Duration.ofMinutes(10), locks -> locks.named(ONE));
        caller.interrupt();
        await(() -> !caller.isInterrupted());
        await(() -> caller.getState() == Thread.State.WAITING);
        client.close(Duration.ZERO);
        assertThat(ended.get(30, TimeUnit.SECONDS).thrown()).isInstanceOf(InterruptedException.class);
    }

    @Test
    void whoHasNothingAtTheStoreWaitsForNothing() throws Exception {
        Thread first = asking(Duration.ofMinutes(10), locks -> locks.named(ONE));
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread second = new Thread(
                () -> thrown.complete(catchThrowable(() -> client.named(ONE).acquire())));
        second.start();
        await(() -> second.getState() == Thread.State.WAITING);
        second.interrupt();
        assertThat(thrown.get(60, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        grant();
        ended.get(60, TimeUnit.SECONDS);
        first.join();
    }
}
