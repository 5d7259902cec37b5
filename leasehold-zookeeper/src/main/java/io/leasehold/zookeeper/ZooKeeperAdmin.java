package io.leasehold.zookeeper;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.toolkit.Glob;
import io.leasehold.spi.toolkit.InTurn;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import io.leasehold.spi.toolkit.TokenBase;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;

/** Administrative operations, and the check of a store before it is used. */
final class ZooKeeperAdmin implements StoreAdmin {

    private static final long LIMIT_NANOS = Duration.ofSeconds(10).toNanos();
    /** Reachable members answer within this time. */
    private static final long SILENT_NANOS = Duration.ofSeconds(1).toNanos();

    private static final long LIST_LIMIT_NANOS = Duration.ofSeconds(60).toNanos();
    /**
     * The number of queues that are requested at once: few enough that the answers fit into the buffers of one
     * connection.
     */
    private static final int AT_ONCE = 100;

    /** The ttl whose session these requests use: the default ttl of locks. */
    private static final long SESSION_TTL_NANOS = Duration.ofSeconds(30).toNanos();

    private final ZooKeeperUri uri;
    private final LockRuntime runtime;
    private final Sessions sessions;
    private final TimedReplies replies;
    private final QueueHeads heads;
    private final NodeQueues queues;
    private final TokenBase base;

    ZooKeeperAdmin(ZooKeeperUri uri, LockRuntime runtime, Sessions sessions, TimedReplies replies) {
        this.uri = uri;
        this.runtime = runtime;
        this.sessions = sessions;
        this.replies = replies;
        this.heads = new QueueHeads(uri.tokens());
        this.queues = new NodeQueues(uri, heads);
        this.base = uri.tokens();
    }

    private CompletableFuture<Session> session() {
        return sessions.forTtl(SESSION_TTL_NANOS);
    }

    // ---- before use

    /** Connects, and checks that the tokens of all clients of this chroot have the same base. */
    void verify(Runnable whenSilent) {
        verify(whenSilent, this::checkBase);
    }

    /** As {@link #verify}, but writes nothing: if the chroot does not exist, there is no store. */
    void verifyExisting(Runnable whenSilent) {
        verify(whenSilent, this::checkExisting);
    }

    private void verify(Runnable whenSilent, Function<Session, CompletableFuture<Boolean>> check) {
        String what = "connecting to " + uri;
        CompletableFuture<Boolean> verified =
                replies.orFail("connecting", LIMIT_NANOS, () -> session().thenCompose(check));
        CompletableFuture<Boolean> silent = new CompletableFuture<>();
        LockRuntime.Timer silence = runtime.schedule(SILENT_NANOS, () -> silent.complete(true));
        try {
            TimeLimit.await(runtime, CompletableFuture.anyOf(verified, silent), what);
        } finally {
            silence.cancel();
        }
        if (!verified.isDone()) {
            whenSilent.run();
        }
        TimeLimit.await(runtime, verified, what);
    }

    private CompletableFuture<Boolean> checkBase(Session session) {
        return compareBase(session)
                .exceptionallyCompose(error -> Failures.isMissing(error)
                        ? writeBase(session, tokensPath())
                        : CompletableFuture.failedFuture(error));
    }

    private CompletableFuture<Boolean> compareBase(Session session) {
        String path = tokensPath();
        return session.read(path, false).thenApply(node -> {
            base.compare(new String(node.data(), StandardCharsets.UTF_8), "node", path);
            return true;
        });
    }

    private String tokensPath() {
        return uri.chroot() + "/" + Znodes.TOKENS;
    }

    /** Other programs may keep locks in the chroot, which write no base. */
    private CompletableFuture<Boolean> checkExisting(Session session) {
        return compareBase(session)
                .exceptionallyCompose(error -> Failures.isMissing(error)
                        // The member may lag behind the leader; after this it does not.
                        ? session.latestChildren(uri.chroot())
                                .thenCompose(nodes -> nodes.contains(Znodes.TOKENS)
                                        ? compareBase(session)
                                        : CompletableFuture.completedFuture(true))
                        : CompletableFuture.failedFuture(error))
                .exceptionallyCompose(
                        error -> CompletableFuture.failedFuture(Failures.isMissing(error) ? noStore() : error));
    }

    private StoreUnavailableException noStore() {
        return new StoreUnavailableException("there is no store at " + uri + ": no lock was ever acquired there", null);
    }

    private CompletableFuture<Boolean> writeBase(Session session, String path) {
        byte[] data = base.text().getBytes(StandardCharsets.UTF_8);
        // The chroot comes second: the ensemble checks the right at its parent before it looks whether the chroot
        // exists.
        return session.create(path, data, CreateMode.PERSISTENT)
                .exceptionallyCompose(error -> Failures.isMissing(error)
                        ? session.ensurePersistent(uri.chroot())
                                .thenCompose(nothing -> session.create(path, data, CreateMode.PERSISTENT))
                        : CompletableFuture.failedFuture(error))
                .thenApply(made -> true)
                .exceptionallyCompose(error -> Failures.codeOf(error) == KeeperException.Code.NODEEXISTS
                        ? checkBase(session)
                        : CompletableFuture.failedFuture(error));
    }

