package io.leasehold.redis.node;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.Waiter;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.Birth;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member of a set that votes only while its server is what the set relies on: durable where it was declared so, and not one that
 * evicts. Looked at in each life of the server, so also where it was down when the client began.
 *
 * <p>A yes of a life that has not been looked at does not count, and is undone. Where the server refuses {@code CONFIG GET} the
 * declaration is believed, with a warning; a question that failed in any other way is asked again. What was declared durable has to
 * be so with the settings that hold now: a restart is another life, which is looked at before it counts. Safe for all threads.
 */
public final class VerifiedMember implements LockNode {

    private static final Logger LOG = LoggerFactory.getLogger(VerifiedMember.class);
    private static final String FIT = "";
    private static final int MOST_LIVES = 1_000;
    private static final long LOOK_AGAIN_NANOS = 5_000_000_000L;
    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final LockNode node;
    private final String name;
    private final boolean durable;
    private final boolean mayEvict;
    private final Supplier<CompletableFuture<Map<Incarnation, DurabilityCheck>>> look;
    private final LockRuntime runtime;
    /** Why a life is unfit; {@link #FIT} if it is not. */
    private final Map<Incarnation, String> lives = new ConcurrentHashMap<>();

    private volatile @Nullable Incarnation current;
    private boolean looking;
    private long lookedAtNanos;

    /**
     * Around a node, which is closed with it.
     *
     * @param durable whether it was declared to keep every acknowledged write
     * @param mayEvict whether the set promises no more than a server that evicts
     * @param found the lives that have been looked at already
     * @param look reads the configuration of the servers that are connected; may fail, and then says nothing of any of them
     */
    public VerifiedMember(
            LockNode node,
            String name,
            boolean durable,
            boolean mayEvict,
            Map<Incarnation, DurabilityCheck> found,
            Supplier<CompletableFuture<Map<Incarnation, DurabilityCheck>>> look,
            LockRuntime runtime) {
        this.node = node;
        this.name = name;
        this.durable = durable;
        this.mayEvict = mayEvict;
        this.look = look;
        this.runtime = runtime;
        found.forEach(this::judge);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        String why = refusal();
        if (why != null) {
            // Its life is asked for again, so that a better one is noticed.
            heard(node.probe(ballot.request().timeoutNanos()));
            lookAgain();
            return CompletableFuture.completedFuture(
                    new NodeReply.Failed(FailureKind.NO_EFFECT, new UnsafeStoreException(why, null)));
        }
        return heard(node.acquire(ballot, membership)).thenApply(this::judged);
    }

    private CompletableFuture<NodeReply> heard(CompletableFuture<NodeReply> reply) {
        return reply.thenApply(answer -> {
            if (answer instanceof NodeReply.Answered answered) {
                heard(answered.incarnation());
            }
            return answer;
        });
    }

    private void heard(Incarnation life) {
        current = life;
        if (!lives.containsKey(life)) {
            look();
        }
    }

    private void look() {
        synchronized (this) {
            if (looking) {
                return;
            }
            looking = true;
            lookedAtNanos = runtime.nanoTime();
        }
        CompletableFuture<Map<Incarnation, DurabilityCheck>> asked = look.get();
        // What is never answered must not keep the next question back.
        LockRuntime.Timer patience = runtime.schedule(
                ANSWER_NANOS, () -> asked.completeExceptionally(new IllegalStateException("not answered in time")));
        asked.whenComplete((found, error) -> {
            patience.cancel();
            if (found != null) {
                if (lives.size() >= MOST_LIVES) {
                    lives.clear();
                }
                found.forEach(this::judge);
            }
            synchronized (this) {
                looking = false;
            }
        });
    }

    /** Says once in each life what is believed and not known. */
    private void judge(Incarnation life, DurabilityCheck found) {
        String before = lives.put(life, verdict(found));
        if (before == null && durable && !found.readable()) {
            LOG.warn("{} is declared durable=true, which could not be verified: it does not permit CONFIG GET", name);
        } else if (before == null && durable && found.durableUntilRestart()) {
            LOG.warn(
                    "{} is declared durable=true, and is so now, but nothing proves that a restart keeps its settings;"
                            + " leasehold doctor says what to do",
                    name);
        }
    }

    private void lookAgain() {
        boolean due;
        synchronized (this) {
            due = runtime.nanoTime() - lookedAtNanos > LOOK_AGAIN_NANOS;
        }
        if (due) {
            look();
        }
    }

    private String verdict(DurabilityCheck found) {
        String unfit = unfit(name, durable, found);
        if (unfit != null) {
            return unfit;
        }
        return found.evicting() == null || mayEvict
                ? FIT
                : name + " has maxmemory-policy " + found.evicting()
                        + ": it may drop held locks when its memory is full, and this set relies on it not to; set noeviction";
    }

    /** Why a server is not what it was declared to be, or null. */
    public static @Nullable String unfit(String name, boolean durable, DurabilityCheck found) {
        return !durable || !found.readable() || found.durableNow()
                ? null
                : name + " is declared durable=true, but its configuration loses acknowledged writes: it needs"
                        + " appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and maxmemory-policy"
                        + " noeviction";
    }

    /** Why the present life does not count, or null if it does or nothing is known of it. */
    private @Nullable String refusal() {
        Incarnation life = current;
        String why = life == null ? null : lives.get(life);
        return why == null || why.equals(FIT) ? null : why;
    }

    private NodeReply judged(NodeReply reply) {
        if (!(reply instanceof NodeReply.Yes yes)) {
            return reply;
        }
        String why = lives.get(yes.incarnation());
        if (why != null && why.equals(FIT)) {
            return reply;
        }
        LockStoreException error = why == null
                ? new StoreUnavailableException(
                        name + " was started anew, and its configuration is being read before its vote counts", null)
                : new UnsafeStoreException(why, null);
        return new NodeReply.Failed(FailureKind.UNKNOWN, error);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        String why = refusal();
        if (why == null) {
            return node.renew(batch);
        }
        return CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                .<RenewReply.Item>map(item -> new RenewReply.Failed(new UnsafeStoreException(why, null)))
                .toList()));
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        return node.acquire(ballot);
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return heard(node.probe(timeoutNanos));
    }

    @Override
    public String part(LockName lock) {
        return node.part(lock);
    }

    @Override
    public CompletableFuture<NodeReply> probe(LockName lock, long timeoutNanos) {
        return heard(node.probe(lock, timeoutNanos));
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return node.birth(birth);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return node.release(request);
    }

    @Override
    public String description() {
        return node.description();
    }

    @Override
    public Guarantees guarantees() {
        return node.guarantees();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return node.isAtomicOver(names);
    }

    @Override
    public void listen(StoreSignals signals) {
        node.listen(signals);
    }

    @Override
    public void unlisten(StoreSignals signals) {
        node.unlisten(signals);
    }

    @Override
    public StoreOperations operations() {
        return node.operations();
    }

    @Override
    public CompletableFuture<List<Waiter>> waiters(LockName lock, int limit) {
        return node.waiters(lock, limit);
    }

    @Override
    public CompletableFuture<Optional<LockRecord>> describe(LockName name) {
        return node.describe(name);
    }

    @Override
    public CompletableFuture<List<LockRecord>> list(String glob, int limit) {
        return node.list(glob, limit);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return node.forceRelease(name, holderId);
    }

    @Override
    public void close() {
        node.close();
    }
}
