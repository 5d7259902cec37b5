package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockBusyException;
import io.leasehold.LockName;
import io.leasehold.MultiLock;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseSlots;
import io.leasehold.spring.LockedMethod.Style;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;

/**
 * Puts a lock around a method that carries {@link Locked}.
 *
 * <p>Any thread may use it.
 */
final class LockedInterceptor implements MethodInterceptor {

    private final LockedMethods methods;
    private final LockClients clients;

    LockedInterceptor(LockedMethods methods, LockClients clients) {
        this.methods = methods;
        this.clients = clients;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        LockedMethod locked = methods.of(invocation.getMethod(), target == null ? null : target.getClass());
        if (locked == null) {
            return invocation.proceed();
        }
        MethodLocks locks = clients.of(locked);
        List<LockName> names = locked.naming().of(target, invocation.getArguments());
        Acquirable<? extends Hold> lock = locks.of(names);
        LockCall call = new LockCall(
                new AskedLocks(locks.holderId(), names, lock instanceof MultiLock),
                lock,
                locks.maxWait(),
                locks.commitGuard(),
                locked.onLoss(),
                locks.outerTransaction(),
                body(locked, invocation),
                busy -> whenBusy(locked, invocation, busy),
                locks.observations(),
                interrupt -> interrupted(locked.method(), names, interrupt));
        return switch (locked.style()) {
            case BLOCKING -> BlockingCalls.run(call);
            case STAGE -> StageCalls.run(call);
            case PUBLISHER -> PublisherCalls.run(call, locked.method().getReturnType());
            case SUSPENDING -> PublisherCalls.runMono(call);
        };
    }

    private static Exception interrupted(Method method, List<LockName> names, InterruptedException interrupt) {
        for (Class<?> declared : method.getExceptionTypes()) {
            if (declared.isAssignableFrom(InterruptedException.class)) {
                return interrupt;
            }
        }
        Thread.currentThread().interrupt();
        return new AcquireInterruptedException(names, interrupt);
    }

    /** A body that begins after this method has returned needs an invocation of its own, and so does each subscription. */
    private static LockCall.Body body(LockedMethod locked, MethodInvocation invocation) {
        if (locked.style() == Style.BLOCKING) {
            return hold -> {
                if (invocation instanceof ProxyMethodInvocation proxied) {
                    proxied.setArguments(locked.slots().filled(invocation.getArguments(), hold));
                }
                return invocation.proceed();
            };
        }
        ProxyMethodInvocation proxied = (ProxyMethodInvocation) invocation;
        Later later = new Later((ProxyMethodInvocation) proxied.invocableClone(), locked.slots());
        return locked.style() == Style.SUSPENDING ? new SuspendingBody(later) : later::proceed;
    }

    /** An invocation that begins when its lock is held, as often as it is acquired. */
    private record Later(ProxyMethodInvocation kept, LeaseSlots slots) {

        @Nullable
        Object proceed(Hold hold) throws Throwable {
            return proceed(slots.filled(kept.getArguments(), hold));
        }

        @Nullable
        Object proceed(Object[] arguments) throws Throwable {
            return kept.invocableClone(arguments).proceed();
        }
    }

    private record SuspendingBody(Later later) implements LockCall.Body {

        @Override
        public @Nullable Object run(Hold hold) throws Throwable {
            return later.proceed(hold);
        }

        @Override
        public @Nullable Object run(Hold hold, Inside inside) throws Throwable {
            Object[] arguments = later.slots().filled(later.kept().getArguments(), hold);
            return later.proceed(Coroutines.watched(arguments, inside));
        }
    }

    private static @Nullable Object whenBusy(LockedMethod locked, MethodInvocation invocation, Attempt.Busy<?> busy)
            throws Throwable {
        Method fallback = locked.fallback();
        if (fallback != null) {
            return called(locked, fallback, invocation, busy);
        }
        if (locked.onBusy() == OnBusy.SKIP) {
            return nothing(locked);
        }
        throw new LockBusyException(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
    }

    private static @Nullable Object nothing(LockedMethod locked) {
        return switch (locked.style()) {
            case STAGE -> CompletableFuture.completedFuture(null);
            case PUBLISHER, SUSPENDING -> null;
            case BLOCKING -> locked.method().getReturnType() == Optional.class ? Optional.empty() : null;
        };
    }

    private static @Nullable Object called(
            LockedMethod locked, Method fallback, MethodInvocation invocation, Attempt.Busy<?> busy) throws Throwable {
        Object[] given = invocation.getArguments();
        int more = fallback.getParameterCount() - given.length;
        Object[] arguments =
                more == 0 ? given : withBusy(given, given.length - (locked.style() == Style.SUSPENDING ? 1 : 0), busy);
        return AopUtils.invokeJoinpointUsingReflection(invocation.getThis(), fallback, arguments);
    }

    private static Object[] withBusy(Object[] given, int position, Attempt.Busy<?> busy) {
        Object[] arguments = Arrays.copyOf(given, given.length + 1);
        arguments[position] = busy;
        System.arraycopy(given, position, arguments, position + 1, given.length - position);
        return arguments;
    }
}
