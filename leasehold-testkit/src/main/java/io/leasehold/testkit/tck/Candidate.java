package io.leasehold.testkit.tck;

import io.leasehold.Candidacy;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Term;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A candidate that notes its terms, each of which lasts until the test ends it. */
final class Candidate {

    /**
     * A term.
     *
     * @param term the term
     * @param end how its end was reported
     * @param work ends the term once it is done
     */
    record Led(Term term, CompletableFuture<Term.End> end, CompletableFuture<Void> work) {}

    private final LockClient client;
    private final Candidacy candidacy;
    private final BlockingQueue<Led> terms = new LinkedBlockingQueue<>();

    Candidate(LockClient client, LockName name) {
        this.client = client;
        this.candidacy = client.election(name).standAsync(this::lead);
    }

    private CompletableFuture<Void> lead(Term term) {
        Led led = new Led(term, new CompletableFuture<>(), new CompletableFuture<>());
        term.onEnd(led.end()::complete);
        terms.add(led);
        return led.work();
    }

    LockClient client() {
        return client;
    }

    Candidacy candidacy() {
        return candidacy;
    }

    /** Waits for its next term. */
    Led next() throws InterruptedException {
        Led led = terms.poll(TckBench.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (led == null) {
            throw new AssertionError("the candidate is not elected");
        }
        return led;
    }

    /** Waits for its next term; where no queue decides, the other may be elected again before that, and resigns each time. */
    Led nextInPlaceOf(Candidate other) throws InterruptedException {
        long untilAtNanos = System.nanoTime() + TckBench.PATIENCE.toNanos();
        while (System.nanoTime() - untilAtNanos < 0) {
            Led led = terms.poll(10, TimeUnit.MILLISECONDS);
            if (led != null) {
                return led;
            }
            Led another = other.terms.poll();
            if (another != null) {
                other.candidacy.resignAsync();
                another.work().complete(null);
            }
        }
        throw new AssertionError("the candidate is not elected although the other resigns");
    }

    /** Whether it was elected since {@link #next()}. */
    boolean hasLed() {
        return !terms.isEmpty();
    }
}
