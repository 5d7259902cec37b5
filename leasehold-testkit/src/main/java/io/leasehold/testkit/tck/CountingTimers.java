package io.leasehold.testkit.tck;

import io.leasehold.spi.LockRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A runtime of which it is known how many of its timers are armed. */
final class CountingTimers {

    private final LockRuntime real;
    private final AtomicInteger armed = new AtomicInteger();

    CountingTimers(LockRuntime real) {
        this.real = real;
    }

    int armed() {
        return armed.get();
    }

    LockRuntime runtime() {
        return (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule")) {
                        return schedule((long) arguments[0], (Runnable) arguments[1]);
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private LockRuntime.Timer schedule(long delayNanos, Runnable task) {
        armed.incrementAndGet();
        AtomicBoolean over = new AtomicBoolean();
        LockRuntime.Timer timer = real.schedule(delayNanos, () -> {
            disarm(over);
            task.run();
        });
        return () -> {
            disarm(over);
            timer.cancel();
        };
    }

    private void disarm(AtomicBoolean over) {
        if (over.compareAndSet(false, true)) {
            armed.decrementAndGet();
        }
    }
}
