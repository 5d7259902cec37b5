package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client whose store is not there yet. */
@Tag("quick")
@Timeout(60)
final class ConnectLazilyTest {

    private final AtomicBoolean reachable = new AtomicBoolean();
    private final AtomicInteger openings = new AtomicInteger();

    private LockStore opened(LockRuntime runtime) {
        openings.incrementAndGet();
        if (!reachable.get()) {
            throw new StoreUnavailableException("nobody is there", null);
        }
        return new SingleNodeStore(new InMemoryNode(runtime), runtime);
    }

    @Test
    void attemptsWaitForTheStore() throws Exception {
        try (LockClient client = Leasehold.builder().store(this::opened).connectLazily()) {
            assertThatThrownBy(() -> client.named("x").tryAcquire(Duration.ZERO))
                    .isInstanceOf(StoreUnavailableException.class);
            assertThatThrownBy(() -> client.admin().inspect("x")).isInstanceOf(StoreUnavailableException.class);
            assertThat(client.guarantees().scope()).isEqualTo(Guarantee.Scope.PROCESS);
            CompletableFuture<Attempt<Lease>> waiting = client.named("x").attemptAsync(Duration.ofMinutes(1));
            reachable.set(true);
            try (Lease lease = waiting.get(1, TimeUnit.MINUTES).orElseThrow()) {
                assertThat(lease.fencingToken()).isPositive();
                assertThat(client.admin().inspect("x")).isPresent();
                assertThat(client.storeDescription()).contains("memory");
            }
        }
    }

    @Test
    void whatNoTimeCuresIsTheAnswerOfEveryAttempt() {
        reachable.set(true);
        try (LockClient client = Leasehold.builder()
                .store(this::opened)
                .require(Guarantee.Scope.NETWORK)
                .connectLazily()) {
            assertThatThrownBy(() -> client.named("x").tryAcquire(Duration.ofMinutes(1)))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("requires Scope NETWORK");
            assertThat(openings).hasValue(1);
        }
    }

    @Test
    void aMistakeInTheUriIsToldAtOnce() {
        assertThatThrownBy(() -> Leasehold.builder().connectLazily()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Leasehold.builder().store("nosql://x").connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the scheme \"nosql\" is not known");
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("redlock:?node=redis%3A%2F%2Fa")
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot be opened lazily");
        assertThatThrownBy(() -> Leasehold.builder().store("memory:x").connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nothing may follow");
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("memory:")
                        .credentials(() -> {
                            throw new AssertionError("no store is opened");
                        })
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("takes no credentials");
    }

    /** What an attempt that began before the opening believes of the store would be wrong. */
    @Test
    void aStoreOfSeveralNodesIsRefused() throws InterruptedException {
        CountDownLatch closed = new CountDownLatch(1);
        try (LockClient client = Leasehold.builder()
                .store(runtime -> {
                    LockStore store = new SingleNodeStore(new InMemoryNode(runtime), runtime);
                    return proxy((method, arguments) -> {
                        if (method.getName().equals("close")) {
                            closed.countDown();
                        }
                        return method.getName().equals("isOfNodes") ? true : method.invoke(store, arguments);
                    });
                })
                .connectLazily()) {
            assertThat(closed.await(1, TimeUnit.MINUTES)).isTrue();
            assertThatThrownBy(() -> client.named("x").tryAcquire(Duration.ofMinutes(1)))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("cannot be opened lazily");
        }
    }

    private interface Calls {
        Object answer(Method method, Object[] arguments) throws ReflectiveOperationException;
    }

    private static LockStore proxy(Calls calls) {
        return (LockStore) Proxy.newProxyInstance(
                ConnectLazilyTest.class.getClassLoader(),
                new Class<?>[] {LockStore.class},
                (proxy, method, arguments) -> calls.answer(method, arguments));
    }

    /** A store that does this first when a method of it is called. */
    private static LockStore store(LockRuntime runtime, Consumer<String> first) {
        LockStore store = new SingleNodeStore(new InMemoryNode(runtime), runtime);
        return proxy((method, arguments) -> {
            first.accept(method.getName());
            return method.invoke(store, arguments);
        });
    }

    @Test
    void aStoreThatCannotBeListenedToIsClosed() throws InterruptedException {
        CountDownLatch closed = new CountDownLatch(1);
        LockClient client = Leasehold.builder()
                .store(runtime -> store(runtime, method -> {
                    if (method.equals("listen")) {
                        throw new IllegalStateException("made by the test");
                    } else if (method.equals("close")) {
                        closed.countDown();
                    }
                }))
                .connectLazily();
        assertThat(closed.await(1, TimeUnit.MINUTES)).isTrue();
        client.close();
    }

    @Test
    void aStoreThatIsReachedAfterTheEndIsClosed() throws InterruptedException {
        CountDownLatch opening = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        AtomicBoolean interrupted = new AtomicBoolean();
        LockClient client = Leasehold.builder()
                .store(runtime -> {
                    opening.countDown();
                    // As a driver that ignores the interrupt of the close.
                    while (ended.getCount() > 0) {
                        LockSupport.parkNanos(1_000_000);
                    }
                    return store(runtime, method -> {
                        if (method.equals("close")) {
                            interrupted.set(Thread.currentThread().isInterrupted());
                            closed.countDown();
                        }
                    });
                })
                .connectLazily();
        assertThat(opening.await(1, TimeUnit.MINUTES)).isTrue();
        client.close();
        ended.countDown();
        assertThat(closed.await(1, TimeUnit.MINUTES)).isTrue();
        assertThat(interrupted).as("its close may wait").isFalse();
    }
}
