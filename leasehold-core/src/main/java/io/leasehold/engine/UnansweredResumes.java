package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one client to resume, by the secret of their ticket: one at a time has the turn. A ticket may have
 * been swapped for the owner token of an attempt whose outcome is unknown, so the next attempt with this ticket
 * continues with the same owner token. It waits until the earlier attempt has settled: with an owner token of its own,
 * it would be refused while the earlier one wins. Safe for use by any thread; attempts are called without the guard.
 */
final class UnansweredResumes {

    /**
     * An attempt that has settled, and may have the lock.
     *
     * @param owner its owner token
     * @param ballot the highest fencing token that it has proposed; zero if the store chooses the token
     * @param untilAtNanos when the store has forgotten it
     * @param release ends the owner token at the store; null unless the store has answered that it has the lock: only
     *     then no request of it can arrive later
     */
    record Unanswered(
            OwnerToken owner,
            long ballot,
            long untilAtNanos,
            @Nullable Runnable release) {}

    /** An attempt that wants the turn. */
    interface Resuming {

        /**
         * Receives the turn. Never throws.
         *
         * @param before the attempt to continue; null if there is none
         * @return false if this attempt is over: the next one then receives the turn
         */
        boolean begin(@Nullable Unanswered before);
    }

    /** The attempts with one ticket. */
    private static final class Turns {
        private final Queue<Resuming> waiting = new ArrayDeque<>(2);
        /** Whether an attempt has the turn. */
        private boolean taken;
        /** Whether a thread is giving the turn: it continues if the attempt leaves at once. */
        private boolean giving;

        private @Nullable Unanswered last;

        /** Whether only what the store has forgotten is left. An attempt that waits still gets its turn. */
        private boolean isForgotten(long nowNanos) {
            boolean isIdle = !taken && !giving && waiting.isEmpty();
            return isIdle && last != null && last.untilAtNanos() - nowNanos <= 0;
        }
    }

    private final Map<String, Turns> all = new HashMap<>();

    /** Gives the attempt the turn, now or when the earlier attempts with this ticket have settled. */
    void enter(String secret, Resuming attempt, long nowNanos) {
        synchronized (this) {
            all.values().removeIf(turns -> turns.isForgotten(nowNanos));
            all.computeIfAbsent(secret, none -> new Turns()).waiting.add(attempt);
        }
        give(secret);
    }

    /** Ends the turn of an attempt; the next one continues the unanswered attempt, if that is given. */
    void leave(String secret, @Nullable Unanswered unanswered) {
        synchronized (this) {
            free(secret, unanswered);
        }
        give(secret);
    }

    private void free(String secret, @Nullable Unanswered unanswered) {
        Turns turns = all.get(secret);
        if (turns != null) {
            turns.taken = false;
            turns.last = unanswered;
        }
    }

    /** Gives the turn to the first attempt that takes it. A loop: each attempt may leave before its call returns. */
    private void give(String secret) {
        synchronized (this) {
            Turns turns = all.get(secret);
            if (turns == null || turns.giving) {
                return;
            }
            turns.giving = true;
        }
        while (true) {
            Resuming next;
            Unanswered before;
            synchronized (this) {
                Turns turns = all.get(secret);
                next = turns == null || turns.taken ? null : turns.waiting.poll();
                if (turns == null || next == null) {
                    rest(secret, turns);
                    return;
                }
                turns.taken = true;
                before = turns.last;
                turns.last = null;
            }
            if (!next.begin(before)) {
                synchronized (this) {
                    free(secret, before);
                }
            }
        }
    }

    private void rest(String secret, @Nullable Turns turns) {
        if (turns != null) {
            turns.giving = false;
            if (!turns.taken && turns.last == null) {
                all.remove(secret);
            }
        }
    }

    /** Removes an attempt that waits for its turn. */
    synchronized void withdraw(String secret, Resuming attempt) {
        Turns turns = all.get(secret);
        if (turns != null) {
            turns.waiting.remove(attempt);
        }
    }

    /** Releases what no attempt will continue, since the client closes. */
    void close() {
        List<Runnable> releases = new ArrayList<>();
        synchronized (this) {
            for (Turns turns : all.values()) {
                Unanswered last = turns.last;
                Runnable release = last == null ? null : last.release();
                if (release != null) {
                    turns.last = null;
                    releases.add(release);
                }
            }
        }
        releases.forEach(release -> Futures.guarded("the release of a resumed lease at the close", release));
    }
}
