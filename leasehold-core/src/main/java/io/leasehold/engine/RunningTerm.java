package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One term of a candidacy: its lease, and what its callback is told.
 *
 * <p>Fields that change are guarded by {@code this}; user code runs on callback threads.
 */
final class RunningTerm implements Term {

    /**
     * The user's part of a term.
     *
     * @param lead begins it; the term lasts until the stage has ended
     * @param blocks whether {@code lead} itself takes the whole term, so that its thread is interrupted at the end
     */
    record Callback(Function<? super Term, ? extends CompletionStage<?>> lead, boolean blocks) {}

    private final Lease lease;
    private final LockRuntime runtime;
    private final Callback leader;
    /** How it was given back; completes on any thread. */
    private final CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();

    private @Nullable End end;
    /** The callback has returned. */
    private boolean over;

    private final List<Consumer<? super End>> callbacks = new ArrayList<>();
    /** The thread that is in its callback. */
    private @Nullable Thread thread;

    /** Its callback was called. */
    private boolean entered;

    private boolean interrupted;

    RunningTerm(Lease lease, LockRuntime runtime, Callback leader) {
        this.lease = lease;
        this.runtime = runtime;
        this.leader = leader;
    }

    Lease lease() {
        return lease;
    }

    CompletableFuture<ReleaseOutcome> outcome() {
        return outcome;
    }

    /** Why its lease was lost, or null. */
    @Nullable
    LossCause cause() {
        return LeaseHandle.of(lease).state().cause();
    }

    // ---- for its callback

    @Override
    public LockName election() {
        return lease.lockName();
    }

    @Override
    public long fencingToken() {
        return lease.fencingToken();
    }

    @Override
    public boolean isValid() {
        return isUnderWay() && lease.isValid();
    }

    @Override
    public Duration remainingValidity() {
        return isUnderWay() ? lease.remainingValidity() : Duration.ZERO;
    }

    @Override
    public void ensureValidFor(Duration duration) {
        refuseIfGivenBack();
        lease.ensureValidFor(duration);
        refuseIfGivenBack();
    }

    @Override
    public CompletionStage<Void> ensureValidForAsync(Duration duration) {
        try {
            refuseIfGivenBack();
        } catch (IllegalStateException e) {
            return CompletableFuture.failedStage(e);
        }
        return lease.ensureValidForAsync(duration).thenRun(this::refuseIfGivenBack);
    }

    private synchronized void refuseIfGivenBack() {
        if (over || end instanceof End.Resigned) {
            throw new IllegalStateException("cannot check the term " + fencingToken() + " of election \"" + election()
                    + "\": it was given back");
        }
    }

    @Override
    public void onEnd(Consumer<? super End> callback) {
        Objects.requireNonNull(callback, "callback");
        End told;
        synchronized (this) {
            if (over) {
                return;
            }
            told = end;
            if (told == null) {
                callbacks.add(callback);
            }
        }
        if (told != null) {
            tell(callback, told);
        } else {
            // Each hears of a loss directly: a second hop could come after a closing client has ended its threads.
            lease.onLost(cause -> tellLost(cause, callback));
        }
    }

    private void tellLost(LossCause cause, Consumer<? super End> callback) {
        End lost = new End.Lost(cause);
        synchronized (this) {
            if (!callbacks.remove(callback)) {
                return;
            }
            end(lost);
        }
        callback.accept(lost);
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        lease.onAtRisk(callback);
    }

    // ---- for its candidacy

    /** Runs its callback here, unless the term has ended before that; tells then, on any thread, the failure or null. */
    void run(Consumer<@Nullable Throwable> returned) {
        if (!enter()) {
            returned.accept(null);
            return;
        }
        CompletionStage<?> stage;
        try {
            stage = Objects.requireNonNull(leader.lead().apply(this), "the callback of an election returned null");
        } catch (Throwable e) {
            stage = CompletableFuture.failedFuture(e);
        } finally {
            leave();
        }
        try {
            stage.whenComplete((done, error) -> returned.accept(error));
        } catch (Throwable e) {
            // A stage that rejects a callback.
            returned.accept(e);
        }
    }

    private boolean enter() {
        synchronized (this) {
            if (end != null || over) {
                return false;
            }
            entered = true;
            thread = Thread.currentThread();
        }
        if (leader.blocks()) {
            LeaseHandle.of(lease).state().openedBy(Thread.currentThread());
        }
        return true;
    }

    /** Whether it has ended before its callback was called, which will not be called any more. */
    synchronized boolean neverBegins() {
        return end != null && !entered;
    }

    /** Whether its callback runs on this thread. */
    synchronized boolean runsOn(Thread asking) {
        return thread == asking;
    }

    /** An interrupt that the callback has not heard is none of the thread's next task. */
    private void leave() {
        synchronized (this) {
            thread = null;
            if (!interrupted) {
                return;
            }
        }
        Thread.interrupted();
    }

    /** Its callback has returned, or its stage has ended: nothing is told any more. */
    synchronized void over() {
        over = true;
        callbacks.clear();
    }

    /** Whether its callback runs and was not told of an end. */
    synchronized boolean isUnderWay() {
        return !over && end == null;
    }

    /** Whether its end was told. */
    synchronized boolean wasTold() {
        return end != null;
    }

    /** Tells its end, unless one was told: by an interrupt to a thread that blocks, and to those that do not hear of a loss directly. */
    void tellEnd(End how) {
        List<Consumer<? super End>> asked = List.of();
        synchronized (this) {
            if (over) {
                return;
            }
            end(how);
            if (end instanceof End.Resigned) {
                asked = List.copyOf(callbacks);
                callbacks.clear();
            }
        }
        asked.forEach(callback -> tell(callback, how));
    }

    /**
     * Called under the guard, so that no interrupt is pending once the callback has left its thread. A callback that has resigned
     * by itself and goes on is interrupted by what comes after that.
     */
    private void end(End how) {
        if (end == null) {
            end = how;
        }
        if (leader.blocks() && !interrupted && thread != null && thread != Thread.currentThread()) {
            interrupted = true;
            thread.interrupt();
        }
    }

    private void tell(Consumer<? super End> callback, End how) {
        Futures.execute(runtime, () -> callback.accept(how));
    }

    @Override
    public String toString() {
        return "Term[" + election() + ", number " + fencingToken() + "]";
    }
}
