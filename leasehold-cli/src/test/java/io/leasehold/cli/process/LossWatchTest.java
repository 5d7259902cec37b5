package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the watch while the guardian, or the process that adopts orphans, is missing for a while. */
@Timeout(120)
@Tag("full")
final class LossWatchTest {

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A command that sleeps, and its guardian. */
    private static final class Scene implements AutoCloseable {

        private final StartedCommand sleeper;
        private final ProcessTree tree;
        private final Guardian guardian;

        Scene() throws IOException {
            CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
            SessionStarter sessions = SessionStarter.find(lookup);
            RunMark mark = RunMark.create();
            sleeper = StartedCommand.start(
                    new Enclosure.Polled(),
                    ExactStart.find(lookup),
                    sessions,
                    false,
                    TypedWords.ofTexts(List.of("sleep", "300")),
                    mark,
                    Map.of(),
                    ProcessTable.ofThisSystem());
            tree = new ProcessTree(ProcessTable.ofThisSystem(), new Signals(), mark, sleeper, null);
            guardian = Guardian.start(mark, Duration.ofSeconds(1), sessions, null);
        }

        LossWatch watch(
                RemainingTime remaining, OnLost onLost, Duration grace, Duration ttl, BooleanSupplier adopterGone) {
            return new LossWatch(remaining, onLost, grace, ttl, tree, guardian, adopterGone, refusing -> {});
        }

        @Override
        public void close() {
            guardian.close();
            ProcessHandle.of(sleeper.pid()).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    /** Missing once, then present for longer than the patience, missing once more, and present from then on. */
    private static final class MissingTwice implements BooleanSupplier {

        private final AtomicInteger asked = new AtomicInteger();
        private final long beganAtNanos = System.nanoTime();
        private boolean missedAgain;
        private volatile boolean askedAgain;

        @Override
        public boolean getAsBoolean() {
            if (asked.incrementAndGet() == 1) {
                return true;
            }
            if (System.nanoTime() - beganAtNanos <= PATIENCE_NANOS) {
                return false;
            }
            askedAgain = missedAgain;
            boolean missing = !missedAgain && asked.get() > 2;
            missedAgain |= missing;
            return missing;
        }
    }

    /** The watch waits as long the second time as the first time. */
    @Test
    void whatWasMissingAndCameBackMayBeMissingAgain() throws Exception {
        MissingTwice adopter = new MissingTwice();
        try (Scene scene = new Scene()) {
            LossWatch watch = scene.watch(
                    () -> TimeUnit.HOURS.toNanos(1),
                    OnLost.TERM,
                    Duration.ofSeconds(1),
                    Duration.ofMillis(300),
                    adopter);
            watch.start();
            while (!adopter.askedAgain && !watch.unguarded()) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
            watch.stop();

            assertThat(watch.unguarded()).isFalse();
            assertThat(watch.action()).isEqualTo(LossWatch.Action.NONE);
        }
    }

    /** The guardian receives that there is no deadline after that, and would kill at an end that comes later. */
    @Test
    void noDeadlineFollowsTheEndOfTheWatch() throws Exception {
        CountDownLatch telling = new CountDownLatch(1);
        CountDownLatch mayTell = new CountDownLatch(1);
        try (Scene scene = new Scene()) {
            LossWatch watch = scene.watch(
                    () -> {
                        telling.countDown();
                        awaitQuietly(mayTell);
                        return TimeUnit.HOURS.toNanos(1);
                    },
                    OnLost.TERM,
                    Duration.ofSeconds(1),
                    Duration.ofMinutes(1),
                    () -> false);
            Thread teller = new Thread(watch::tellDeadline);
            Thread dismisser = new Thread(watch::dismiss);
            teller.start();
            telling.await();
            dismisser.start();
            dismisser.join(200);
            boolean waits = dismisser.isAlive();
            mayTell.countDown();
            teller.join();
            dismisser.join();

            assertThat(waits).as("until the deadline has been sent").isTrue();
        }
    }

    /** A lease in doubt; after some looks, something else is known. */
    private static final class InDoubt implements RemainingTime {

        private static final int LOOKS = 4;

        private final long inDoubtNanos;
        private final long afterwardsNanos;
        private final AtomicInteger looks = new AtomicInteger();
        private final CountDownLatch lookedAfterwards = new CountDownLatch(3);

        InDoubt(Duration inDoubt, Duration afterwards) {
            this.inDoubtNanos = inDoubt.toNanos();
            this.afterwardsNanos = afterwards.toNanos();
        }

        @Override
        public long nanos() {
            if (looks.incrementAndGet() <= LOOKS) {
                return inDoubtNanos;
            }
            lookedAfterwards.countDown();
            return afterwardsNanos;
        }

        @Override
        public long lookAgainNanos() {
            return looks.get() <= LOOKS ? TimeUnit.HOURS.toNanos(1) : Long.MAX_VALUE;
        }
    }

    /** The action of a watch with a grace of 10 s and a kill lead of 0.1 s. */
    private static LossWatch.Action actionOn(InDoubt time, OnLost onLost) throws Exception {
        try (Scene scene = new Scene()) {
            LossWatch watch = scene.watch(time, onLost, Duration.ofSeconds(10), Duration.ofSeconds(2), () -> false);
            watch.start();
            while (watch.action() == LossWatch.Action.NONE && time.lookedAfterwards.getCount() > 0) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
            watch.stop();
            return watch.action();
        }
    }

    /** A short suspension has left less than the grace, and the store confirms the lease at once. */
    @ParameterizedTest
    @EnumSource(names = {"TERM", "KILL"})
    void theGraceAloneEndsNoCommandWhileARenewalIsOnItsWay(OnLost onLost) throws Exception {
        InDoubt time = new InDoubt(Duration.ofSeconds(9), Duration.ofHours(1));

        assertThat(actionOn(time, onLost)).isEqualTo(LossWatch.Action.NONE);
    }

    @Test
    void theGraceEndsTheCommandIfTheRenewalIsNotAnswered() throws Exception {
        InDoubt time = new InDoubt(Duration.ofSeconds(9), Duration.ofSeconds(8));

        assertThat(actionOn(time, OnLost.TERM)).isEqualTo(LossWatch.Action.TERMINATED);
        assertThat(time.looks).as("the looks in doubt come first").hasValueGreaterThan(InDoubt.LOOKS);
    }

    @Test
    void theEndKillsTheCommandEvenWhileARenewalIsOnItsWay() throws Exception {
        InDoubt time = new InDoubt(Duration.ofMillis(100), Duration.ofHours(1));

        assertThat(actionOn(time, OnLost.TERM)).isEqualTo(LossWatch.Action.KILLED);
        assertThat(time.looks).hasValue(1);
    }

    /** One look answers each change of the validity; the watch then pauses again. */
    @Test
    void aChangeOfTheValidityIsLookedAtOnce() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        try (Scene scene = new Scene()) {
            LossWatch watch = scene.watch(
                    () -> {
                        looks.incrementAndGet();
                        return TimeUnit.HOURS.toNanos(1);
                    },
                    OnLost.TERM,
                    Duration.ofSeconds(1),
                    Duration.ofMinutes(1),
                    () -> false);
            watch.start();
            untilMoreThan(0, looks);
            int before = looks.get();
            watch.check();
            untilMoreThan(before, looks);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
            watch.stop();

            assertThat(looks)
                    .as("one for the change, and those of whole ticks of 5 s")
                    .hasValueLessThan(before + 10);
        }
    }

    private static void untilMoreThan(int some, AtomicInteger looks) {
        while (looks.get() <= some) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
