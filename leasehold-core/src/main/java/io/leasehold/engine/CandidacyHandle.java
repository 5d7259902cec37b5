package io.leasehold.engine;

import io.leasehold.Candidacy;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.engine.CandidacyMachine.Event;
import io.leasehold.spi.LockRecord;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The caller's reference to a {@link RunningCandidacy}. */
final class CandidacyHandle implements Candidacy {

    private final RunningCandidacy candidacy;
    private final EngineContext context;
    /** Completes with its end, however it ended. */
    private final CompletableFuture<Void> over;
    /** Completes with its end; callers cannot complete it. */
    private final CompletionStage<Void> end;

    CandidacyHandle(RunningCandidacy candidacy) {
        this.candidacy = candidacy;
        this.context = candidacy.context();
        this.over = candidacy.ended().handle((done, error) -> null);
        this.end = candidacy.ended().minimalCompletionStage();
    }

    @Override
    public LockName election() {
        return candidacy.name();
    }

    @Override
    public Optional<Term> term() {
        RunningCandidacy.Known known = candidacy.known();
        RunningTerm term = known.term();
        return term != null && known.leads() && term.isUnderWay() && term.cause() == null
                ? Optional.of(term)
                : Optional.empty();
    }

    @Override
    public ReleaseOutcome resign() {
        return Futures.join(context.runtime(), givenBack());
    }

    @Override
    public CompletableFuture<ReleaseOutcome> resignAsync() {
        return Futures.onCallbackExecutor(context.runtime(), givenBack());
    }

    private CompletableFuture<ReleaseOutcome> givenBack() {
        RunningCandidacy.Known known = candidacy.known();
        RunningTerm term = known.term();
        if (term == null) {
            return CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
        } else if (known.leads()) {
            candidacy.on(term, new Event.Resign(isCallback(term)));
            return term.cause() == null
                    ? known.outcome()
                    : CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
        }
        return known.outcome().getNow(ReleaseOutcome.ALREADY_LOST) == ReleaseOutcome.UNCONFIRMED
                ? isGone(term)
                : CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
    }

    /** Whether a term whose release was not answered is gone meanwhile: a lock with a larger token, or none, says so. */
    private CompletableFuture<ReleaseOutcome> isGone(RunningTerm former) {
        return Futures.ask(() -> context.store().admin().describe(candidacy.name()))
                .thenApply(record -> record.map(LockRecord::holder)
                        .filter(holder -> holder.id().equals(context.holderId()))
                        .filter(holder -> holder.fencingToken().orElse(0) <= former.fencingToken())
                        .map(still -> ReleaseOutcome.UNCONFIRMED)
                        .orElse(ReleaseOutcome.RELEASED));
    }

    private static boolean isCallback(@Nullable RunningTerm current) {
        return current != null && current.runsOn(Thread.currentThread());
    }

    @Override
    public void close() {
        RunningTerm term = candidacy.known().term();
        boolean byCallback = isCallback(term);
        long graceNanos = term == null ? 0 : candidacy.graceNanos(term);
        candidacy.on(new Event.Close(byCallback));
        if (!byCallback) {
            // Once the client is closed no timer runs.
            Futures.joinAtMost(
                    context.runtime(),
                    CompletableFuture.anyOf(over, candidacy.attempts().closed()),
                    graceNanos + candidacy.answerNanos());
        }
    }

    @Override
    public CompletableFuture<Void> closeAsync() {
        candidacy.on(new Event.Close(isCallback(candidacy.known().term())));
        return over.copy();
    }

    @Override
    public CompletionStage<Void> whenEnded() {
        return end;
    }

    @Override
    public String toString() {
        return "Candidacy[" + candidacy.name() + " at " + context.store().description() + "]";
    }
}
