package io.leasehold.spring;

import io.leasehold.Hold;
import io.leasehold.ReleaseOutcome;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;

/**
 * The hold of one subscription, given back once.
 *
 * <p>A cancellation ends a subscription while threads may still run code of the body: inside its {@code subscribe} or {@code request}, as a {@code
 * Mono.fromCallable} does; and while a transaction of the body is being committed or rolled back. The release waits until these have left. A body that has completed or failed has said itself that it is done.
 *
 * <p>Fields that change are guarded by {@code this}; nothing foreign is called under the guard.
 */
final class SubscriptionHold implements Inside {

    /** Done when the hold has been given back, with the outcome where the store has told it. */
    private final CompletableFuture<@Nullable ReleaseOutcome> released = new CompletableFuture<>();

    private @Nullable Hold hold;

    /** Nothing is taken any more. */
    private boolean over;

    /** How many threads run code of the body, coroutines of it that have not ended, and ends of its transactions. */
    private int inside;

    /** The last one that leaves gives the hold back. */
    private boolean lastReleases;

    /** Whether the grant came before the end of the subscription; if not, it is still that of the caller. */
    synchronized boolean take(Hold granted) {
        if (over) {
            return false;
        }
        hold = granted;
        return true;
    }

    /** Gives it back now; completes with what the store has answered, or null if there was nothing to give back. */
    CompletableFuture<@Nullable ReleaseOutcome> release() {
        Hold held;
        synchronized (this) {
            over = true;
            held = hold;
            hold = null;
            if (held == null) {
                return released.isDone() ? released : CompletableFuture.completedFuture(null);
            }
        }
        try {
            held.releaseAsync().whenComplete((outcome, error) -> {
                if (error == null) {
                    released.complete(outcome);
                } else {
                    released.completeExceptionally(error);
                }
            });
        } catch (RuntimeException | Error e) {
            released.completeExceptionally(e);
        }
        return released;
    }

    /** Gives it back when no thread runs code of the body any more, which may be now. */
    CompletableFuture<@Nullable ReleaseOutcome> releaseOnceLeft() {
        synchronized (this) {
            over = true;
            if (inside > 0 && hold != null) {
                lastReleases = true;
                return released;
            }
        }
        return release();
    }

    /** Done when the hold has been given back, or the attempt to do so has failed. */
    CompletableFuture<@Nullable ReleaseOutcome> released() {
        return released;
    }

    @Override
    public synchronized void enter() {
        inside++;
    }

    @Override
    public void leave() {
        synchronized (this) {
            inside--;
            if (inside > 0 || !lastReleases) {
                return;
            }
        }
        release();
    }

    /** The body, whose code is known to run while it does. */
    <T> Publisher<T> watched(Publisher<T> body) {
        return subscriber -> {
            Watch<T> watch = new Watch<>((CoreSubscriber<? super T>) subscriber);
            enter();
            try {
                body.subscribe(watch);
            } finally {
                leave();
            }
        };
    }

    /** Between the body and what subscribes to it. */
    private final class Watch<T> implements CoreSubscriber<T>, Subscription {

        private final CoreSubscriber<? super T> downstream;
        private @Nullable Subscription upstream;

        Watch(CoreSubscriber<? super T> downstream) {
            this.downstream = downstream;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            upstream = subscription;
            downstream.onSubscribe(this);
        }

        @Override
        public void onNext(T value) {
            downstream.onNext(value);
        }

        @Override
        public void onError(Throwable error) {
            downstream.onError(error);
        }

        @Override
        public void onComplete() {
            downstream.onComplete();
        }

        @Override
        public Context currentContext() {
            return downstream.currentContext();
        }

        @Override
        public void request(long n) {
            enter();
            try {
                subscription().request(n);
            } finally {
                leave();
            }
        }

        @Override
        public void cancel() {
            subscription().cancel();
        }

        private Subscription subscription() {
            if (upstream == null) {
                throw new IllegalStateException("asked for more before it was subscribed to");
            }
            return upstream;
        }
    }
}
