package io.leasehold.spi.method;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.InlineThread;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The check before a commit: each lease has its own clock, which renewals move. */
@SuppressWarnings("FutureReturnValueIgnored") // what they answer is asked elsewhere
@Tag("quick")
class CommitCheckTest {

    private static final Duration GUARD = Duration.ofSeconds(1);

    /** Valid for some milliseconds; the renewal of another hold uses up a part of them. */
    private static final class Validity {
        private final LockName name;
        private long millis;
        private final long renewalMillis;
        private @Nullable Validity inner;
        private @Nullable RuntimeException refusal;
        private int renewals;
        private int checks;
        /** The number of checks after which it is lost; until then it shows no validity. */
        private int lostAfter = -1;

        Validity(String name, long millis, long renewalMillis) {
            this.name = LockName.of(name);
            this.millis = millis;
            this.renewalMillis = renewalMillis;
        }

        void ensure(Duration needed) {
            if (checks++ == lostAfter) {
                throw new LeaseLostException(name, LossCause.EXPIRED, "it has ended");
            }
            if (millis < needed.toMillis()) {
                throw new LeaseAtRiskException(name, Duration.ofMillis(millis), needed);
            }
        }

        CompletionStage<Void> ensureAsync(Duration needed) {
            try {
                ensure(needed);
                return CompletableFuture.completedStage(null);
            } catch (RuntimeException e) {
                return CompletableFuture.failedStage(e);
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
                            case "ensureValidForAsync" -> {
                                return ensureAsync((Duration) args[0]);
                            }
                            case "remainingValidity" -> {
                                return Duration.ofMillis(lostAfter < 0 ? millis : 0);
                            }
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
            return new LeaseScope(locks(name), hold(), GUARD, around);
        }
    }

    private static AskedLocks locks(LockName name) {
        return new AskedLocks("client", List.of(name), false);
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
    void theTimeThatARenewalTakesIsMissingFromTheOthers(boolean async) throws Throwable {
        Validity outer = new Validity("outer", 500, 700);
        Validity inner = new Validity("inner", 1_200, 0);
        outer.inner = inner;
        check(inner.scope(outer.scope(null)), async);
        assertThat(inner.renewals).as("renewed once the other had been").isOne();
        assertThat(outer.renewals).isOne();
    }

    /** All holds are valid at one moment, or the commit is refused. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void renewalsThatCostEachOtherTheirValidityEnd(boolean async) {
        Validity outer = new Validity("outer", 500, 29_500);
        Validity inner = new Validity("inner", 1_200, 29_500);
        outer.inner = inner;
        inner.inner = outer;
        assertThatThrownBy(() -> check(inner.scope(outer.scope(null)), async))
                .isInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("inner");
        assertThat(outer.renewals).isEqualTo(3);
    }

    /** Listeners, timers and the ends of bodies query a loss: that must cost no request and no wait. */
    @Test
    void theLossThatIsKnownIsToldWithoutARenewal() {
        LeaseLostException lost = new LeaseLostException(LockName.of("x"), LossCause.EXPIRED, "it was not renewed");
        RuntimeException atRisk = new LeaseAtRiskException(LockName.of("x"), Duration.ZERO, Duration.ZERO);
        for (RuntimeException known : List.of(lost, atRisk, new IllegalStateException("it was released"))) {
            List<Boolean> mayWait = new ArrayList<>();
            Hold hold = (Hold) Proxy.newProxyInstance(
                    Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                        assertThat(method.getName()).isEqualTo("ensureValidFor");
                        mayWait.add(!InlineThread.isCurrent());
                        throw known;
                    });
            assertThat(LeaseScope.lossOf(hold)).isSameAs(known == lost ? lost : null);
            assertThat(mayWait).containsExactly(false);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRenewalThatFailsTellsTheRiskAndALossTheLoss(boolean async) {
        Validity held = new Validity("l", 500, 0);
        held.refusal = new IllegalStateException("it is no longer renewed");
        assertThatThrownBy(() -> check(held.scope(null), async))
                .isInstanceOf(LeaseAtRiskException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).containsExactly(held.refusal));
        held.refusal = new LeaseLostException(held.name, LossCause.EXPIRED, "it had ended");
        assertThatThrownBy(() -> check(held.scope(null), async)).isSameAs(held.refusal);
    }

    /** The renewals may be answered in any order. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachRenewalIsWaitedForBeforeTheCommit(boolean innerFirst) {
        CompletableFuture<Void> ofOuter = new CompletableFuture<>();
        CompletableFuture<Void> ofInner = new CompletableFuture<>();
        LeaseScope outer = new LeaseScope(locks(LockName.of("outer")), atRisk(ofOuter), GUARD, null);
        LeaseScope inner = new LeaseScope(locks(LockName.of("inner")), atRisk(ofInner), GUARD, outer);
        CompletableFuture<Void> check = inner.checkCommitAsync();
        (innerFirst ? ofInner : ofOuter).complete(null);
        assertThat(check).isNotDone();
        (innerFirst ? ofOuter : ofInner).complete(null);
        assertThat(check).isCompleted();
    }

    /** Returns a hold that is valid once its renewal is answered. */
    private static Hold atRisk(CompletableFuture<Void> renewal) {
        return (Hold) Proxy.newProxyInstance(
                Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, args) -> {
                    if (method.getName().equals("ensureValidForAsync")) {
                        return renewal.isDone()
                                ? CompletableFuture.completedStage(null)
                                : CompletableFuture.failedStage(
                                        new LeaseAtRiskException(LockName.of("l"), Duration.ZERO, GUARD));
                    }
                    if (method.getName().equals("remainingValidity")) {
                        return renewal.isDone() ? GUARD : Duration.ZERO;
                    }
                    return method.getName().equals("renewAsync") ? renewal : null;
                });
    }

    /** The hold has ended after its last check: the last look finds that. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aHoldThatEndsDuringTheCheckIsReportedAsLost(boolean async) {
        Validity held = new Validity("l", 30_000, 0);
        held.lostAfter = 3;
        assertThatThrownBy(() -> check(held.scope(null), async)).isInstanceOf(LeaseLostException.class);
    }
}
