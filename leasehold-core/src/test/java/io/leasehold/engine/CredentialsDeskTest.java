package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Credentials;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A provider that does not answer costs one thread, and each caller a bounded time. */
@Tag("quick")
@Timeout(60)
final class CredentialsDeskTest {

    private static final Credentials LOGIN = Credentials.of("app", "s3cret");

    private final StillRuntime time = new StillRuntime();
    private final AtomicInteger asked = new AtomicInteger();
    private final CountDownLatch answers = new CountDownLatch(1);
    private final CredentialsDesk desk = new CredentialsDesk(
            () -> {
                asked.incrementAndGet();
                answers.await();
                return LOGIN;
            },
            "a store",
            withThreads());

    /** A runtime whose time stands still, with real threads for callbacks. */
    private LockRuntime withThreads() {
        return (LockRuntime) Proxy.newProxyInstance(
                LockRuntime.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("execute")) {
                        Thread thread = new Thread((Runnable) arguments[0]);
                        thread.setDaemon(true);
                        thread.start();
                        return null;
                    }
                    try {
                        return method.invoke(time, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @AfterEach
    void answer() {
        answers.countDown();
    }

    private void untilAsked() {
        while (asked.get() == 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    void itIsNotWaitedForForEver() throws Exception {
        CompletableFuture<Credentials> first = desk.ask();
        untilAsked();
        time.pass(Duration.ofSeconds(6));
        CompletableFuture<Credentials> second = desk.ask();
        assertThat(first).isNotDone();
        time.pass(Duration.ofSeconds(5));
        for (CompletableFuture<Credentials> late : List.of(first, second, desk.ask())) {
            assertThatThrownBy(() -> late.get(0, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("has not answered");
        }
        assertThatThrownBy(desk::now).isInstanceOf(StoreUnavailableException.class);
        assertThat(asked).as("while it hangs").hasValue(1);
        answers.countDown();
        while (desk.ask().handle((login, error) -> error).get(30, TimeUnit.SECONDS) != null) {
            Thread.onSpinWait();
        }
    }

    @Test
    void threadsThatWaitShareOneAnswer() throws Exception {
        CompletableFuture<Credentials> one = new CompletableFuture<>();
        CompletableFuture<Credentials> other = new CompletableFuture<>();
        Thread first = new Thread(() -> one.complete(desk.now()));
        Thread second = new Thread(() -> other.complete(desk.now()));
        first.start();
        second.start();
        while (first.getState() != Thread.State.WAITING || second.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        untilAsked();
        answers.countDown();
        assertThat(one.get(30, TimeUnit.SECONDS)).isEqualTo(LOGIN);
        assertThat(other.get(30, TimeUnit.SECONDS)).isEqualTo(LOGIN);
        assertThat(asked).hasValue(1);
    }

    @Test
    void aThreadThatIsInterruptedWhileItWaitsStaysInterrupted() throws InterruptedException {
        List<Object> how = new CopyOnWriteArrayList<>();
        Thread waiting = new Thread(() -> {
            how.add(catchThrowable(desk::now));
            how.add(Thread.currentThread().isInterrupted());
        });
        waiting.start();
        untilAsked();
        waiting.interrupt();
        waiting.join();
        assertThat(how.get(0)).isInstanceOf(StoreUnavailableException.class);
        assertThat(how.get(1)).isEqualTo(true);
    }

    @Test
    void whereNoThreadCanBeHadTheAnswerIsAFailure() {
        CredentialsDesk withoutThreads = new CredentialsDesk(() -> LOGIN, "a store", time);
        time.failToStart(1);
        assertThat(withoutThreads.ask()).isCompletedExceptionally();
        assertThat(withoutThreads.ask()).isCompletedWithValue(LOGIN);
    }

    /** A runtime whose callbacks run when the test says so. */
    private LockRuntime withCallbacksIn(List<Runnable> callbacks) {
        return (LockRuntime) Proxy.newProxyInstance(
                LockRuntime.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("execute")) {
                        callbacks.add((Runnable) arguments[0]);
                        return null;
                    }
                    return method.invoke(time, arguments);
                });
    }

    /** Each caller waits for the rest of the ten seconds that the provider has, and leaves no timer behind. */
    @Test
    void theTimeLimitIsTheProvidersAndNotEachCallers() {
        List<Runnable> callbacks = new ArrayList<>();
        CredentialsDesk slow = new CredentialsDesk(() -> LOGIN, "a store", withCallbacksIn(callbacks));
        CompletableFuture<Credentials> first = slow.ask();
        time.pass(Duration.ofSeconds(6));
        CompletableFuture<Credentials> second = slow.ask();
        time.pass(Duration.ofMillis(3_999));
        assertThat(first).isNotDone();
        assertThat(second).isNotDone();
        time.pass(Duration.ofMillis(1));
        assertThat(first).isCompletedExceptionally();
        assertThat(second).isCompletedExceptionally();
        assertThat(slow.ask()).as("in the moment in which it is late").isCompletedExceptionally();
        callbacks.remove(0).run();
        CompletableFuture<Credentials> next = slow.ask();
        assertThat(time.timers()).isEqualTo(1);
        callbacks.remove(0).run();
        assertThat(next).isCompletedWithValue(LOGIN);
        assertThat(time.timers()).isZero();
    }

    /**
     * An example is a class that is missing. The waiters are notified at once, and the next caller asks the provider
     * again.
     */
    @Test
    void anErrorOfTheProviderIsToldAndIsNotItsLastAnswer() {
        List<Runnable> callbacks = new ArrayList<>();
        AtomicInteger calls = new AtomicInteger();
        CredentialsDesk broken = new CredentialsDesk(
                () -> {
                    if (calls.incrementAndGet() == 1) {
                        throw new NoClassDefFoundError("s3cret");
                    }
                    return LOGIN;
                },
                "a store",
                withCallbacksIn(callbacks));
        CompletableFuture<Credentials> first = broken.ask();
        assertThatThrownBy(callbacks.remove(0)::run).isInstanceOf(NoClassDefFoundError.class);
        assertThat(first).isCompletedExceptionally();
        assertThatThrownBy(first::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("a store", "NoClassDefFoundError")
                .hasMessageNotContaining("s3cret");
        CompletableFuture<Credentials> next = broken.ask();
        assertThat(callbacks).as("it is asked again").hasSize(1);
        callbacks.remove(0).run();
        assertThat(next).isCompletedWithValue(LOGIN);
    }

    @Test
    void aFailureOfTheProvidersOwnIsPassedOnAsItIs() {
        CredentialsDesk own = new CredentialsDesk(
                () -> {
                    throw new StoreUnavailableException("the vault is sealed", null);
                },
                "a store",
                time);
        assertThatThrownBy(own::now)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("the vault is sealed");
        CredentialsDesk other = new CredentialsDesk(
                () -> {
                    throw new IllegalStateException("s3cret");
                },
                "a store",
                time);
        assertThatThrownBy(other::now)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("a store", "IllegalStateException")
                .hasMessageNotContaining("s3cret");
    }
}
