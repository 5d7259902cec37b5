package io.leasehold.engine;

import io.leasehold.LeaseAtRiskException;
import io.leasehold.spi.InlineThread;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One caller's check of a lease, or of several as one, with less validity left than the caller needs. It requests
 * renewals of all leases, waits for the answers, and checks all leases again.
 */
final class ValidityWait {

    /** The check of one of the leases. */
    private final class Part implements WaitingChecks.Check {
        private final ActiveLease lease;
        private final long neededNanos;
        private volatile WaitingChecks.@Nullable Verdict answer;

        Part(ActiveLease lease, long neededNanos) {
            this.lease = lease;
            this.neededNanos = neededNanos;
        }

        @Override
        public long neededNanos() {
            return neededNanos;
        }

        @Override
        public void answered(WaitingChecks.Verdict verdict) {
            answer = verdict;
            boolean isLast = unanswered.decrementAndGet() == 0;
            if (isLast || verdict instanceof WaitingChecks.Lost || verdict instanceof WaitingChecks.GivenBack) {
                done.complete(null);
            } else if (!(verdict instanceof WaitingChecks.Passed)) {
                waitNoLongerThanIt();
            }
        }

        /** No renewal extends this lease during the wait for the others, so it may end, or has too little left, before. */
        private void waitNoLongerThanIt() {
            // Asks the grant: this thread has not used the lease, and will not release it.
            long leftNanos = lease.isUnreleased() ? lease.owner().remainingNanos(lease) : 0;
            if (Duration.ofNanos(leftNanos).compareTo(wanted) < 0) {
                done.complete(null);
            } else {
                lease.whenEnded().thenRun(() -> done.complete(null));
            }
        }
    }

    private final Duration wanted;
    private final List<Part> parts;
    private final AtomicInteger unanswered;
    /**
     * Completes once all checks are answered, or one lease has ended or will not have the wanted validity: then nothing is
     * left to wait for.
     */
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    private ValidityWait(List<ActiveLease> leases, Duration wanted) {
        this.wanted = wanted;
        this.unanswered = new AtomicInteger(leases.size());
        this.parts = leases.stream()
                .map(lease -> new Part(lease, neededNanos(lease, leases.size())))
                .toList();
    }

    /**
     * Returns the validity to ask for. Several leases wait for the slowest answer, and the others lose validity during
     * that time. A check waits for up to two answers.
     */
    private long neededNanos(ActiveLease lease, int leases) {
        Timings timings = lease.owner().settings().timings();
        long atOnceNanos = Timings.saturatedNanos(wanted);
        return leases == 1 ? atOnceNanos : Math.min(timings.validityNanos(), atOnceNanos + 2 * timings.answerNanos());
    }

    /** Returns the risk of the first lease with less validity than wanted; null if all have enough. */
    private static @Nullable LeaseAtRiskException risk(List<ActiveLease> leases, Duration wanted) {
        LeaseAtRiskException first = null;
        for (ActiveLease lease : leases) {
            LeaseAtRiskException risk = lease.risk(wanted);
            first = first == null ? risk : first;
        }
        return first;
    }

    /** Returns once all leases have the wanted validity; throws if one is lost, or at risk even after a renewal. */
    static void ensure(List<ActiveLease> leases, Duration wanted) {
        LeaseAtRiskException atRisk = risk(leases, wanted);
        if (atRisk != null) {
            ensure(leases, wanted, atRisk);
        }
    }

    /** Does the same after a first check, which has found this risk. */
    static void ensure(List<ActiveLease> leases, Duration wanted, LeaseAtRiskException atRisk) {
        if (!areRenewed(leases) || InlineThread.isCurrent()) {
            throw atRisk;
        }
        new ValidityWait(leases, wanted).await();
    }

    /** As {@link #ensure}, but does not wait; completes on a callback thread. */
    static CompletionStage<Void> ensureAsync(List<ActiveLease> leases, Duration wanted) {
        try {
            LeaseAtRiskException atRisk = risk(leases, wanted);
            if (atRisk == null) {
                return CompletableFuture.completedStage(null);
            }
            return areRenewed(leases)
                    ? new ValidityWait(leases, wanted).later()
                    : CompletableFuture.failedStage(atRisk);
        } catch (RuntimeException e) {
            return CompletableFuture.failedStage(e);
        }
    }

    private static boolean areRenewed(List<ActiveLease> leases) {
        return leases.stream()
                .allMatch(lease -> lease.owner().settings().timings().renewed());
    }

    private LockRuntime runtime() {
        return parts.get(0).lease.owner().context().runtime();
    }

    /** Requests the renewals of all leases, before the wait for the first answer. */
    private void ask() {
        parts.forEach(part -> part.lease.owner().ask(part.lease, part));
    }

    private void await() {
        ask();
        try {
            runtime().await(done);
        } catch (InterruptedException e) {
            // The interrupt stays the caller's: the lease continues, and so does its renewal.
            Thread.currentThread().interrupt();
        }
        judge();
    }

    /** Returns a stage that the caller cannot cancel: others may wait for the same renewal. */
    private CompletionStage<Void> later() {
        CompletableFuture<Void> told = new CompletableFuture<>();
        ask();
        done.whenComplete((all, never) -> Futures.execute(runtime(), () -> tell(told)));
        return told.minimalCompletionStage();
    }

    private void tell(CompletableFuture<Void> told) {
        try {
            judge();
        } catch (RuntimeException | Error e) {
            told.completeExceptionally(e);
            return;
        }
        told.complete(null);
    }

    /** Checks all leases again, at this moment; a loss counts more than a risk. */
    private void judge() {
        for (Part part : parts) {
            // Do this before the first lease that has ended throws: no part may continue to ask for a check that is
            // over.
            if (part.answer == null) {
                part.lease.owner().withdraw(part);
            }
        }
        LeaseAtRiskException first = null;
        for (Part part : parts) {
            WaitingChecks.Verdict verdict = part.answer;
            LeaseAtRiskException still = part.lease.riskAfter(verdict, wanted);
            if (still != null && first == null) {
                first = LeaseMessages.stillAtRisk(still, wanted, verdict, part.lease.owner());
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
