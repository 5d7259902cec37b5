package io.leasehold.engine;

import java.util.concurrent.CompletableFuture;

/**
 * A future whose cancellation, also through stages derived from it, withdraws its attempt. Once the future is
 * completed, cancelling a derived stage has no effect on it.
 *
 * <p>The one class here that extends another: {@link CompletableFuture} offers no other way for derived stages to reach
 * their source.
 */
final class PropagatingFuture<T> extends CompletableFuture<T> {

    private final Runnable onCancel;

    PropagatingFuture(Runnable onCancel) {
        this.onCancel = onCancel;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        if (cancelled) {
            onCancel.run();
        }
        return cancelled;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new PropagatingFuture<>(() -> cancel(false));
    }
}
