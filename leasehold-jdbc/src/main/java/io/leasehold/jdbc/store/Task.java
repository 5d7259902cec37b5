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
 * <p>Until the worker holds the write lock, a task can be withdrawn, and its time limit does so: then it had and will
 * have no effect. After that, or once the reply of one of its transactions was lost, the time limit can only report
 * that the outcome is unknown.
 */
final class Task<R> {

    /** The work of a task inside its transaction. */
    interface Work<R> {
        /**
         * Does the work. A renewal returns null if it needs another transaction after this one, which is committed.
         *
         * @param tries the number of transactions begun for the task, this one included
         */
        @Nullable
        R run(LeaseTable table, int tries) throws SQLException;
    }

    /** The queue of a task, and its patience with other transactions in the way. */
    enum Rank {
        /** Keeps a hold: comes before all others, and does not wait for rows at first. */
        RENEWAL,
        /** A caller waits for the result. */
        REQUEST,
        /** Comes after the others, and waits for no row: another task like it will come. */
        HOUSEKEEPING
    }

    /** The first try of a task, in one statement that is its own transaction. */
    interface QuickWork<R> {
        /**
         * Tries; returns null if that is not enough.
         *
         * @param waitNanos the maximum wait for a row that another transaction has locked
         */
        @Nullable
        R run(LeaseTable table, long waitNanos) throws SQLException;
    }

    /** The reply of a task that failed; a thrown error completes its future exceptionally. */
    interface OnFailure<R> {
        R answer(FailureKind kind, LockStoreException error);
    }

    private enum Stage {
        QUEUED,
        /** The worker has begun, and does not yet hold the write lock. */
        STARTED,
        /** From here on the task may be committed. */
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
    /** Whether an earlier transaction of the task was committed, or may have been. */
    private volatile boolean mayHaveHappened;
    /** The obstacle that the last unsuccessful transaction of the task met, as a clause for messages. */
    private volatile @Nullable String hindrance;
    /** Used only by the worker's thread. */
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
     * @param quickWork tried first; may be repeated, since the owner token stays the same
     */
    static <R> Task<R> acquiring(
            OwnerToken owner, String what, @Nullable QuickWork<R> quickWork, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.REQUEST, owner, quickWork, work, onFailure);
    }

    /** A task that keeps a hold. */
    static <R> Task<R> renewing(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.RENEWAL, null, null, work, onFailure);
    }

    /** A task that writes. */
    static <R> Task<R> writing(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.REQUEST, null, null, work, onFailure);
    }

    /** A task that writes, and fails if another transaction is in the way. */
    static <R> Task<R> keepingHouse(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, true, Rank.HOUSEKEEPING, null, null, work, onFailure);
    }

    /** A task that only reads. */
    static <R> Task<R> reading(String what, Work<R> work, OnFailure<R> onFailure) {
        return new Task<>(what, false, Rank.REQUEST, null, null, work, onFailure);
    }

    /** As the other overload; a failure completes the future exceptionally. */
    static <R> Task<R> writing(String what, Work<R> work) {
        return writing(what, work, thrown());
    }

    /** As the other overload; a failure completes the future exceptionally. */
    static <R> Task<R> keepingHouse(String what, Work<R> work) {
        return keepingHouse(what, work, thrown());
    }

    /** As the other overload; a failure completes the future exceptionally. */
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

    /** Its precedence among tasks. */
    Rank rank() {
        return rank;
    }

    /** The number of transactions begun for the task, the current one included. */
    int tries() {
        return tries;
    }

    /** Notes the obstacle that a transaction of the task met, as a clause for messages. */
    void hinderedBy(String what) {
        hindrance = what;
    }

    /** The obstacle that the last unsuccessful transaction of the task met, or null if there was none. */
    @Nullable
    String hindrance() {
        return hindrance;
    }

    /** Whether no transaction of the task is in progress. */
    boolean isQueued() {
        return stage.get() == Stage.QUEUED;
    }

    /** Whether its transaction may wait briefly for rows that others have locked. */
    boolean isPatient() {
        return switch (rank) {
            case RENEWAL -> tries == 2;
            case REQUEST -> tries == 1;
            case HOUSEKEEPING -> false;
        };
    }

    /** The owner token of an acquire, or null for other tasks. */
    @Nullable
    OwnerToken acquires() {
        return acquires;
    }

    CompletableFuture<R> future() {
        return future;
    }

    /** Starts the task on the worker; returns false if nothing is left to do. */
    boolean start() {
        // The task may have been answered while it stood aside, and the release that undoes it may be over.
        return stage.compareAndSet(Stage.QUEUED, Stage.STARTED) && !future.isDone() && !isWithdrawn();
    }

    /** Passes the point from which the task may have an effect; returns false if it was withdrawn before. */
    boolean passPointOfNoReturn() {
        return stage.compareAndSet(Stage.STARTED, Stage.COMMITTING);
    }

    /**
     * Notes that the reply of a transaction was lost that may have been committed: the task never again reports that it
     * had no effect.
     */
    void answerWasLost() {
        mayHaveHappened = true;
    }

    /**
     * Begins the task again after its transaction was rolled back, or may be repeated; returns false if no caller waits
     * for it any more.
     */
    boolean startAgain() {
        return (stage.compareAndSet(Stage.COMMITTING, Stage.STARTED) || stage.get() == Stage.STARTED)
                && !future.isDone()
                && !isWithdrawn();
    }

    /** Lets others go first until the task is started again; returns false if no caller waits for it any more. */
    boolean giveWay() {
        tries++;
        return startAgain() && stage.compareAndSet(Stage.STARTED, Stage.QUEUED) && !isWithdrawn();
    }

    /** Whether the task was withdrawn, which ends it: it had no effect. */
    private boolean isWithdrawn() {
        LockStoreException why = withdrawn;
        return why != null && (takeBack(why) || stage.get() == Stage.OVER);
    }

    /** Withdraws the task now, or when its current transaction has been rolled back. */
    void withdraw(LockStoreException why) {
        withdrawn = why;
        takeBack(why);
    }

    /**
     * Withdraws the task unless a transaction of it is in progress; returns whether it did: then there will be none any
     * more.
     */
    boolean takeBack(LockStoreException why) {
        boolean taken = stage.compareAndSet(Stage.QUEUED, Stage.OVER) || stage.compareAndSet(Stage.STARTED, Stage.OVER);
        if (taken) {
            answer(FailureKind.NO_EFFECT, why);
        }
        return taken;
    }

    /** Ends the task at its time limit: withdraws it or, if that is too late, reports that the outcome is unknown. */
    void timeIsUp(LockStoreException takenBack, LockStoreException unknown) {
        if (!takeBack(takenBack)) {
            answer(FailureKind.UNKNOWN, unknown);
        }
    }

    /** Tries the task in one statement; returns null if there is none, or it was not enough. */
    @Nullable
    R runQuickly(LeaseTable table, long waitNanos) throws SQLException {
        return quickWork == null ? null : quickWork.run(table, waitNanos);
    }

    /** Whether the task is now tried in one statement. */
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
