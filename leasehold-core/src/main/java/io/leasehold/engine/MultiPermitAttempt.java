package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.MultiPermit;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt on several permits of a name: performs the steps of its {@link PermitRounds}. One {@link
 * AcquireAttempt} follows the other; the listeners are notified of one attempt, and of one end.
 *
 * <p>{@code this} guards the rounds and the fields that change; inside it, only the timer is armed. Each answer, and
 * each end of a pause, leads to one step, so at most one step is in progress.
 */
final class MultiPermitAttempt extends PendingAttempt<MultiPermit> {

    /** Begins the attempts on one permit. */
    interface Parts {

        /**
         * Begins an attempt on one permit.
         *
         * @param repeated whether another one follows if this one finds the permits busy
         */
        AcquireAttempt enter(
                LockName name, WaitSettings settings, long maxWaitNanos, boolean repeated, @Nullable Throwable asked);
    }

    private final LockName name;
    private final int number;
    private final long maxWaitNanos;
    private final Parts source;
    private final AttemptNews news;
    private final PermitRounds rounds;
    private final TakenParts<PermitHandle> parts = new TakenParts<>();
    private final StepLoop taking = new StepLoop(() -> step(this::takeOne));
    private long patienceNanos;
    private @Nullable AcquireAttempt current;
    /** Completes when the answer to the current part was processed. */
    private CompletableFuture<Void> currentKept = CompletableFuture.completedFuture(null);

    private LockRuntime.@Nullable Timer timer;
    private boolean ended;

    MultiPermitAttempt(
            LockName name,
            int number,
            WaitSettings settings,
            long maxWaitNanos,
            Parts source,
            EngineContext context,
            @Nullable Throwable asked) {
        super(settings, context, asked);
        this.name = name;
        this.number = number;
        this.maxWaitNanos = maxWaitNanos;
        this.source = source;
        this.rounds = new PermitRounds(number, settings.timings(), settings.policy(), maxWaitNanos, startAtNanos);
        this.news = new AttemptNews(name, context, startAtNanos);
    }

    void start() {
        step(() -> perform(decided(round -> round.begin(now()))));
    }

    private long now() {
        return context.runtime().nanoTime();
    }

    private synchronized PermitRounds.Next decided(Function<PermitRounds, PermitRounds.Next> answer) {
        return answer.apply(rounds);
    }

