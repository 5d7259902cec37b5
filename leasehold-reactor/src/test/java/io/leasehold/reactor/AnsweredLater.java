package io.leasehold.reactor;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/** A lock with a step between the grant and its delivery to the caller. */
record AnsweredLater<H extends Hold>(Acquirable<H> lock, Consumer<H> between) implements Acquirable<H> {

    @Override
    public <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super H, ? extends CompletionStage<T>> work) {
        return lock.holdWhile(maxWait, hold -> {
            between.accept(hold);
            return work.apply(hold);
        });
    }

    @Override
    public H acquire() {
        throw new UnsupportedOperationException();
    }

    @Override
    public H tryAcquire(Duration maxWait) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Attempt<H> attempt(Duration maxWait) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<H> acquireAsync() {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Attempt<H>> attemptAsync(Duration maxWait) {
        throw new UnsupportedOperationException();
    }
}
