package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ballot.SingleNodeStore;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class InMemoryNodeTest {

    private static final LockName NAME = LockName.exactly("n");

    @Test
    void aNodeThatLivesOnForgetsTheClosedClient() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        AtomicInteger told = new AtomicInteger();
        StoreSignals ear = new StoreSignals() {
            @Override
            public void wake(LockName name) {
                told.incrementAndGet();
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                told.incrementAndGet();
            }

            @Override
            public void reconnected() {
                told.incrementAndGet();
            }
        };
        SingleNodeStore closed = new SingleNodeStore(node, runtime);
        closed.listen(ear);
        SingleNodeStore other = new SingleNodeStore(node, runtime);
        other.listen(ear);
        AcquireRequest request =
                AcquireRequest.exclusive(List.of(NAME), OwnerToken.draw(runtime), "h", 60_000_000_000L, 1_000_000_000L);

        other.acquire(request).join();
        node.forceRelease(NAME, null).join();
        int whileBothAreOpen = told.getAndSet(0);
        closed.close();
        other.acquire(request).join();
        node.forceRelease(NAME, null).join();

        assertThat(whileBothAreOpen)
                .as("the loss, told to both; nobody waits to be woken")
                .isEqualTo(2);
        assertThat(told).hasValue(1);
        runtime.close();
    }
}
