package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member of a set that votes only while its server has the properties on which the set relies: it is durable if
 * declared so, and it does not evict. Each life of the server is checked, so that a server that was down when the
 * client started is checked, too.
 *
 * <p>A yes of an unchecked life does not count and is undone. If the server refuses {@code CONFIG GET}, the declaration
 * counts, with a warning; a check that failed in any other way is repeated. A life that does not count is checked again
 * every five seconds while requests arrive, whatever their kind.
 *
 * <p>A server that is declared durable must be durable with its current settings: a restart begins another life, which
 * is checked before it counts. Only a life that was started with these settings has loaded all acknowledged writes of
 * the previous life. Any other life is treated as a member that loses its data, and is therefore quarantined once,
 * whatever was declared. Safe for all threads.
 */
public final class VerifiedMember extends PassingNode {

    private static final Logger LOG = LoggerFactory.getLogger(VerifiedMember.class);
    private static final int MAX_LIVES = 1_000;
    private static final long LOOK_AGAIN_NANOS = 5_000_000_000L;
    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final String name;
    private final boolean durable;
    private final boolean mayEvict;
    private final Supplier<CompletableFuture<Map<Incarnation, DurabilityCheck>>> look;
    private final LockRuntime runtime;
    private final Map<Incarnation, Verdict> lives = new ConcurrentHashMap<>();

    /**
     * The facts known of a life.
     *
     * @param unfit the reason why the life does not count, or null if it counts
     * @param kept whether it began with all acknowledged writes of the previous life
     */
    private record Verdict(@Nullable String unfit, boolean kept) {}

    private volatile @Nullable Incarnation current;
    private boolean looking;
    private long lookedAtNanos;

    /**
     * Wraps a node, which it closes.
     *
     * @param durable whether the node was declared to keep every acknowledged write
     * @param mayEvict whether the set promises no more than a server that evicts can keep
     * @param found the lives that are already checked
     * @param look reads the configuration of the connected servers; if it fails, it says nothing of any of them
     */
    public VerifiedMember(
            LockNode node,
            String name,
            boolean durable,
            boolean mayEvict,
            Map<Incarnation, DurabilityCheck> found,
            Supplier<CompletableFuture<Map<Incarnation, DurabilityCheck>>> look,
            LockRuntime runtime) {
        super(node);
        this.name = name;
        this.durable = durable;
        this.mayEvict = mayEvict;
        this.look = look;
        this.runtime = runtime;
        this.lookedAtNanos = runtime.nanoTime();
        found.forEach(this::judge);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return proposed(ballot, membership, believed -> super.acquire(ballot, believed));
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return proposed(ballot, membership, believed -> super.resume(ballot, ticket, step, believed));
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        return proposed(ballot, membership, believed -> super.downgrade(ballot, writer, believed));
    }

    private CompletableFuture<NodeReply> proposed(
            Ballot ballot, Membership membership, Function<Membership, CompletableFuture<NodeReply>> proposal) {
        String why = refusal();
        if (why != null) {
            // Probe the life again, so that a better one is noticed.
            heard(super.probe(ballot.request().timeoutNanos()));
            lookAgain();
            return CompletableFuture.completedFuture(
                    new NodeReply.Failed(FailureKind.NO_EFFECT, new UnsafeStoreException(why, null)));
        }
        boolean forgets = durable && mayHaveForgotten();
        return heard(proposal.apply(forgets ? forgetting(membership) : membership))
                .thenApply(reply -> judged(reply, forgets));
    }

    private boolean mayHaveForgotten() {
        Incarnation life = current;
        Verdict verdict = life == null ? null : lives.get(life);
        return verdict != null && !verdict.kept();
    }

    private static Membership forgetting(Membership membership) {
        return new Membership(
                membership.configuration(),
                membership.estimateMicros(),
                membership.quarantineMicros(),
                membership.boundMicros(),
                Membership.Persistence.VOLATILE);
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
        CompletableFuture<Map<Incarnation, DurabilityCheck>> asked = asked();
        // An unanswered question must not block the next one.
        LockRuntime.Timer patience = runtime.schedule(
                ANSWER_NANOS, () -> asked.completeExceptionally(new IllegalStateException("not answered in time")));
        asked.whenComplete((found, error) -> {
            patience.cancel();
            if (found != null) {
                if (lives.size() >= MAX_LIVES) {
                    lives.clear();
                }
                found.forEach(this::judge);
            }
            synchronized (this) {
                looking = false;
            }
        });
    }

