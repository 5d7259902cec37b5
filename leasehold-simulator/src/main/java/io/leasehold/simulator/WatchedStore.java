package io.leasehold.simulator;

import io.leasehold.Fairness;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import io.leasehold.testkit.virtual.PassingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What the engine of one client asks of its store and is answered: which tokens it may show, whether it goes on renewing what
 * it has, and whether it gives back whatever it was granted.
 */
final class WatchedStore extends PassingStore {

    /** What the fairness of the options allows: for so many leases, and for so long after the grant. */
    private static final int MAX_LEASES = 64;

    private static final long HAND_OVER_NANOS = Duration.ofMillis(20).toNanos();

    private final SimulatedClient client;
    private final Simulation simulation;
    private final Map<LockName, List<Granted>> granted = new TreeMap<>();

    WatchedStore(LockStore store, SimulatedClient client, Simulation simulation) {
        super(store);
        this.client = client;
        this.simulation = simulation;
    }

    /** What the store has granted: of several locks at once, each for itself. */
    private final class Granted {
        private final LockName name;
        /** By which it was asked for; a quorum may have granted it to another, with which the attempt went on. */
        private final OwnerToken asked;

        private final OwnerToken owner;
        private final TokenRange tokens;
        private final long atNanos = client.process.nanoTime();
        private long validUntilAtNanos;
        private long lastShown;
        private int shown;
        /** When the next renewal comes if nothing fails. */
        private long renewAtNanos;
        /** Until when a renewal, or the answer to one, has to come. */
        private long dueAtNanos;
        /** Of the moment when that was said. */
        private int mark;

        private boolean ended;
        private boolean lost;

        Granted(LockName name, OwnerToken asked, Grant grant) {
            this.name = name;
            this.asked = asked;
            this.owner = grant.owner();
            this.tokens = grant.tokens();
            this.lastShown = tokens.first() - 1;
            extendedFrom(grant.sentAtNanos());
        }

        void extendedFrom(long sentAtNanos) {
            validUntilAtNanos = sentAtNanos + client.options.validity().toNanos();
            renewAtNanos = sentAtNanos + client.renewalNanos();
            due(renewAtNanos);
        }

        void due(long atNanos) {
            long nowNanos = client.process.nanoTime();
            long fromNanos = atNanos - nowNanos > 0 ? atNanos : nowNanos;
            dueAtNanos = fromNanos + client.renewalNanos() / 16 + SimulatedClient.ANSWER.toNanos();
            mark = client.mark();
        }

        /** A renewal is sent, or was answered, or is needed no more: was the one that was due forgotten? */
        void judgeDuty() {
            long lateNanos = Math.min(client.process.nanoTime() - dueAtNanos, validUntilAtNanos - dueAtNanos);
            if (client.mustRenew() && !lost && lateNanos > 0 && client.hasRunSince(mark)) {
                problem(
                        "duty: no renewal was sent of",
                        "for " + Duration.ofNanos(lateNanos) + " longer than it may take");
                mark = -1;
            }
        }

        void problem(String what, String how) {
            simulation.problem(what + " " + name + ", tokens " + tokens.first() + " to " + tokens.last() + " of "
                    + client.process.name() + ", " + how + ", at " + simulation.world.elapsed());
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

    /** Whether this client has the lock, as far as it knows. */
    boolean has(LockName name) {
        List<Granted> all = granted.getOrDefault(name, List.of());
        return !all.isEmpty() && !all.get(all.size() - 1).ended && !all.get(all.size() - 1).lost;
    }

    /** By which owner token this lease is held, if any. */
    @Nullable
    OwnerToken ownerOf(LockName name, long token) {
        Granted by = find(name, token);
        return by == null ? null : by.owner;
    }

    /**
     * A holder is shown this token.
     *
     * @param justNow whether the lease was made at this very moment
     */
    void shown(LockName name, long token, boolean justNow) {
        Granted by = find(name, token);
        if (by == null) {
            simulation.problem("range: " + name + " was shown with token " + token + ", for which "
                    + client.process.name() + " has no grant, at " + simulation.world.elapsed());
            return;
        }
        if (by.ended) {
            by.problem("range: token " + token + " was shown of", "which was given back before");
        } else if (token <= by.lastShown) {
            by.problem("range: token " + token + " was shown of", "which has shown " + by.lastShown);
        }
        by.lastShown = Math.max(by.lastShown, token);
        if (++by.shown > 1) {
            passedOn(by, justNow);
        }
    }

    private void passedOn(Granted by, boolean justNow) {
        simulation.counts.saw("passed on in the process");
        LockOptions options = client.options;
        if (!client.isRenewed()) {
            by.problem("fairness: a fixed ttl was passed on of", "although nothing renews it");
        } else if (options.fairness() == Fairness.STRICT_FIFO) {
            by.problem("fairness: a lease was passed on of", "although the line is strict");
        } else if (by.shown > MAX_LEASES) {
            by.problem("fairness: a process kept", "for more than " + MAX_LEASES + " leases");
        } else if (justNow && client.process.nanoTime() - by.atNanos > HAND_OVER_NANOS) {
            by.problem(
                    "fairness: a process kept",
                    "and passed it on " + Duration.ofNanos(client.process.nanoTime() - by.atNanos)
                            + " after its grant");
        }
    }

    /** The engine has told that this lease is lost. */
    void lost(LockName name, long token) {
        Granted by = find(name, token);
        if (by != null) {
            by.judgeDuty();
            by.lost = true;
            simulation.waits.changed(name);
        }
    }

    /** When all is over: whatever was granted was given back, or its loss was told. */
    void judge() {
        granted.forEach((name, all) -> all.forEach(one -> {
            if (!one.ended && !one.lost) {
                one.problem("orphan:", "was never given back");
            }
        }));
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        if (request.reserve() > MAX_LEASES) {
            simulation.problem("range: " + request.reserve() + " tokens were asked for " + request.names() + " at "
                    + simulation.world.elapsed());
        }
        if (!request.isWaiting() && !askedOnce.add(request.owner())) {
            simulation.problem("patience: " + client.process.name() + " asked again for " + request.names()
                    + " though it does not wait, at " + simulation.world.elapsed());
        }
        return super.acquire(request).thenApply(reply -> {
            if (reply instanceof AcquireReply.Granted yes) {
                for (LockName name : request.names()) {
                    granted.computeIfAbsent(name, n -> new ArrayList<>())
                            .add(new Granted(name, request.owner(), yes.grant()));
                    simulation.waits.changed(name);
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
                by.due(client.process.nanoTime() + SimulatedClient.ANSWER.toNanos());
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
        if (answer instanceof RenewReply.Renewed renewed) {
            by.extendedFrom(renewed.sentAtNanos());
        } else if (answer instanceof RenewReply.NotOurs) {
            by.mark = -1;
        } else {
            // One that the holder asked for does not bring the next automatic one forward.
            long retryAtNanos = client.process.nanoTime() + client.renewalRetryNanos();
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
                simulation.waits.changed(name);
            }
        }
        return super.release(request);
    }
}
