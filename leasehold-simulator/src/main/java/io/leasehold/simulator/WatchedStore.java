package io.leasehold.simulator;

import io.leasehold.Fairness;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import io.leasehold.testkit.virtual.PassingStore;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Checks the requests of one client's engine against the replies of its store: the tokens that it may report, the
 * continued renewals, and the release of every grant.
 */
final class WatchedStore extends PassingStore {

    /** The bound of the local hand-over in the options: this many leases, and this long after the grant. */
    private static final int MAX_LEASES = 64;

    private static final long HAND_OVER_NANOS = Duration.ofMillis(20).toNanos();

    private final VirtualRuntime process;
    private final Standstills standstills;
    private final RenewalDuty duty;
    private final RunLog log;
    private final Consumer<LockName> changed;
    private final Map<LockName, List<Granted>> granted = new TreeMap<>();

    /**
     * Wraps the store of a process.
     *
     * @param changed receives the locks that the process obtains, loses and releases
     */
    WatchedStore(
            LockStore store,
            VirtualRuntime process,
            Standstills standstills,
            RenewalDuty duty,
            RunLog log,
            Consumer<LockName> changed) {
        super(store);
        this.process = process;
        this.standstills = standstills;
        this.duty = duty;
        this.log = log;
        this.changed = changed;
    }

    /** A grant of the store; a grant of several locks counts separately for each. */
    private final class Granted {
        private final LockName name;
        /**
         * The owner token of the request. A quorum may have granted the lock to another one, with which the attempt
         * continued.
         */
        private final OwnerToken asked;

        private final OwnerToken owner;
        private final TokenRange tokens;
        private final long atNanos = process.nanoTime();
        private long validUntilAtNanos;
        private long lastShown;
        private int shown;
        /** The time of the next renewal if nothing fails. */
        private long renewAtNanos;
        /** The time limit for a renewal, or the reply to one. */
        private long dueAtNanos;
        /** The mark of the moment at which that was determined. */
        private int mark;

        private boolean ended;
        private boolean lost;
        private final SentRenewals renewals = new SentRenewals(process, duty.options());

        Granted(LockName name, OwnerToken asked, Grant grant) {
            this.name = name;
            this.asked = asked;
            this.owner = grant.owner();
            this.tokens = grant.tokens();
            this.lastShown = tokens.first() - 1;
            extendedFrom(grant.sentAtNanos());
        }

        /** A grant that begins from a message: it is valid for the claim, and has to be renewed at once. */
        Granted(Claim claim) {
            this.name = claim.handOver().name();
            this.owner = claim.grant().owner();
            this.asked = owner;
            this.tokens = claim.grant().tokens();
            this.lastShown = tokens.first() - 1;
            Duration kept = Duration.ofNanos(claim.claimNanos());
            validUntilAtNanos = claim.grant().sentAtNanos()
                    + kept.minus(LockOptions.driftOf(kept)).toNanos();
            renewAtNanos = process.nanoTime();
            due(renewAtNanos);
        }

        void extendedFrom(long sentAtNanos) {
            validUntilAtNanos = sentAtNanos + duty.options().validity().toNanos();
            renewAtNanos = sentAtNanos + duty.intervalNanos();
            due(renewAtNanos);
        }

        void due(long atNanos) {
            long nowNanos = process.nanoTime();
            long fromNanos = atNanos - nowNanos > 0 ? atNanos : nowNanos;
            dueAtNanos = fromNanos + duty.intervalNanos() / 16 + ClientOptions.ANSWER.toNanos();
            mark = standstills.mark();
        }

        /** Checks, when a renewal is sent, answered, or no longer needed, that the due one was not forgotten. */
        void judgeDuty() {
            long lateNanos = Math.min(process.nanoTime() - dueAtNanos, validUntilAtNanos - dueAtNanos);
            if (duty.mustRenew() && !lost && lateNanos > 0 && standstills.hasRunSince(mark)) {
                problem(
                        "duty: no renewal was sent of",
                        "for " + Duration.ofNanos(lateNanos) + " longer than it may take");
                mark = -1;
            }
        }

        void problem(String what, String how) {
            log.problem(what + " " + name + ", tokens " + tokens.first() + " to " + tokens.last() + " of "
                    + process.name() + ", " + how + ", at " + process.world().elapsed());
        }
    }

    private final Set<OwnerToken> askedOnce = new HashSet<>();

    private @Nullable Granted find(LockName name, OwnerToken owner) {
        List<Granted> all = granted.getOrDefault(name, List.of());
        for (int i = all.size() - 1; i >= 0; i--) {
            if (all.get(i).owner.equals(owner) || all.get(i).asked.equals(owner)) {
                return all.get(i);
            }
        }
        return null;
    }

    private @Nullable Granted find(LockName name, long token) {
        List<Granted> all = granted.getOrDefault(name, List.of());
        for (int i = all.size() - 1; i >= 0; i--) {
            if (all.get(i).tokens.first() <= token && token <= all.get(i).tokens.last()) {
                return all.get(i);
            }
        }
        return null;
    }

    /** Whether this client holds the lock, as far as it knows. */
    boolean has(LockName name) {
        List<Granted> all = granted.getOrDefault(name, List.of());
        return !all.isEmpty() && !all.get(all.size() - 1).ended && !all.get(all.size() - 1).lost;
    }

