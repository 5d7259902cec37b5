package io.leasehold.jdbc.store;

import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way through the worker, completed exactly once: by the worker, or by its time limit.
 *
 * <p>Until the worker holds the write lock a task can be taken back, and its time limit does so: it had and will have
 * no effect. After that, or once the answer of one of its transactions was lost, the time limit can only say that the outcome is
 * unknown.
 */
final class Task<R> {

    /** The work of a task inside its transaction. */
    interface Work<R> {
        /**
         * Does it; null, of a task that renews, if another transaction is needed behind this one, which is committed.
         *
         * @param tries how many transactions were begun for the task, this one included
         */
        @Nullable
        R run(LeaseTable table, int tries) throws SQLException;
    }

    /** The queue of a task, and its patience with other transactions that are in the way. */
    enum Rank {
        /** It keeps what is held: stands before all others, and does not begin by waiting for rows. */
        RENEWAL,
        /** A caller waits for it. */
        REQUEST,
        /** It comes after others, and waits for nothing: another one like it will come. */
        HOUSEKEEPING
    }

    /** The first try of a task, in one statement that is a transaction of its own. */
    interface QuickWork<R> {
        /**
         * Tries; null if that is not enough.
         *
         * @param waitNanos how long it may wait for a row that another transaction has locked
         */
        @Nullable
        R run(LeaseTable table, long waitNanos) throws SQLException;
    }

    /** The answer of a task that failed; a thrown error completes its future exceptionally. */
    interface OnFailure<R> {
        R answer(FailureKind kind, LockStoreException error);
    }

    private enum Stage {
        QUEUED,
        /** The worker has begun, and does not yet hold the write lock. */
        STARTED,
        /** From here on its work may be committed. */
        COMMITTING,
        OVER
    }

