package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that a thread that wakes up on a machine that slept unlocks its holds, and leaves no lock held. */
@SuppressWarnings("LockNotBeforeTry")
@Tag("quick")
final class SuspendedViewTest {

    private static final LockName NAME = LockName.exactly("n");

    @Test
    void afterAShortSuspensionNothingIsLeftHeld() {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        try (LockClient client =
                Leasehold.builder().store("memory:").runtime(runtime).connect()) {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            view.lock();
            long token = view.fencingToken();
            runtime.suspend(Duration.ofSeconds(5));
            assertThat(view.isHeldByCurrentThread()).as("the store says so").isTrue();
            view.lock();
            assertThat(view.fencingToken()).isEqualTo(token);
            view.unlock();
            view.unlock();
            runtime.runFor(Duration.ofSeconds(5));
            assertThat(client.admin().inspect(NAME)).isEmpty();
        }
    }

    /** The world of a client whose node can be out of reach. */
    private final VirtualWorld world = VirtualWorld.seeded(3);

    private final VirtualRuntime server = world.process("server");
    private final VirtualRuntime mine = world.process("mine");
    private final FaultyNode node = new FaultyNode(new InMemoryNode(server), mine, server);

    private LockClient client() {
        return Leasehold.builder()
                .store(new SingleNodeStore(node, mine))
                .runtime(mine)
                .connect();
    }

    @Test
    void aNoStaysANoAndLeavesNothingHeld() {
        try (LockClient client = client()) {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            AtomicInteger losses = new AtomicInteger();
            view.lock();
            view.onLost(cause -> losses.incrementAndGet());
            mine.suspend(Duration.ofSeconds(5));
            node.refuseConnections();
            world.runFor(Duration.ofSeconds(5));
            assertThat(view.isHeldByCurrentThread()).as("nothing confirms it").isFalse();
            node.acceptConnections();
            world.runFor(Duration.ofSeconds(5));
            assertThat(view.isHeldByCurrentThread()).as("a no stays a no").isFalse();
            assertThat(losses).hasValue(1);
            assertThat(client.admin().inspect(NAME)).isEmpty();
            view.lock();
            assertThat(view.getHoldCount()).isOne();
            view.unlock();
        }
    }

    @Test
    void whoUnlocksAllTheSameIsToldOfTheLoss() {
        try (LockClient client = client()) {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            view.lock();
            mine.suspend(Duration.ofSeconds(5));
            node.refuseConnections();
            world.runFor(Duration.ofSeconds(5));
            assertThat(view.isHeldByCurrentThread()).isFalse();
            node.acceptConnections();
            assertThatThrownBy(view::unlock).isInstanceOf(LeaseLostException.class);
            view.lock();
            view.unlock();
        }
    }
}
