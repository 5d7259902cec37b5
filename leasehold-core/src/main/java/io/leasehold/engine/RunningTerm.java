package io.leasehold.engine;

import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.Term;
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
    private final EngineContext context;
    private @Nullable End end;
    /** The callback has returned. */
    private boolean over;

    private List<Consumer<? super End>> callbacks = List.of();
    /** The thread of a callback that blocks, while it runs. */
    private @Nullable Thread thread;

    private boolean interrupted;

    RunningTerm(Lease lease, EngineContext context) {
        this.lease = lease;
        this.context = context;
    }

    Lease lease() {
        return lease;
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
        return !hasEnded() && lease.isValid();
    }

    @Override
    public Duration remainingValidity() {
        return hasEnded() ? Duration.ZERO : lease.remainingValidity();
    }

    private synchronized boolean hasEnded() {
        return end != null || over;
    }

    @Override
    public void ensureValidFor(Duration duration) {
        synchronized (this) {
            if (over || end instanceof End.Resigned) {
                throw new IllegalStateException("cannot check the term " + fencingToken() + " of election \""
                        + election() + "\": it was given back");
            }
        }
        lease.ensureValidFor(duration);
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
                List<Consumer<? super End>> more = new ArrayList<>(callbacks);
                more.add(callback);
                callbacks = more;
                return;
            }
        }
        tell(callback, told);
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        lease.onAtRisk(callback);
    }

    // ---- for its candidacy

    /** Runs its callback here, unless the term has ended before that; tells then, on any thread, the failure or null. */
    void run(Callback callback, Consumer<@Nullable Throwable> returned) {
        if (!enter(callback.blocks())) {
            returned.accept(null);
            return;
        }
        CompletionStage<?> stage;
        try {
            stage = callback.lead().apply(this);
        } catch (Throwable e) {
            stage = CompletableFuture.failedFuture(e);
        } finally {
            leave();
        }
        try {
            stage.whenComplete((done, error) -> returned.accept(error));
        } catch (Throwable e) {
            // A stage that is null, or rejects a callback.
            returned.accept(e);
        }
    }

    private boolean enter(boolean blocks) {
        synchronized (this) {
            if (end != null) {
                return false;
            }
            thread = blocks ? Thread.currentThread() : null;
        }
        if (blocks) {
            LeaseHandle.of(lease).state().openedBy(Thread.currentThread());
        }
        return true;
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
        callbacks = List.of();
    }

    /** Whether its callback runs and was not told of an end. */
    synchronized boolean isUnderWay() {
        return !over && end == null;
    }

    /** Whether its end was told. */
    synchronized boolean wasTold() {
        return end != null;
    }

    /** Tells its end, once. */
    void tellEnd(End how) {
        List<Consumer<? super End>> asked;
        synchronized (this) {
            if (end != null || over) {
                return;
            }
            end = how;
            asked = callbacks;
            callbacks = List.of();
            if (thread != null && thread != Thread.currentThread()) {
                // Under the guard: none is pending once the callback has left the thread.
                interrupted = true;
                thread.interrupt();
            }
        }
        asked.forEach(callback -> tell(callback, how));
    }

    private void tell(Consumer<? super End> callback, End how) {
        Futures.execute(context.runtime(), () -> callback.accept(how));
    }

    @Override
    public String toString() {
        return "Term[" + election() + ", number " + fencingToken() + "]";
    }
}
