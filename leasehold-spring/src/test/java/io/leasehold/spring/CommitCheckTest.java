package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the check before a commit: each lease has a clock of its own that renewals move. */
@SuppressWarnings("FutureReturnValueIgnored") // what they answer is asked elsewhere
@Tag("quick")
class CommitCheckTest {

    private static final LockClient CLIENT = Leasehold.connect("memory:");

    @AfterAll
    static void close() {
        CLIENT.close();
    }

    private static final Duration GUARD = Duration.ofSeconds(1);

    /** Valid for some milliseconds, from which the renewal of another takes its own. */
    private static final class Validity {
        private final LockName name;
        private long millis;
        private final long renewalMillis;
        private @Nullable Validity inner;
        private @Nullable RuntimeException refusal;
        private int renewals;

        Validity(String name, long millis, long renewalMillis) {
            this.name = LockName.of(name);
            this.millis = millis;
            this.renewalMillis = renewalMillis;
        }

        void ensure(Duration needed) {
            if (millis < needed.toMillis()) {
                throw new LeaseAtRiskException(name, Duration.ofMillis(millis), needed);
            }
        }

        void renew() {
            renewals++;
            if (refusal != null) {
                throw refusal;
            }
            millis = 30_000;
            if (inner != null) {
                inner.millis -= renewalMillis;
            }
        }

        CompletableFuture<Void> renewAsync() {
            try {
                renew();
                return CompletableFuture.completedFuture(null);
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        Hold hold() {
            return (Hold) Proxy.newProxyInstance(
                    Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                        switch (method.getName()) {
                            case "ensureValidFor" -> ensure((Duration) args[0]);
                            case "renew" -> renew();
                            case "renewAsync" -> {
                                return renewAsync();
                            }
                            default -> throw new UnsupportedOperationException(method.getName());
                        }
                        return null;
                    });
        }

        LeaseScope scope(@Nullable LeaseScope around) {
            return new LeaseScope(List.of(name), CLIENT, hold(), GUARD, around);
        }
    }

    private static void check(LeaseScope scope, boolean async) throws Throwable {
        if (!async) {
            scope.checkCommit();
            return;
        }
        Throwable error = scope.checkCommitAsync().handle((done, e) -> e).join();
        if (error != null) {
            throw error.getCause() != null && error instanceof CompletionException ? error.getCause() : error;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onlyWhatIsAtRiskIsRenewed(boolean async) throws Throwable {
        Validity outer = new Validity("outer", 20_000, 0);
        Validity inner = new Validity("inner", 500, 0);
        check(inner.scope(outer.scope(null)), async);
        assertThat(inner.renewals).isOne();
        assertThat(outer.renewals).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theTimeThatARenewalTakesIsMissingFromTheOthers(boolean async) {
        Validity outer = new Validity("outer", 500, 700);
        Validity inner = new Validity("inner", 1_200, 0);
        outer.inner = inner;
        assertThatThrownBy(() -> check(inner.scope(outer.scope(null)), async))
                .isInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("inner");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRenewalThatFailsTellsTheRiskAndALossTheLoss(boolean async) {
        Validity held = new Validity("l", 500, 0);
        held.refusal = new IllegalStateException("it is renewed no more");
        assertThatThrownBy(() -> check(held.scope(null), async))
                .isInstanceOf(LeaseAtRiskException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).containsExactly(held.refusal));
        held.refusal = new LeaseLostException(held.name, LossCause.EXPIRED, "it had ended");
        assertThatThrownBy(() -> check(held.scope(null), async)).isSameAs(held.refusal);
    }

    /** In whatever order the renewals are answered. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachRenewalIsWaitedForBeforeTheCommit(boolean innerFirst) {
        CompletableFuture<Void> ofOuter = new CompletableFuture<>();
        CompletableFuture<Void> ofInner = new CompletableFuture<>();
        LeaseScope outer = new LeaseScope(List.of(LockName.of("outer")), CLIENT, atRisk(ofOuter), GUARD, null);
        LeaseScope inner = new LeaseScope(List.of(LockName.of("inner")), CLIENT, atRisk(ofInner), GUARD, outer);
        CompletableFuture<Void> check = inner.checkCommitAsync();
        (innerFirst ? ofInner : ofOuter).complete(null);
        assertThat(check).isNotDone();
        (innerFirst ? ofOuter : ofInner).complete(null);
        assertThat(check).isCompleted();
    }

    /** Valid once its renewal is answered. */
    private static Hold atRisk(CompletableFuture<Void> renewal) {
        return (Hold) Proxy.newProxyInstance(
                Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                    if (method.getName().equals("ensureValidFor") && !renewal.isDone()) {
                        throw new LeaseAtRiskException(LockName.of("l"), Duration.ZERO, GUARD);
                    }
                    return method.getName().equals("renewAsync") ? renewal : null;
                });
    }

    /** The second body inside the same one around. */
    @Test
    void anInterruptOfTheBodyAroundIsFoundBehindEachBodyInIt() {
        Losing outer = new Losing();
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        LossInterrupt.armed(new Losing().hold()).callOff();
        Losing second = new Losing();
        LossInterrupt ofSecond = LossInterrupt.armed(second.hold());
        second.lose();
        outer.lose();
        ofSecond.callOff();
        assertThat(Thread.currentThread().isInterrupted())
                .as("for the body around")
                .isTrue();
        ofOuter.callOff();
        assertThat(Thread.interrupted()).isFalse();
        LossInterrupt.armed(new Losing().hold()).callOff();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void anInterruptOfAnotherStaysWhereALossFollowsIt() {
        Hold lost = (Hold) Proxy.newProxyInstance(
                Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                    @SuppressWarnings("unchecked")
                    Consumer<LossCause> told = (Consumer<LossCause>) args[0];
                    told.accept(LossCause.EXPIRED);
                    return null;
                });
        LossInterrupt.armed(lost).callOff();
        assertThat(Thread.interrupted()).isFalse();
        Thread.currentThread().interrupt();
        LossInterrupt.armed(lost).callOff();
        assertThat(Thread.interrupted()).isTrue();
    }

    /** A hold whose loss comes when the test says so. */
    private static final class Losing {
        private final List<Consumer<LossCause>> told = new ArrayList<>();

        Hold hold() {
            return (Hold) Proxy.newProxyInstance(
                    Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                        @SuppressWarnings("unchecked")
                        Consumer<LossCause> one = (Consumer<LossCause>) args[0];
                        told.add(one);
                        return null;
                    });
        }

        void lose() {
            told.forEach(one -> one.accept(LossCause.EXPIRED));
        }
    }

    @Test
    void anInterruptThatWasAlsoThatOfABodyAroundStaysForThat() {
        Losing outer = new Losing();
        Losing inner = new Losing();
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        LossInterrupt between = LossInterrupt.armed(new Losing().hold());
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        outer.lose();
        ofInner.callOff();
        between.callOff();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        ofOuter.callOff();
        assertThat(Thread.interrupted()).isFalse();
    }

    /** What the body around has heard already is not told twice. */
    @Test
    void anInterruptThatABodyAroundHasUsedDoesNotComeAgain() {
        Losing outer = new Losing();
        Losing inner = new Losing();
        LossInterrupt ofOuter = LossInterrupt.armed(outer.hold());
        outer.lose();
        assertThat(Thread.interrupted()).isTrue();
        LossInterrupt ofInner = LossInterrupt.armed(inner.hold());
        inner.lose();
        ofInner.callOff();
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        ofOuter.callOff();
        assertThat(Thread.interrupted()).isFalse();
    }
}