    /** The owner token that holds this lease, if any. */
    @Nullable
    OwnerToken ownerOf(LockName name, long token) {
        Granted by = find(name, token);
        return by == null ? null : by.owner;
    }

    /**
     * Records that a holder receives this token.
     *
     * @param justNow whether the lease was created at this moment
     */
    void shown(LockName name, long token, boolean justNow) {
        Granted by = find(name, token);
        if (by == null) {
            log.problem("range: " + name + " was shown with token " + token + ", for which " + process.name()
                    + " has no grant, at " + process.world().elapsed());
            return;
        }
        if (by.ended) {
            by.problem("range: token " + token + " was shown of", "which had been released");
        } else if (token <= by.lastShown) {
            by.problem("range: token " + token + " was shown of", "which has shown " + by.lastShown);
        }
        by.lastShown = Math.max(by.lastShown, token);
        if (++by.shown > 1) {
            passedOn(by, justNow);
        }
    }

    private void passedOn(Granted by, boolean justNow) {
        log.counts.saw("passed on in the process");
        LockOptions options = duty.options();
        if (!duty.isRenewed()) {
            by.problem("fairness: a fixed ttl was passed on of", "although nothing renews it");
        } else if (options.fairness() == Fairness.STRICT_FIFO) {
            by.problem("fairness: a lease was passed on of", "although the line is strict");
        } else if (by.shown > MAX_LEASES) {
            by.problem("fairness: a process kept", "for more than " + MAX_LEASES + " leases");
        } else if (justNow && process.nanoTime() - by.atNanos > HAND_OVER_NANOS) {
            by.problem(
                    "fairness: a process kept",
                    "and passed it on " + Duration.ofNanos(process.nanoTime() - by.atNanos) + " after its grant");
        }
    }

    /** The renewals that were sent for this lease, if the store has granted it and it has not ended. */
    @Nullable
    SentRenewals renewalsOf(LockName name, long token) {
        Granted by = find(name, token);
        return by == null || by.ended || by.lost ? null : by.renewals;
    }

    /** The end of the validity of this lease, by the clock of its process. */
    long validUntilAtNanos(LockName name, long token) {
        Granted by = find(name, token);
        return by == null ? process.nanoTime() : by.validUntilAtNanos;
    }

    /** Records that the engine has reported the loss of this lease. */
    void lost(LockName name, long token) {
        Granted by = find(name, token);
        if (by != null) {
            by.judgeDuty();
            by.lost = true;
            changed.accept(name);
        }
    }

    /** Judges the store at the end: every grant was released, or its loss was reported. */
    void judge() {
        granted.forEach((name, all) -> all.forEach(one -> {
            if (!one.ended && !one.lost) {
                one.problem("orphan:", "was never released");
            }
        }));
    }

    @Override
    public void listen(StoreSignals signals) {
        super.listen(new PassingSignals(signals) {
            @Override
            public boolean claimed(Claim claim) {
                // Before the engine has it: it may show the lease at once.
                LockName name = claim.handOver().name();
                Granted one = new Granted(claim);
                granted.computeIfAbsent(name, n -> new ArrayList<>()).add(one);
                if (!super.claimed(claim)) {
                    granted.getOrDefault(name, List.of()).remove(one);
                    return false;
                }
                log.counts.saw("began from a message");
                changed.accept(name);
                return true;
            }
        });
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        if (request.reserve() > MAX_LEASES) {
            log.problem("range: " + request.reserve() + " tokens were requested for " + request.names() + " at "
                    + process.world().elapsed());
        }
        if (!request.isWaiting() && !askedOnce.add(request.owner())) {
            log.problem("patience: " + process.name() + " repeated its request for " + request.names()
                    + " though it does not wait, at " + process.world().elapsed());
        }
        return super.acquire(request).thenApply(reply -> {
            if (reply instanceof AcquireReply.Granted yes) {
                for (LockName name : request.names()) {
                    granted.computeIfAbsent(name, n -> new ArrayList<>())
                            .add(new Granted(name, request.owner(), yes.grant()));
                    changed.accept(name);
                }
            }
            return reply;
        });
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        for (RenewBatch.Item item : batch.items()) {
            Granted by = find(item.name(), item.owner());
            if (by != null) {
                by.judgeDuty();
                by.due(process.nanoTime() + ClientOptions.ANSWER.toNanos());
                by.renewals.sent();
            }
        }
        return super.renew(batch).thenApply(reply -> {
            for (int i = 0; i < batch.items().size(); i++) {
                Granted by =
                        find(batch.items().get(i).name(), batch.items().get(i).owner());
                if (by != null) {
                    answered(by, reply.items().get(i));
                }
            }
            return reply;
        });
    }

    private void answered(Granted by, RenewReply.Item answer) {
        by.judgeDuty();
        by.renewals.answered(answer);
        if (answer instanceof RenewReply.Renewed renewed) {
            by.extendedFrom(renewed.sentAtNanos());
        } else if (answer instanceof RenewReply.NotOurs) {
            by.mark = -1;
        } else {
            // A renewal by the holder does not advance the next automatic one.
            long retryAtNanos = process.nanoTime() + duty.retryNanos();
            by.due(by.renewAtNanos - retryAtNanos > 0 ? by.renewAtNanos : retryAtNanos);
        }
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        for (LockName name : request.names()) {
            Granted by = find(name, request.owner());
            if (by != null && !by.ended) {
                by.judgeDuty();
                by.ended = true;
                changed.accept(name);
            }
        }
        return super.release(request);
    }
}
