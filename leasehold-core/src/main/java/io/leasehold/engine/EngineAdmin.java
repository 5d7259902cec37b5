package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.NodeVote;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Administrative operations: each asks the store and waits for the answer. */
final class EngineAdmin implements LockAdmin {

    /** The log of operators' actions, separate from that of events. */
    private static final Logger AUDIT = LoggerFactory.getLogger("io.leasehold.audit");

    private static final long DECLARE_NANOS = 5_000_000_000L;

    private final EngineContext context;
    private final LockStore store;
    private final LockOptions defaults;

    EngineAdmin(EngineContext context, LockOptions defaults) {
        this.context = context;
        this.store = context.store();
        this.defaults = defaults;
    }

    @Override
    public Optional<Holder> inspect(LockName name) {
        return context.answer(store.admin().describe(Objects.requireNonNull(name, "name")))
                .map(HeldLock::holder);
    }

    @Override
    public List<HeldLock> list(String glob, int limit) {
        Objects.requireNonNull(glob, "glob");
        return context.answer(store.admin().list(glob, atLeastOne(limit)));
    }

    @Override
    public List<QueuedWaiter> waiters(LockName name, int limit) {
        Objects.requireNonNull(name, "name");
        return context.answer(store.admin().waiters(name, atLeastOne(limit)));
    }

    private static int atLeastOne(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit is " + limit + "; it must be at least 1");
        }
        return limit;
    }

    @Override
    public boolean forceRelease(LockName name, @Nullable String wanted) {
        boolean removed = context.answer(store.admin().forceRelease(Objects.requireNonNull(name, "name"), wanted));
        AUDIT.atWarn()
                .addKeyValue("action", "force-release")
                .addKeyValue("lock", name)
                .addKeyValue("wanted", wanted == null ? "anybody" : wanted)
                .addKeyValue("removed", removed)
                .addKeyValue("by", context.holderId())
                .addKeyValue("store", store.description())
                .log(
                        "lock \"{}\" {} by force by {}",
                        name,
                        removed ? "was released" : "was not released",
                        context.holderId());
        return removed;
    }

    @Override
    public Optional<Path> coverChildren() {
        return store.operations().coverChildren();
    }

    @Override
    public Optional<ClientRecord> client(String holderId) {
        return context.answer(store.operations().client(Objects.requireNonNull(holderId, "holderId")));
    }

    @Override
    public List<Leak> leaks(Duration olderThan) {
        if (olderThan.isNegative()) {
            throw new IllegalArgumentException("olderThan is " + olderThan + "; it must not be negative");
        }
        return new LeakSearch(context, olderThan).find();
    }

    @Override
    public void onProgress(LongConsumer seen) {
        store.operations().onProgress(Objects.requireNonNull(seen, "seen"));
    }

    @Override
    public List<Finding> diagnose() {
        return new StoreDoctor(context, defaults).findings();
    }

    @Override
    public List<NodeVote> declareNewNodes() {
        if (store instanceof MemberSet set) {
            return context.answer(set.declareNew(DECLARE_NANOS));
        }
        throw new UnsafeStoreException(
                store.description() + " is no set of nodes: only a redlock: store has nodes to declare", null);
    }
}
