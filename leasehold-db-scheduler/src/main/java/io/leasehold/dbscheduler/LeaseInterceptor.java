package io.leasehold.dbscheduler;

import com.github.kagkarlsson.scheduler.event.ExecutionChain;
import com.github.kagkarlsson.scheduler.event.ExecutionInterceptor;
import com.github.kagkarlsson.scheduler.task.CompletionHandler;
import com.github.kagkarlsson.scheduler.task.Execution;
import com.github.kagkarlsson.scheduler.task.ExecutionComplete;
import com.github.kagkarlsson.scheduler.task.ExecutionContext;
import com.github.kagkarlsson.scheduler.task.ExecutionOperations;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Durations;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a task of db-scheduler only while it holds a lease: one of several permits, so that at most that many tasks run at
 * a time in all processes, or a lock.
 *
 * <p><b>Guarantee.</b> The lease is acquired before the task begins, renewed while it runs, and released when it has
 * ended. If none is free within the patience (by default at the first request), the task does not begin: it is rescheduled
 * after {@link #retryAfter}, plus up to a fifth. The time of its last success, that of its last failure and the number of
 * its failures stay as they were.
 *
 * <p><b>A lost lease.</b> The thread of the task is interrupted when the lease is lost. The execution then fails with
 * {@link LeaseLostException}, even if the task has returned, and db-scheduler's failure handler decides. Until the task
 * stops, another one may run: only a resource that checks the {@linkplain Lease#fencingToken() fencing token} refuses its
 * writes.
 *
 * <p><b>Errors.</b> An error of the store, or an interrupt of the wait, fails the execution; the task has not begun.
 *
 * <p>Immutable; any thread may use it. Several interceptors may guard one task: the first that was added acquires first,
 * and a task that finds the second lease busy releases the first one before it is rescheduled.
 */
public final class LeaseInterceptor implements ExecutionInterceptor {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final Duration DEFAULT_RETRY = Duration.ofSeconds(10);

    private final Function<? super TaskInstance<?>, ? extends Optional<? extends Acquirable<? extends Lease>>> leases;
    private final Duration maxWait;
    private final Duration retryAfter;

    private LeaseInterceptor(
            Function<? super TaskInstance<?>, ? extends Optional<? extends Acquirable<? extends Lease>>> leases,
            Duration maxWait,
            Duration retryAfter) {
        this.leases = leases;
        this.maxWait = maxWait;
        this.retryAfter = retryAfter;
    }

    /**
     * Guards all instances of these tasks.
     *
     * @param lease permits, or a lock
     * @param tasks the names of the tasks
     * @throws IllegalArgumentException if no task is named
     */
    public static LeaseInterceptor of(Acquirable<? extends Lease> lease, String... tasks) {
        Objects.requireNonNull(lease, "lease");
        List<String> names = List.of(tasks);
        if (names.isEmpty()) {
            throw new IllegalArgumentException("name the tasks that run under the lease");
        }
        Optional<Acquirable<? extends Lease>> guarded = Optional.of(lease);
        return perTask(task -> names.contains(task.getTaskName()) ? guarded : Optional.empty());
    }

    /**
     * Guards each instance by a lease of its own choice.
     *
     * @param leases the permits or the lock of a task instance, or empty if it needs none; called once per execution, on
     *     its thread
     */
    public static LeaseInterceptor perTask(
            Function<? super TaskInstance<?>, ? extends Optional<? extends Acquirable<? extends Lease>>> leases) {
        return new LeaseInterceptor(Objects.requireNonNull(leases, "leases"), Duration.ZERO, DEFAULT_RETRY);
    }

    /**
     * The same with another patience. Default: zero, which is one request.
     *
     * @param patience how long an execution waits for the lease; it occupies a thread of the scheduler meanwhile
     * @throws IllegalArgumentException if it is negative
     */
    public LeaseInterceptor maxWait(Duration patience) {
        if (patience.isNegative()) {
            throw new IllegalArgumentException("maxWait is negative: " + Durations.text(patience));
        }
        return new LeaseInterceptor(leases, patience, retryAfter);
    }

    /**
     * The same with another delay before a task that found no lease is tried again. Default: 10 s.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public LeaseInterceptor retryAfter(Duration delay) {
        if (delay.isNegative() || delay.isZero()) {
            throw new IllegalArgumentException("retryAfter is not positive: " + Durations.text(delay));
        }
        return new LeaseInterceptor(leases, maxWait, delay);
    }

    /** The innermost lease under which this thread runs a task; empty elsewhere. */
    public static Optional<Lease> currentLease() {
        LeaseScope scope = LeaseScope.current();
        return scope != null && scope.hold() instanceof Lease lease ? Optional.of(lease) : Optional.empty();
    }

    @Override
    public CompletionHandler<?> execute(TaskInstance<?> task, ExecutionContext context, ExecutionChain chain) {
        Acquirable<? extends Lease> guard = leases.apply(task).orElse(null);
        if (guard == null) {
            return chain.proceed(task, context);
        }
        Attempt<? extends Lease> attempt = attempt(task, guard);
        if (attempt instanceof Attempt.Busy<?> busy) {
            LOG.debug("{} is rescheduled: {} is busy", task, busy.lockName());
            return (complete, operations) -> reschedule(complete, operations);
        }
        return under(attempt.orElseThrow(), () -> chain.proceed(task, context));
    }

    private Attempt<? extends Lease> attempt(TaskInstance<?> task, Acquirable<? extends Lease> guard) {
        try {
            return guard.attempt(maxWait);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(
                    task + " was interrupted while it waited for its lease; it has not begun", e);
        }
    }

    private static CompletionHandler<?> under(
            Lease lease, LeaseScope.Body<CompletionHandler<?>, RuntimeException> body) {
        AskedLocks only = new AskedLocks("", List.of(lease.lockName()), false);
        LeaseScope scope = new LeaseScope(only, lease, Duration.ZERO, LeaseScope.current());
        CompletionHandler<?> result = null;
        Throwable thrown = null;
        try {
            result = scope.run(true, body);
        } catch (Throwable e) {
            // A checked exception, too: a task in another language than Java need not declare it.
            thrown = e;
        }
        LeaseLostException lost = scope.loss();
        LeaseLostException found = scope.release();
        Throwable end = LeaseScope.outcome(lost != null ? lost : found, thrown);
        if (end != null) {
            LeaseInterceptor.<RuntimeException>rethrow(end);
        }
        return Objects.requireNonNull(result, "a task returned no completion handler");
    }

    /** Throws an exception as it is, even one that is not declared. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> void rethrow(Throwable end) throws E {
        throw (E) end;
    }

    /**
     * Reschedules an execution that has not begun. Reported as a success, it would have a new time of its last success, and
     * no failures any more. Reported as a failure at the time of its last one, it keeps both times; the failure that
     * db-scheduler counts is deducted before.
     */
    private <T> void reschedule(ExecutionComplete complete, ExecutionOperations<T> operations) {
        Execution execution = complete.getExecution();
        Instant next = complete.getTimeDone().plus(retryAfter).plus(spread(execution.getId(), retryAfter));
        execution.consecutiveFailures--;
        try {
            operations.reschedule(
                    ExecutionComplete.failure(execution, complete.getTimeDone(), execution.lastFailure, null), next);
        } finally {
            execution.consecutiveFailures++;
        }
    }

    /**
     * Up to a fifth more, so that tasks that were busy together do not return together. An instance always has the same
     * part of it, and those of instances with similar ids are far apart.
     */
    static Duration spread(String instance, Duration retryAfter) {
        // The golden ratio: its multiples modulo 1 are spread evenly.
        long part = Integer.toUnsignedLong(instance.hashCode() * 0x9E3779B9);
        long mostMillis = retryAfter.toMillis() / 5;
        return Duration.ofMillis((long) (mostMillis * (part / 0x1p32)));
    }
}
