package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.admin.LockAdmin;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the features of efficiency locks and of their limits. */
@Tag("full")
class EfficiencyLockTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String NAME = "report:daily";
    private static final String KEY = "lock:{report:daily}";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static EfficiencyLocks connect() {
        return EfficiencyLocks.connect(SERVER.server().uri());
    }

    private static LockOptions shortTtl(LockOptions options) {
        return options.ttl(Duration.ofSeconds(2));
    }

    @Test
    void oneHoldsAndTheOtherIsBusy() throws InterruptedException {
        try (EfficiencyLocks one = connect();
                EfficiencyLocks other = connect()) {
            Hold hold = one.named(NAME).acquire();

            assertThat(hold.isValid()).isTrue();
            assertThat(hold).isNotInstanceOf(Lease.class);
            assertThat(hold.remainingValidity()).isPositive().isLessThanOrEqualTo(Duration.ofSeconds(30));
            hold.ensureValidFor(Duration.ofSeconds(1));
            assertThat(other.named(NAME).tryAcquire(Duration.ZERO)).isNull();
            assertThat(other.named(NAME).attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
            assertThatThrownBy(() -> other.named(NAME).attempt(Duration.ZERO).orElseThrow())
                    .isInstanceOf(LockBusyException.class)
                    .hasMessageContaining(NAME);
            assertThat(hold.release()).isEqualTo(ReleaseOutcome.RELEASED);
            try (Hold next = other.named(NAME).attempt(Duration.ZERO).orElseThrow()) {
                assertThat(next.isValid()).isTrue();
            }
        }
    }

    @Test
    void itIsOneKeyAndNothingIsLeftBehind() throws InterruptedException {
        try (EfficiencyLocks locks = connect()) {
            SERVER.redis().configResetstat();
            Hold hold = locks.named(NAME).acquire();
            assertThat(SERVER.redis().keys("*")).containsExactly(KEY);
            assertThat(SERVER.redis().get(KEY)).matches("[0-9a-f]{40}::.+/.+/.+");
            assertThat(SERVER.redis().info("commandstats"))
                    .contains("cmdstat_set:calls=1,")
                    .doesNotContain("cmdstat_eval");

            hold.close();
            assertThat(SERVER.redis().keys("*")).isEmpty();
        }
    }

    @Test
    void aWaiterGetsItAfterTheRelease() throws Exception {
        try (EfficiencyLocks one = connect();
                EfficiencyLocks other = connect()) {
            Hold hold = one.named(NAME).acquire();
            CompletableFuture<Hold> waiting = other.named(NAME).acquireAsync();
            assertThat(waiting).isNotDone();

            hold.release();

            try (Hold next = waiting.get(60, TimeUnit.SECONDS)) {
                assertThat(next.isValid()).isTrue();
            }
            assertThat(SERVER.redis().pubsubChannels()).isEmpty();
        }
    }

    @Test
    void itIsRenewedUntilItIsReleased() throws InterruptedException {
        try (EfficiencyLocks locks = connect();
                Hold hold = locks.named(NAME).with(EfficiencyLockTest::shortTtl).acquire()) {
            String value = SERVER.redis().get(KEY);
            long start = System.nanoTime();
            NodeBench.until("two ttls have passed", () -> System.nanoTime() - start > TimeUnit.SECONDS.toNanos(4));
            assertThat(hold.isValid()).isTrue();
            assertThat(SERVER.redis().get(KEY)).isEqualTo(value);
        }
    }

    @Test
    void withoutRenewalItEndsOnTimeAndSaysSo() throws Exception {
        try (EfficiencyLocks locks = connect()) {
            Hold hold = locks.named(NAME)
                    .with(o -> o.ttl(Duration.ofMillis(500)).renewal(Renewal.none()))
                    .acquire();
            CompletableFuture<LossCause> lost = new CompletableFuture<>();
            hold.onLost(lost::complete);

            assertThat(lost.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.EXPIRED);
            assertThat(hold.isValid()).isFalse();
            assertThatThrownBy(() -> hold.ensureValidFor(Duration.ofMillis(1))).isInstanceOf(LeaseLostException.class);
            assertThat(hold.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        }
    }

    @Test
    void whatSomebodyElseTookIsLostAndNotTouched() throws Exception {
        try (EfficiencyLocks locks = connect()) {
            Hold hold = locks.named(NAME).with(EfficiencyLockTest::shortTtl).acquire();
            CompletableFuture<LossCause> lost = new CompletableFuture<>();
            hold.onLost(lost::complete);

            SERVER.redis().set(KEY, "a stranger");

            assertThat(lost.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.NOT_OURS);
            hold.close();
            assertThat(SERVER.redis().get(KEY)).isEqualTo("a stranger");
        }
    }

    @Test
    void itExcludesFullLocksAndIsExcluded() throws InterruptedException {
        try (EfficiencyLocks plain = connect();
                LockClient full = Leasehold.connect(SERVER.server().uri())) {
            try (Hold hold = plain.named(NAME).acquire()) {
                assertThat(full.named(NAME).attempt(Duration.ZERO))
                        .isInstanceOfSatisfying(
                                Attempt.Busy.class,
                                busy -> assertThat(busy.holder()).isNotNull());
                assertThat(full.admin().list("*", 10))
                        .extracting(LockAdmin.HeldLock::holder)
                        .allSatisfy(holder -> {
                            assertThat(holder.id()).contains("/");
                            assertThat(holder.fencingToken()).isEmpty();
                        });
                assertThat(hold.isValid()).isTrue();
            }
            try (Lease lease = full.named(NAME).acquire()) {
                assertThat(plain.named(NAME).tryAcquire(Duration.ZERO)).isNull();
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @Test
    void neverTwoAtOnce() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        try (EfficiencyLocks one = connect();
                EfficiencyLocks other = connect()) {
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                EfficiencyLocks locks = i % 2 == 0 ? one : other;
                all.add(locks.named(NAME).holdWhile(PATIENCE, hold -> {
                    assertThat(inside.incrementAndGet()).isOne();
                    assertThat(hold.isValid()).isTrue();
                    inside.decrementAndGet();
                    done.incrementAndGet();
                    return CompletableFuture.completedFuture(null);
                }));
            }
            CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).get(120, TimeUnit.SECONDS);
            assertThat(done).hasValue(40);
        }
    }

    @Test
    void anAnswerThatWasLostIsNotTakenForBusy() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                EfficiencyLocks locks = EfficiencyLocks.connect("redis://127.0.0.1:" + proxy.port())) {
            ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains(KEY));
            // The ttl is so long that no test would wait for its end.
            CompletableFuture<Hold> waiting = locks.named(NAME)
                    .with(options -> options.ttl(Duration.ofMinutes(5)))
                    .acquireAsync();
            NodeBench.until("taken", () -> SERVER.redis().exists(KEY) == 1);
            String value = SERVER.redis().get(KEY);
            NodeBench.until("the answer is lost", loss::happened);

            try (Hold hold = waiting.get(60, TimeUnit.SECONDS)) {
                assertThat(hold.isValid()).isTrue();
                assertThat(SERVER.redis().get(KEY)).isEqualTo(value);
            }
            assertThat(SERVER.redis().exists(KEY)).isZero();
        }
    }

    @Test
    void itsValidityCountsFromTheSendingOfWhatWasAnswered() throws InterruptedException {
        Duration ttl = Duration.ofSeconds(30);
        Duration late = Duration.ofSeconds(2);
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                EfficiencyLocks locks = EfficiencyLocks.connect("redis://127.0.0.1:" + proxy.port())) {
            proxy.toClient().delay(late);
            try (Hold hold = locks.named(NAME)
                    .with(options -> options.ttl(ttl).nodeTimeout(Duration.ofSeconds(9)))
                    .acquire()) {
                assertThat(hold.remainingValidity()).isLessThan(ttl.minus(late));
                hold.renew();
                assertThat(hold.remainingValidity()).isLessThan(ttl.minus(late));
            }
        }
    }

    @Test
    void cancellingGivesBack() throws Exception {
        try (EfficiencyLocks one = connect();
                EfficiencyLocks other = connect()) {
            Hold hold = one.named(NAME).acquire();
            CompletableFuture<Attempt<Hold>> waiting = other.named(NAME).attemptAsync(PATIENCE);
            waiting.cancel(false);
            hold.close();
            try (Hold next = one.named(NAME).attempt(PATIENCE).orElseThrow()) {
                assertThat(next.isValid()).isTrue();
            }
        }
    }

    @Test
    void operatorsCanTakeItAway() throws InterruptedException {
        try (EfficiencyLocks locks = connect()) {
            Hold hold = locks.named(NAME).acquire();
            assertThat(locks.admin().forceRelease(LockName.exactly(NAME), null)).isTrue();
            assertThat(SERVER.redis().exists(KEY)).isZero();
            assertThat(hold.release()).isNotEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void errorsOfTheStoreAreErrors() {
        try (EfficiencyLocks locks =
                EfficiencyLocks.over(RedisStore.at(SERVER.server().uri()).keys("*"), LockOptions.defaults())) {
            CompletableFuture<Hold> refused = locks.named("{x}:fence").acquireAsync();
            assertThatThrownBy(() -> refused.get(60, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasMessageContaining("side key");
        }
    }
}
