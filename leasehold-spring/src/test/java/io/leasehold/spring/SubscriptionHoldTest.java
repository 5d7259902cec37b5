package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.ReleaseOutcome;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/** Tests that the hold of a subscription is released once, however the subscription ends, and whatever is thrown. */
@SuppressWarnings("FutureReturnValueIgnored") // what they answer is asked elsewhere
@Tag("quick")
class SubscriptionHoldTest {

    private final SubscriptionHold held = new SubscriptionHold();
    private int releases;

    private Hold hold(Supplier<CompletableFuture<ReleaseOutcome>> answer) {
        return (Hold) Proxy.newProxyInstance(
                Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("releaseAsync");
                    releases++;
                    return answer.get();
                });
    }

    private Hold released() {
        return hold(() -> CompletableFuture.completedFuture(ReleaseOutcome.RELEASED));
    }

    @Test
    void itIsGivenBackOnceHoweverOftenItIsAskedFor() {
        assertThat(held.take(released())).isTrue();
        assertThat(held.release()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(held.release()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(held.releaseOnceLeft()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(held.released()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(releases).isOne();
        assertThat(held.take(released())).as("nothing is taken any more").isFalse();
    }

    @Test
    void theLastOneThatLeavesGivesItBack() {
        held.take(released());
        held.enter();
        held.enter();
        assertThat(held.releaseOnceLeft()).isNotDone();
        held.leave();
        assertThat(releases).isZero();
        held.enter();
        held.leave();
        assertThat(releases).as("one is still inside").isZero();
        held.leave();
        assertThat(releases).isOne();
        assertThat(held.released()).isCompleted();
    }

    @Test
    void leavingGivesNothingBackThatTheSubscriptionKeeps() {
        held.take(released());
        held.enter();
        held.leave();
        assertThat(releases).isZero();
        assertThat(held.released()).isNotDone();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReleaseThatCannotBeSentIsTold(boolean error) {
        held.take(hold(() -> {
            if (error) {
                throw new StackOverflowError("made");
            }
            throw new IllegalStateException("made");
        }));
        assertThat(held.release()).isCompletedExceptionally();
        assertThat(held.released()).as("what waits for it goes on").isCompletedExceptionally();
        assertThat(releases).isOne();
    }

    @Test
    void aReleaseThatFailsIsTold() {
        held.take(hold(() -> CompletableFuture.failedFuture(new IllegalStateException("made"))));
        assertThat(held.release()).isCompletedExceptionally();
        assertThat(held.released()).isCompletedExceptionally();
    }

    /** The body has left; otherwise no cancellation would release the hold. */
    @Test
    void aBodyThatThrowsHasLeft() {
        held.take(released());
        Publisher<Object> refuses = subscriber -> {
            throw new IllegalStateException("subscribe");
        };
        assertThatThrownBy(() -> held.watched(refuses).subscribe(new BaseSubscriber<>() {}))
                .hasMessage("subscribe");
        Publisher<Object> throwing = subscriber -> subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                throw new IllegalStateException("request");
            }

            @Override
            public void cancel() {}
        });
        CompletableFuture<Subscription> upstream = new CompletableFuture<>();
        held.watched(throwing).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                upstream.complete(subscription);
            }
        });
        assertThatThrownBy(() -> upstream.join().request(1)).hasMessage("request");
        held.releaseOnceLeft();
        assertThat(releases).isOne();
    }

    @Test
    void whileItsBodyIsSubscribedToOrAskedItIsInside() {
        held.take(released());
        Flux<Integer> body = Flux.range(0, 3).doOnNext(value -> {
            held.releaseOnceLeft();
            assertThat(releases).isZero();
        });
        Flux.from(held.watched(body)).blockLast();
        assertThat(releases).isOne();
    }
}
