package io.leasehold;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Puts the lock's name and the fencing token of a lease into the log context (SLF4J's MDC) of the calling thread, under the
 * keys that the library's own log events use, until it is closed.
 *
 * <pre>{@code
 * try (Lease lease = lock.acquire();
 *         LogContext context = LogContext.of(lease)) {
 *     orders.write(order.paid(), lease.fencingToken());
 * }
 * }</pre>
 *
 * <p>A context belongs to its thread and not to the lease: a nested one restores the outer values when it closes, a
 * loss or a release elsewhere does not change it, and a thread that receives a lease opens its own. The same thread
 * must open and close contexts, the last one first; use {@code try}.
 */
public final class LogContext implements AutoCloseable {

    /** The key of the lock's name; for several locks their names, separated by commas. */
    public static final String LOCK = "lock";

    /** The key of the fencing token; for several locks their tokens, in the order of the names. */
    public static final String FENCING_TOKEN = "fencingToken";

    private final Thread thread = Thread.currentThread();
    private final @Nullable String outerLock = MDC.get(LOCK);
    private final @Nullable String outerToken = MDC.get(FENCING_TOKEN);
    private boolean closed;

    private LogContext(String lock, String token) {
        MDC.put(LOCK, lock);
        MDC.put(FENCING_TOKEN, token);
    }

    /** Opens a context for code that uses this lease. */
    public static LogContext of(Lease lease) {
        return of(lease.lockName(), lease.fencingToken());
    }

    /** Opens a context for code that uses these leases. */
    public static LogContext of(MultiLease lease) {
        return new LogContext(
                lease.lockNames().stream().map(LockName::toString).collect(Collectors.joining(",")),
                lease.lockNames().stream()
                        .map(name -> Long.toString(lease.fencingToken(name)))
                        .collect(Collectors.joining(",")));
    }

    /**
     * Opens a context for code that holds this lock without a {@link Lease}: by a {@link ReentrantLockView}, or in
     * another process.
     */
    public static LogContext of(LockName name, long fencingToken) {
        return new LogContext(name.toString(), Long.toString(fencingToken));
    }

    /**
     * Wraps work for {@link Acquirable#holdWhile}: the work runs with the context; the stages that it returns do not.
     */
    public static <T> Function<Lease, T> around(Function<? super Lease, ? extends T> work) {
        Objects.requireNonNull(work, "work");
        return lease -> {
            try (LogContext context = of(lease)) {
                return work.apply(lease);
            }
        };
    }

    /** Wraps work for another thread, such as one of an executor, so that it runs with the context of this lease. */
    public static <T> Callable<T> around(Lease lease, Callable<? extends T> work) {
        Objects.requireNonNull(lease, "lease");
        Objects.requireNonNull(work, "work");
        return () -> {
            try (LogContext context = of(lease)) {
                return work.call();
            }
        };
    }

    /**
     * Restores the previous values; does nothing if already closed.
     *
     * @throws IllegalStateException if another thread has opened it: only that thread can change its context
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        if (Thread.currentThread() != thread) {
            throw new IllegalStateException("the log context of thread \"" + thread.getName()
                    + "\" cannot be closed by thread \""
                    + Thread.currentThread().getName()
                    + "\": open one in each thread that uses the lease");
        }
        closed = true;
        restore(LOCK, outerLock);
        restore(FENCING_TOKEN, outerToken);
    }

    private static void restore(String key, @Nullable String value) {
        if (value == null) {
            MDC.remove(key);
        } else {
            MDC.put(key, value);
        }
    }
}