    // ---- owners that this client does not know

    /** Removes the nodes of this owner token; completes with whether it held one of the locks. */
    CompletableFuture<Boolean> removeOwner(List<LockName> names, OwnerToken owner, long limitNanos) {
        return sessions.forTtl(SESSION_TTL_NANOS, limitNanos)
                .thenCompose(session -> queues.removeOwner(session, names, owner));
    }

    /** Whether this owner token holds the lock. */
    CompletableFuture<Boolean> holds(LockName name, OwnerToken owner, long limitNanos) {
        return sessions.forTtl(SESSION_TTL_NANOS, limitNanos)
                .thenCompose(session -> queues.holds(session, name, owner));
    }

    // ---- looking

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return replies.orFail(
                "inspection of \"" + name + "\"",
                LIMIT_NANOS,
                () -> session().thenCompose(session -> head(session, name, true)));
    }

    private CompletableFuture<Optional<HeldLock>> head(Session session, LockName name, boolean latest) {
        return queues.holders(session, name, latest)
                .thenApply(found -> holder(found.holding()).map(holder -> new HeldLock(name, holder)));
    }

    /** The holder with these nodes: readers are one holder, with the largest token. */
    private Optional<Holder> holder(List<NodeQueues.Entry> holding) {
        if (holding.isEmpty()) {
            return Optional.empty();
        }
        NodeQueues.Entry last = holding.get(holding.size() - 1);
        Holder holder = heads.one(last.node());
        return Optional.of(
                last.isReader() ? new Holder(Holder.READERS, null, holder.fencingToken(), holder.ends()) : holder);
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return replies.orFail(
                "list of the readers of \"" + name + "\"",
                LIMIT_NANOS,
                () -> session()
                        .thenCompose(session -> queues.holders(session, name, true))
                        .thenApply(found -> found.holding().stream()
                                .filter(NodeQueues.Entry::isReader)
                                .limit(limit)
                                .map(reader -> heads.one(reader.node()))
                                .toList()));
    }

    /** The waiters behind the holders; one that leaves during the read is left out. */
    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return replies.orFail(
                "list of the waiters of \"" + name + "\"",
                LIMIT_NANOS,
                () -> session()
                        .thenCompose(session -> queues.holders(session, name, true)
                                .thenCompose(found -> InTurn.some(
                                        found.waiting(),
                                        AT_ONCE,
                                        limit,
                                        node -> heads.entryOf(session, queues.lockPath(name) + "/" + node))))
                        .thenApply(found -> found.stream()
                                .map(waiter ->
                                        new QueuedWaiter(QueueHeads.data(waiter).holderId(), null))
                                .toList()));
    }

    /**
     * The held locks, read in a separate session. ZooKeeper returns all children of a node in one answer. If an answer
     * is too large for a client, its connection ends, so no lease may depend on that connection.
     */
    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        Glob wanted = Glob.of(glob);
        return replies.orFail(
                "list of locks",
                LIST_LIMIT_NANOS,
                () -> sessions.forLists()
                        .thenCompose(session -> session.latestChildren(uri.chroot())
                                .thenCompose(nodes -> {
                                    List<LockName> names = nodes.stream()
                                            .map(PlainName::read)
                                            .flatMap(Optional::stream)
                                            .filter(wanted::matches)
                                            .sorted()
                                            .toList();
                                    // These reads are no older than the list of names.
                                    return InTurn.some(names, AT_ONCE, limit, name -> head(session, name, false));
                                })));
    }

    // ---- repairing

    /** Deletes the nodes that hold. Then the next ones in the queue hold, with larger tokens. */
    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return replies.orFail(
                "forced release of \"" + name + "\"",
                LIMIT_NANOS,
                () -> session().thenCompose(session -> deleteHolders(session, name, holderId)));
    }

    private CompletableFuture<Boolean> deleteHolders(Session session, LockName name, @Nullable String holderId) {
        return queues.holders(session, name, true).thenCompose(found -> {
            List<NodeQueues.Entry> holding = found.holding();
            boolean all = holderId == null
                    || (holderId.equals(Holder.READERS) && holding.stream().allMatch(NodeQueues.Entry::isReader));
            List<NodeQueues.Entry> meant = holding.stream()
                    .filter(entry ->
                            all || QueueHeads.data(entry.node()).holderId().equals(holderId))
                    .toList();
            if (meant.isEmpty()) {
                return CompletableFuture.completedFuture(false);
            }
            // If they have left by themselves, the next ones hold.
            return InTurn.any(meant, entry -> heads.delete(session, queues.lockPath(name) + "/" + entry.name()))
                    .thenCompose(deleted ->
                            deleted ? CompletableFuture.completedFuture(true) : deleteHolders(session, name, holderId));
        });
    }
}
