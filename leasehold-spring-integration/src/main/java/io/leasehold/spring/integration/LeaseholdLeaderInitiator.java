package io.leasehold.spring.integration;

import io.leasehold.Candidacy;
import io.leasehold.Election;
import io.leasehold.Term;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ApplicationEventPublisherAware;
import org.springframework.context.SmartLifecycle;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.DefaultLeaderEventPublisher;
import org.springframework.integration.leader.event.LeaderEventPublisher;

/**
 * Implements the leader election of Spring Integration 6.5, 7.0 and 7.1 with an {@link Election}: a candidate learns of
 * a loss at its deadline, and not from a polling heartbeat.
 *
 * <pre>{@code
 * LeaseholdLeaderInitiator leader(LockClient client) {
 *     return new LeaseholdLeaderInitiator(client.election("scheduler"), new DefaultCandidate("node-1", "scheduler"));
 * }
 * }</pre>
 *
 * <p><b>Guarantee.</b> {@link Context#isLeader()} is false before another candidate can lead, as {@link Term#isValid()}.
 * {@link Candidate#onRevoked} follows each {@link Candidate#onGranted} once, and the candidate stands again only after both have
 * returned.
 *
 * <p><b>Threads.</b> {@code onGranted} runs on the client's work executor and may block until {@code isLeader()} is
 * false; it is not interrupted. {@code onRevoked} runs on a callback thread, possibly while {@code onGranted} still
 * runs. An exception of {@code onGranted} ends the term; an exception of a listener of the events is logged, and ends nothing.
 */
public final class LeaseholdLeaderInitiator implements SmartLifecycle, DisposableBean, ApplicationEventPublisherAware {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final Election election;
    private final Candidate candidate;
    private LeaderEventPublisher events = new DefaultLeaderEventPublisher();
    /** Whether the user has set the publisher; the context sets its own later. */
    private boolean ownEvents;

    private boolean autoStartup = true;
    /** The same phase as {@code LockRegistryLeaderInitiator}: starts late, stops early. */
    private int phase = Integer.MAX_VALUE - 1000;

    private @Nullable Candidacy candidacy;
    /** Completes when the candidate has returned from all calls since the last start. */
    private CompletionStage<?> former = CompletableFuture.completedFuture(null);
    /** The current leadership, or the last one. */
    private volatile @Nullable Leadership current;

    /**
     * Creates an initiator whose candidate stands in this election from {@link #start} on; the caller closes the
     * election's client.
     */
    public LeaseholdLeaderInitiator(Election election, Candidate candidate) {
        this.election = Objects.requireNonNull(election, "election");
        this.candidate = Objects.requireNonNull(candidate, "candidate");
    }

    /** One term, as Spring Integration sees it. */
    private final class Leadership implements Context {
        private final Term term;
        /** Completes when {@code onRevoked} has returned. */
        private final CompletableFuture<Void> revoked = new CompletableFuture<>();
        /** Completes when {@code onGranted} has returned. */
        private final CompletableFuture<Void> returned = new CompletableFuture<>();

        private boolean granted;
        private volatile boolean ended;
        /** Whether the grant event is being published: a revocation meanwhile is published after it. */
        private boolean publishing;

        private boolean published;

        Leadership(Term term) {
            this.term = term;
        }

        @Override
        public boolean isLeader() {
            return !ended && term.isValid();
        }

        /** Resigns; the candidate stands again, behind the others. */
        @Override
        public void yield() {
            Candidacy standing = standing();
            if (standing != null && standing.term().filter(term::equals).isPresent()) {
                standing.resignAsync();
            }
        }

        @Override
        public String getRole() {
            return candidate.getRole();
        }

        /** Leads once the candidate has returned from the calls of a stopped candidacy. */
        CompletionStage<Void> leadAfter(CompletionStage<?> former) {
            term.onEnd(end -> revoke(null));
            former.whenComplete((done, error) -> lead());
            return CompletableFuture.allOf(revoked, returned);
        }

        private void lead() {
            try {
                if (grant()) {
                    candidate.onGranted(this);
                    publishGrant();
                }
            } catch (InterruptedException e) {
                // The executor interrupts its thread to stop it.
                Thread.currentThread().interrupt();
                revoke(e);
            } catch (Throwable e) {
                revoke(e);
            } finally {
                returned.complete(null);
            }
        }

