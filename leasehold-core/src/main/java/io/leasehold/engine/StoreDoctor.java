package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.Finding;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Diagnoses a store: its own report, its latency, and the client's settings. */
final class StoreDoctor {

    private static final int ASKED = 21;
    private static final LockName PROBE = LockName.exactly("leasehold-doctor-probe");

    private final EngineContext context;
    private final LockStore store;
    private final LockOptions options;
    private final Timings timings;

    StoreDoctor(EngineContext context, LockOptions options) {
        this.context = context;
        this.store = context.store();
        this.options = options;
        this.timings = Timings.of(options, store.isOfNodes());
    }

    List<Finding> findings() {
        List<Finding> findings =
                new ArrayList<>(context.answer(store.operations().diagnose()));
        findings.add(rights());
        findings.add(latency());
        findings.add(settings());
        findings.add(promises());
        return List.copyOf(findings);
    }

    /** Acquires and releases a test lock. This shows whether rights, scripts and memory suffice, or what is missing. */
    private Finding rights() {
        OwnerToken owner = OwnerToken.draw(context.runtime());
        AcquireReply reply = context.answer(Futures.ask(() -> store.acquire(AcquireRequest.exclusive(
                List.of(PROBE), owner, context.holderId(), timings.ttlNanos(), timings.answerNanos()))));
        ReleaseReply released = context.answer(Futures.ask(() -> store.release(new ReleaseRequest(
                List.of(PROBE), owner, reply.ballot(), ReleaseRequest.Kind.UNDO, timings.answerNanos()))));
        if (reply instanceof AcquireReply.Failed failed) {
            return refused(failed.error());
        } else if (reply instanceof AcquireReply.Refused refusal) {
            return Finding.warning("rights", "a test lock is not granted: " + refusal.reason(), null);
        } else if (released instanceof ReleaseReply.Failed failed) {
            return refused(failed.error());
        }
        return Finding.good("rights", "a test lock was acquired and released");
    }

    private static Finding refused(LockStoreException error) {
        String said = String.valueOf(error.getMessage());
        return error instanceof StoreUnavailableException
                ? Finding.warning("rights", said, null)
                : Finding.unsafe("rights", said, "grant what the message names; until then no lock can be taken");
    }

    /** Compares the slowest of some answers with the time limit of an acquire and the budget of a renewal. */
    private Finding latency() {
        long[] tookNanos = new long[ASKED];
        for (int i = 0; i < ASKED; i++) {
            long startAtNanos = context.runtime().nanoTime();
            context.answer(store.admin().describe(PROBE));
            tookNanos[i] = context.runtime().nanoTime() - startAtNanos;
        }
        Arrays.sort(tookNanos);
        return grade(tookNanos[ASKED / 2], tookNanos[ASKED - 1]);
    }

    private Finding grade(long medianNanos, long slowestNanos) {
        String took = "answers took " + millis(medianNanos) + " in the median and " + millis(slowestNanos)
                + " at the slowest of " + ASKED + "; a ttl of " + millis(timings.ttlNanos()) + " waits "
                + millis(timings.answerNanos()) + " for one";
        if (slowestNanos >= timings.answerNanos() / 2) {
            return Finding.warning(
                    "latency",
                    took + ": renewals may come too late",
                    "set a ttl of at least " + millis(20 * slowestNanos) + ", or move the store closer");
        }
        return Finding.good("latency", took);
    }

    private Finding settings() {
        return Finding.good(
                "settings",
                "ttl " + Durations.text(options.ttl()) + ", valid for "
                        + Durations.text(options.validity()) + " from the sending, maxHold "
                        + Durations.text(options.maxHold()) + ", at most " + Durations.text(store.maxTtl())
                        + " accepted");
    }

    private Finding promises() {
        Guarantees promised = store.guarantees();
        String text = store.description() + " promises " + promised;
        if (!promised.covers(Guarantee.Fencing.INCREASING)) {
            return Finding.warning(
                    "promises",
                    text + ": fencing tokens may go back after a fail-over",
                    "builder.require(Guarantee.Fencing.INCREASING) refuses such a store");
        }
        return Finding.good("promises", text);
    }

    private static String millis(long nanos) {
        return nanos < 10_000_000
                ? String.format(Locale.ROOT, "%.1f ms", nanos / 1e6)
                : Long.toString(nanos / 1_000_000) + " ms";
    }
}
