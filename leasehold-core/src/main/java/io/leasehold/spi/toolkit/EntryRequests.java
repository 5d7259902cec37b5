package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The requests for one entry of a queue at a store: one after the other, and its removal until nothing of it is left.
 *
 * <p>Safe for use by any thread; what it is given is called without a lock of this class.
 */
public final class EntryRequests {

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    private final LockRuntime runtime;
    private final Supplier<CompletableFuture<Boolean>> removal;
    private final BooleanSupplier goneByItself;
    private final Runnable over;
    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    private boolean repeating;

    /**
     * Nothing is sent yet.
     *
     * @param removal removes the entry; its answer is passed on by {@link #remove}
     * @param goneByItself whether nothing of the entry can be left, although a removal has failed
     * @param over runs when a removal was answered, or when it is needed no more
     */
    public EntryRequests(
            LockRuntime runtime,
            Supplier<CompletableFuture<Boolean>> removal,
            BooleanSupplier goneByItself,
            Runnable over) {
        this.runtime = runtime;
        this.removal = removal;
        this.goneByItself = goneByItself;
        this.over = over;
    }

    /** Takes this step when all earlier ones have ended, however they ended. */
    public synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<T> next = tail.handle((value, error) -> null).thenCompose(nothing -> step.get());
        tail = next;
        return next;
    }

    /**
     * Removes the entry, in turn, and again each second if that fails, until it is answered or the entry is gone by itself.
     *
     * @return the answer to the first removal, or its failure
     */
    public CompletableFuture<Boolean> remove() {
        CompletableFuture<Boolean> removing = inTurn(removal);
        removing.whenComplete((was, error) -> {
            if (error == null || goneByItself.getAsBoolean()) {
                over.run();
            } else {
                removeAgain();
            }
        });
        return removing;
    }

    /** One repetition at a time, however often the removal is asked for. */
    private void removeAgain() {
        synchronized (this) {
            if (repeating) {
                return;
            }
            repeating = true;
        }
        runtime.schedule(REMOVAL_PAUSE_NANOS, () -> {
            synchronized (this) {
                repeating = false;
            }
            remove();
        });
    }
}