        /** Grants the leadership; false if the term has already ended. */
        private synchronized boolean grant() {
            granted = !ended;
            return granted;
        }

        private void publishGrant() {
            synchronized (this) {
                if (ended || !term.isValid()) {
                    return;
                }
                publishing = true;
            }
            guarded(
                    "the publication of the grant",
                    () -> events.publishOnGranted(LeaseholdLeaderInitiator.this, this, candidate.getRole()));
            if (hasEndedMeanwhile()) {
                publishRevocation();
            }
        }

        private void publishRevocation() {
            guarded(
                    "the publication of the revocation",
                    () -> events.publishOnRevoked(LeaseholdLeaderInitiator.this, this, candidate.getRole()));
        }

        private synchronized boolean hasEndedMeanwhile() {
            publishing = false;
            published = true;
            return ended;
        }

        /** Ends the term, once; a failure is logged by the candidacy, which pauses then. */
        private void revoke(@Nullable Throwable failure) {
            boolean wasGranted;
            boolean wasPublished;
            synchronized (this) {
                if (ended) {
                    return;
                }
                ended = true;
                wasGranted = granted;
                wasPublished = published && !publishing;
            }
            if (wasGranted) {
                guarded("the revocation of the candidate", () -> candidate.onRevoked(this));
            }
            if (wasPublished) {
                publishRevocation();
            }
            if (failure == null) {
                revoked.complete(null);
            } else {
                revoked.completeExceptionally(failure);
            }
        }

        /** Runs a step on which no later step depends: a failure is logged. */
        private void guarded(String what, Runnable step) {
            try {
                step.run();
            } catch (Throwable e) {
                // Also a checked exception that is not declared. A listener may wait, and be interrupted.
                if (e instanceof InterruptedException) {
                    Thread.currentThread().interrupt();
                }
                LOG.atError()
                        .addKeyValue("election", election.name())
                        .setCause(e)
                        .log("election \"{}\": {} failed", election.name(), what);
            }
        }

        @Override
        public String toString() {
            return "Leadership[" + candidate.getRole() + ", " + term + "]";
        }
    }

    private CompletionStage<Void> lead(Term term, CompletionStage<?> former) {
        Leadership begun = new Leadership(term);
        current = begun;
        return begun.leadAfter(former);
    }

    private synchronized @Nullable Candidacy standing() {
        return candidacy;
    }

    /** The candidate's current leadership. */
    public Optional<Context> context() {
        return Optional.<Context>ofNullable(current).filter(Context::isLeader);
    }

    /** Sets the publisher of the events, instead of the application's context. */
    public void setLeaderEventPublisher(LeaderEventPublisher publisher) {
        this.events = Objects.requireNonNull(publisher, "publisher");
        this.ownEvents = true;
    }

    @Override
    public void setApplicationEventPublisher(ApplicationEventPublisher publisher) {
        if (!ownEvents) {
            this.events = new DefaultLeaderEventPublisher(publisher);
        }
    }

    /** Sets whether it starts with the application; the default is true. */
    public void setAutoStartup(boolean autoStartup) {
        this.autoStartup = autoStartup;
    }

    @Override
    public boolean isAutoStartup() {
        return autoStartup;
    }

    /** Sets the phase in which it starts. */
    public void setPhase(int phase) {
        this.phase = phase;
    }

    @Override
    public int getPhase() {
        return phase;
    }

    /** Stands for election; does nothing if it already stands. Does not wait. */
    @Override
    public synchronized void start() {
        if (candidacy == null) {
            CompletionStage<?> before = former;
            candidacy = election.standAsync(term -> lead(term, before));
            former = candidacy.whenEnded();
        }
    }

    /** Withdraws the candidate: revokes a leadership, and waits as {@link Candidacy#close()} does. */
    @Override
    public void stop() {
        Candidacy ended;
        synchronized (this) {
            ended = candidacy;
            candidacy = null;
        }
        if (ended != null) {
            ended.close();
        }
    }

    @Override
    public boolean isRunning() {
        return standing() != null;
    }

    @Override
    public void destroy() {
        stop();
    }
}
