package io.leasehold.engine;

import io.leasehold.DistributedLock;
import io.leasehold.Guarantees;
import io.leasehold.LockAdmin;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A client: wires the parts together, and ends them in order. */
public final class EngineClient implements LockClient {

    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(5);
    private static final long QUIET_CHECK_NANOS = 2_000_000;

    private final Wiring wiring;
    private final LockOptions defaults;
    private final NameDesks desks = new NameDesks();
    private final ReentrantHolds reentrantHolds = new ReentrantHolds();
    private final CompletableFuture<Void> quiet = new CompletableFuture<>();
    private volatile boolean closing;

    /** A client of the store, which it owns from now on, as it owns the runtime. */
    public EngineClient(
            LockRuntime runtime, LockStore store, LockOptions defaults, String label, List<LockListener> listeners) {
        this.defaults = accepted(defaults, store);
        this.wiring = new Wiring(
                runtime,
                store,
                new Events(listeners),
                new Undoer(runtime, store),
                new RenewalLoop(runtime, store),
                new HoldTable(),
                HolderId.of(runtime, label));
        store.listen(new Ear());
    }

    /** What the store pushes. */
    private final class Ear implements StoreSignals {
        @Override
        public void wake(LockName name) {
            desks.wake(name);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            LeaseHandle lease = wiring.holds().find(owner);
            if (lease != null) {
                lease.takenAway(cause);
            }
        }

        @Override
        public void reconnected() {
            wiring.undoer().reconnected();
            desks.wakeAll();
        }
    }

    private static LockOptions accepted(LockOptions options, LockStore store) {
        if (options.ttl().compareTo(store.maxTtl()) > 0) {
            throw new UnsafeStoreException(
                    "ttl " + options.ttl() + " is above the largest that " + store.description() + " accepts: "
                            + store.maxTtl(),
                    null);
        }
        return options;
    }

    Waiter enter(LockName name, LockOptions options, long maxWaitNanos) {
        accepted(options, wiring.store());
        WaitPolicy policy = new WaitPolicy(options.recheck().toNanos(), options.retry());
        Waiter waiter = new Waiter(name, Timings.of(options), policy, maxWaitNanos, wiring, desks);
        refuseIfClosed();
        desks.enter(waiter);
        if (closing) {
            waiter.clientClosing();
        }
        return waiter;
    }

    private void refuseIfClosed() {
        if (closing) {
            throw new IllegalStateException("lock client for " + storeDescription() + " is closed");
        }
    }

    LockRuntime runtime() {
        return wiring.runtime();
    }

    ReentrantHolds reentrantHolds() {
        return reentrantHolds;
    }

    @Override
    public DistributedLock named(LockName name) {
        return new NamedLock(Objects.requireNonNull(name, "name"), defaults, this);
    }

    @Override
    public LockAdmin admin() {
        return new EngineAdmin(wiring.runtime(), wiring.store());
    }

    @Override
    public Guarantees guarantees() {
        return wiring.store().guarantees();
    }

    @Override
    public String holderId() {
        return wiring.holderId();
    }

    @Override
    public String storeDescription() {
        return wiring.store().description();
    }

    @Override
    public void close() {
        close(CLOSE_PATIENCE);
    }

    @Override
    public void close(Duration patience) {
        synchronized (quiet) {
            if (closing) {
                return;
            }
            closing = true;
        }
        desks.all().forEach(Waiter::clientClosing);
        wiring.holds().all().forEach(LeaseHandle::clientClosing);
        LockRuntime.Timer limit =
                wiring.runtime().schedule(Timings.saturatedNanos(patience), () -> quiet.complete(null));
        checkQuiet();
        Edge.join(wiring.runtime(), quiet);
        limit.cancel();
        wiring.store().close();
        wiring.runtime().close();
    }

    /** Completes {@link #quiet} once every reply that something could follow from has come. */
    private void checkQuiet() {
        if (desks.isEmpty() && wiring.undoer().isIdle()) {
            quiet.complete(null);
        } else if (!quiet.isDone()) {
            wiring.runtime().schedule(QUIET_CHECK_NANOS, this::checkQuiet);
        }
    }
}
