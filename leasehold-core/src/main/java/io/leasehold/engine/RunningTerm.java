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
 * One term of a candidacy: its lease, and the notifications for its callback.
 *
 * <p>{@code this} guards the fields that change. User code runs on callback threads.
 */
final class RunningTerm implements Term {

    /**
     * The user's part of a term.
     *
     * @param lead begins the term, which lasts until the stage has ended
     * @param blocks whether {@code lead} itself runs for the whole term, so that its thread is interrupted at the end
     */
    record Callback(Function<? super Term, ? extends CompletionStage<?>> lead, boolean blocks) {}

    private final Lease lease;
    private final LockRuntime runtime;
    private final Callback leader;
    /** The outcome of its release; completes on any thread. */
    private final CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();

    private @Nullable End end;
    /** Whether the callback has returned. */
    private boolean over;

    private final List<Consumer<? super End>> callbacks = new ArrayList<>();
    /** The thread that runs the callback. */
    private @Nullable Thread thread;

    /** Whether the callback was called. */
    private boolean entered;

    private boolean interrupted;

    /** The candidate that is to lead next, if one was named. */
    private @Nullable String successor;
    /** Whether that candidate was the first in the queue before the release. */
    private boolean successorIsFirst;
    /** Whether the release has begun: it is too late to name a successor. */
    private boolean releasing;

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

    /** Names the candidate that is to lead next, unless another was named before, or the release has begun. */
    synchronized void nameSuccessor(String candidate) {
        if (!releasing && successor == null) {
            successor = candidate;
        }
    }

    /** Returns the candidate that is to lead next, or null; none can be named from now on. */
    synchronized @Nullable String beginRelease() {
        releasing = true;
        return successor;
    }

    /** Records that the named candidate is the first in the queue. */
    synchronized void successorIsFirst() {
        successorIsFirst = true;
    }

    /** Whether this candidate was the first in the queue before the release. */
    synchronized boolean hasFirst(String candidate) {
        return successorIsFirst && candidate.equals(successor);
    }

    /** Returns why the lease was lost, or null. */
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
            throw new IllegalStateException(
                    "cannot check the term " + fencingToken() + " of election \"" + election() + "\": it was released");
        }
    }

    @Override
    public void onEnd(Consumer<? super End> callback) {
        Objects.requireNonNull(callback, "callback");
        End told;
        synchronized (this) {
            told = end;
            if (told == null && over) {
                return;
            }
            if (told == null) {
                callbacks.add(callback);
            }
        }
        if (told != null) {
            tell(callback, told);
        } else {
            // Each callback receives a loss directly: a second hop could come after a closing client has ended its
            // threads.
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

    /**
     * Runs the callback on this thread, unless the term has ended before. Then reports the failure or null, on any
     * thread.
     */
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
            // The stage has rejected a callback.
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

    /** Whether the term has ended before its callback was called; the callback is then never called. */
    synchronized boolean neverBegins() {
        return end != null && !entered;
    }

    /** Whether the callback runs on this thread. */
    synchronized boolean runsOn(Thread asking) {
        return thread == asking;
    }

    /** Clears an interrupt that the callback has not noticed: it must not affect the thread's next task. */
    private void leave() {
        synchronized (this) {
            thread = null;
            if (!interrupted) {
                return;
            }
        }
        Thread.interrupted();
    }

    /**
     * Records that the callback has returned, or its stage has ended: no later end is reported. A loss may be the reason
     * why it has returned, and is on its way to each callback.
     */
    synchronized void over() {
        over = true;
        if (end == null) {
            callbacks.clear();
        }
    }

    /** Whether the callback runs and was not notified of an end. */
    synchronized boolean isUnderWay() {
        return !over && end == null;
    }

    /** Whether the end was reported. */
    synchronized boolean wasTold() {
        return end != null;
    }

    /**
     * Reports the end, unless one was reported. Interrupts a thread that blocks, and notifies the callbacks that do not
     * receive a loss directly.
     */
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
     * Sets the end. Called under the guard, so that no interrupt is pending once the callback has left its thread. If a
     * callback has resigned itself and continues, the next end interrupts it.
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
