package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class VirtualWorldTest {

    private final VirtualWorld world = VirtualWorld.seeded(7);
    private final VirtualRuntime app = world.process("app");
    private final List<String> happened = new ArrayList<>();

    private void at(VirtualRuntime process, long millis, String what) {
        process.schedule(
                Duration.ofMillis(millis).toNanos(),
                () -> happened.add(what + "@" + world.elapsed().toMillis()));
    }

    @Test
    void timersRunInTheOrderOfTheirTimes() {
        at(app, 30, "c");
        at(app, 10, "a");
        at(app, 20, "b");
        world.runUntilIdle();
        assertThat(happened).containsExactly("a@10", "b@20", "c@30");
        assertThat(world.elapsed()).isEqualTo(Duration.ofMillis(30));
    }

    @Test
    void aCancelledTimerDoesNotRun() {
        LockRuntime.Timer timer = app.schedule(1_000, () -> happened.add("never"));
        timer.cancel();
        assertThat(world.pendingEvents()).isZero();
        world.runFor(Duration.ofSeconds(1));
        assertThat(happened).isEmpty();
        assertThat(world.elapsed()).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void awaitRunsTheWorldUntilTheFutureIsDone() throws InterruptedException {
        CompletableFuture<String> future = new CompletableFuture<>();
        app.schedule(Duration.ofHours(3).toNanos(), () -> future.complete("done"));
        at(app, 4 * 3_600_000, "later");
        app.await(future);
        assertThat(future).isCompletedWithValue("done");
        assertThat(world.elapsed()).isEqualTo(Duration.ofHours(3));
        assertThat(happened).isEmpty();
    }

    @Test
    void awaitFromWithinAnEventRunsTheWorldInside() {
        CompletableFuture<String> future = new CompletableFuture<>();
        app.schedule(2_000_000, () -> future.complete("inner"));
        app.execute(() -> {
            try {
                app.await(future);
                happened.add("waited@" + world.elapsed().toMillis());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        world.runUntilIdle();
        assertThat(happened).containsExactly("waited@2");
    }

    @Test
    void waitingForWhatNeverComesIsADeadlock() {
        assertThatThrownBy(() -> app.await(new CompletableFuture<>()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("deadlock: nothing left to do")
                .hasMessageContaining("app")
                .hasMessageContaining("seed 7");
    }

    @Test
    void anInterruptEndsAwait() {
        app.schedule(5_000, () -> Thread.currentThread().interrupt());
        assertThatThrownBy(() -> app.await(new CompletableFuture<>())).isInstanceOf(InterruptedException.class);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void aPauseRunsOthersAndNothingOfItsOwn() {
        VirtualRuntime other = world.process("other");
        at(app, 10, "own");
        at(other, 20, "other");
        app.pause(Duration.ofMillis(100));
        assertThat(happened).containsExactly("other@20");
        assertThat(world.elapsed()).isEqualTo(Duration.ofMillis(100));
        world.runUntilIdle();
        assertThat(happened).containsExactly("other@20", "own@100");
    }

    @Test
    void aFrozenProcessCatchesUpInOrder() {
        at(app, 10, "a");
        at(app, 20, "b");
        at(app, 300, "c");
        app.freeze(Duration.ofMillis(100));
        world.runUntilIdle();
        assertThat(happened).containsExactly("a@100", "b@100", "c@300");
    }

    @Test
    void aSuspendedProcessDoesNotCountTheTime() {
        at(app, 10, "timer");
        long nano = app.nanoTime();
        long wall = app.wallMillis();
        app.suspend(Duration.ofSeconds(60));
        world.runFor(Duration.ofSeconds(60));
        assertThat(app.nanoTime() - nano).isZero();
        assertThat(app.wallMillis() - wall).isEqualTo(60_000);
        world.runUntilIdle();
        assertThat(happened).containsExactly("timer@60010");
    }

    @Test
    void theMonotonicClockOfASleepingMachineStandsStillAndNeverGoesBack() {
        app.monotonicRate(1.004);
        app.monotonicClock(new ClockShape.Periodic(Duration.ofMillis(3), Duration.ofSeconds(7)));
        world.runFor(Duration.ofMillis(1_300));
        long nano = app.nanoTime();
        app.suspend(Duration.ofSeconds(60));
        assertThat(app.nanoTime() - nano).as("as it falls asleep").isZero();
        assertThat(app.asleepForNanos()).isEqualTo(60_000_000_000L);
        world.runFor(Duration.ofSeconds(20));
        app.suspend(Duration.ofSeconds(50));
        assertThat(app.nanoTime() - nano).as("in its sleep").isZero();
        assertThat(app.asleepForNanos()).isEqualTo(50_000_000_000L);
        world.runFor(Duration.ofSeconds(50));
        assertThat(app.nanoTime() - nano).as("as it wakes").isZero();
        assertThat(app.asleepForNanos()).isZero();
        world.runFor(Duration.ofSeconds(1));
        assertThat(app.nanoTime() - nano).as("awake for a second").isBetween(990_000_000L, 1_010_000_000L);
    }

    @Test
    void twoSleepsThatOverlapAreOne() {
        long nano = app.nanoTime();
        app.suspend(Duration.ofSeconds(60));
        app.suspend(Duration.ofSeconds(20));
        world.runFor(Duration.ofSeconds(30));
        app.suspend(Duration.ofSeconds(40));
        world.runFor(Duration.ofSeconds(41));
        assertThat(app.nanoTime() - nano).as("awake for").isEqualTo(1_000_000_000);
    }

    @Test
    void aCrashedProcessDoesNothingMore() {
        at(app, 10, "never");
        app.crash();
        world.runUntilIdle();
        assertThat(happened).isEmpty();
        assertThatThrownBy(() -> app.await(new CompletableFuture<>())).hasMessageContaining("crashed");
    }

    @Test
    void clocksCanRunWrong() {
        long nano = app.nanoTime();
        app.monotonicRate(0.5);
        at(app, 10, "slow");
        world.runUntilIdle();
        assertThat(happened).containsExactly("slow@20");
        assertThat(app.nanoTime() - nano).isEqualTo(10_000_000);
        long wall = app.wallMillis();
        app.stepWallClock(Duration.ofHours(-1));
        assertThat(app.wallMillis() - wall).isEqualTo(-3_600_000);
        app.wallClockRate(2.0);
        world.runFor(Duration.ofSeconds(1));
        assertThat(app.wallMillis() - wall).isEqualTo(-3_600_000 + 2_000);
        assertThat(app.nanoTime() - nano).isEqualTo(510_000_000);
    }

    @Test
    void aPeriodicDriftGainsAndLosesAndTimersFollowIt() {
        VirtualRuntime process = world.process("app");
        process.monotonicClock(new ClockShape.Linear(0.99));
        process.monotonicClock(new ClockShape.Periodic(Duration.ofSeconds(1), Duration.ofSeconds(10)));
        long start = process.nanoTime();
        world.runFor(Duration.ofSeconds(5));
        assertThat(process.nanoTime() - start).isCloseTo(5_950_000_000L, within(10L));
        world.runFor(Duration.ofSeconds(5));
        assertThat(process.nanoTime() - start).isCloseTo(9_900_000_000L, within(10L));

        for (long delayNanos = 1; delayNanos < 20_000_000_000L; delayNanos += 777_777_777L) {
            long due = process.nanoTime() + delayNanos;
            long foretold = process.worldNanosAfter(delayNanos);
            boolean[] fired = {false};
            process.schedule(delayNanos, () -> fired[0] = true);
            world.runUntil(() -> fired[0], Duration.ofSeconds(60));
            assertThat(process.nanoTime() - due).as("late by").isBetween(0L, 2L);
            assertThat(world.elapsedNanos()).isEqualTo(foretold);
        }
    }

    @Test
    void aClockThatWouldRunBackIsRefused() {
        assertThatThrownBy(() -> new ClockShape.Periodic(Duration.ofSeconds(3), Duration.ofSeconds(10)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("quarter of the period");
        assertThatThrownBy(() -> new ClockShape.Linear(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("clock rate is 0.0");
    }

    @Test
    void somethingThatGoesRoundInACircleIsNoticed() {
        app.execute(new Runnable() {
            @Override
            public void run() {
                app.execute(this);
            }
        });
        assertThatThrownBy(world::runUntilIdle)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("without any time passing");
    }

    @Test
    void otherThreadsAreRefused() throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> app.execute(() -> {}), null);
        Thread thread = new Thread(task, "intruder");
        thread.start();
        thread.join();
        assertThatThrownBy(task::get)
                .isInstanceOf(ExecutionException.class)
                .hasMessageContaining("was used by \"intruder\"");
    }

    @Test
    void theSeedDecidesEverything() {
        assertThat(hashOfARun(1)).isEqualTo(hashOfARun(1)).isNotEqualTo(hashOfARun(2));
    }

    private static long hashOfARun(long seed) {
        VirtualWorld world = VirtualWorld.seeded(seed);
        VirtualRuntime process = world.process("p");
        VirtualLink link = new VirtualLink(process);
        link.faults(LinkFaults.none()
                .delay(Duration.ZERO, Duration.ofMillis(5))
                .loss(0.2)
                .duplication(0.2)
                .reordering(0.3));
        for (int i = 0; i < 200; i++) {
            int number = i;
            link.send(() -> world.note("arrived " + number));
        }
        world.runUntilIdle();
        assertThat(link.sent()).isEqualTo(200);
        assertThat(link.lost()).isPositive();
        assertThat(link.duplicated()).isPositive();
        assertThat(link.reordered()).isPositive();
        return world.traceHash();
    }

    @Test
    void aLinkKeepsTheOrderUnlessTold() {
        VirtualLink link = new VirtualLink(app);
        link.faults(LinkFaults.none().delay(Duration.ZERO, Duration.ofMillis(50)));
        for (int i = 0; i < 100; i++) {
            String number = Integer.toString(i);
            link.send(() -> happened.add(number));
        }
        world.runUntilIdle();
        assertThat(happened).hasSize(100).isSortedAccordingTo(java.util.Comparator.comparingInt(Integer::parseInt));
    }

    @Test
    void aStalledLinkDeliversLater() {
        VirtualLink link = new VirtualLink(app);
        link.stall();
        link.send(() -> happened.add("first"));
        link.send(() -> happened.add("second"));
        world.runFor(Duration.ofMinutes(1));
        assertThat(happened).isEmpty();
        assertThat(link.heldBack()).isEqualTo(2);
        link.resume();
        world.runUntilIdle();
        assertThat(happened).containsExactly("first", "second");
        link.cut();
        link.send(() -> happened.add("never"));
        world.runUntilIdle();
        assertThat(happened).hasSize(2);
    }
}
