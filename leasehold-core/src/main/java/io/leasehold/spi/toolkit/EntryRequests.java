package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Sends the requests for one entry of a store's queue one after the other, and repeats its removal until nothing of it
 * is left.
 *
 * <p>Safe for use by any thread; it has no lock, so that its callbacks may call it again.
 */
public final class EntryRequests {

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    private final LockRuntime runtime;
    private final Supplier<CompletableFuture<Boolean>> removal;
    private final BooleanSupplier goneByItself;
    private final Runnable over;
    /** Completes when the last submitted step has ended. */
    private final AtomicReference<CompletableFuture<Void>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));

    private final AtomicBoolean repeating = new AtomicBoolean();

    /**
     * Creates the requests; nothing is sent yet.
     *
     * @param removal removes the entry; {@link #remove} returns its answer
     * @param goneByItself whether the entry is gone for certain, although a removal has failed
     * @param over runs when a removal was answered, or is no longer needed
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

    /** Runs this step when all earlier ones have ended, successfully or not. */
    public <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        CompletableFuture<T> taken = last.getAndSet(ended).thenCompose(earlier -> step.get());
        taken.whenComplete((value, error) -> ended.complete(null));
        return taken;
    }

    /**
     * Removes the entry, in turn. If that fails, retries every second, until a removal is answered or the entry is gone
     * by itself.
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

    /** Starts one repetition at a time, however often the removal is requested. */
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
            // The next failed removal restarts it.
            repeating.set(false);
            throw e;
        }
    }
}
