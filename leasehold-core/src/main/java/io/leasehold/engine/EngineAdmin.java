package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockAdmin;
import io.leasehold.LockName;
import io.leasehold.NodeVote;
import io.leasehold.UnsafeStoreException;
import io.leasehold.Waiter;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Asks the store, and waits at the edge. */
final class EngineAdmin implements LockAdmin {

    private static final long DECLARE_NANOS = 5_000_000_000L;

    private final LockRuntime runtime;
    private final LockStore store;

    EngineAdmin(LockRuntime runtime, LockStore store) {
        this.runtime = runtime;
        this.store = store;
    }

    @Override
    public Optional<Holder> inspect(LockName name) {
        return Edge.join(runtime, store.describe(Objects.requireNonNull(name, "name")))
                .map(LockRecord::holder);
    }

    @Override
    public List<HeldLock> list(String glob, int limit) {
        Objects.requireNonNull(glob, "glob");
        return Edge.join(runtime, store.list(glob, atLeastOne(limit))).stream()
                .map(r -> new HeldLock(r.name(), r.holder()))
                .toList();
    }

    @Override
    public List<Waiter> waiters(LockName name, int limit) {
        Objects.requireNonNull(name, "name");
        return Edge.join(runtime, store.waiters(name, atLeastOne(limit)));
    }

    private static int atLeastOne(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit is " + limit + "; it must be at least 1");
        }
        return limit;
    }

    @Override
    public boolean forceRelease(LockName name, @Nullable String holderId) {
        return Edge.join(runtime, store.forceRelease(Objects.requireNonNull(name, "name"), holderId));
    }

    @Override
    public List<NodeVote> declareNewNodes() {
        if (store instanceof MemberSet set) {
            return Edge.join(runtime, set.declareNew(DECLARE_NANOS));
        }
        throw new UnsafeStoreException(
                store.description() + " is no set of nodes: only a redlock: store has nodes to declare", null);
    }
}
