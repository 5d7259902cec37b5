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
 * The hold of one subscription, released once.
 *
 * <p>A cancellation ends a subscription while threads may still run code of the body: inside its {@code subscribe} or
 * {@code request}, as with {@code Mono.fromCallable}, and while a transaction of the body is committed or rolled back.
 * The release waits until these threads have left. A body that has completed or failed has reported its own end.
 *
 * <p>Mutable fields are guarded by {@code this}; no foreign code is called under the guard.
 */
final class SubscriptionHold implements Inside {

    /** Completes when the hold has been released, with the outcome if the store has reported it. */
    private final CompletableFuture<@Nullable ReleaseOutcome> released = new CompletableFuture<>();

    private @Nullable Hold hold;

    /** Whether the subscription has ended and accepts no grant. */
    private boolean over;

    /**
     * The number of threads that run code of the body, of its unfinished coroutines, and of its transactions that are
     * ending.
     */
    private int inside;

    /** Whether the last one that leaves releases the hold. */
    private boolean lastReleases;

    /**
     * Takes over the grant if it came before the end of the subscription; otherwise returns false, and the caller keeps
     * it.
     */
    synchronized boolean take(Hold granted) {
        if (over) {
            return false;
        }
        hold = granted;
        return true;
    }

    /** Releases the hold now; completes with the store's answer, or null if there was no hold. */
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

    /** Releases the hold when no thread runs code of the body any more, possibly at once. */
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

    /** Completes when the hold has been released, or the release has failed. */
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

    /** Wraps the body, so that its running code is tracked. */
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

    /** Stands between the body and its subscriber. */
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
                throw new IllegalStateException("values were requested before the subscription");
            }
            return upstream;
        }
    }
}
