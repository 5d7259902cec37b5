package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The requests for one entry of a queue at a store: one after the other, and its removal until nothing of it is left.
 *
 * <p>Safe for use by any thread; it has no lock, so that what it is given may call it again.
 */
public final class EntryRequests {

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    private final LockRuntime runtime;
    private final Supplier<CompletableFuture<Boolean>> removal;
    private final BooleanSupplier goneByItself;
    private final Runnable over;
    /** Done when the last step that was handed in has ended. */
    private final AtomicReference<CompletableFuture<Void>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));

    private final AtomicBoolean repeating = new AtomicBoolean();

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
    public <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        CompletableFuture<T> taken = last.getAndSet(ended).thenCompose(earlier -> step.get());
        taken.whenComplete((value, error) -> ended.complete(null));
        return taken;
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
        if (repeating.getAndSet(true)) {
            return;
        }
        try {
            runtime.schedule(REMOVAL_PAUSE_NANOS, () -> {
                repeating.set(false);
                remove();
            });
        } catch (RuntimeException | Error e) {
            // The next removal that fails arms it.
            repeating.set(false);
            throw e;
        }
    }
}
