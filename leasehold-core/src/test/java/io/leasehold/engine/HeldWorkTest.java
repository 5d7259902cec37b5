package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of work under a lock whose executor is slow, and of losses that the work does not notice. */
@Tag("quick")
@Timeout(60)
final class HeldWorkTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final LockName OTHER = LockName.exactly("b");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Queue<Runnable> queued = new ArrayDeque<>();
    private final List<String> ran = new ArrayList<>();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .workExecutor(queued::add)
            .connect();

    private CompletableFuture<String> submitted() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
        return client.named(NAME).holdWhile(Duration.ZERO, lease -> {
            ran.add("work");
            return CompletableFuture.completedFuture("done");
        });
    }

    private void runQueued() {
        Objects.requireNonNull(queued.poll(), "a task").run();
    }

    private static void assertLost(CompletableFuture<?> done, LockName name, LossCause cause) {
        assertThatThrownBy(done::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(LeaseLostException.class, lost -> {
                    assertThat(lost.lockName()).isEqualTo(name);
                    assertThat(lost.lossCause()).isEqualTo(cause);
                });
    }

    // ---- before the work begins

    @Test
    void aCancellationReleasesTheLockBeforeTheExecutorHasAThread() {
        CompletableFuture<String> done = submitted();
        assertThat(store.releases()).isEmpty();
        done.cancel(false);
        assertThat(store.releases()).hasSize(1);
        runQueued();
        assertThat(ran).isEmpty();
        assertThat(store.releases()).hasSize(1);
        assertThatThrownBy(done::join).isInstanceOf(CancellationException.class);
    }

    /** Without the work, nothing needs to keep them for a while. */
    @Test
    void severalLocksWhoseWorkIsRefusedAreReleasedAtOnce() {
        store.isNotAtomic();
        submitted().cancel(false);
        int before = store.releases().size();
        LockClient full = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .workExecutor(task -> {
                    throw new RejectedExecutionException("made by the test");
                })
                .connect();
        CompletableFuture<String> done = full.all(OTHER, NAME)
                .with(options -> options.atLeast(Duration.ofSeconds(20)))
                .holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture("done"));
        assertThat(done).isCompletedExceptionally();
        assertThat(store.releases()).hasSize(before + 2);
    }

    @Test
    void aResultThatACallerSetsReleasesTheLockWithoutTheWork() {
        CompletableFuture<String> done = submitted();
        done.complete("instead");
        runQueued();
        assertThat(ran).isEmpty();
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aHoldThatIsLostBeforeTheWorkBeginsRunsNoWork() {
        CompletableFuture<String> done = submitted();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        runQueued();
        assertThat(ran).isEmpty();
        assertLost(done, NAME, LossCause.FORCE_RELEASED);
    }

    /** No other event would complete the result, or release the lock. */
    @Test
    void anErrorBeforeTheWorkBeginsReleasesTheLock() {
        CompletableFuture<String> done = submitted();
        AtomicBoolean failed = new AtomicBoolean();
        runtime.beforeAClockIsRead(() -> {
            if (!failed.getAndSet(true)) {
                throw new InternalError("made by the test");
            }
        });
        runQueued();
        assertThat(ran).isEmpty();
        assertThat(store.releases()).hasSize(1);
        assertThatThrownBy(done::join).hasCauseInstanceOf(InternalError.class);
    }

    @Test
    void afterASuspensionTheWorkBeginsOnceARenewalHasConfirmedTheHold() {
        CompletableFuture<String> done = submitted();
        runtime.suspend(Duration.ofHours(1));
        runQueued();
        assertThat(ran).isEmpty();
        confirm(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(ran).as("it runs on the executor").isEmpty();
        runQueued();
        assertThat(done).isCompletedWithValue("done");
    }

    @Test
    void aHoldThatARenewalDoesNotConfirmRunsNoWork() {
        CompletableFuture<String> done = submitted();
        runtime.suspend(Duration.ofHours(1));
        runQueued();
        confirm(new RenewReply.NotOurs());
        assertThat(ran).isEmpty();
        assertLost(done, NAME, LossCause.NOT_OURS);
    }

    @Test
    void aCancellationDuringTheConfirmationReleasesTheLock() {
        CompletableFuture<String> done = submitted();
        runtime.suspend(Duration.ofHours(1));
        runQueued();
        done.cancel(false);
        assertThat(store.releases()).hasSize(1);
        assertThat(queued).isEmpty();
        assertThat(ran).isEmpty();
    }

    private void confirm(RenewReply.Item answer) {
        store.renewals().get(0).answer().complete(new RenewReply(List.of(answer)));
    }

    /** The timers are late: nothing has noticed the end. */
    @Test
    void aHoldThatHasExpiredBeforeTheWorkBeginsRunsNoWork() {
        CompletableFuture<String> done = submitted();
        runtime.passUnnoticed(Duration.ofMinutes(5));
        runQueued();
        assertThat(ran).isEmpty();
        assertLost(done, NAME, LossCause.EXPIRED);
    }

    // ---- after the work

    @Test
    void aLossThatOnlyTheReleaseFindsIsTheResult() {
        CompletableFuture<String> done = submitted();
        store.answersReleases(new ReleaseReply.NotOurs(List.of()));
        runQueued();
        assertThat(ran).containsExactly("work");
        assertLost(done, NAME, LossCause.NOT_OURS);
    }

    @Test
    void aLossDuringTheWorkIsTheResultWithItsCause() {
        CompletableFuture<String> stage = new CompletableFuture<>();
        submitted().cancel(false);
        queued.clear();
        CompletableFuture<String> done = client.named(NAME).holdWhile(Duration.ZERO, lease -> stage);
        runQueued();
        store.ear().lost(store.acquires().get(1).request().owner(), LossCause.FORCE_RELEASED);
        stage.complete("unaware");
        assertLost(done, NAME, LossCause.FORCE_RELEASED);
    }

    @Test
    void theFailureOfTheWorkIsSuppressedInTheLoss() {
        submitted().cancel(false);
        queued.clear();
        IllegalStateException ofTheWork = new IllegalStateException("made by the test");
        store.answersReleases(new ReleaseReply.NotOurs(List.of()));
        CompletableFuture<String> done =
                client.named(NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.failedFuture(ofTheWork));
        runQueued();
        assertLost(done, NAME, LossCause.NOT_OURS);
        assertThatThrownBy(done::join)
                .cause()
                .satisfies(lost -> assertThat(lost.getSuppressed()).containsExactly(ofTheWork));
    }

    @Test
    void theLossOfOneOfSeveralLocksIsTheResult() {
        store.isNotAtomic();
        submitted().cancel(false);
        queued.clear();
        store.answersReleases(new ReleaseReply.NotOurs(List.of()));
        CompletableFuture<String> done =
                client.all(OTHER, NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture("done"));
        runQueued();
        assertLost(done, NAME, LossCause.NOT_OURS);
    }
}
