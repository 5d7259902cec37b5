package io.leasehold.spring.boot;

import io.leasehold.LockListener;
import io.leasehold.admin.ClientRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The locks that this process holds and waits for, and whether the store answered the last request.
 *
 * <p>Guarded by {@code this}, which protects only counting.
 */
final class LeaseStatus implements LockListener {

    /** Whether the store answered. */
    enum Answers {
        /** No request was sent yet. */
        UNKNOWN,
        /** The store answered. */
        YES,
        /** The last attempt or renewal failed because the store did not answer. */
        NO
    }

    private final Map<String, Integer> held = new TreeMap<>();
    private final Map<String, Integer> waiting = new TreeMap<>();
    private Answers answers = Answers.UNKNOWN;
    private boolean heard;
    private boolean failed;
    private long lost;

    /**
     * A name with its count.
     *
     * @param lock the name; that of permits differs from that of a lock
     * @param count the count
     */
    record Count(String lock, int count) {}

    @Override
    public synchronized void attemptBegan(AttemptBegan event) {
        heard = true;
        waiting.merge(ClientRecord.listed(event.name()), 1, Integer::sum);
    }

    @Override
    public synchronized void attemptEnded(AttemptEnded event) {
        less(waiting, ClientRecord.listed(event.name()));
        switch (event.outcome()) {
            case ACQUIRED -> {
                held.merge(ClientRecord.listed(event.name()), 1, Integer::sum);
                answers = Answers.YES;
            }
            case BUSY, TIMEOUT -> answers = Answers.YES;
            case ERROR, AMBIGUOUS -> failed();
            default -> {
                // a cancelled attempt says nothing about the store
            }
        }
    }

    @Override
    public synchronized void renewed(Renewed event) {
        if (event.outcome() == RenewalOutcome.FAILED) {
            failed();
        } else {
            answers = Answers.YES;
        }
    }

    private void failed() {
        answers = Answers.NO;
        failed = true;
    }

    @Override
    public synchronized void lost(Lost event) {
        lost++;
        less(held, ClientRecord.listed(event.name()));
    }

    @Override
    public synchronized void released(Released event) {
        less(held, ClientRecord.listed(event.name()));
    }

    private static void less(Map<String, Integer> counts, String name) {
        counts.computeIfPresent(name, (key, count) -> count > 1 ? Integer.valueOf(count - 1) : null);
    }

    /** The stores of all clients have been asked. */
    synchronized void answered(boolean all) {
        answers = all ? Answers.YES : Answers.NO;
        failed = !all;
    }

    /** Whether the store of a client has failed since the stores of all clients answered; another one may answer. */
    synchronized boolean hasFailed() {
        return failed;
    }

    /** Whether a client has reported anything. */
    synchronized boolean isHeard() {
        return heard;
    }

    synchronized Answers answers() {
        return answers;
    }

    synchronized long lostSinceStart() {
        return lost;
    }

    synchronized List<Count> held() {
        return counts(held);
    }

    synchronized List<Count> waiting() {
        return counts(waiting);
    }

    private static List<Count> counts(Map<String, Integer> counts) {
        List<Count> all = new ArrayList<>();
        counts.forEach((name, count) -> all.add(new Count(name, count)));
        return all;
    }
}