    /** Runs a step. One that fails must not leave the caller without a result. */
    private void step(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException | Error e) {
            end(new PermitRounds.Failed(e));
        }
    }

    private void perform(PermitRounds.Next step) {
        if (step instanceof PermitRounds.Take take) {
            synchronized (this) {
                patienceNanos = take.patienceNanos();
            }
            taking.run();
        } else if (step instanceof PermitRounds.Keep) {
            handOut();
        } else if (step instanceof PermitRounds.Pause pause) {
            parts.giveBack(false);
            arm(pause.nanos(), () -> step(this::pauseIsOver));
        } else if (step instanceof PermitRounds.End end) {
            end(end);
        }
    }

    // ---- taking

    private void takeOne() {
        long patience;
        synchronized (this) {
            patience = patienceNanos;
        }
        if (parts.isClosed()) {
            return;
        }
        AcquireAttempt part = source.enter(name, settings, patience, maxWaitNanos > 0, asked);
        CompletableFuture<Void> kept = new CompletableFuture<>();
        synchronized (this) {
            current = part;
            currentKept = kept;
        }
        // A withdrawal closes the parts before it looks for the current one.
        if (parts.isClosed()) {
            part.giveUp();
        }
        part.result().whenComplete((attempt, error) -> {
            try {
                step(() -> answered(part, attempt, error));
            } finally {
                kept.complete(null);
            }
        });
    }

    private void answered(AcquireAttempt part, @Nullable Attempt<Lease> attempt, @Nullable Throwable error) {
        long random = context.random();
        if (attempt instanceof Attempt.Acquired<Lease> acquired) {
            if (parts.keep(new PermitHandle(
                    LeaseHandle.of(acquired.lease()), part.slots().get(0)))) {
                long leastLeftNanos = leastLeftNanos();
                perform(decided(round -> round.taken(leastLeftNanos, random, now())));
            }
        } else if (attempt instanceof Attempt.Busy<Lease> busy) {
            perform(decided(round -> round.busy(busy.holder(), busy.votes(), random, now())));
        } else if (error != null) {
            perform(decided(round -> round.failed(Futures.unwrapped(error), random, now())));
        }
    }

    private long leastLeftNanos() {
        return parts.all().stream()
                .mapToLong(part -> part.lease.state().remaining().toNanos())
                .min()
                .orElse(0);
    }

    // ---- waiting

    private void pauseIsOver() {
        long leftNanos;
        synchronized (this) {
            leftNanos = rounds.patienceLeftNanos(now());
        }
        whenGivenBack(
                leftNanos,
                isNothingHeld ->
                        step(() -> perform(decided(round -> isNothingHeld ? round.begin(now()) : round.tooLate()))));
    }

    /** Continues when nothing is held any longer, or after the limit; tells which. */
    private void whenGivenBack(long limitNanos, Consumer<Boolean> then) {
        CompletableFuture<?> leaving = parts.leaving();
        if (leaving.isDone()) {
            then.accept(true);
            return;
        }
        CompletableFuture<Boolean> first = new CompletableFuture<>();
        first.thenAccept(then);
        arm(limitNanos, () -> first.complete(false));
        leaving.whenComplete((nothing, error) -> first.complete(true));
    }

    private synchronized void arm(long delayNanos, Runnable task) {
        TimerQueue.cancelled(timer);
        timer = ended ? null : context.timeline().schedule(delayNanos, task);
    }

    // ---- ends

    private void handOut() {
        List<PermitHandle> all = parts.all();
        // Otherwise, the caller has withdrawn.
        if (all.size() == number) {
            deliver(AttemptOutcome.ACQUIRED, () -> {
                JoinedEnd end = new JoinedEnd(number);
                all.forEach(part -> part.lease.state().joined(end));
                result.complete(new Attempt.Acquired<>(MultiPermitHandle.of(all)));
            });
        }
    }

    /** Releases everything, and then notifies the caller, which may ask again at once and must not meet the rest. */
    private void end(PermitRounds.End end) {
        try {
            withdraw();
            whenGivenBack(settings.options().nodeTimeout().toNanos(), isNothingHeld -> tell(end));
        } catch (RuntimeException | Error e) {
            // Without a timer, or a thread: the caller must not wait for the releases.
            tell(end);
            throw e;
        }
    }

    private void tell(PermitRounds.End end) {
        if (end instanceof PermitRounds.Busy busy) {
            deliver(
                    maxWaitNanos == 0 ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT,
                    () -> result.complete(new Attempt.Busy<>(name, waited(), busy.holder(), busy.votes())));
        } else if (end instanceof PermitRounds.Failed failed) {
            boolean ambiguous = failed.error() instanceof AmbiguousAcquireException;
            deliver(
                    ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR,
                    () -> result.completeExceptionally(failed.error()));
        }
    }

    /** Delivers the outcome, once; returns whether it is this one. */
    private boolean deliver(AttemptOutcome outcome, Runnable complete) {
        synchronized (this) {
            if (ended) {
                return false;
            }
            ended = true;
            timer = TimerQueue.cancelled(timer);
        }
        news.ended(outcome);
        complete.run();
        return true;
    }

    @Override
    CompletableFuture<?> giveUp() {
        RuntimeException withdrawn = withdrawn(what(), false);
        deliver(AttemptOutcome.INTERRUPTED, () -> result.completeExceptionally(withdrawn));
        return withdraw().thenCompose(answered -> parts.leaving());
    }

    /**
     * Fails the result before the current part fails. The permits that the attempt holds are ended like every other
     * lease.
     */
    @Override
    public void clientClosing() {
        RuntimeException withdrawn = withdrawn(what(), true);
        if (deliver(AttemptOutcome.INTERRUPTED, () -> result.completeExceptionally(withdrawn))) {
            withdraw();
        }
    }

    private String what() {
        return number + " permits of \"" + name + "\"";
    }

    /**
     * Withdraws the parts. Completes when nothing is left of the current part, or when its permit is among those to be
     * released.
     */
    private CompletableFuture<?> withdraw() {
        parts.giveBack(true);
        AcquireAttempt waiting;
        CompletableFuture<Void> kept;
        synchronized (this) {
            waiting = current;
            kept = currentKept;
        }
        return waiting == null
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.allOf(waiting.giveUp(), kept);
    }
}
