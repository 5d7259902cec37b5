package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.LockRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** If anything throws between a grant and its work, or after it, the lock is released and the future completes. */
@Tag("quick")
@Timeout(120)
final class BrokenStagesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** A user's stage that rejects callbacks. */
    private static final class DeafStage extends CompletableFuture<String> {
        private final Throwable thrown;

        DeafStage(Throwable thrown) {
            this.thrown = thrown;
        }

        @Override
        public CompletableFuture<String> whenComplete(BiConsumer<? super String, ? super Throwable> action) {
            throw sneaky(thrown);
        }

        @SuppressWarnings("unchecked")
        private static <E extends Throwable> RuntimeException sneaky(Throwable thrown) throws E {
            throw (E) thrown;
        }
    }

    private static void isFree(LockClient locks) throws InterruptedException {
        try (Lease next = locks.named("n").tryAcquire(PATIENCE)) {
            assertThat(next).isNotNull();
        }
    }

    private static void ends(Throwable thrown) throws InterruptedException {
        try (LockClient locks = Leasehold.connect("memory:")) {
            CompletableFuture<String> done = locks.named("n").holdWhile(PATIENCE, lease -> new DeafStage(thrown));
            assertThatThrownBy(() -> done.get(60, TimeUnit.SECONDS)).hasCause(thrown);
            isFree(locks);
        }
    }

    @Test
    void aStageThatCannotBeListenedToIsWorkThatFailed() throws InterruptedException {
        ends(new IllegalStateException("made by the test"));
        ends(new InternalError("made by the test"));
        ends(new Exception("made by the test"));
    }

    @Test
    void aFailureThatThrowsWhenItIsAskedForItsCauseIsTold() throws Exception {
        final class Hostile extends RuntimeException {
            private static final long serialVersionUID = 1L;

            @Override
            public synchronized Throwable getCause() {
                throw new IllegalStateException("made by the test");
            }
        }
        Hostile hostile = new Hostile();
        try (LockClient locks = Leasehold.connect("memory:")) {
            CompletableFuture<String> done =
                    locks.named("n").holdWhile(PATIENCE, lease -> CompletableFuture.failedFuture(hostile));
            CompletableFuture<Throwable> told = done.handle((value, failure) -> failure);
            assertThat(told.get(60, TimeUnit.SECONDS)).isSameAs(hostile);
            isFree(locks);
        }
    }

    @Test
    void aWrappedFailureWithoutACauseIsToldAsItIs() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        CompletionException wrapper = new CompletionException("made by the test", null);
        CompletableFuture<String> handed = Futures.onCallbackExecutor(runtime, CompletableFuture.failedFuture(wrapper));
        assertThatThrownBy(() -> handed.get(60, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class);
        runtime.close();
    }

    /** A runtime that refuses callbacks while the flag is set. */
    private static LockRuntime refusing(AtomicBoolean refuse) {
        SystemLockRuntime real = new SystemLockRuntime();
        return (LockRuntime) Proxy.newProxyInstance(
                BrokenStagesTest.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, args) -> {
                    if (refuse.get() && method.getName().startsWith("execute")) {
                        throw new RejectedExecutionException("made by the test");
                    }
                    try {
                        return method.invoke(real, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aGrantIsToldAlsoWhereNoThreadTakesTheNews() throws Exception {
        AtomicBoolean refuse = new AtomicBoolean(true);
        LockRuntime runtime = refusing(refuse);
        try (LockClient locks =
                Leasehold.builder().store("memory:").runtime(runtime).connect()) {
            locks.named("n").acquireAsync().get(60, TimeUnit.SECONDS).close();
            assertThatThrownBy(() -> locks.named("n")
                            .holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture("done"))
                            .get(60, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(RejectedExecutionException.class);
            isFree(locks);
        }
    }

    @Test
    void workForAnExecutorOfTheUsersThatCannotBeReachedIsToldToo() throws Exception {
        AtomicBoolean refuse = new AtomicBoolean(true);
        LockRuntime runtime = refusing(refuse);
        try (LockClient locks = Leasehold.builder()
                .store("memory:")
                .runtime(runtime)
                .workExecutor(Runnable::run)
                .connect()) {
            CompletableFuture<String> done =
                    locks.named("n").holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture("done"));
            assertThat(done.handle((value, error) -> true).get(60, TimeUnit.SECONDS))
                    .isTrue();
            isFree(locks);
        }
    }
}
