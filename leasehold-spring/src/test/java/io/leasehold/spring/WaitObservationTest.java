package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;

/** Tests of waits for locks as observations, which become spans. */
@Tag("quick")
class WaitObservationTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @Configuration(proxyBeanMethods = false)
    static class Observed {
        @Bean
        Ended ended() {
            return new Ended();
        }

        @Bean
        ObservationRegistry observations(Ended ended) {
            ObservationRegistry registry = ObservationRegistry.create();
            registry.observationConfig().observationHandler(ended);
            return registry;
        }
    }

    static class Ended implements ObservationHandler<Observation.Context> {
        private final List<String> all = new CopyOnWriteArrayList<>();

        List<String> all() {
            return all;
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context.getName().equals(WaitObservation.NAME);
        }

        @Override
        public void onStop(Observation.Context context) {
            KeyValue outcome = context.getLowCardinalityKeyValue("outcome");
            KeyValue name = context.getHighCardinalityKeyValue("lock.name");
            all.add(context.getContextualName() + " " + name.getValue() + " " + outcome.getValue()
                    + (context.getParentObservation() == null ? "" : " inside"));
        }
    }

    static class Orders {
        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public String pay(String id) {
            return "paid";
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public Mono<String> payReactively(String id) {
            return Mono.just("paid");
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "0")
        public CompletableFuture<String> payInStage(String id) {
            return CompletableFuture.completedFuture("paid");
        }
    }

    @Test
    void eachWaitEndsWithItsOutcome() throws Exception {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, Observed.class, Orders.class)) {
            Orders orders = application.getBean(Orders.class);
            LockClient locks = application.getBean(LockClient.class);
            ObservationRegistry registry = application.getBean(ObservationRegistry.class);
            List<String> ended = application.getBean(Ended.class).all();
            Observation request = Observation.start("request", registry);
            request.scoped(() -> orders.pay("1"));
            Mono<String> inside = orders.payReactively("2")
                    .contextWrite(context -> context.put(ObservationThreadLocalAccessor.KEY, request));
            assertThat(inside.block(PATIENCE)).isEqualTo("paid");
            assertThat(orders.payInStage("3").get(1, TimeUnit.MINUTES)).isEqualTo("paid");
            new LeaseholdTemplate(locks)
                    .observedBy(registry)
                    .call(LockName.exactly("x"), Duration.ZERO, lease -> "ran");
            try (Lease held = locks.named("order:4").acquire()) {
                assertThatThrownBy(() -> orders.pay("4")).isInstanceOf(LockBusyException.class);
                assertThatThrownBy(() -> orders.payReactively("4").block(PATIENCE))
                        .isInstanceOf(LockBusyException.class);
                assertThatThrownBy(() -> orders.payInStage("4").get(1, TimeUnit.MINUTES))
                        .hasCauseInstanceOf(LockBusyException.class);
            }
            assertThat(ended)
                    .containsExactly(
                            "wait_for lock order:{} order:1 acquired inside",
                            "wait_for lock order:{} order:2 acquired inside",
                            "wait_for lock order:{} order:3 acquired",
                            "wait_for lock _exact x acquired",
                            "wait_for lock order:{} order:4 busy",
                            "wait_for lock order:{} order:4 busy",
                            "wait_for lock order:{} order:4 busy");
        }
    }

    /** Even if the client refuses before it has asked the store: the observation would never end. */
    @Test
    void aWaitThatIsRefusedAtOnceEnds() {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, Observed.class, Orders.class)) {
            Orders orders = application.getBean(Orders.class);
            application.getBean(LockClient.class).close();
            assertThatThrownBy(() -> orders.pay("1")).hasMessageContaining("is closed");
            assertThatThrownBy(() -> orders.payReactively("2").block(PATIENCE)).hasMessageContaining("is closed");
            assertThatThrownBy(() -> orders.payInStage("3").get(1, TimeUnit.MINUTES))
                    .hasMessageContaining("is closed");
            assertThat(application.getBean(Ended.class).all())
                    .containsExactly(
                            "wait_for lock order:{} order:1 error",
                            "wait_for lock order:{} order:2 error",
                            "wait_for lock order:{} order:3 error");
        }
    }

    /** A handler that fails at the end of each observation. */
    static class FailsAtTheEnd implements ObservationHandler<Observation.Context> {
        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }

        @Override
        public void onError(Observation.Context context) {
            throw new IllegalStateException("of the handler");
        }

        @Override
        public void onStop(Observation.Context context) {
            throw new IllegalStateException("of the handler");
        }
    }

    /** A handler that fails at the start. */
    static final class FailsAtTheStart extends FailsAtTheEnd {
        @Override
        public void onStart(Observation.Context context) {
            throw new IllegalStateException("of the handler");
        }
    }

    /** A handler with an inconsistent class path. */
    static final class FailsWithAnError extends FailsAtTheEnd {
        @Override
        public void onStart(Observation.Context context) {
            throw new LinkageError("of the handler");
        }

        @Override
        public void onError(Observation.Context context) {
            throw new LinkageError("of the handler");
        }

        @Override
        public void onStop(Observation.Context context) {
            throw new LinkageError("of the handler");
        }
    }

    /** A handler whose inconsistent class path is detected while the lock is held. */
    static final class FailsAtTheEndWithAnError extends FailsAtTheEnd {
        @Override
        public void onError(Observation.Context context) {
            throw new AssertionError("of the handler");
        }

        @Override
        public void onStop(Observation.Context context) {
            throw new LinkageError("of the handler");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Failing {
        @Bean
        ObservationRegistry observations(FailsAtTheEnd handler) {
            ObservationRegistry registry = ObservationRegistry.create();
            registry.observationConfig().observationHandler(handler);
            return registry;
        }
    }

    /** Neither an acquired lock nor a waiting subscriber depends on the success of a handler of the application. */
    @ParameterizedTest
    @ValueSource(
            classes = {
                FailsAtTheEnd.class,
                FailsAtTheStart.class,
                FailsWithAnError.class,
                FailsAtTheEndWithAnError.class
            })
    void aHandlerThatFailsCostsNothingButItsObservation(Class<?> handler) throws Exception {
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, Failing.class, handler, Orders.class)) {
            Orders orders = application.getBean(Orders.class);
            assertThat(orders.pay("1")).isEqualTo("paid");
            assertThat(orders.payReactively("1").block(PATIENCE)).isEqualTo("paid");
            assertThat(orders.payInStage("1").get(1, TimeUnit.MINUTES)).isEqualTo("paid");
            try (Lease held =
                    application.getBean(LockClient.class).named("order:1").acquire()) {
                assertThat(held.isValid()).isTrue();
                assertThatThrownBy(() -> orders.pay("1")).isInstanceOf(LockBusyException.class);
                assertThatThrownBy(() -> orders.payReactively("1").block(PATIENCE))
                        .isInstanceOf(LockBusyException.class);
                assertThatThrownBy(() -> orders.payInStage("1").get(1, TimeUnit.MINUTES))
                        .hasCauseInstanceOf(LockBusyException.class);
            }
            application.getBean(MemoryLocks.Counting.class).assertNoneHeld();
        }
    }
}