    private CompletableFuture<Map<Incarnation, DurabilityCheck>> asked() {
        try {
            return look.get();
        } catch (RuntimeException | Error e) {
            // The next question must not depend on this one.
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Records the result of a check, and warns once per life of declarations that are not proven. */
    private void judge(Incarnation life, DurabilityCheck found) {
        Verdict before = lives.get(life);
        // Later settings do not change how the life began.
        boolean kept = found.keptAtStart() || (before != null && before.kept());
        lives.put(life, new Verdict(unfit(found), kept));
        if (before != null || !durable) {
            return;
        }
        if (!found.readable()) {
            LOG.warn("{} is declared durable=true, which could not be verified: it does not permit CONFIG GET", name);
        } else if (!kept) {
            LOG.warn(
                    "{} is declared durable=true, but nothing proves that it was started so: until its next restart it is"
                            + " taken for a node that may have forgotten locks, and quarantined once{}",
                    name,
                    found.durableUntilRestart()
                            ? ". Nor is it proven that a restart keeps its settings; leasehold doctor says what to do"
                            : "");
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

    private @Nullable String unfit(DurabilityCheck found) {
        String unfit = unfit(name, durable, found);
        if (unfit != null) {
            return unfit;
        }
        return found.evicting() == null || mayEvict
                ? null
                : name + " has maxmemory-policy " + found.evicting()
                        + ": it may drop held locks when its memory is full, and this set relies on it not to; set noeviction";
    }

    /** The reason why a server does not have its declared properties, or null. */
    public static @Nullable String unfit(String name, boolean durable, DurabilityCheck found) {
        return !durable || !found.readable() || found.durableNow()
                ? null
                : name + " is declared durable=true, but its configuration loses acknowledged writes: it needs"
                        + " appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and maxmemory-policy"
                        + " noeviction";
    }

    /** The reason why the current life does not count, or null if it counts or is unknown. */
    private @Nullable String refusal() {
        Incarnation life = current;
        Verdict verdict = life == null ? null : lives.get(life);
        return verdict == null ? null : verdict.unfit();
    }

    /**
     * The reply as it counts.
     *
     * @param forgets whether the node was asked as one that loses its data
     */
    private NodeReply judged(NodeReply reply, boolean forgets) {
        if (!(reply instanceof NodeReply.Yes yes)) {
            return reply;
        }
        Verdict verdict = lives.get(yes.incarnation());
        if (verdict == null) {
            return uncounted(new StoreUnavailableException(
                    name + " was started anew, and its configuration is being read before its vote counts", null));
        }
        if (verdict.unfit() != null) {
            return uncounted(new UnsafeStoreException(verdict.unfit(), null));
        }
        if (durable && !forgets && !verdict.kept()) {
            return uncounted(new StoreUnavailableException(
                    name
                            + " was started anew, and nothing proves that it has loaded all: it is asked again as a node that forgets",
                    null));
        }
        return reply;
    }

    private static NodeReply uncounted(LockStoreException error) {
        return new NodeReply.Failed(FailureKind.UNKNOWN, error);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        String why = refusal();
        if (why == null) {
            return super.renew(batch);
        }
        // A client that only renews must notice a configuration that was corrected.
        lookAgain();
        return CompletableFuture.completedFuture(new RenewReply(batch.items().stream()
                .<RenewReply.Item>map(item -> new RenewReply.Failed(new UnsafeStoreException(why, null)))
                .toList()));
    }

    /** A member that does not count cannot confirm an export. */
    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        String why = refusal();
        if (why == null) {
            return super.export(request);
        }
        lookAgain();
        return CompletableFuture.completedFuture(
                new ExportReply.Failed(FailureKind.NO_EFFECT, new UnsafeStoreException(why, null)));
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return heard(super.probe(timeoutNanos));
    }

    @Override
    public CompletableFuture<NodeReply> probe(LockName lock, long timeoutNanos) {
        return heard(super.probe(lock, timeoutNanos));
    }
}
