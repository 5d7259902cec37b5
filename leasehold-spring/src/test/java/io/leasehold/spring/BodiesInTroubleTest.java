package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.method.AskedLocks;
import io.micrometer.observation.ObservationRegistry;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import reactor.core.publisher.Mono;

/** Tests of bodies whose own errors look like those of their lock, of bodies inside bodies, and of failed releases. */
@SuppressWarnings("FutureReturnValueIgnored") // what they answer is asked elsewhere
@Tag("quick")
class BodiesInTroubleTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Orders.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Orders orders = application.getBean(Orders.class);

    @AfterEach
    void close() {
        application.close();
    }

    static class Orders {

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.SKIP)
        public <T> @Nullable T run(String id, Callable<T> body) throws Exception {
            return body.call();
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.SKIP)
        public CompletableFuture<String> inStage(String id, Supplier<CompletableFuture<String>> body) {
            return body.get();
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0", onBusy = OnBusy.SKIP)
        public Mono<String> reactively(String id, Mono<String> body) {
            return body;
        }

        @Locked(
                name = "order:{}",
                key = {"#one", "#other"},
                maxWait = "0",
                ttl = "77s",
                maxHold = "2h")
        public Duration both(String one, String other, @Nullable MultiLease lease) {
            return lease == null ? Duration.ZERO : lease.remainingValidity();
        }
    }

    private boolean isHeld(String name) {
        return locks.admin().inspect(name).isPresent();
    }

    // ---- bodies inside bodies

    @Test
    void aLockOfABodyFurtherOutIsRefusedToo() {
        Callable<String> again = () -> orders.run("1", () -> "ran");
        assertThatThrownBy(() -> orders.run("1", () -> orders.run("2", () -> orders.run("3", again))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("order:1", "not reentrant");
        Mono<String> inner = Mono.defer(() -> orders.reactively("1", Mono.just("ran")));
        assertThatThrownBy(() -> orders.reactively("1", Mono.defer(() -> orders.reactively("2", inner)))
                        .block(PATIENCE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not reentrant");
    }

    @Test
    void afterABodyTheThreadIsInTheOneAroundAndThenInNone() throws Exception {
        List<Object> seen = Objects.requireNonNull(orders.run("1", () -> {
            Lease before = Locks.current();
            orders.run("2", () -> Locks.current());
            assertThatThrownBy(() -> orders.run("2", () -> {
                        throw new IllegalStateException("of the body");
                    }))
                    .hasMessage("of the body");
            orders.inStage("3", () -> {
                        throw new IllegalStateException("of the stage");
                    })
                    .handle((value, error) -> "ended")
                    .join();
            return List.of(before, Locks.current());
        }));
        assertThat(seen.get(1)).isSameAs(seen.get(0));
        assertThatThrownBy(Locks::current).isInstanceOf(IllegalStateException.class);
    }

    /** The next task on the thread would find the remains of a body that has thrown. */
    @Test
    void aStageThatThrowsLeavesNothingOnTheThread() throws Exception {
        for (int i = 0; i < 100; i++) {
            String id = "s" + i;
            assertThatThrownBy(() -> orders.inStage(id, () -> {
                                throw new IllegalStateException("of the stage");
                            })
                            .get(1, TimeUnit.MINUTES))
                    .hasCauseInstanceOf(IllegalStateException.class);
            assertThat(locks.named("next" + i)
                            .holdWhile(PATIENCE, lease -> CompletableFuture.completedFuture(foundOnThread()))
                            .get(1, TimeUnit.MINUTES))
                    .isEqualTo("nothing");
        }
    }

    private static String foundOnThread() {
        try {
            return Locks.current().lockName().text();
        } catch (IllegalStateException none) {
            return "nothing";
        }
    }

    // ---- errors of a body that look like those of its lock

    @Test
    void aBodyThatFindsAnotherLockBusyIsNotSkipped() {
        LockBusyException other = new LockBusyException(LockName.of("other"), Duration.ZERO, null, List.of());
        assertThatThrownBy(() -> orders.run("1", () -> {
                    throw other;
                }))
                .isSameAs(other);
        assertThatThrownBy(() -> orders.inStage("1", () -> CompletableFuture.failedFuture(other))
                        .get(1, TimeUnit.MINUTES))
                .isInstanceOf(ExecutionException.class)
                .hasCause(other);
        assertThatThrownBy(() -> orders.reactively("1", Mono.error(other)).block(PATIENCE))
                .isSameAs(other);
    }

    @Test
    void aLossOfAnotherLockInTheBodyDoesNotHideThatOfItsOwn() {
        LeaseLostException other = new LeaseLostException(LockName.of("other"), LossCause.EXPIRED, "made");
        assertThatThrownBy(() -> orders.run("1", () -> {
                    Lease lease = Locks.current();
                    locks.admin().forceRelease("order:1", null);
                    while (lease.isValid()) {
                        Thread.onSpinWait();
                    }
                    throw other;
                }))
                .isInstanceOfSatisfying(LeaseLostException.class, lost -> {
                    assertThat(lost.lockName().text()).isEqualTo("order:1");
                    assertThat(lost.getSuppressed()).containsExactly(other);
                });
    }

    // ---- options

    @Test
    void severalLocksHaveTheOptionsOfTheirMethod() {
        assertThat(orders.both("1", "2", null)).isBetween(Duration.ofSeconds(31), Duration.ofSeconds(77));
    }

    @Test
    void eachSettingStaysWhenAnotherIsChanged() {
        LeaseholdSettings all = LeaseholdSettings.defaults()
                .maxWait("a", Duration.ofSeconds(1))
                .outerTransaction(OuterTransaction.FAIL)
                .lint(LintLevel.OFF)
                .maxWait(Duration.ofSeconds(2))
                .maxWait("b", Duration.ofSeconds(3));
        for (LeaseholdSettings one : List.of(
                all,
                all.lint(LintLevel.OFF),
                all.outerTransaction(OuterTransaction.FAIL),
                all.maxWait(Duration.ofSeconds(2)),
                all.maxWait("a", Duration.ofSeconds(1)))) {
            assertThat(one.maxWait("a")).isEqualTo(Duration.ofSeconds(1));
            assertThat(one.maxWait("b")).isEqualTo(Duration.ofSeconds(3));
            assertThat(one.maxWait("c")).isEqualTo(Duration.ofSeconds(2));
            assertThat(one.outerTransaction()).isEqualTo(OuterTransaction.FAIL);
            assertThat(one.lint()).isEqualTo(LintLevel.OFF);
        }
    }

    /** In any order: it interrupts no thread, is observed, and has the ttl. */
    @Test
    void eachSettingOfATemplateStaysWhenAnotherIsChanged() throws Exception {
        for (int order = 0; order < 3; order++) {
            ObservationRegistry registry = ObservationRegistry.create();
            WaitObservationTest.Ended ended = new WaitObservationTest.Ended();
            registry.observationConfig().observationHandler(ended);
            LeaseholdTemplate template = new LeaseholdTemplate(locks);
            for (int step = 0; step < 3; step++) {
                template = switch ((order + step) % 3) {
                    case 0 -> template.with(options -> options.ttl(Duration.ofSeconds(77)));
                    case 1 -> template.onLoss(OnLoss.NOTIFY);
                    default -> template.observedBy(registry);
                };
            }
            LeaseholdTemplate made = template.with(options -> options.maxHold(Duration.ofHours(1)));
            assertThatThrownBy(() -> made.call(LockName.exactly("x"), Duration.ZERO, lease -> {
                        assertThat(lease.remainingValidity()).isGreaterThan(Duration.ofSeconds(31));
                        // Notified after the callback that would interrupt.
                        CompletableFuture<LossCause> told = new CompletableFuture<>();
                        lease.onLost(told::complete);
                        locks.admin().forceRelease("x", null);
                        told.join();
                        assertThat(Thread.currentThread().isInterrupted()).isFalse();
                        return "ran";
                    }))
                    .isInstanceOf(LeaseLostException.class);
            assertThat(ended.all()).containsExactly("wait_for lock _exact x acquired");
        }
    }

    // ---- releases that fail

    /** A front of a lock: after the release of its holds, the answer fails with this error. */
    @SuppressWarnings("unchecked")
    private Acquirable<Hold> released(Throwable failure) {
        Function<Lease, Hold> front = held -> (Hold) Proxy.newProxyInstance(
                Hold.class.getClassLoader(), new Class<?>[] {Lease.class}, (proxy, method, arguments) -> {
                    if (method.getName().startsWith("release")) {
                        held.release();
                        throw failure;
                    }
                    try {
                        return method.invoke(held, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return (Acquirable<Hold>) Proxy.newProxyInstance(
                Acquirable.class.getClassLoader(), new Class<?>[] {Acquirable.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("attempt")) {
                        return new Attempt.Acquired<>(
                                front.apply(locks.named("x").acquire()));
                    }
                    Function<Hold, CompletionStage<Object>> work =
                            (Function<Hold, CompletionStage<Object>>) arguments[1];
                    return locks.named("x").holdWhile((Duration) arguments[0], held -> work.apply(front.apply(held)));
                });
    }

    private LockCall call(Throwable failureOfTheRelease, LockCall.Body body) {
        return new LockCall(
                new AskedLocks(locks.holderId(), List.of(LockName.of("x")), false),
                released(failureOfTheRelease),
                PATIENCE,
                Duration.ZERO,
                OnLoss.NOTIFY,
                OuterTransaction.RELEASE_AFTER_COMPLETION,
                body,
                busy -> null,
                ObservationRegistry.NOOP,
                interrupt -> interrupt);
    }

    /** The work is done; an exception would make its caller repeat it. */
    @Test
    void aReleaseThatFailsIsNoFailureOfTheBody() throws Throwable {
        StoreUnavailableException away = new StoreUnavailableException("away", null);
        assertThat(BlockingCalls.run(call(away, hold -> "done"))).isEqualTo("done");
        assertThat(((Mono<?>) PublisherCalls.run(call(away, hold -> Mono.just("done")), Mono.class)).block(PATIENCE))
                .isEqualTo("done");
        IllegalArgumentException ofTheBody = new IllegalArgumentException("of the body");
        assertThatThrownBy(() -> BlockingCalls.run(call(away, hold -> {
                    throw ofTheBody;
                })))
                .isSameAs(ofTheBody);
        assertThat(isHeld("x")).isFalse();
    }

    @Test
    void aLossIsToldThoughTheReleaseFails() {
        LockCall.Body losing = hold -> {
            locks.admin().forceRelease("x", null);
            hold.whenEnded().toCompletableFuture().get(1, TimeUnit.MINUTES);
            return "done";
        };
        assertThatThrownBy(() -> BlockingCalls.run(call(new StoreUnavailableException("away", null), losing)))
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("FORCE_RELEASED");
    }

    /** Otherwise its span would stay open permanently. */
    @Test
    void aWaitThatAnErrorEndsIsObservedToItsEnd() {
        StackOverflowError error = new StackOverflowError("made by the test");
        @SuppressWarnings("unchecked")
        Acquirable<Hold> broken = (Acquirable<Hold>) Proxy.newProxyInstance(
                Acquirable.class.getClassLoader(), new Class<?>[] {Acquirable.class}, (proxy, method, arguments) -> {
                    throw error;
                });
        ObservationRegistry registry = ObservationRegistry.create();
        WaitObservationTest.Ended ended = new WaitObservationTest.Ended();
        registry.observationConfig().observationHandler(ended);
        LockCall call = new LockCall(
                new AskedLocks(locks.holderId(), List.of(LockName.of("x"), LockName.of("y")), true),
                broken,
                PATIENCE,
                Duration.ZERO,
                OnLoss.NOTIFY,
                OuterTransaction.RELEASE_AFTER_COMPLETION,
                hold -> "ran",
                busy -> null,
                registry,
                interrupt -> interrupt);
        assertThatThrownBy(() -> BlockingCalls.run(call)).isSameAs(error);
        assertThatThrownBy(() -> StageCalls.run(call)).isSameAs(error);
        assertThat(ended.all())
                .hasSize(2)
                .allSatisfy(one -> assertThat(one).contains("[x, y]").endsWith("error"));
    }

    @Test
    void aWaitThatIsInterruptedIsObservedAsThat() {
        ObservationRegistry registry = ObservationRegistry.create();
        WaitObservationTest.Ended ended = new WaitObservationTest.Ended();
        registry.observationConfig().observationHandler(ended);
        LeaseholdTemplate template = new LeaseholdTemplate(locks).observedBy(registry);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> template.call(LockName.exactly("x"), PATIENCE, lease -> "ran"))
                .isInstanceOf(InterruptedException.class);
        assertThat(ended.all()).containsExactly("wait_for lock _exact x interrupted");
    }
}
