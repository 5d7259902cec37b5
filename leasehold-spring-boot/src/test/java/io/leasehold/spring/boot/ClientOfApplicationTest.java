package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.Permit;
import io.leasehold.Permits;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StorePermits;
import io.leasehold.testkit.virtual.PassingStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/** Tests of what health and endpoint show of a client that the application declares itself. */
@Tag("quick")
class ClientOfApplicationTest {

    private final ApplicationContextRunner application =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaseholdAutoConfiguration.class));

    @Configuration(proxyBeanMethods = false)
    static class Silent {
        @Bean
        LockClient locks() {
            return Leasehold.connect("memory:");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Reporting {
        @Bean
        LockClient locks(ObjectProvider<LockListener> listeners) {
            Leasehold.Builder builder = Leasehold.builder().store("memory:");
            listeners.orderedStream().forEach(builder::listener);
            return builder.connect();
        }
    }

    /** Two clients that report, of which one may be the primary one; the store of the other is full for a while. */
    @Configuration(proxyBeanMethods = false)
    static class Several {

        static final AtomicBoolean FULL = new AtomicBoolean();
        static final AtomicInteger ACQUIRES = new AtomicInteger();

        @Bean
        LockClient first(ObjectProvider<LockListener> listeners) {
            return reporting(Leasehold.builder().store("memory:"), listeners);
        }

        @Bean
        LockClient second(ObjectProvider<LockListener> listeners) {
            return reporting(
                    Leasehold.builder().store(runtime -> full(new SingleNodeStore(new InMemoryNode(runtime), runtime))),
                    listeners);
        }

        private static LockClient reporting(Leasehold.Builder builder, ObjectProvider<LockListener> listeners) {
            listeners.orderedStream().forEach(builder::listener);
            return builder.connect();
        }

        private static LockStore full(LockStore store) {
            return new PassingStore(store) {
                @Override
                public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
                    ACQUIRES.incrementAndGet();
                    return FULL.get()
                            ? CompletableFuture.completedFuture(new AcquireReply.Failed(
                                    FailureKind.NO_EFFECT,
                                    new StoreUnavailableException("made by the test", null),
                                    request.ballotSoFar()))
                            : super.acquire(request);
                }
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class SeveralWithPrimary extends Several {

        @Bean
        @Primary
        @Override
        LockClient first(ObjectProvider<LockListener> listeners) {
            return super.first(listeners);
        }
    }

    private static LeaseholdEndpoint endpoint(ApplicationContext context) {
        return new LeaseholdEndpoint(
                context.getBeanProvider(LockClient.class),
                context.getBean(LeaseStatus.class),
                context.getBean(ConfiguredClients.class));
    }

    private static LeaseholdHealth health(ApplicationContext context) {
        return new LeaseholdHealth(
                context.getBeanProvider(LockClient.class),
                context.getBean(LeaseStatus.class),
                context.getBean(ConfiguredClients.class));
    }

    /** An empty list would say that it holds nothing. */
    @Test
    void aClientWithoutTheListenersShowsNoLocks() {
        application.withUserConfiguration(Silent.class).run(context -> {
            try (Lease lease = context.getBean(LockClient.class).named("x").acquire()) {
                assertThat(endpoint(context).overview())
                        .containsKeys("store", "client")
                        .doesNotContainKeys("held", "waiting", "lost");
                assertThat(health(context).details())
                        .containsKeys("store")
                        .doesNotContainKeys("held", "waiting", "lost");
                assertThat(health(context).code()).isEqualTo("UNKNOWN");
            }
        });
    }

    @Test
    void aClientWithTheListenersShowsThem() {
        application.withUserConfiguration(Reporting.class).run(context -> {
            try (Lease lease = context.getBean(LockClient.class).named("x").acquire()) {
                assertThat(endpoint(context).overview().toString()).contains("Count[lock=x, count=1]");
                assertThat(health(context).details()).containsEntry("held", 1);
                assertThat(health(context).code()).isEqualTo("UP");
            }
        });
    }

    /** A store that works does not answer for another one, and a store that works again is found without a primary client. */
    @ParameterizedTest
    @ValueSource(classes = {Several.class, SeveralWithPrimary.class})
    void healthIsUpOnceTheStoresOfAllClientsGrantLocks(Class<?> clients) {
        application.withUserConfiguration(clients).run(context -> {
            LeaseholdHealth health = health(context);
            Several.FULL.set(true);
            assertThatThrownBy(() -> context.getBean("second", LockClient.class)
                            .named("x")
                            .tryAcquire(Duration.ZERO))
                    .isInstanceOf(StoreUnavailableException.class);
            assertThat(health.code()).isEqualTo("OUT_OF_SERVICE");
            context.getBean("first", LockClient.class).named("y").acquire().close();
            assertThat(health.code()).as("another store has answered").isEqualTo("OUT_OF_SERVICE");
            Several.FULL.set(false);
            assertThat(health.code()).isEqualTo("UP");
            int acquires = Several.ACQUIRES.get();
            assertThat(health.code()).isEqualTo("UP");
            assertThat(Several.ACQUIRES).as("nothing has failed since").hasValue(acquires);
        });
    }

    /** As during the end of an application, when its health is still asked for. */
    @Test
    void aClosedClientWhoseStoreHasFailedIsOutOfService() {
        application.withUserConfiguration(Several.class).run(context -> {
            LockClient second = context.getBean("second", LockClient.class);
            Several.FULL.set(true);
            try {
                assertThatThrownBy(() -> second.named("x").tryAcquire(Duration.ZERO))
                        .isInstanceOf(StoreUnavailableException.class);
            } finally {
                Several.FULL.set(false);
            }
            second.close();
            assertThat(health(context).code()).isEqualTo("OUT_OF_SERVICE");
        });
    }

    /** A client whose user has the rights to locks, and none to permits. */
    @Configuration(proxyBeanMethods = false)
    static class WithoutPermits {
        @Bean
        LockClient locks() {
            return Leasehold.builder()
                    .store(runtime -> new PassingStore(new SingleNodeStore(new InMemoryNode(runtime), runtime)) {
                        @Override
                        public Optional<StorePermits> permits() {
                            throw new StoreAccessException("made by the test", null);
                        }
                    })
                    .connect();
        }
    }

    @Test
    void aLockIsShownAlthoughItsPermitsCannotBeRead() {
        application.withUserConfiguration(WithoutPermits.class).run(context -> {
            LockClient locks = context.getBean(LockClient.class);
            try (Lease lease = locks.named("x").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(endpoint(context).lock("x"))
                        .containsEntry("holder", locks.holderId())
                        .doesNotContainKey("permits");
            }
        });
    }

    @Test
    void thePermitsOfALockShowTheirOwnWaiters() {
        application.withUserConfiguration(Silent.class).run(context -> {
            LockClient locks = context.getBean(LockClient.class);
            Permits pool = locks.permits("x", 1);
            Permit held = pool.acquire();
            CompletableFuture<Permit> waiting = pool.acquireAsync();
            Map<String, Object> shown = endpoint(context).lock("x");
            assertThat(shown).containsEntry("waiters", List.of());
            assertThat(shown.get("permits"))
                    .asInstanceOf(InstanceOfAssertFactories.map(String.class, Object.class))
                    .containsEntry("held", Map.of(held.slot(), locks.holderId()))
                    .extractingByKey("waiters", InstanceOfAssertFactories.LIST)
                    .hasSize(1);
            held.close();
            waiting.join().close();
        });
    }

    @Test
    void aConfiguredClientShowsThatItHoldsNothing() {
        application
                .withPropertyValues("leasehold.uri=memory:")
                .run(context -> assertThat(endpoint(context).overview()).containsKeys("held", "waiting", "lost"));
    }
}
