package io.leasehold.simulator;

import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The holders of one client check whether enough validity is left, blocking a thread or not. The results are compared
 * with the requests to the store and its replies.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class HolderChecks {

    /** The time for a renewal in flight, and for another one that follows it. */
    private static final long MOST_NANOS = 2 * ClientOptions.ANSWER.toNanos();

    private final VirtualRuntime process;
    private final Standstills standstills;
    private final WatchedStore store;
    private final LockOptions options;
    private final RunLog log;
    private final BiConsumer<Map<LockName, Long>, Duration> passed;

    /**
     * Checks the holds of a client.
     *
     * @param passed receives the tokens and the span of each check that has passed
     */
    HolderChecks(
            VirtualRuntime process,
            Standstills standstills,
            WatchedStore store,
            LockOptions options,
            RunLog log,
            BiConsumer<Map<LockName, Long>, Duration> passed) {
        this.process = process;
        this.standstills = standstills;
        this.store = store;
        this.options = options;
        this.log = log;
        this.passed = passed;
    }

    /** Checks any permitted span; half of the spans exceed the validity that a healthy lease has without a renewal. */
    void ask(Shown shown, Runnable done) {
        Duration most = options.longestCheckable();
        long leastNanos =
                process.world().chance(0.5) ? options.longestUnrenewed().toNanos() : 0;
        Duration span = Duration.ofNanos(leastNanos + process.world().randomBelow(1 + most.toNanos() - leastNanos));
        Asked asked = new Asked(shown, span);
        if (process.world().chance(0.5)) {
            shown.hold.ensureValidForAsync(span).whenComplete((valid, error) -> {
                asked.judge(error instanceof CompletionException ? error.getCause() : error);
                done.run();
            });
            return;
        }
        process.startThread("check", () -> {
            asked.begins();
            try {
                shown.hold.ensureValidFor(span);
                asked.judge(null);
            } catch (RuntimeException e) {
                asked.judge(e);
            } finally {
                done.run();
            }
        });
    }

    /** One check. */
    private final class Asked {
        private final Shown shown;
        private final Duration span;
        private long atNanos;
        private int mark;

        Asked(Shown shown, Duration span) {
            this.shown = shown;
            this.span = span;
            begins();
        }

        void begins() {
            atNanos = process.nanoTime();
            mark = standstills.mark();
        }

        void judge(@Nullable Throwable error) {
            long waitedNanos = process.nanoTime() - atNanos;
            log.counts.saw(waitedNanos > 0 ? "checks that waited" : "checks at once");
            if (standstills.hasRunSince(mark)) {
                if (waitedNanos > MOST_NANOS) {
                    problem("waited for " + Duration.ofNanos(waitedNanos));
                }
                beyondItsEnd();
            }
            if (error == null) {
                passed.accept(shown.tokens, span);
            } else if (error instanceof LeaseAtRiskException) {
                log.counts.saw("checks at risk");
                atRisk();
            } else if (!(error instanceof LeaseLostException) && !shown.isGivenBack()) {
                problem("ended with " + error);
            }
        }

        private void beyondItsEnd() {
            shown.tokens.forEach((name, token) -> {
                long lateNanos = process.nanoTime() - store.validUntilAtNanos(name, token);
                if (lateNanos > 1 && process.nanoTime() - atNanos > lateNanos) {
                    problem("waited on for " + Duration.ofNanos(lateNanos) + " after the end of " + name);
                }
            });
        }

        private void atRisk() {
            boolean isRenewed = new RenewalDuty(options).mustRenew();
            if (!isRenewed || !standstills.hasRunSince(mark)) {
                return;
            }
            for (Map.Entry<LockName, Long> one : shown.tokens.entrySet()) {
                SentRenewals renewals = store.renewalsOf(one.getKey(), one.getValue());
                if (renewals == null || renewals.explainRisk(atNanos, span.toNanos())) {
                    return;
                }
            }
            problem("said that less is left, and a healthy store was not asked or has confirmed more");
        }

        private void problem(String how) {
            log.problem("check: a check of " + shown.tokens + " of " + process.name() + " for " + span + " " + how
                    + ", at " + process.world().elapsed());
        }
    }
}
