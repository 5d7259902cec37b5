package io.leasehold.reactor;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * One subscription: the attempt, the work under its hold, and the release.
 *
 * <p>The grant, the end of the work, the loss and the cancellation may come on any thread; the first of the last three
 * ends the run. Mutable fields are guarded by {@code this}; no foreign code is called under the guard.
 */
final class LockedRun<H extends Hold, T> implements CoreSubscriber<T>, Subscription {

    private final CoreSubscriber<T> downstream;
    private final Function<? super H, ? extends Publisher<? extends T>> work;
    private final Operators.DeferredSubscription upstream = new Operators.DeferredSubscription();

    /** Completes when the hold has been released. */
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    private volatile boolean over;
    private boolean cancelled;
    private @Nullable CompletableFuture<?> asked;

    /** The hold, which only this run releases. */
    private @Nullable H hold;

    /** The number of threads that run code of the work, called by this run. */
    private int inside;

    LockedRun(CoreSubscriber<? super T> downstream, Function<? super H, ? extends Publisher<? extends T>> work) {
        // A loss may come while the work emits.
        this.downstream = Operators.serialize(downstream);
        this.work = work;
    }

    void begin(Acquirable<H> lock, Duration maxWait) {
        downstream.onSubscribe(this);
        if (over) {
            return;
        }
        CompletableFuture<Void> attempt;
        try {
            // The work must never run on the thread of the subscriber, which may be non-blocking.
            attempt = lock.holdWhile(maxWait, this::granted);
        } catch (RuntimeException | Error e) {
            refused(e);
            return;
        }
        if (!isWanted(attempt)) {
            attempt.cancel(true);
        }
        attempt.whenComplete((nothing, error) -> {
            if (error != null) {
                refused(error);
            }
        });
    }

    private synchronized boolean isWanted(CompletableFuture<?> attempt) {
        asked = attempt;
        return !over;
    }

    private void refused(Throwable error) {
        if (end()) {
            tell(error);
        }
    }

    private CompletableFuture<Void> granted(H granted) {
        if (!isTaken(granted)) {
            release(granted);
            return ended;
        }
        try {
            run(granted);
        } finally {
            left();
        }
        return ended;
    }

    /** Whether the grant came before the cancellation. */
    private synchronized boolean isTaken(H granted) {
        if (over) {
            return false;
        }
        hold = granted;
        inside++;
        return true;
    }

    private void run(H granted) {
        granted.onLost(cause -> lost(granted));
        LeaseLostException lost = Losses.of(granted);
        if (lost != null) {
            ended(lost);
        } else if (granted.isValid()) {
            work(granted);
        } else {
            // If the machine has slept, a renewal has to confirm the hold first. Or its loss is being reported at this
            // moment.
            granted.ensureValidForAsync(Duration.ZERO).whenComplete((valid, error) -> confirmed(granted, error));
        }
    }

    private void confirmed(H granted, @Nullable Throwable error) {
        if (error != null) {
            ended(
                    error instanceof CompletionException wrapped && wrapped.getCause() != null
                            ? wrapped.getCause()
                            : error);
            return;
        }
        synchronized (this) {
            if (over) {
                return;
            }
            inside++;
        }
        try {
            work(granted);
        } finally {
            left();
        }
    }

    private void work(H granted) {
        // Restores the context of the subscriber's thread on this thread of the client, if Reactor is configured to do
        // so.
        Flux.defer(() -> Flux.<T>from(Objects.requireNonNull(work.apply(granted), "the work returned null")))
                .contextWrite(context -> ReactiveLocks.with(context, granted))
                .subscribe(this);
    }

    private void lost(H granted) {
        LeaseLostException lost = Losses.of(granted);
        if (lost == null || !end()) {
            return;
        }
        try {
            upstream.cancel();
        } finally {
            giveBack();
            tell(lost);
        }
    }

    // ---- signals of the work

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream.set(subscription);
    }

    @Override
    public void onNext(T value) {
        if (over) {
            Operators.onDiscard(value, currentContext());
        } else {
            downstream.onNext(value);
        }
    }

    @Override
    public void onError(Throwable error) {
        if (over) {
            Operators.onErrorDropped(error, currentContext());
        } else {
            ended(error);
        }
    }

    @Override
    public void onComplete() {
        ended(null);
    }

    private void ended(@Nullable Throwable error) {
        if (!end()) {
            return;
        }
        H held = takenBack();
        if (held == null) {
            tell(error);
            return;
        }
        LeaseLostException lost = Losses.of(held);
        CompletableFuture<ReleaseOutcome> released = release(held);
        if (lost != null) {
            tell(Losses.with(lost, error));
            return;
        }
        released.whenComplete((outcome, failure) -> {
            LeaseLostException found = Losses.foundBy(outcome, held);
            tell(found == null ? error : Losses.with(found, error));
        });
    }

    private void tell(@Nullable Throwable error) {
        synchronized (this) {
            if (cancelled) {
                return;
            }
        }
        if (error == null) {
            downstream.onComplete();
        } else {
            downstream.onError(error);
        }
    }

    @Override
    public Context currentContext() {
        return downstream.currentContext();
    }

    // ---- requests of the subscriber

    @Override
    public void request(long n) {
        if (!Operators.validate(n)) {
            return;
        }
        synchronized (this) {
            inside++;
        }
        try {
            upstream.request(n);
        } finally {
            left();
        }
    }

    @Override
    public void cancel() {
        CompletableFuture<?> attempt;
        synchronized (this) {
            cancelled = true;
            if (over) {
                return;
            }
            over = true;
            // Until the work has received it: another thread that leaves meanwhile must not release the lock before
            // that.
            inside++;
            attempt = asked;
        }
        try {
            if (attempt != null) {
                attempt.cancel(true);
            }
            upstream.cancel();
        } finally {
            left();
        }
    }

    // ---- the release

    /** Ends the run, once. */
    private synchronized boolean end() {
        boolean first = !over;
        over = true;
        return first;
    }

    private synchronized @Nullable H takenBack() {
        H held = hold;
        hold = null;
        return held;
    }

    private void giveBack() {
        H held = takenBack();
        if (held != null) {
            release(held);
        }
    }

    /** Called when a thread leaves the code of the work; a cancelled run releases the hold after the last one. */
    private void left() {
        synchronized (this) {
            inside--;
            if (inside > 0 || !cancelled) {
                return;
            }
        }
        giveBack();
    }

    private CompletableFuture<ReleaseOutcome> release(Hold held) {
        try {
            return held.releaseAsync();
        } catch (RuntimeException | Error e) {
            // The client repeats the release, or the hold ends with its ttl; the subscriber waits for neither.
            return CompletableFuture.failedFuture(e);
        } finally {
            ended.complete(null);
        }
    }
}
