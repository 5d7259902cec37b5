package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * An attempt that is in progress, with its result.
 *
 * @param <H> the kind of hold
 */
abstract class PendingAttempt<H extends Hold> {

    final WaitSettings settings;
    final EngineContext context;
    /** The stack of the caller, if stacks are recorded. */
    final @Nullable Throwable asked;

    final long startAtNanos;
    final CompletableFuture<Attempt<H>> result = new CompletableFuture<>();

    PendingAttempt(WaitSettings settings, EngineContext context, @Nullable Throwable asked) {
        this.settings = settings;
        this.context = context;
        this.asked = asked;
        this.startAtNanos = context.runtime().nanoTime();
    }

    /**
     * Completes, on any thread, with the attempt's outcome; exceptionally if the store failed or the caller gave up.
     */
    final CompletableFuture<Attempt<H>> result() {
        return result;
    }

    /**
     * Withdraws the attempt; an earlier or later grant is released.
     *
     * @return completes, normally, once the store has confirmed that nothing of the attempt is left, or is no longer
     *     asked
     */
    abstract CompletableFuture<?> giveUp();

    /** Ends the attempt because the client closes; the result differs from that of a withdrawal. */
    public abstract void clientClosing();

    final Duration waited() {
        return Duration.ofNanos(context.runtime().nanoTime() - startAtNanos);
    }

    static RuntimeException withdrawn(String attempt, boolean byClose) {
        return byClose
                ? new IllegalStateException("lock client is closed; the attempt on " + attempt + " was withdrawn")
                : new CancellationException("the attempt on " + attempt + " was withdrawn");
    }
}
