package io.leasehold.dbscheduler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.github.kagkarlsson.scheduler.ScheduledExecution;
import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerBuilder;
import com.github.kagkarlsson.scheduler.task.TaskInstanceId;
import com.github.kagkarlsson.scheduler.task.VoidExecutionHandler;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Permit;
import io.leasehold.Permits;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of tasks that run under a lease, with a scheduler over H2. */
@Tag("quick")
class LeaseInterceptorTest {

    private final JdbcDataSource database = new JdbcDataSource();
    private final LockClient locks = Leasehold.connect("memory:");
    private final Permits exports = locks.permits("exports", 2);
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    private final List<Scheduler> schedulers = new ArrayList<>();

    @BeforeEach
    void createTable() throws SQLException {
        database.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement()) {
            // As db-scheduler's documentation has it.
            statement.execute(
                    "create table scheduled_tasks (task_name varchar(100), task_instance varchar(100), task_data blob,"
                            + " execution_time timestamp with time zone, picked boolean, picked_by varchar(50),"
                            + " last_success timestamp with time zone, last_failure timestamp with time zone,"
                            + " consecutive_failures int, last_heartbeat timestamp with time zone, version bigint, priority smallint,"
                            + " primary key (task_name, task_instance))");
        }
    }

    @AfterEach
    void close() {
        schedulers.forEach(Scheduler::stop);
        locks.close();
    }

    private Scheduler scheduler(OneTimeTask<?> task, LeaseInterceptor... interceptors) {
        SchedulerBuilder builder = Scheduler.create(database, task).threads(4).pollingInterval(Duration.ofMillis(20));
        for (LeaseInterceptor one : interceptors) {
            builder.addExecutionInterceptor(one);
        }
        Scheduler scheduler = builder.build();
        schedulers.add(scheduler);
        return scheduler;
    }

    /** Schedules these instances for now, and starts the scheduler. */
    private static void run(Scheduler scheduler, OneTimeTask<Void> task, String... ids) {
        for (String id : ids) {
            scheduler.schedule(task.instance(id), Instant.now());
        }
        scheduler.start();
    }

    private static void await(Supplier<String> what, BooleanSupplier condition) throws InterruptedException {
        long endAtNanos = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - endAtNanos > 0) {
                throw new AssertionError("waited too long: " + what.get());
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private void awaitDone(Scheduler scheduler, String... ids) throws InterruptedException {
        for (String id : ids) {
            await(
                    () -> id + " is still scheduled; ran: " + ran,
                    () -> scheduled(scheduler, id).isEmpty());
        }
    }

    /** Waits until this instance is scheduled for a time that is not near, and returns it. */
    private ScheduledExecution<Object> awaitRescheduled(Scheduler scheduler, String id) throws InterruptedException {
        Instant later = Instant.now().plusSeconds(30);
        await(
                () -> id + ": " + scheduled(scheduler, id) + "; ran: " + ran,
                () -> scheduled(scheduler, id)
                        .filter(one -> !one.isPicked() && one.getExecutionTime().isAfter(later))
                        .isPresent());
        return scheduled(scheduler, id).orElseThrow();
    }

    private OneTimeTask<Void> failing(VoidExecutionHandler<Void> body) {
        return Tasks.oneTime("export")
                .onFailure((complete, operations) -> {
                    complete.getCause().ifPresent(failures::add);
                    operations.remove();
                })
                .execute(body);
    }

    private OneTimeTask<Void> exporting() {
        return Tasks.oneTime("export")
                .execute((task, context) -> ran.add(task.getId() + " in slot "
                        + LeaseInterceptor.currentLease()
                                .map(lease -> ((Permit) lease).slot())
                                .map(String::valueOf)
                                .orElse("none")));
    }

    private static Optional<ScheduledExecution<Object>> scheduled(Scheduler scheduler, String id) {
        return scheduler.getScheduledExecution(TaskInstanceId.of("export", id));
    }

    private static LeaseInterceptor patientlyRetrying(Acquirable<? extends Lease> lease) {
        return LeaseInterceptor.of(lease, "export").retryAfter(Duration.ofMinutes(10));
    }

    @Test
    void aTaskRunsUnderAPermitAndGivesItBack() throws Exception {
        OneTimeTask<Void> export = exporting();
        Scheduler scheduler = scheduler(export, LeaseInterceptor.of(locks.permits("one", 1), "other", "export"));
        run(scheduler, export, "a");
        awaitDone(scheduler, "a");
        assertThat(ran).containsExactly("a in slot 0");
        assertThat(LeaseInterceptor.currentLease()).isEmpty();
        try (Permit free = locks.permits("one", 1).tryAcquire(Duration.ZERO)) {
            assertThat(free).isNotNull();
        }
    }

    @Test
    void aTaskThatIsBusyAfterAFailureCountsNeitherAsSuccessNorAsFailure() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        AtomicReference<Instant> failedAt = new AtomicReference<>();
        OneTimeTask<Void> export = Tasks.oneTime("export")
                .onFailure((complete, operations) -> {
                    failedAt.set(complete.getTimeDone());
                    operations.reschedule(complete, complete.getTimeDone());
                })
                .execute((task, context) -> {
                    tries.incrementAndGet();
                    throw new IllegalStateException("the first try");
                });
        Scheduler scheduler = scheduler(
                export,
                LeaseInterceptor.perTask(task -> Optional.of(locks.named(tries.get() == 0 ? "free" : "busy")))
                        .retryAfter(Duration.ofMinutes(10)));
        Instant from = Instant.now();
        try (Lease busy = locks.named("busy").acquire()) {
            run(scheduler, export, "a");
            ScheduledExecution<Object> later = awaitRescheduled(scheduler, "a");
            assertThat(tries).as("beside %s", busy).hasValue(1);
            assertThat(later.getConsecutiveFailures()).isEqualTo(1);
            assertThat(later.getLastFailure()).isCloseTo(failedAt.get(), within(1, ChronoUnit.MILLIS));
            assertThat(later.getLastSuccess()).isNull();
            assertThat(later.getExecutionTime())
                    .isBetween(from.plusSeconds(600), Instant.now().plusSeconds(721));
        }
    }

    @Test
    void aTaskThatWasNeverRunIsRescheduledToo() throws Exception {
        OneTimeTask<Void> export = exporting();
        Scheduler scheduler = scheduler(export, patientlyRetrying(locks.named("one")));
        try (Lease lease = locks.named("one").acquire()) {
            run(scheduler, export, "a");
            ScheduledExecution<Object> busy = awaitRescheduled(scheduler, "a");
            assertThat(busy.getConsecutiveFailures()).as("beside %s", lease).isZero();
            assertThat(busy.getLastFailure()).isNull();
            assertThat(busy.getLastSuccess()).isNull();
        }
        assertThat(ran).isEmpty();
    }

    @Test
    void aRescheduledTaskRunsOnceALeaseIsFree() throws Exception {
        OneTimeTask<Void> export = exporting();
        CountDownLatch asked = new CountDownLatch(1);
        Scheduler scheduler = scheduler(
                export,
                LeaseInterceptor.perTask(task -> {
                            asked.countDown();
                            return Optional.of(locks.permits("one", 1));
                        })
                        .retryAfter(Duration.ofMillis(20)));
        try (Permit permit = locks.permits("one", 1).acquire()) {
            run(scheduler, export, "a");
            assertThat(asked.await(2, TimeUnit.MINUTES)).as("beside %s", permit).isTrue();
        }
        awaitDone(scheduler, "a");
        assertThat(ran).containsExactly("a in slot 0");
    }

    @Test
    void eachInstanceMayHaveALockOfItsOwn() throws Exception {
        OneTimeTask<Void> export = Tasks.oneTime("export")
                .execute((task, context) -> ran.add(task.getId() + " under "
                        + LeaseInterceptor.currentLease()
                                .map(lease -> lease.lockName().text())
                                .orElse("none")));
        Scheduler scheduler = scheduler(
                export,
                LeaseInterceptor.perTask(task -> task.getId().equals("free")
                                ? Optional.empty()
                                : Optional.of(locks.named(LockName.of("tenant:{id}", task.getId()))))
                        .retryAfter(Duration.ofMinutes(10)));
        try (Lease lease = locks.named("tenant:b").acquire()) {
            run(scheduler, export, "a", "b", "free");
            awaitDone(scheduler, "a", "free");
            awaitRescheduled(scheduler, "b");
            assertThat(ran).as("beside %s", lease).containsExactlyInAnyOrder("a under tenant:a", "free under none");
        }
    }

    @Test
    void aLaterInterceptorThatIsBusyReleasesTheEarlierLease() throws Exception {
        OneTimeTask<Void> export = exporting();
        Scheduler scheduler =
                scheduler(export, patientlyRetrying(locks.named("outer")), patientlyRetrying(locks.named("inner")));
        try (Lease inner = locks.named("inner").acquire()) {
            run(scheduler, export, "a");
            awaitRescheduled(scheduler, "a");
            assertThat(ran).as("beside %s", inner).isEmpty();
            try (Lease outer = locks.named("outer").tryAcquire(Duration.ZERO)) {
                assertThat(outer).isNotNull();
            }
        }
    }

    @Test
    void aLossInterruptsTheTaskAndFailsItsExecution() throws Exception {
        OneTimeTask<Void> export = failing((task, context) -> {
            assertThat(locks.admin().forceReleasePermit(exports.name(), 0, null))
                    .isTrue();
            try {
                assertThat(new CountDownLatch(1).await(1, TimeUnit.MINUTES)).isFalse();
                ran.add("not interrupted");
            } catch (InterruptedException e) {
                ran.add("interrupted");
            }
        });
        Scheduler scheduler = scheduler(export, LeaseInterceptor.of(exports, "export"));
        run(scheduler, export, "a");
        awaitDone(scheduler, "a");
        assertThat(ran).containsExactly("interrupted");
        assertThat(failures).singleElement().isInstanceOf(LeaseLostException.class);
    }

    @Test
    void whatTheTaskThrowsReachesItsFailureHandler() throws Exception {
        IllegalStateException own = new IllegalStateException("of the task");
        OneTimeTask<Void> export = failing((task, context) -> {
            throw own;
        });
        Scheduler scheduler = scheduler(export, LeaseInterceptor.of(exports, "export"));
        run(scheduler, export, "a");
        awaitDone(scheduler, "a");
        assertThat(failures).containsExactly(own);
        assertThat(locks.admin()
                        .permits(exports.name())
                        .map(status -> status.held().size())
                        .orElse(0))
                .isZero();
    }

    /** Thrown as code of other languages does. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> void throwUndeclared(Exception checked) throws E {
        throw (E) checked;
    }

    @Test
    void aCheckedExceptionThatIsNotDeclaredReleasesTheLeaseToo() throws Exception {
        IOException own = new IOException("of the task");
        OneTimeTask<Void> export =
                failing((task, context) -> LeaseInterceptorTest.<RuntimeException>throwUndeclared(own));
        Scheduler scheduler = scheduler(export, LeaseInterceptor.of(exports, "export"));
        run(scheduler, export, "a");
        awaitDone(scheduler, "a");
        assertThat(failures).containsExactly(own);
        assertThat(locks.admin()
                        .permits(exports.name())
                        .map(status -> status.held().size())
                        .orElse(0))
                .isZero();
    }

    @Test
    void instancesThatWereBusyTogetherReturnOneAfterAnother() {
        Duration retry = Duration.ofSeconds(10);
        List<Duration> spread = IntStream.range(0, 20)
                .mapToObj(i -> LeaseInterceptor.spread("export " + (10 + i), retry))
                .sorted()
                .toList();
        assertThat(spread).allMatch(one -> !one.isNegative() && one.compareTo(Duration.ofSeconds(2)) <= 0);
        for (int i = 1; i < spread.size(); i++) {
            assertThat(spread.get(i).minus(spread.get(i - 1))).isBetween(Duration.ofMillis(20), Duration.ofMillis(300));
        }
        assertThat(LeaseInterceptor.spread("export 1", retry))
                .as("always the same")
                .isEqualTo(LeaseInterceptor.spread("export 1", retry));
        assertThat(LeaseInterceptor.spread("export 1", Duration.ofNanos(1))).isZero();
    }

    @Test
    void anErrorBeforeTheLeaseFailsTheExecutionBeforeItBegins() throws Exception {
        OneTimeTask<Void> export = failing((task, context) -> ran.add(task.getId()));
        Scheduler scheduler = scheduler(export, LeaseInterceptor.of(exports, "export"));
        locks.close();
        run(scheduler, export, "a");
        awaitDone(scheduler, "a");
        assertThat(ran).isEmpty();
        assertThat(failures).singleElement().isInstanceOf(IllegalStateException.class);
    }

    @Test
    void anInterruptedWaitFailsTheExecution() throws Exception {
        OneTimeTask<Void> export = Tasks.oneTime("export")
                .onFailure((complete, operations) -> {
                    // The driver of the database must not see it.
                    ran.add("interrupted: " + Thread.interrupted());
                    complete.getCause().ifPresent(failures::add);
                    operations.remove();
                })
                .execute((task, context) -> ran.add(task.getId()));
        CountDownLatch waiting = new CountDownLatch(1);
        AtomicReference<Thread> waiter = new AtomicReference<>();
        Scheduler scheduler = scheduler(
                export,
                LeaseInterceptor.perTask(task -> {
                            waiter.set(Thread.currentThread());
                            waiting.countDown();
                            return Optional.of(locks.named("one"));
                        })
                        .maxWait(Duration.ofMinutes(5)));
        try (Lease lease = locks.named("one").acquire()) {
            run(scheduler, export, "a");
            assertThat(waiting.await(2, TimeUnit.MINUTES))
                    .as("beside %s", lease)
                    .isTrue();
            waiter.get().interrupt();
            awaitDone(scheduler, "a");
        }
        assertThat(ran).containsExactly("interrupted: true");
        assertThat(failures)
                .singleElement()
                .satisfies(failure -> assertThat(failure)
                        .hasMessageContaining("was interrupted while it waited for its lease")
                        .hasCauseInstanceOf(InterruptedException.class));
    }

    /** Two schedulers over one table, four threads each: no more than two of the tasks run at a time, and all run. */
    @Test
    void noMoreTasksRunThanThereArePermits() throws Exception {
        int tasks = 12;
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(tasks);
        OneTimeTask<Void> export = Tasks.oneTime("export").execute((task, context) -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            ran.add(task.getId());
            try {
                TimeUnit.MILLISECONDS.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            running.decrementAndGet();
            done.countDown();
        });
        LeaseInterceptor interceptor = LeaseInterceptor.of(exports, "export").retryAfter(Duration.ofMillis(50));
        Scheduler one = scheduler(export, interceptor);
        Scheduler two = scheduler(export, interceptor);
        for (int i = 0; i < tasks; i++) {
            one.schedule(export.instance("task " + i), Instant.now());
        }
        one.start();
        two.start();
        assertThat(done.await(2, TimeUnit.MINUTES)).as("done: %s", ran).isTrue();
        assertThat(most.get()).isBetween(1, 2);
        assertThat(ran).hasSize(tasks).doesNotHaveDuplicates();
    }

    @Test
    void senselessSettingsAreRefused() {
        LeaseInterceptor any = LeaseInterceptor.of(exports, "export");
        assertThatThrownBy(() -> LeaseInterceptor.of(exports)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> any.retryAfter(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> any.retryAfter(Duration.ofSeconds(-1))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> any.maxWait(Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
    }
}