    private final String what;
    private final boolean writes;
    private final Rank rank;
    private final @Nullable OwnerToken acquires;
    private final @Nullable QuickWork<R> quickWork;
    private final Work<R> work;
    private final OnFailure<R> onFailure;
    private final CompletableFuture<R> future = new CompletableFuture<>();
    private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.QUEUED);
    private volatile @Nullable LockStoreException withdrawn;
    /** Whether an earlier transaction of it was committed, or will be, for all that is known. */
    private volatile boolean mayHaveHappened;
    /** Used by the worker's thread alone. */
    private int tries = 1;

    private Task(
            String what,
            boolean writes,
            Rank rank,
            @Nullable OwnerToken acquires,
            @Nullable QuickWork<R> quickWork,
            Work<R> work,
            OnFailure<R> onFailure) {
        this.what = what;
        this.writes = writes;
        this.rank = rank;
        this.acquires = acquires;
        this.quickWork = quickWork;
        this.work = work;
        this.onFailure = onFailure;
    }

    /**
     * A task that acquires for this owner token.
     *
     * @param quickWork tried before; may be repeated, since the owner token stays the same
     */
    static <R> Task<R> acquiring(
            OwnerToken owner, String what, @Nullable QuickWork<R> quickWork, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.REQUEST, owner, quickWork, work, onFailure);
    }

    /** A task that keeps what is held. */
    static <R> Task<R> renewing(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.RENEWAL, null, null, work, onFailure);
    }

    /** A task that writes. */
    static <R> Task<R> writing(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.REQUEST, null, null, work, onFailure);
    }

    /** A task that writes, and fails where another transaction is in the way. */
    static <R> Task<R> keepingHouse(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.HOUSEKEEPING, null, null, work, onFailure);
    }

    /** A task that only reads. */
    static <R> Task<R> reading(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, false, Rank.REQUEST, null, null, work, onFailure);
    }

    /** The same, where a failure fails the future. */
    static <R> Task<R> writing(String what, Work<R> work) {
        return writing(what, work, thrown());
    }

    /** The same, where a failure fails the future. */
    static <R> Task<R> keepingHouse(String what, Work<R> work) {
        return keepingHouse(what, work, thrown());
    }

    /** The same, where a failure fails the future. */
    static <R> Task<R> reading(String what, Work<R> work) {
        return reading(what, work, thrown());
    }

    private static <R> OnFailure<R> thrown() {
        return (kind, error) -> {
            throw error;
        };
    }

    String what() {
        return what;
    }

    boolean writes() {
        return writes;
    }

    /** How it stands to others. */
    Rank rank() {
        return rank;
    }

    /** How many transactions were begun for it, the one that is under way included. */
    int tries() {
        return tries;
    }

    /** Whether its transaction may wait a moment for rows that others have locked. */
    boolean isPatient() {
        return switch (rank) {
            case RENEWAL -> tries == 2;
            case REQUEST -> tries == 1;
            case HOUSEKEEPING -> false;
        };
    }

    /** The owner token it acquires for, or null if it does something else. */
    @Nullable
    OwnerToken acquires() {
        return acquires;
    }

    CompletableFuture<R> future() {
        return future;
    }

    /** The worker takes it up; false if there is nothing left to do. */
    boolean start() {
        // It may have been answered while it stood aside, and what undoes it may be over.
        return stage.compareAndSet(Stage.QUEUED, Stage.STARTED) && !future.isDone() && !isWithdrawn();
    }

    /** From here on it may have an effect; false if it was taken back before. */
    boolean passPointOfNoReturn() {
        return stage.compareAndSet(Stage.STARTED, Stage.COMMITTING);
    }

    /** The answer of a transaction that may have been committed is lost: it is never again said that it had no effect. */
    void answerWasLost() {
        mayHaveHappened = true;
    }

    /** Its transaction was rolled back, or may be repeated, and begins again; false if nobody waits for it any more. */
    boolean startAgain() {
        return (stage.compareAndSet(Stage.COMMITTING, Stage.STARTED) || stage.get() == Stage.STARTED)
                && !future.isDone()
                && !isWithdrawn();
    }

    /** It gives way to others until it is taken up again; false if nobody waits for it any more. */
    boolean giveWay() {
        tries++;
        return startAgain() && stage.compareAndSet(Stage.STARTED, Stage.QUEUED) && !isWithdrawn();
    }

    /** Whether it was withdrawn, which then ends it: it has had no effect. */
    private boolean isWithdrawn() {
        LockStoreException why = withdrawn;
        return why != null && (takeBack(why) || stage.get() == Stage.OVER);
    }

    /** Takes it back now, or when the transaction that is under way has been rolled back. */
    void withdraw(LockStoreException why) {
        withdrawn = why;
        takeBack(why);
    }

    /** Takes it back if no transaction of it is under way; says whether it did: there will be none any more. */
    boolean takeBack(LockStoreException why) {
        boolean taken = stage.compareAndSet(Stage.QUEUED, Stage.OVER) || stage.compareAndSet(Stage.STARTED, Stage.OVER);
        if (taken) {
            answer(FailureKind.NO_EFFECT, why);
        }
        return taken;
    }

    /** Its time is up: takes it back, or, if that is too late, says that the outcome is unknown. */
    void timeIsUp(LockStoreException takenBack, LockStoreException unknown) {
        if (!takeBack(takenBack)) {
            answer(FailureKind.UNKNOWN, unknown);
        }
    }

    /** Tries it in one statement; null if there is none, or that was not enough. */
    @Nullable
    R runQuickly(LeaseTable table, long waitNanos) throws SQLException {
        return quickWork == null ? null : quickWork.run(table, waitNanos);
    }

    /** Whether it is tried in one statement now. */
    boolean hasQuickWork() {
        return quickWork != null && tries == 1;
    }

    @Nullable
    R run(LeaseTable table) throws SQLException {
        return work.run(table, tries);
    }

    void succeed(R result) {
        stage.set(Stage.OVER);
        future.complete(result);
    }

    void fail(FailureKind kind, LockStoreException error) {
        stage.set(Stage.OVER);
        answer(kind, error);
    }

    private void answer(FailureKind kind, LockStoreException error) {
        if (future.isDone()) {
            return;
        }
        try {
            future.complete(onFailure.answer(mayHaveHappened ? FailureKind.UNKNOWN : kind, error));
        } catch (LockStoreException e) {
            future.completeExceptionally(e);
        }
    }
}
