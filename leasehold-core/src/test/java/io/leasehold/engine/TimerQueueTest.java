package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.LockRuntime;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One timer for all entries: each entry runs once, at its time and in its order, unless it is cancelled. */
@Tag("quick")
final class TimerQueueTest {

    private static final long MS = 1_000_000;

    private final StillRuntime runtime = new StillRuntime();
    private final TimerQueue timeline = new TimerQueue(runtime);
    private final List<Integer> ran = new ArrayList<>();

    /** An entry and its due time. */
    private record Due(int id, long atMillis, LockRuntime.Timer timer) {}

    private Due due(int id, long atMillis) {
        return new Due(id, atMillis, timeline.schedule(atMillis * MS, () -> ran.add(id)));
    }

    /** After any order of additions and cancellations, the remaining entries run in the order of their times. */
    @Test
    void whatIsNotTakenBackRunsInOrder() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            ran.clear();
            List<Due> left = new ArrayList<>();
            int many = 1 + random.nextInt(60);
            for (int id = 0; id < many; id++) {
                left.add(due(id, 1 + random.nextInt(1_000_000)));
                while (!left.isEmpty() && random.nextInt(3) == 0) {
                    left.remove(random.nextInt(left.size())).timer().cancel();
                }
            }
            assertThat(timeline.size()).as("seed %d", seed).isEqualTo(left.size());
            runtime.pass(Duration.ofHours(1));
            assertThat(ran)
                    .as("seed %d", seed)
                    .containsExactlyElementsOf(left.stream()
                            .sorted(Comparator.comparingLong(Due::atMillis))
                            .map(Due::id)
                            .toList());
            assertThat(timeline.size()).isZero();
        }
    }

    /** The caller may schedule it once more: then it runs once. */
    @Test
    void anEntryThatCannotBeScheduledDoesNotRun() {
        AtomicBoolean failed = new AtomicBoolean();
        LockRuntime failing = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule") && !failed.getAndSet(true)) {
                        throw new IllegalStateException("made by the test");
                    }
                    return method.invoke(runtime, arguments);
                });
        TimerQueue own = new TimerQueue(failing);
        TimerQueue.duty(() -> own.schedule(MS, () -> ran.add(1)));
        assertThat(own.size()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(2));
        assertThat(ran).containsExactly(1);
    }

    /** After any order of arming, arming again and disarming, each task runs once, at its last time. */
    @Test
    void aTaskThatIsArmedAgainRunsAtItsLastTimeOnly() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            long startedAtNanos = runtime.nanoTime();
            Map<Integer, Long> wanted = new HashMap<>();
            Map<Integer, Long> ranAt = new HashMap<>();
            List<TimerQueue.Task> tasks = new ArrayList<>();
            for (int id = 0; id < 20; id++) {
                int mine = id;
                tasks.add(new TimerQueue.Task() {
                    @Override
                    void due() {
                        assertThat(ranAt.put(mine, runtime.nanoTime() - startedAtNanos))
                                .isNull();
                    }
                });
            }
            for (int step = 0; step < 200; step++) {
                int id = random.nextInt(tasks.size());
                if (random.nextInt(4) == 0) {
                    timeline.disarm(tasks.get(id));
                    wanted.remove(id);
                } else {
                    long atNanos = (1 + random.nextInt(100)) * MS;
                    timeline.arm(tasks.get(id), startedAtNanos + atNanos);
                    wanted.put(id, atNanos);
                }
                assertThat(timeline.size()).as("seed %d", seed).isEqualTo(wanted.size());
            }
            for (int ms = 0; ms < 100; ms++) {
                runtime.pass(Duration.ofMillis(1));
            }
            assertThat(ranAt).as("seed %d", seed).isEqualTo(wanted);
            assertThat(runtime.timers()).as("seed %d", seed).isZero();
        }
    }

    private TimerQueue.Task withLeeway(int id, long leewayMillis) {
        return new TimerQueue.Task() {
            @Override
            void due() {
                ran.add(id);
            }

            @Override
            long leewayNanos(boolean withOthers) {
                return withOthers ? 0 : leewayMillis * MS;
            }
        };
    }

    /** Ten thousand renewals wake the timer thread a few times a second, not ten thousand times. */
    @Test
    void whatMayBeEarlyRunsWithWhatIsDueAndNeverFirst() {
        long nowNanos = runtime.nanoTime();
        timeline.arm(withLeeway(1, 50), nowNanos + 100 * MS);
        timeline.arm(withLeeway(2, 50), nowNanos + 150 * MS);
        timeline.arm(withLeeway(3, 50), nowNanos + 151 * MS);
        runtime.pass(Duration.ofNanos(100 * MS - 1));
        assertThat(ran).isEmpty();
        runtime.pass(Duration.ofNanos(1));
        assertThat(ran).containsExactly(1, 2);
        runtime.pass(Duration.ofNanos(51 * MS - 1));
        assertThat(ran).containsExactly(1, 2);
        runtime.pass(Duration.ofNanos(1));
        assertThat(ran).containsExactly(1, 2, 3);
    }

    @Test
    void whatMayNotBeEarlyIsNotRunWithWhatMay() {
        long nowNanos = runtime.nanoTime();
        timeline.arm(withLeeway(1, 50), nowNanos + 100 * MS);
        due(2, 120);
        timeline.arm(withLeeway(3, 50), nowNanos + 130 * MS);
        runtime.pass(Duration.ofMillis(100));
        assertThat(ran).containsExactly(1);
        runtime.pass(Duration.ofMillis(20));
        assertThat(ran).containsExactly(1, 2, 3);
    }

    private TimerQueue.Task withOthers(int id, long togetherMillis) {
        return new TimerQueue.Task() {
            @Override
            void due() {
                ran.add(id);
            }

            @Override
            long leewayNanos(boolean withOthers) {
                return withOthers ? togetherMillis * MS : 0;
            }
        };
    }

    /** What shares a request runs early with others of its kind, and with no other task. */
    @Test
    void whatMayRunWithOthersRunsWithTheirFirst() {
        long nowNanos = runtime.nanoTime();
        due(1, 50);
        timeline.arm(withOthers(2, 100), nowNanos + 100 * MS);
        due(3, 120);
        timeline.arm(withOthers(4, 100), nowNanos + 200 * MS);
        timeline.arm(withOthers(5, 100), nowNanos + 201 * MS);
        timeline.arm(withOthers(6, 0), nowNanos + 110 * MS);
        runtime.pass(Duration.ofMillis(50));
        assertThat(ran).containsExactly(1);
        runtime.pass(Duration.ofMillis(50));
        assertThat(ran).containsExactly(1, 2, 4);
        runtime.pass(Duration.ofMillis(20));
        assertThat(ran).containsExactly(1, 2, 4, 6, 3);
        runtime.pass(Duration.ofMillis(81));
        assertThat(ran).containsExactly(1, 2, 4, 6, 3, 5);
        assertThat(timeline.size()).isZero();
    }

    /** One request takes about so many: more would only delay other clients of the store. */
    @Test
    void notMoreRunEarlyThanShareARequest() {
        long nowNanos = runtime.nanoTime();
        for (int id = 0; id < 1_000; id++) {
            timeline.arm(withOthers(id, 5_000), nowNanos + (1_000 + id) * MS);
        }
        runtime.pass(Duration.ofSeconds(1));
        assertThat(ran).hasSize(TimerQueue.MOST_TOGETHER).contains(0, 1, 2, 3);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(ran).hasSize(1_000).doesNotHaveDuplicates();
        assertThat(timeline.size()).isZero();
    }

    @Test
    void nothingRunsBeforeItsTimeAndEverythingAtIt() {
        due(1, 10);
        runtime.pass(Duration.ofNanos(10 * MS - 1));
        assertThat(ran).isEmpty();
        runtime.pass(Duration.ofNanos(1));
        assertThat(ran).containsExactly(1);
    }

    @Test
    void whatIsEarlierThanTheTimerThatIsArmedIsNotLate() {
        due(1, 100);
        due(2, 5);
        runtime.pass(Duration.ofMillis(5));
        assertThat(ran).containsExactly(2);
        runtime.pass(Duration.ofMillis(95));
        assertThat(ran).containsExactly(2, 1);
    }

    @Test
    void takenBackTwiceOrAfterItRanHarmsNoOther() {
        Due first = due(1, 10);
        due(2, 20);
        Due third = due(3, 30);
        third.timer().cancel();
        third.timer().cancel();
        runtime.pass(Duration.ofMillis(10));
        first.timer().cancel();
        runtime.pass(Duration.ofMillis(30));
        assertThat(ran).containsExactly(1, 2);
    }

    @Test
    void aDelayThatIsPastIsNoneAndOneWithoutEndIsNeverDue() {
        timeline.schedule(-5 * MS, () -> ran.add(1));
        timeline.schedule(Long.MAX_VALUE, () -> ran.add(2));
        runtime.pass(Duration.ZERO);
        assertThat(ran).containsExactly(1);
        runtime.pass(Duration.ofDays(10_000));
        assertThat(ran).containsExactly(1);
    }

    /** Acquiring and releasing locks all day does not wake the timer thread. */
    @Test
    void whatIsAddedLaterOrTakenBackArmsNothing() {
        due(1, 10);
        for (int id = 2; id < 100; id++) {
            due(id, 10 + id).timer().cancel();
        }
        assertThat(runtime.timers()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(10));
        assertThat(runtime.timers()).isZero();
    }

    /** The entries are behind one that waits, as past leases are behind a lease that is held. */
    @Test
    void ofAThousandThatAreTakenBackNoneIsKept() {
        due(0, 1);
        for (int id = 1; id <= 1_000; id++) {
            due(id, 1_000_000).timer().cancel();
        }
        assertThat(timeline.size()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(1));
        assertThat(ran).containsExactly(0);
    }

    @Test
    void aTaskThatFailsCostsNoOther() {
        timeline.schedule(MS, () -> {
            throw new InternalError("made by the test");
        });
        due(2, 1);
        due(3, 2);
        runtime.pass(Duration.ofMillis(2));
        assertThat(ran).containsExactly(2, 3);
    }

    /** The log needs memory, too: an Error then leaves the loop over the due tasks. */
    @Test
    void aFailureThatCannotBeLoggedCostsNoOther() {
        timeline.schedule(MS, () -> {
            throw new OutOfMemoryError("made by the test") {
                @Override
                public void printStackTrace(PrintStream stream) {
                    throw new InternalError("made by the test, while the failure is logged");
                }
            };
        });
        due(2, 1);
        due(3, 2);
        assertThatThrownBy(() -> runtime.pass(Duration.ofMillis(2))).isInstanceOf(InternalError.class);
        runtime.pass(Duration.ofMillis(1));
        assertThat(ran).containsExactly(2, 3);
        assertThat(timeline.size()).isZero();
    }

    /** A timer that fires although it was just cancelled leaves one timer, not two endless chains. */
    @Test
    void aTimerThatIsCancelledTooLateLeavesNoSecondChain() {
        List<Runnable> cancelledTooLate = new ArrayList<>();
        LockRuntime late = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    try {
                        Object result = method.invoke(runtime, arguments);
                        if (!method.getName().equals("schedule")) {
                            return result;
                        }
                        return (LockRuntime.Timer) () -> {
                            ((LockRuntime.Timer) result).cancel();
                            cancelledTooLate.add((Runnable) arguments[1]);
                        };
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        TimerQueue own = new TimerQueue(late);
        own.schedule(20 * MS, () -> {});
        own.schedule(10 * MS, () -> {});
        own.schedule(5 * MS, () -> ran.add(1));
        cancelledTooLate.forEach(Runnable::run);
        assertThat(runtime.timers()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(5));
        assertThat(ran).containsExactly(1);
        assertThat(runtime.timers()).isEqualTo(1);
        runtime.pass(Duration.ofMillis(15));
        assertThat(runtime.timers()).isZero();
    }
}
