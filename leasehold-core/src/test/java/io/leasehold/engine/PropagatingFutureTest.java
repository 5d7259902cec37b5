package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
final class PropagatingFutureTest {

    private final AtomicInteger withdrawn = new AtomicInteger();
    private final PropagatingFuture<Integer> source = new PropagatingFuture<>(withdrawn::incrementAndGet);

    @Test
    void cancellingItWithdrawsOnce() {
        assertThat(source.cancel(false)).isTrue();
        assertThat(source.cancel(true)).isTrue();
        assertThat(source).isCancelled();
        assertThat(withdrawn.get()).isGreaterThanOrEqualTo(1);
    }

    @Test
    void cancellingAStageOfAStageWithdraws() {
        CompletableFuture<Integer> derived =
                source.thenApply(i -> i + 1).thenCompose(CompletableFuture::completedFuture);
        assertThat(derived.cancel(false)).isTrue();
        assertThat(withdrawn).hasValue(1);
        assertThat(source).isCancelled();
    }

    @Test
    void cancellingAStageOfWhatIsCompletedWithdrawsNothing() {
        CompletableFuture<Void> never = new CompletableFuture<>();
        CompletableFuture<Void> derived = source.thenCompose(i -> never);
        source.complete(1);
        assertThat(derived.cancel(false)).isTrue();
        assertThat(withdrawn).hasValue(0);
        assertThat(source.join()).isEqualTo(1);
    }

    @Test
    void aFailureThatIsNoCancellationWithdrawsNothing() {
        source.completeExceptionally(new CompletionException(new IllegalStateException()));
        assertThat(source.cancel(false)).isFalse();
        assertThat(withdrawn).hasValue(0);
    }
}
