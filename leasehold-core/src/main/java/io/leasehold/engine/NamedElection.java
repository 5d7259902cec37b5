package io.leasehold.engine;

import io.leasehold.Candidacy;
import io.leasehold.Candidate;
import io.leasehold.Election;
import io.leasehold.Leader;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.Term;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** An election by its name: stateless. */
final class NamedElection implements Election {

    /** The cap on the hold of a leader, which leads for as long as it can. */
    static final Duration WITHOUT_LIMIT = Duration.ofDays(36_500);

    private final LockName name;
    private final WaitSettings settings;
    private final Attempts attempts;

    NamedElection(LockName name, WaitSettings settings, Attempts attempts) {
        this.name = name;
        this.settings = settings;
        this.attempts = attempts;
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public Election with(UnaryOperator<LockOptions> change) {
        LockOptions changed = Objects.requireNonNull(change.apply(options()), "options");
        return new NamedElection(name, attempts.settings(changed), attempts);
    }

    @Override
    public Candidacy stand(Consumer<? super Term> lead) {
        Objects.requireNonNull(lead, "lead");
        return begun(new RunningTerm.Callback(
                term -> {
                    lead.accept(term);
                    return CompletableFuture.completedFuture(null);
                },
                true));
    }

    @Override
    public Candidacy standAsync(Function<? super Term, ? extends CompletionStage<?>> lead) {
        return begun(new RunningTerm.Callback(Objects.requireNonNull(lead, "lead"), false));
    }

    private Candidacy begun(RunningTerm.Callback callback) {
        return new RunningCandidacy(name, settings, attempts, callback).begin();
    }

    @Override
    public Optional<Leader> leader() {
        EngineContext context = attempts.context();
        return Futures.join(context.runtime(), LeaderWatch.ask(context.store(), name));
    }

    @Override
    public List<Candidate> candidates(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit " + limit + " is not positive");
        }
        EngineContext context = attempts.context();
        return Futures.join(context.runtime(), LeaderWatch.candidates(context.store(), name, limit));
    }

    @Override
    public Observation observe(Consumer<? super Optional<Leader>> observer) {
        Objects.requireNonNull(observer, "observer");
        return new LeaderWatch(name, settings.policy(), attempts, observer).begin();
    }

    @Override
    public String toString() {
        return "Election[" + name + " at " + attempts.storeDescription() + "]";
    }
}
