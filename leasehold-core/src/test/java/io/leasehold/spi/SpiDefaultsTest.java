package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.node.LockNode;
import io.leasehold.quorum.HandClock;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The defaults of an implementation that overrides nothing. */
@Tag("quick")
final class SpiDefaultsTest {

    private static final LockName NAME = LockName.exactly("n");

    private final List<String> called = new ArrayList<>();

    /** An instance that has only the default methods; each other call is recorded. */
    private <T> T plain(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (method.isDefault()) {
                        return InvocationHandler.invokeDefault(proxy, method, arguments);
                    }
                    called.add(method.getName() + " " + Arrays.toString(arguments));
                    if (method.getReturnType() == CompletableFuture.class) {
                        return CompletableFuture.completedFuture(null);
                    }
                    return method.getReturnType() == boolean.class ? (Object) true : null;
                }));
    }

    @Test
    void aStoreGrantsOneLockAtATimeForADayAtMost() {
        LockStore store = plain(LockStore.class);
        assertThat(store.maxTtl()).isEqualTo(Duration.ofHours(24));
        assertThat(store.isAtomicOver(List.of(NAME))).isTrue();
        assertThat(store.isAtomicOver(List.of(NAME, LockName.exactly("m")))).isFalse();
        assertThat(store.isOfNodes()).isFalse();
        assertThat(store.operations().keepsClientRecords()).isFalse();
    }

    @Test
    void nobodyQueuesWhereNoQueueIsKept() {
        assertThat(plain(StoreAdmin.class).waiters(NAME, 5)).isCompletedWithValue(List.of());
    }

    @Test
    void aNodeHasOnePart() {
        LockNode node = plain(LockNode.class);
        assertThat(node.isAtomicOver(List.of(NAME))).isTrue();
        assertThat(node.isAtomicOver(List.of(NAME, LockName.exactly("m")))).isFalse();
        assertThat(node.part(NAME)).isEmpty();
        assertThat(node.probe(NAME, 7)).isCompleted();
        assertThat(called).containsExactly("probe [7]");
        assertThat(node.operations().keepsClientRecords()).isFalse();
    }

    @Test
    void aRuntimeDoesWorkAsCallbacksAndKnowsNoExit() throws Exception {
        LockRuntime runtime = plain(LockRuntime.class);
        Runnable task = () -> {};
        runtime.executeWork(task);
        assertThat(called).containsExactly("execute [" + task + "]");
        runtime.onExit(task).cancel();
        CompletableFuture<Thread> ran = new CompletableFuture<>();
        runtime.startThread("the-name", () -> ran.complete(Thread.currentThread()));
        Thread thread = ran.get(30, TimeUnit.SECONDS);
        assertThat(thread.isDaemon()).isTrue();
        assertThat(thread.getName()).isEqualTo("the-name");
        assertThat(called).hasSize(1);
    }

    @Test
    void anInterruptIsKeptUntilWhatIsAwaitedIsDone() {
        HandClock clock = new HandClock();
        CompletableFuture<String> done = new CompletableFuture<>();
        clock.schedule(TimeUnit.MILLISECONDS.toNanos(5), () -> done.complete("done"));
        clock.interruptsNextWait = true;
        clock.awaitUninterruptibly(done);
        assertThat(done).isDone();
        assertThat(Thread.interrupted()).isTrue();
        clock.awaitUninterruptibly(done);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void anOperatorMayNameALockByItsText() {
        LockAdmin admin = plain(LockAdmin.class);
        assertThat(admin.forceRelease("a", "host/1/x")).isTrue();
        admin.inspect("b");
        assertThat(admin.waiters("c", 2))
                .as("what the method with a name tells")
                .isNull();
        assertThat(called).containsExactly("forceRelease [a, host/1/x]", "inspect [b]", "waiters [c, 2]");
    }
}
