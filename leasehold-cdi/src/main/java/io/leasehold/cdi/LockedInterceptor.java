package io.leasehold.cdi;

import jakarta.annotation.Priority;
import jakarta.inject.Inject;
import jakarta.interceptor.AroundInvoke;
import jakarta.interceptor.AroundTimeout;
import jakarta.interceptor.Interceptor;
import jakarta.interceptor.InvocationContext;
import org.jspecify.annotations.Nullable;

/**
 * Runs a method with {@link Locked} under its lock: outside of Jakarta's {@code @Transactional}, whose priority is
 * {@code PLATFORM_BEFORE + 200}, and inside of interceptors that run a method elsewhere.
 */
@Locked
@Interceptor
@Priority(Interceptor.Priority.PLATFORM_BEFORE + 100)
final class LockedInterceptor {

    private final LockedMethods methods;

    @Inject
    LockedInterceptor(LockedMethods methods) {
        this.methods = methods;
    }

    /** The same for a timer method of Jakarta Enterprise Beans, which is not a business method invocation. */
    @AroundTimeout
    @Nullable
    Object lockTimeout(InvocationContext invocation) throws Exception {
        return lock(invocation);
    }

    @AroundInvoke
    @Nullable
    Object lock(InvocationContext invocation) throws Exception {
        MethodLocks locks =
                methods.of(invocation.getMethod(), invocation.getTarget().getClass());
        LockCall call = LockCall.of(locks, invocation);
        try {
            return locks.method().isStage() ? StageCalls.run(call) : BlockingCalls.run(call);
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e); // no method can declare it in a form that a container would pass on
        }
    }
}
