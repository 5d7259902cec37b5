package io.leasehold.spring.boot.test;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Faults of locks on demand, for tests.
 *
 * <p>Any thread may use it.
 */
public final class LockFaults {

    private final LockClient client;
    private final AtomicReference<@Nullable BreakableStore> store = new AtomicReference<>();

    LockFaults(List<LockListener> listeners) {
        Leasehold.Builder builder = Leasehold.builder().store(this::opened);
        listeners.forEach(builder::listener);
        client = builder.connect();
    }

    private BreakableStore opened(LockRuntime runtime) {
        BreakableStore opened = new BreakableStore(new SingleNodeStore(new InMemoryNode(runtime), runtime));
        store.set(opened);
        return opened;
    }

    LockClient client() {
        return client;
    }

    /**
     * Takes the lock from its holder, who hears of it as of a loss.
     *
     * @return whether it was held
     */
    public boolean lose(String name) {
        return client.admin().forceRelease(name, null);
    }

    /**
     * Holds the lock as another process would, until the lease is closed.
     *
     * @throws IllegalStateException if it is held already
     */
    public Lease occupy(String name) throws InterruptedException {
        Lease lease = client.named(name).tryAcquire(Duration.ZERO);
        if (lease == null) {
            throw new IllegalStateException("the lock \"" + name + "\" is held already");
        }
        return lease;
    }

    /** From now on the store answers nothing that asks for a lock or for more time; {@link #repairStore} ends it. */
    public void breakStore() {
        breakable().broken(true);
    }

    /** The store answers again. */
    public void repairStore() {
        breakable().broken(false);
    }

    private BreakableStore breakable() {
        BreakableStore opened = store.get();
        if (opened == null) {
            throw new IllegalStateException("the store is not open");
        }
        return opened;
    }
}
