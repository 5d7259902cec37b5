package io.leasehold.simulator;

import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.LeaseText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The spans during which holders of any kind believed in their leases, and the rules for them: two leases that exclude
 * each other are not valid at the same time, and the later one has the larger token.
 */
final class KindSpans {

    /** One lease. Readers of a lock share it; all other leases of a lock, or of a slot of permits, exclude each other. */
    static final class Span {
        private final String process;
        private final String lock;
        private final boolean reads;
        private final long token;
        private final long fromNanos;
        private final long firstUntilNanos;
        private long untilNanos;

        private Span(String process, String lock, boolean reads, long token, long fromNanos, long untilNanos) {
            this.process = process;
            this.lock = lock;
            this.reads = reads;
            this.token = token;
            this.fromNanos = fromNanos;
            this.firstUntilNanos = untilNanos;
            this.untilNanos = untilNanos;
        }

        long token() {
            return token;
        }

        private boolean wasBelievedIn() {
            return untilNanos > fromNanos;
        }

        private boolean excludes(Span other) {
            return lock.equals(other.lock) && !(reads && other.reads);
        }

        @Override
        public String toString() {
            return process + (reads ? " reads " : " holds ") + lock + " with token " + token + " from " + fromNanos
                    + " until " + untilNanos;
        }
    }

    private final RunLog log;
    private final List<Span> spans = new ArrayList<>();
    private final List<HistoryEvent.Forced> forced = new ArrayList<>();

    KindSpans(RunLog log) {
        this.log = log;
    }

    /** A holder has received a lease, and believes in it until then. */
    Span begins(String process, String lock, boolean reads, long token, long nowNanos, long untilNanos) {
        Span span = new Span(process, lock, reads, token, nowNanos, untilNanos);
        spans.add(span);
        log.history.add(
                new HistoryEvent.Acquired(nowNanos, process, reads ? LeaseText.read(lock) : lock, token, untilNanos));
        return span;
    }

    /** A holder has found that it may believe in its lease until then. */
    void extended(Span span, long nowNanos, long untilNanos) {
        span.untilNanos = Math.max(span.untilNanos, untilNanos);
        log.history.add(new HistoryEvent.Extended(nowNanos, span.process, span.lock, span.token, untilNanos));
    }

    /** A holder no longer believes in its lease. */
    void ends(Span span, long nowNanos, String how) {
        span.untilNanos = Math.min(span.untilNanos, nowNanos);
        log.history.add(new HistoryEvent.Ended(nowNanos, span.process, span.lock, span.token, how));
    }

    /** An operator has released a lock by force. */
    void forced(String lock, long nowNanos) {
        HistoryEvent.Forced event = new HistoryEvent.Forced(nowNanos, "operator", lock);
        forced.add(event);
        log.history.add(event);
    }

    /** Reports the spans that break a rule. */
    void judge(SimulationPlan plan) {
        spans.sort(Comparator.comparingLong(span -> span.fromNanos));
        for (int i = 0; i < spans.size(); i++) {
            Span later = spans.get(i);
            for (int k = 0; k < i && later.wasBelievedIn(); k++) {
                Span earlier = spans.get(k);
                if (earlier.excludes(later)) {
                    judge(earlier, later, plan);
                }
            }
        }
        log.counts.saw("acquisitions", spans.size());
    }

    private void judge(Span earlier, Span later, SimulationPlan plan) {
        if (earlier.untilNanos > later.fromNanos) {
            if (plan.promisesExclusion() && earlier.wasBelievedIn()) {
                log.problem("overlap: " + earlier + "; " + later);
            }
        } else if (plan.promisesOrder() && later.token <= earlier.token && !isOvertaken(later, earlier)) {
            log.problem("token: the token went down: " + earlier + "; then " + later);
        }
    }

    /** As in {@link io.leasehold.simulator.history.TokenChecker}: the answer may come after the lease that followed. */
    private boolean isOvertaken(Span late, Span overtaking) {
        long askedNanos = late.firstUntilNanos - ClientOptions.TTL.toNanos();
        return forced.stream()
                .anyMatch(event -> event.lock().equals(late.lock)
                        && event.atNanos() >= askedNanos
                        && event.atNanos() <= overtaking.fromNanos);
    }

    /** Whether a lease of this lock that excludes others has a token between these. */
    @Nullable
    Span between(String lock, long lower, long upper) {
        return spans.stream()
                .filter(span -> span.lock.equals(lock) && span.token > lower && span.token < upper)
                .findFirst()
                .orElse(null);
    }
}
