package io.leasehold.reactor;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/**
 * Tests of a hold that is not valid when it is granted, since the machine has slept: a renewal confirms it, or no work
 * runs.
 */
@Tag("quick")
final class UnconfirmedHoldTest {

    private final CompletableFuture<Void> confirmation = new CompletableFuture<>();
    private final List<String> signals = new ArrayList<>();
    private final Lease lease = answering(Lease.class, (method, arguments) -> switch (method) {
        case "isValid" -> false;
        case "ensureValidForAsync" -> confirmation;
        case "releaseAsync" -> {
            signals.add("released");
            yield CompletableFuture.completedFuture(ReleaseOutcome.RELEASED);
        }
        default -> null;
    });
    private final BaseSubscriber<String> subscriber = new BaseSubscriber<>() {
        @Override
        protected void hookOnNext(String value) {
            signals.add(value);
        }

        @Override
        protected void hookOnError(Throwable error) {
            signals.add(error.getClass().getSimpleName());
        }

        @Override
        protected void hookFinally(SignalType type) {
            signals.add(type.toString());
        }
    };

    private interface Answer {
        Object to(String method, Object[] arguments);
    }

    private static <T> T answering(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> answer.to(method.getName(), arguments)));
    }

    @SuppressWarnings("unchecked")
    private void begin() {
        Acquirable<Lease> lock = answering(
                Acquirable.class,
                (method, arguments) -> ((Function<Lease, CompletionStage<?>>) arguments[1]).apply(lease));
        new LockedRun<Lease, String>(subscriber, held -> Mono.just("worked")).begin(lock, Duration.ZERO);
    }

    @Test
    void theWorkRunsOnceARenewalHasConfirmedIt() {
        begin();
        assertThat(signals).isEmpty();
        confirmation.complete(null);
        assertThat(signals).containsExactly("worked", "released", "onComplete");
    }

    @Test
    void withoutAConfirmationNothingRuns() {
        begin();
        confirmation.completeExceptionally(
                new LeaseAtRiskException(LockName.exactly("x"), Duration.ZERO, Duration.ofMillis(1)));
        assertThat(signals).containsExactly("released", "LeaseAtRiskException", "onError");
    }

    @Test
    void aCancellationInTheMeantimeReleasesIt() {
        begin();
        subscriber.cancel();
        confirmation.complete(null);
        assertThat(signals).containsExactlyInAnyOrder("released", "cancel");
    }
}
