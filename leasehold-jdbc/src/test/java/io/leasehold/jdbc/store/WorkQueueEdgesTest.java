package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The bounds of the queue and of its time limits, and its messages at the bounds. */
@Tag("quick")
@Timeout(60)
@SuppressWarnings("FutureReturnValueIgnored")
class WorkQueueEdgesTest {

    private static final long LIMIT = Duration.ofMillis(100).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final WorkQueue queue = new WorkQueue(runtime, "here");
    private final List<String> errors = new ArrayList<>();

    private FailureKind noted(FailureKind kind, LockStoreException error) {
        errors.add(kind + ": " + error.getMessage());
        return kind;
    }

    private Task<FailureKind> acquire(OwnerToken owner) {
        return Task.acquiring(owner, "acquire", null, (table, tries) -> null, this::noted);
    }

    private Task<FailureKind> request() {
        return Task.writing("release", (table, tries) -> null, this::noted);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private Task<?> take() {
        return Objects.requireNonNull(queue.take());
    }

    @Test
    void soManyAcquiresMayWaitAndSoManyOthersAndNoMore() {
        for (int i = 0; i < WorkQueue.MAX_ACQUIRES; i++) {
            queue.submit(acquire(owner()), LIMIT);
        }
        for (int i = 0; i < WorkQueue.MAX_URGENT; i++) {
            queue.submit(request());
        }
        assertThat(errors).isEmpty();
        queue.submit(acquire(owner()), LIMIT);
        queue.submit(request(), LIMIT);
        assertThat(errors).hasSize(2);
        assertThat(errors.get(0))
                .isEqualTo("NO_EFFECT: acquire at here: 20000 requests of this client already wait; slow down, or share"
                        + " locks less finely");
        assertThat(errors.get(1)).startsWith("NO_EFFECT: release at here: 100000 requests of this client");
    }

    private Task<FailureKind> submitted(long limitNanos) {
        Task<FailureKind> task = request();
        queue.submit(task, limitNanos);
        return task;
    }

    private Task<FailureKind> committing(long limitNanos) {
        Task<FailureKind> task = submitted(limitNanos);
        while (take() != task) {
            // Those before it.
        }
        assertThat(task.start() && task.passPointOfNoReturn()).isTrue();
        return task;
    }

    @Test
    void whatIsNotAnsweredInTimeSaysWhatDelayedIt() {
        submitted(LIMIT);
        assertThat(take().start()).isTrue();
        committing(LIMIT);
        submitted(LIMIT);
        submitted(LIMIT).hinderedBy("others were in the way");
        committing(LIMIT).hinderedBy("others were in the way");
        runtime.runFor(Duration.ofMillis(101));
        Task<FailureKind> silent = request();
        queue.explainDelaysBy(task -> task == silent ? "it is away" : "another is away");
        queue.submit(silent, 2 * LIMIT);
        silent.hinderedBy("others were in the way");
        committing(2 * LIMIT);
        runtime.runFor(Duration.ofMillis(201));
        String within = "release at here was not answered within ";
        String takenBack = " and was taken back: ";
        assertThat(errors)
                .containsExactly(
                        "NO_EFFECT: " + within + "100 ms" + takenBack + "the database is slow",
                        "UNKNOWN: " + within + "100 ms: the database is slow to commit",
                        "NO_EFFECT: " + within + "100 ms" + takenBack
                                + "the requests of this client before it took that long",
                        "NO_EFFECT: " + within + "100 ms" + takenBack + "others were in the way",
                        "UNKNOWN: " + within + "100 ms: others were in the way",
                        "NO_EFFECT: " + within + "200 ms" + takenBack + "it is away",
                        "UNKNOWN: " + within + "200 ms: another is away");
    }

    @Test
    void whatStandsAsideForNoTimeIsInLineAtOnceBehindTheOthers() {
        Task<FailureKind> first = request();
        Task<FailureKind> second = request();
        queue.submit(first, LIMIT);
        queue.submit(second, LIMIT);
        assertThat(take()).isSameAs(first);
        assertThat(first.start() && first.giveWay()).isTrue();
        queue.putAside(first, 0);
        assertThat(take()).isSameAs(second);
        assertThat(take()).isSameAs(first);
    }

    @Test
    void theEndOfAnAcquireForgetsNoOtherOfItsOwnerToken() {
        OwnerToken owner = owner();
        Task<FailureKind> earlier = acquire(owner);
        queue.submit(earlier, LIMIT);
        assertThat(take()).isSameAs(earlier);
        Task<FailureKind> later = acquire(owner);
        queue.submit(later, LIMIT);
        queue.finished(earlier);
        queue.takeBackAcquire(owner);
        assertThat(later.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(errors).containsExactly("NO_EFFECT: acquire at here was withdrawn");
    }

    @Test
    void whatIsOverHasNoTimeLimitLeft() {
        Task<FailureKind> done = request();
        queue.submit(done, LIMIT);
        assertThat(take()).isSameAs(done);
        queue.finished(done);
        OwnerToken owner = owner();
        queue.submit(acquire(owner), LIMIT);
        queue.takeBackAcquire(owner);
        queue.close();
        queue.submit(request(), LIMIT);
        assertThat(errors)
                .containsExactly(
                        "NO_EFFECT: acquire at here was withdrawn", "NO_EFFECT: release at here: the store is closed");
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(errors).hasSize(2);
        assertThat(done.future()).isNotDone();
    }

    @Test
    void whatTheCloseAnswersSaysSo() {
        assertThat(queue.isClosed()).isFalse();
        queue.submit(request(), LIMIT);
        queue.close();
        assertThat(queue.isClosed()).isTrue();
        assertThat(errors).containsExactly("NO_EFFECT: release at here: the store was closed");
    }

    @Test
    void anAcquireThatIsUnderWayWhenItIsWithdrawnIsNotBegunAgain() {
        OwnerToken owner = owner();
        Task<FailureKind> task = acquire(owner);
        queue.submit(task, LIMIT);
        take();
        assertThat(task.start() && task.passPointOfNoReturn()).isTrue();
        queue.takeBackAcquire(owner);
        assertThat(task.future()).isNotDone();
        assertThat(task.startAgain()).isFalse();
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
    }

    @Test
    void housekeepingWaitsForItsTurnAnewEachTimeThereWasNothingElse() {
        Task<FailureKind> chore = Task.keepingHouse("chore", (table, tries) -> null, this::noted);
        for (int i = 0; i < 10; i++) {
            queue.submit(request());
        }
        queue.submit(chore);
        for (int i = 0; i < 10; i++) {
            assertThat(take()).isNotSameAs(chore);
        }
        assertThat(take()).isSameAs(chore);
        for (int i = 0; i < 17; i++) {
            queue.submit(request());
        }
        queue.submit(chore);
        for (int i = 0; i < 16; i++) {
            assertThat(take()).isNotSameAs(chore);
        }
        assertThat(take()).isSameAs(chore);
    }

    /** The worker stops waiting at an interrupt, and stays interrupted. */
    @Test
    void anInterruptOfWhoTakesIsKept() throws Exception {
        SystemLockRuntime real = new SystemLockRuntime();
        try {
            WorkQueue waitedFor = new WorkQueue(real, "here");
            Task<FailureKind> task = request();
            CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
            CompletableFuture<Object> taken = new CompletableFuture<>();
            Thread worker = new Thread(
                    () -> {
                        Thread.currentThread().interrupt();
                        taken.complete(waitedFor.take());
                        interrupted.complete(Thread.interrupted());
                    },
                    "worker");
            worker.start();
            while (worker.getState() != Thread.State.WAITING) {
                assertThat(taken).isNotDone();
                Thread.sleep(1);
            }
            waitedFor.submit(task, Duration.ofMinutes(1).toNanos());
            assertThat(taken.get(30, TimeUnit.SECONDS)).isSameAs(task);
            assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
        } finally {
            real.close();
        }
    }

    @Test
    void aTaskHearsThatItsTimeIsUpNotBeforeAndHardlyAfterItIs() {
        List<String> told = new ArrayList<>();
        TimeLimits limits = new TimeLimits(runtime, (task, limitNanos) -> told.add(limitNanos / 1_000_000 + " ms"));
        int before = runtime.world().pendingEvents();
        limits.add(request(), 300_000_000L);
        limits.add(request(), 303_000_000L);
        Task<FailureKind> removed = request();
        limits.add(removed, 50_000_000L);
        for (int i = 0; i < 10; i++) {
            limits.add(request(), 100_000_000L);
        }
        limits.remove(removed);
        assertThat(runtime.world().pendingEvents() - before)
                .as("one timer for all")
                .isEqualTo(1);
        runtime.runFor(Duration.ofMillis(97));
        assertThat(told).isEmpty();
        runtime.runFor(Duration.ofMillis(3));
        assertThat(told).hasSize(10).containsOnly("100 ms");
        assertThat(runtime.world().pendingEvents() - before).isEqualTo(1);
        told.clear();
        runtime.runFor(Duration.ofMillis(200));
        assertThat(told).as("more than a moment apart").containsExactly("300 ms");
        runtime.runFor(Duration.ofMillis(3));
        assertThat(told).containsExactly("300 ms", "303 ms");
        assertThat(runtime.world().pendingEvents() - before).isZero();
    }

    @Test
    void whatIsUpInAMomentIsToldWithWhatIsUpNow() {
        List<Long> told = new ArrayList<>();
        TimeLimits limits = new TimeLimits(runtime, (task, limitNanos) -> told.add(limitNanos));
        limits.add(request(), 10_000_000L);
        limits.add(request(), 12_000_000L);
        limits.add(request(), 12_000_001L);
        runtime.runFor(Duration.ofMillis(10));
        assertThat(told).containsExactly(10_000_000L, 12_000_000L);
    }

    @Test
    void aRenewalIsPatientTheSecondTimeARequestTheFirstAndHousekeepingNever() {
        Task<FailureKind> renewal = Task.renewing("renewal", (table, tries) -> null, this::noted);
        Task<FailureKind> request = request();
        Task<FailureKind> chore = Task.keepingHouse("chore", (table, tries) -> null, this::noted);
        boolean[][] patient = {{false, true, false}, {true, false, false}, {false, false, false}};
        List<Task<FailureKind>> tasks = List.of(renewal, request, chore);
        for (int tries = 0; tries < 3; tries++) {
            for (int i = 0; i < 3; i++) {
                assertThat(tasks.get(i).tries()).isEqualTo(tries + 1);
                assertThat(tasks.get(i).isPatient()).isEqualTo(patient[i][tries]);
                assertThat(tasks.get(i).start() && tasks.get(i).giveWay()).isTrue();
            }
        }
    }

    @Test
    void oneStatementIsTestedTheFirstTimeOnly() throws Exception {
        Task<FailureKind> quick =
                Task.acquiring(owner(), "acquire", (table, wait) -> null, (table, tries) -> null, this::noted);
        assertThat(quick.hasQuickWork()).isTrue();
        assertThat(acquire(owner()).hasQuickWork()).isFalse();
        assertThat(quick.start() && quick.giveWay()).isTrue();
        assertThat(quick.hasQuickWork()).isFalse();
    }

    @Test
    void whatIsWithdrawnWhileItIsUnderWayDoesNotStandInLineAgain() {
        Task<FailureKind> task = request();
        assertThat(task.start() && task.passPointOfNoReturn()).isTrue();
        task.withdraw(new StoreUnavailableException("withdrawn", null));
        assertThat(task.future()).isNotDone();
        assertThat(task.giveWay()).isFalse();
        assertThat(task.future()).isCompletedWithValue(FailureKind.NO_EFFECT);
        assertThat(task.start()).isFalse();
    }

    @Test
    void anAnswerStaysAndAnErrorThatIsThrownIsOne() {
        Task<FailureKind> done = request();
        done.succeed(FailureKind.PERMANENT);
        done.fail(FailureKind.UNKNOWN, new StoreUnavailableException("late", null));
        assertThat(done.future()).isCompletedWithValue(FailureKind.PERMANENT);
        assertThat(errors).isEmpty();
        assertThat(done.takeBack(new StoreUnavailableException("late", null)))
                .as("what has happened cannot be taken back")
                .isFalse();
        Task<FailureKind> failed = request();
        assertThat(failed.start()).isTrue();
        failed.fail(FailureKind.UNKNOWN, new StoreUnavailableException("failed", null));
        assertThat(failed.takeBack(new StoreUnavailableException("late", null))).isFalse();
        assertThat(failed.startAgain()).isFalse();
        StoreUnavailableException thrown = new StoreUnavailableException("thrown", null);
        Task<FailureKind> reading = Task.reading("a look", (table, tries) -> null, (kind, error) -> {
            throw error;
        });
        reading.fail(FailureKind.NO_EFFECT, thrown);
        assertThat(reading.future()).isCompletedExceptionally();
        assertThat(reading.future().handle((result, error) -> error)).isCompletedWithValue(thrown);
        assertThat(reading.writes()).isFalse();
        assertThat(done.writes()).isTrue();
        assertThat(reading.start()).as("it is over").isFalse();
    }
}
