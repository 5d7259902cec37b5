package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests close(): acquiring stops, holders are notified and get a bounded time, and the rest is ended. */
@Tag("quick")
final class ClientCloseTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final Duration LONG = Duration.ofMinutes(10);

    private final SystemLockRuntime nodesTime = new SystemLockRuntime();
    private final InMemoryNode node = new InMemoryNode(nodesTime);

    private LockClient client() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        return Leasehold.builder()
                .store(new SingleNodeStore(node, runtime))
                .runtime(runtime)
                .defaults(LockOptions.defaults().ttl(LONG))
                .connect();
    }

    private boolean isHeld() {
        return node.admin().describe(NAME).join().isPresent();
    }

    @Test
    void aHolderInAnotherThreadIsToldAndMayFinish() throws Exception {
        LockClient client = client();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(1);
        AtomicReference<LossCause> cause = new AtomicReference<>();
        CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
        Thread holder = new Thread(() -> {
            try {
                Lease lease = client.named(NAME).acquire();
                lease.onLost(why -> {
                    cause.set(why);
                    told.countDown();
                });
                holds.countDown();
                told.await();
                assertThat(isHeld())
                        .as("it is not taken from it while it finishes")
                        .isTrue();
                released.complete(lease.release());
            } catch (Throwable e) {
                released.completeExceptionally(e);
            }
        });
        holder.start();
        holds.await();
        client.close(Duration.ofMinutes(2));
        assertThat(cause).hasValue(LossCause.CLIENT_CLOSED);
        assertThat(released.get(60, TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(isHeld()).isFalse();
        holder.join();
    }

    @Test
    void aHolderThatDoesNotReactIsNotWaitedForForEver() throws Exception {
        LockClient client = client();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try {
                Lease lease = client.named(NAME).acquire();
                holds.countDown();
                over.await();
                lease.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        holder.start();
        holds.await();
        client.close(Duration.ofMillis(200));
        assertThat(isHeld()).isFalse();
        over.countDown();
        holder.join();
    }

    @Test
    void waitersOfEveryKindEndWithTheSameException() throws Exception {
        LockClient obstacle = client();
        Lease held = obstacle.named(NAME).acquire();
        LockClient client = client();
        CompletableFuture<Lease> one = client.named(NAME).acquireAsync();
        CompletableFuture<MultiLease> several =
                client.all(NAME, LockName.exactly("m")).acquireAsync();
        CompletableFuture<Integer> working =
                client.named(NAME).holdWhile(LONG, lease -> CompletableFuture.completedFuture(1));

        client.close();

        for (CompletableFuture<?> future : new CompletableFuture<?>[] {one, several, working}) {
            assertThatThrownBy(() -> future.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(IllegalStateException.class);
        }
        assertThatThrownBy(() -> client.named(NAME).acquire()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> client.all(NAME).acquire()).isInstanceOf(IllegalStateException.class);
        assertThat(node.admin().describe(LockName.exactly("m")).join()).isEmpty();
        held.close();
        assertThat(isHeld()).isFalse();
        obstacle.close();
    }

    @Test
    void aCallbackMayCloseItsOwnClient() throws Exception {
        LockClient client = client();
        LockClient operator = client();
        Lease lease = client.named(NAME).acquire();
        Lease other = client.named("other").acquire();
        CompletableFuture<Void> closed = new CompletableFuture<>();
        lease.onLost(cause -> {
            client.close();
            closed.complete(null);
        });
        assertThat(operator.admin().forceRelease(NAME, null)).isTrue();
        closed.get(60, TimeUnit.SECONDS);
        assertThat(other.isValid()).isFalse();
        assertThat(node.admin().describe(LockName.exactly("other")).join()).isEmpty();
        assertThatThrownBy(() -> client.named(NAME).tryAcquire(Duration.ZERO))
                .isInstanceOf(IllegalStateException.class);
        operator.close();
    }

    /** A container may close the client, too. Code after a close may rely on it. */
    @Test
    void aSecondCloseWaitsForTheFirst() throws Exception {
        LockClient client = client();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try (Lease lease = client.named(NAME).acquire()) {
                lease.onLost(why -> told.countDown());
                holds.countDown();
                over.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        holder.start();
        holds.await();
        Thread first = new Thread(() -> client.close(Duration.ofMinutes(2)));
        first.start();
        told.await();
        CompletableFuture<Boolean> heldAfterTheSecond = new CompletableFuture<>();
        Thread second = new Thread(() -> {
            client.close(Duration.ofMinutes(2));
            heldAfterTheSecond.complete(isHeld());
        });
        second.start();
        while (!heldAfterTheSecond.isDone() && second.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        over.countDown();
        assertThat(heldAfterTheSecond.get(60, TimeUnit.SECONDS)).isFalse();
        first.join();
        holder.join();
        client.close(Duration.ofMinutes(2));
    }

    @Test
    void aSecondCloseIsAsPatientAsItIsAsked() throws Exception {
        LockClient client = client();
        CountDownLatch holds = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try (Lease lease = client.named(NAME).acquire()) {
                lease.onLost(why -> told.countDown());
                holds.countDown();
                over.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        holder.start();
        holds.await();
        Thread first = new Thread(() -> client.close(Duration.ofMinutes(10)));
        first.start();
        told.await();
        client.close(Duration.ofMillis(20));
        assertThat(first.isAlive()).isTrue();
        over.countDown();
        first.join();
        holder.join();
    }
}
