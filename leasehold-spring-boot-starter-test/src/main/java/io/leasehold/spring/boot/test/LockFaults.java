package io.leasehold.spring.boot.test;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Injects faults into locks, for tests.
 *
 * <p>Any thread may use it.
 */
public final class LockFaults {

    private final List<LockListener> listeners;
    private final TestDefaults defaults;
    private final LockClient client;
    private final AtomicReference<@Nullable BreakableStore> store = new AtomicReference<>();

    /** The faults of named clients. */
    private final ConcurrentMap<String, LockFaults> named = new ConcurrentHashMap<>();

    LockFaults(List<LockListener> listeners, TestDefaults defaults) {
        this(listeners, defaults, defaults.standard());
    }

    private LockFaults(List<LockListener> listeners, TestDefaults defaults, LockOptions options) {
        this.listeners = listeners;
        this.defaults = defaults;
        Leasehold.Builder builder = Leasehold.builder().store(this::opened).defaults(options);
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

    /** Creates an in-memory client in place of another client than that which is injected by type. */
    LockClient clientAt(String name) {
        return named.computeIfAbsent(name, unused -> new LockFaults(listeners, defaults, defaults.of(name)))
                .client();
    }

    /** Closes the client, which no bean does if the application has only clients with a name. */
    void close() {
        client.close();
    }

    /**
     * The faults for the locks of a named client.
     *
     * @param name the name in {@code leasehold.clients.*}, or that of a bean of the application which is not the one that
     *     is injected by type
     * @throws IllegalArgumentException if there is no such client
     */
    public LockFaults at(String name) {
        LockFaults faults = named.get(name);
        if (faults == null) {
            throw new IllegalArgumentException(
                    "there is no further client \"" + name + "\"; there are " + new TreeSet<>(named.keySet()));
        }
        return faults;
    }

    /**
     * Takes the lock away from its holder, which observes a loss.
     *
     * @return whether it was held
     */
    public boolean lose(String name) {
        return client.admin().forceRelease(name, null);
    }

    /**
     * Holds the lock as another process would, until the lease is closed.
     *
     * @throws IllegalStateException if the lock is already held
     */
    public Lease occupy(String name) throws InterruptedException {
        Lease lease = client.named(name).tryAcquire(Duration.ZERO);
        if (lease == null) {
            throw new IllegalStateException("the lock \"" + name + "\" is already held");
        }
        return lease;
    }

    /** Makes the store unreachable for acquires and renewals, until {@link #repairStore} is called. */
    public void breakStore() {
        breakable().broken(true);
    }

    /** Makes the store reachable again. */
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
