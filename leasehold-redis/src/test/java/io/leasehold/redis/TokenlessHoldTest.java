package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.redis.topology.ScriptedRedis;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that an efficiency lock and its hold behave like the lock and the lease of the engine, without a token. */
@Tag("quick")
@Timeout(120)
final class TokenlessHoldTest {

    private static final LockName NAME = LockName.exactly("job");

    private final List<String> called = new ArrayList<>();
    private final CompletableFuture<Void> renewed = new CompletableFuture<>();
    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    private final CompletableFuture<HoldEnd> ended = new CompletableFuture<>();

    private <T> T answering(Class<T> type, java.util.Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    called.add(method.getName() + (arguments == null ? "" : Arrays.toString(arguments)));
                    return answers.get(method.getName());
                }));
    }

    private Lease lease() {
        return answering(
                Lease.class,
                java.util.Map.of(
                        "remainingValidity",
                        Duration.ofMillis(7),
                        "isValid",
                        true,
                        "renewAsync",
                        renewed,
                        "release",
                        ReleaseOutcome.ALREADY_LOST,
                        "releaseAsync",
                        released,
                        "whenEnded",
                        ended,
                        "lockName",
                        NAME));
    }

    @Test
    void aHoldDoesWhatItsLeaseDoes() {
        Hold hold = new PlainHold(lease());
        Consumer<LossCause> lost = cause -> {};
        Consumer<Duration> atRisk = left -> {};
        assertThat(hold.remainingValidity()).isEqualTo(Duration.ofMillis(7));
        assertThat(hold.isValid()).isTrue();
        hold.ensureValidFor(Duration.ofSeconds(3));
        hold.renew();
        assertThat(hold.renewAsync()).isSameAs(renewed);
        assertThat(hold.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(hold.releaseAsync()).isSameAs(released);
        hold.close();
        assertThat(hold.whenEnded()).isSameAs(ended);
        hold.onLost(lost);
        hold.onAtRisk(atRisk);
        hold.interruptOnLoss();
        assertThat(hold).hasToString("EfficiencyHold[job]");
        assertThat(called)
                .containsExactly(
                        "remainingValidity",
                        "isValid",
                        "ensureValidFor[PT3S]",
                        "renew",
                        "renewAsync",
                        "release",
                        "releaseAsync",
                        "close",
                        "whenEnded",
                        "onLost[" + lost + "]",
                        "onAtRisk[" + atRisk + "]",
                        "interruptOnLoss",
                        "lockName");
        assertThat(new PlainHold(answering(Lease.class, java.util.Map.of("isValid", false))).isValid())
                .isFalse();
    }

    @Test
    void aLockDoesWhatTheLockOfTheEngineDoes() throws Exception {
        Lease lease = lease();
        LockOptions options = LockOptions.defaults().ttl(Duration.ofSeconds(9));
        Attempt<Lease> busy = new Attempt.Busy<>(NAME, Duration.ofSeconds(2), null, List.of());
        java.util.Map<String, Object> answers = new java.util.HashMap<>(java.util.Map.of(
                "name",
                NAME,
                "options",
                options,
                "acquire",
                lease,
                "tryAcquire",
                lease,
                "attempt",
                new Attempt.Acquired<>(lease),
                "acquireAsync",
                CompletableFuture.completedFuture(lease),
                "attemptAsync",
                CompletableFuture.completedFuture(busy)));
        DistributedLock engine = answering(DistributedLock.class, answers);
        answers.put("with", engine);
        EfficiencyLock lock = new PlainLock(engine);
        UnaryOperator<LockOptions> change = o -> o;

        assertThat(lock.name()).isEqualTo(NAME);
        assertThat(lock.options()).isSameAs(options);
        assertThat(lock.acquire()).hasToString("EfficiencyHold[job]");
        assertThat(lock.tryAcquire(Duration.ofSeconds(1))).hasToString("EfficiencyHold[job]");
        assertThat(lock.attempt(Duration.ofSeconds(1)))
                .isInstanceOfSatisfying(
                        Attempt.Acquired.class, got -> assertThat(got.lease()).hasToString("EfficiencyHold[job]"));
        assertThat(lock.acquireAsync().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .hasToString("EfficiencyHold[job]");
        assertThat(lock.attemptAsync(Duration.ofSeconds(2)).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(busy);
        assertThat(lock.with(change)).isInstanceOf(PlainLock.class).hasToString("EfficiencyLock[job]");
        assertThat(called).contains("tryAcquire[PT1S]", "attempt[PT1S]", "attemptAsync[PT2S]", "with[" + change + "]");
        answers.remove("tryAcquire");
        assertThat(lock.tryAcquire(Duration.ZERO)).isNull();
    }

    @Test
    void workHasTheHoldOfItsLock() throws Exception {
        AtomicReference<Duration> patience = new AtomicReference<>();
        DistributedLock engine = (DistributedLock) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {DistributedLock.class}, (self, method, arguments) -> {
                    patience.set((Duration) arguments[0]);
                    @SuppressWarnings("unchecked")
                    java.util.function.Function<Object, Object> work =
                            (java.util.function.Function<Object, Object>) arguments[1];
                    return work.apply(lease());
                });
        assertThat(new PlainLock(engine)
                        .holdWhile(
                                Duration.ofSeconds(4),
                                hold -> CompletableFuture.completedFuture(hold.remainingValidity()))
                        .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(Duration.ofMillis(7));
        assertThat(patience).hasValue(Duration.ofSeconds(4));
    }

    private static ScriptedRedis server() throws Exception {
        return new ScriptedRedis()
                .says("CONFIG", "-NOPERM no\r\n")
                .says("SET", "+OK\r\n")
                .says("EVALSHA", "-NOSCRIPT no\r\n")
                .says("EVAL", "*1\r\n:1\r\n");
    }

    @Test
    void aClientNamesItsServerAndEndsWithItsConnections() throws Exception {
        try (ScriptedRedis server = server()) {
            EfficiencyLocks locks = EfficiencyLocks.connect("redis://" + server.address());
            assertThat(locks).hasToString("EfficiencyLocks[redis://" + server.address() + "]");
            assertThat(locks.named("job").name()).isEqualTo(NAME);
            assertThat(locks.named(NAME)).hasToString("EfficiencyLock[job]");
            assertThat(locks.admin()).isNotNull();
            try (Hold hold = locks.named("job").acquire()) {
                assertThat(hold.isValid()).isTrue();
            }
            assertThat(server.asked("SET lock:{job}")).isOne();
            locks.close(Duration.ofSeconds(5));
            ScriptedRedis.until("nothing is left", () -> server.open() == 0);

            EfficiencyLocks others =
                    EfficiencyLocks.over(RedisStore.at("redis://" + server.address()), LockOptions.defaults());
            others.close();
            ScriptedRedis.until("nothing is left", () -> server.open() == 0);
            assertThatThrownBy(() -> EfficiencyLocks.over(null, LockOptions.defaults()))
                    .isInstanceOf(NullPointerException.class)
                    .hasMessage("server");
        }
    }
}
