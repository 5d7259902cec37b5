package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.NodeVote;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.StorePermits;
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

    private final Attempts attempts;
    private final EngineContext context;
    private final LockStore store;
    private final LockOptions defaults;

    EngineAdmin(Attempts attempts, LockOptions defaults) {
        this.attempts = attempts;
        this.context = attempts.context();
        this.store = context.store();
        this.defaults = defaults;
    }

    @Override
    public Optional<Holder> inspect(LockName name) {
        return context.answer(store.admin().describe(exclusive(name))).map(HeldLock::holder);
    }

    @Override
    public List<HeldLock> list(String glob, int limit) {
        Objects.requireNonNull(glob, "glob");
        return context.answer(store.admin().list(glob, atLeastOne(limit)));
    }

    @Override
    public List<Holder> readers(LockName name, int limit) {
        boolean isRead = Objects.requireNonNull(name, "name").isRead();
        return context.answer(store.admin().readers(exclusive(isRead ? name.asExclusive() : name), atLeastOne(limit)));
    }

    @Override
    public List<QueuedWaiter> waiters(LockName name, int limit) {
        if (Objects.requireNonNull(name, "name").isPermits()) {
            keeping(name);
        } else {
            exclusive(name);
        }
        return context.answer(store.admin().waiters(name, atLeastOne(limit)));
    }

    private static LockName exclusive(LockName name) {
        if (Objects.requireNonNull(name, "name").isRead()) {
            throw new IllegalArgumentException("\"" + name + "\" is the name of the readers of a lock: use"
                    + " readers(name), and the other methods with name.asExclusive()");
        }
        if (Objects.requireNonNull(name, "name").isPermits()) {
            throw new IllegalArgumentException("\"" + name + "\" is a name of permits: use permits(name) and"
                    + " forceReleasePermit(name, slot, holderId)");
        }
        return name;
    }

    /** Returns the operations of a store that keeps permits. */
    private StorePermits keeping(LockName name) {
        return store.permits().orElseThrow(() -> Attempts.refused(name, store));
    }

    @Override
    public Optional<PermitsStatus> permits(LockName name) {
        LockName permits = Objects.requireNonNull(name, "name").asPermits();
        return context.answer(keeping(permits).describe(permits));
    }

    @Override
    public List<PermitsStatus> listPermits(String glob, int limit) {
        Objects.requireNonNull(glob, "glob");
        int most = atLeastOne(limit);
        return store.permits()
                .map(kept -> context.answer(kept.list(glob, most)))
                .orElse(List.of());
    }

    @Override
    public boolean changePermits(LockName name, int count, long version) {
        LockName permits = Objects.requireNonNull(name, "name").asPermits(count);
        boolean changed = context.answer(keeping(permits).change(permits, count, version));
        AUDIT.atWarn()
                .addKeyValue("action", "change-permits")
                .addKeyValue("lock", name)
                .addKeyValue("count", count)
                .addKeyValue("version", version)
                .addKeyValue("changed", changed)
                .addKeyValue("by", context.holderId())
                .addKeyValue("store", store.description())
                .log(
                        "the count of permits \"{}\" {} to {} by {}",
                        name,
                        changed ? "was changed" : "was not changed",
                        count,
                        context.holderId());
        return changed;
    }

    @Override
    public boolean forceReleasePermit(LockName name, int slot, @Nullable String wanted) {
        LockName permits = Objects.requireNonNull(name, "name").asPermits();
        return audited(
                name,
                "slot " + slot + " of permits",
                wanted,
                context.answer(keeping(permits).forceRelease(permits, slot, wanted)));
    }

    private static int atLeastOne(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit is " + limit + "; it must be at least 1");
        }
        return limit;
    }

    @Override
    public boolean forceRelease(LockName name, @Nullable String wanted) {
        return audited(name, "lock", wanted, context.answer(store.admin().forceRelease(exclusive(name), wanted)));
    }

    private boolean audited(LockName name, String what, @Nullable String wanted, boolean removed) {
        AUDIT.atWarn()
                .addKeyValue("action", "force-release")
                .addKeyValue("lock", name)
                .addKeyValue("wanted", wanted == null ? "anybody" : wanted)
                .addKeyValue("removed", removed)
                .addKeyValue("by", context.holderId())
                .addKeyValue("store", store.description())
                .log(
                        "{} \"{}\" {} by force by {}",
                        what,
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
            throw new IllegalArgumentException(
                    "olderThan is " + Durations.text(olderThan) + "; it must not be negative");
        }
        return new LeakSearch(attempts, olderThan).find();
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
        MemberSet set = store.members()
                .orElseThrow(() -> new UnsafeStoreException(
                        store.description() + " is no set of nodes: only a redlock: store has nodes to declare", null));
        return context.answer(set.declareNew(DECLARE_NANOS));
    }
}
