package io.leasehold.cdi;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockBusyException;
import io.leasehold.LockName;
import io.leasehold.MultiLock;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import io.leasehold.spi.method.LeaseSlots;
import jakarta.interceptor.InvocationContext;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call of a locked method.
 *
 * @param locks what is said about the method
 * @param asked the locks
 * @param lock the same, to be acquired
 * @param invocation the call itself
 */
record LockCall(MethodLocks locks, AskedLocks asked, Acquirable<? extends Hold> lock, InvocationContext invocation) {

    static LockCall of(MethodLocks locks, InvocationContext invocation) {
        List<LockName> names = locks.method().naming().of(invocation.getParameters());
        Acquirable<? extends Hold> lock = locks.of(names);
        return new LockCall(
                locks, new AskedLocks(locks.holderId(), names, lock instanceof MultiLock), lock, invocation);
    }

    LeaseScope scope(Hold hold, @Nullable LeaseScope outer) {
        return new LeaseScope(asked, hold, locks.commitGuard(), outer, locks.transactions()::guard);
    }

    /** Waits, on the calling thread. */
    Attempt<? extends Hold> attempt() throws InterruptedException {
        try {
            return lock.attempt(locks.maxWait());
        } catch (InterruptedException interrupt) {
            for (Class<?> declared : method().getExceptionTypes()) {
                if (declared.isAssignableFrom(InterruptedException.class)) {
                    throw interrupt;
                }
            }
            Thread.currentThread().interrupt();
            throw new AcquireInterruptedException(asked, interrupt);
        }
    }

    @Nullable
    Object body(Hold hold) throws Exception {
        LeaseSlots slots = locks.method().slots();
        if (!slots.isEmpty()) {
            invocation.setParameters(slots.filled(invocation.getParameters(), hold));
        }
        return invocation.proceed();
    }

    /** The end for the caller where the lock stayed busy. */
    @Nullable
    Object whenBusy(Attempt.Busy<?> busy) throws Throwable {
        return switch (locks.method().onBusy()) {
            case THROW -> throw new LockBusyException(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
            case SKIP ->
                locks.method().isStage()
                        ? CompletableFuture.completedFuture(null)
                        : method().getReturnType() == Optional.class ? Optional.empty() : null;
            case FALLBACK -> fallback(busy);
        };
    }

    private @Nullable Object fallback(Attempt.Busy<?> busy) throws Throwable {
        Method fallback = locks.method().fallback();
        if (fallback == null) {
            throw new IllegalStateException("a fallback is read together with onBusy = FALLBACK");
        }
        Object[] given = invocation.getParameters();
        Object[] arguments = Arrays.copyOf(given, fallback.getParameterCount());
        if (arguments.length > given.length) {
            arguments[given.length] = busy;
        }
        try {
            return fallback.invoke(invocation.getTarget(), arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }

    void refuseFailingOuter(boolean inTransaction) {
        if (inTransaction && locks.outerTransaction() == OuterTransaction.FAIL) {
            throw new IllegalStateException(
                    "the lock " + asked + " is asked for inside a transaction of the caller, which would commit"
                            + " after the release: lock outside that transaction, or set leasehold.outer-transaction to"
                            + " RELEASE_AFTER_COMPLETION");
        }
    }

    private Method method() {
        return locks.method().method();
    }
}
