package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spring.EnableLeasehold;
import io.leasehold.spring.LeaseholdSettings;
import io.leasehold.spring.LeaseholdTemplate;
import io.leasehold.spring.LintLevel;
import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import io.leasehold.spring.OuterTransaction;
import io.leasehold.testkit.virtual.PassingStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.Ordered;

/** Tests of the beans of an application, and of the messages. */
@Tag("quick")
class LeaseholdAutoConfigurationTest {

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LeaseholdAutoConfiguration.class,
                    LeaseholdMetricsAutoConfiguration.class,
                    LeaseholdHealthAutoConfiguration.class,
                    LeaseholdEndpointAutoConfiguration.class))
            .withPropertyValues("spring.application.name=order service");
    private final ApplicationContextRunner inMemory = application.withPropertyValues("leasehold.uri=memory:");

    public static class Jobs {
        @Locked(name = "job")
        public String run() {
            return Locks.current().lockName().text();
        }
    }

    static class Broken {
        @Locked(name = "job", key = "#nothing")
        public void run() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class Database {
        @Bean
        DataSource orders() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
            return database;
        }
    }

    /** Each bean behind the proxy of a scope, as with {@code @RefreshScope}, has a second name. */
    @Configuration(proxyBeanMethods = false)
    static class ScopedDatabase {
        @Bean
        @Scope(proxyMode = ScopedProxyMode.INTERFACES)
        DataSource orders() {
            return new Database().orders();
        }
    }

    @Test
    void aDatabaseBehindTheProxyOfAScopeIsOne() {
        application
                .withUserConfiguration(ScopedDatabase.class)
                .run(context -> assertThat(context.getBean(LockClient.class).storeDescription())
                        .contains("h2"));
    }

    /** A store that accepts only short leases would refuse the ttl of 30 s, which no property sets. */
    @Test
    void oneDefaultThatIsSetLeavesTheOthersToTheStore() {
        application
                .withPropertyValues("leasehold.uri=brief:", "leasehold.defaults.max-hold=20s")
                .withBean(Jobs.class)
                .withPropertyValues("leasehold.defaults.max-wait=3s")
                .run(context -> {
                    LockOptions options =
                            context.getBean(LockClient.class).named("x").options();
                    assertThat(options.ttl()).isEqualTo(Duration.ofSeconds(10));
                    assertThat(options.maxHold()).isEqualTo(Duration.ofSeconds(20));
                    assertThat(context.getBean(Jobs.class).run()).isEqualTo("job");
                });
    }

    @Test
    void theseAreTestsOfTheBootThatIsMeant() {
        assumeThat(System.getProperty("expected.boot")).isNotNull();
        assertThat(SpringBootVersion.getVersion()).isEqualTo(System.getProperty("expected.boot"));
    }

    @Test
    void oneUriAndOneAnnotationAreEnough() {
        inMemory.withBean(Jobs.class)
                .withPropertyValues("leasehold.defaults.max-wait=3s")
                .run(context -> {
                    assertThat(context.getBean(Jobs.class).run()).isEqualTo("job");
                    assertThat(context.getBean(LockClient.class).holderId()).contains("order-service");
                    assertThat(context).hasSingleBean(LeaseholdTemplate.class);
                });
    }

    @Test
    void propertiesArriveWhereTheyBelong() {
        inMemory.withPropertyValues(
                        "leasehold.label=billing",
                        "leasehold.defaults.ttl=10s",
                        "leasehold.defaults.max-hold=1h",
                        "leasehold.defaults.node-timeout=80ms",
                        "leasehold.defaults.fairness=strict-fifo",
                        "leasehold.outer-transaction=fail",
                        "leasehold.lint=off",
                        "leasehold.require.fencing=increasing")
                .run(context -> {
                    LockClient client = context.getBean(LockClient.class);
                    assertThat(client.named("x").options().toString())
                            .contains("ttl=10s", "maxHold=1h", "nodeTimeout=80ms", "fairness=STRICT_FIFO");
                    assertThat(client.holderId()).contains("billing");
                    LeaseholdSettings settings = context.getBean(LeaseholdSettings.class);
                    assertThat(settings.outerTransaction()).isEqualTo(OuterTransaction.FAIL);
                    assertThat(settings.lint()).isEqualTo(LintLevel.OFF);
                    assertThat(settings.maxWait()).isNull();
                });
    }

    @Test
    void theDatabaseOfTheApplicationIsThePlaceForLocksWhereNothingElseIsSet() {
        application.withUserConfiguration(Database.class).run(context -> {
            try (Lease lease = context.getBean(LockClient.class).named("x").acquire()) {
                assertThat(lease.fencingToken()).isPositive();
            }
            assertThat(context.getBean(LockClient.class).storeDescription()).contains("h2");
        });
        application
                .withUserConfiguration(Database.class)
                .withPropertyValues("leasehold.jdbc.datasource=orders")
                .run(context -> assertThat(context).hasNotFailed());
        application
                .withUserConfiguration(Database.class)
                .withPropertyValues("leasehold.uri=memory:")
                .run(context -> assertThat(context.getBean(LockClient.class).storeDescription())
                        .doesNotContain("h2"));
    }

    private static FailureAnalysis analysis(Throwable failure) {
        FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(failure);
        return analysis != null ? analysis : new LockedUsageFailureAnalyzer().analyze(failure);
    }

    @Test
    void withoutAPlaceForLocksTheApplicationSaysWhatToWrite() {
        application.run(context -> {
            FailureAnalysis analysis = analysis(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .isEqualTo(
                            "There is no store for locks: leasehold.uri is not set, and there is neither a DataSource with leasehold-jdbc"
                                    + " nor a LettuceConnectionFactory with leasehold-redis.");
            assertThat(analysis.getAction()).startsWith("Set leasehold.uri (redis://…");
        });
        application
                .withPropertyValues("leasehold.uri=nosql://x")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getDescription())
                        .contains("the scheme \"nosql\" is not known"));
        application
                .withPropertyValues("leasehold.uri=redis://localhost:1")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getAction())
                        .startsWith("Start it, let this application reach it"));
        application
                .withPropertyValues("leasehold.jdbc.datasource=payments")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getDescription())
                        .isEqualTo("leasehold.jdbc.datasource is \"payments\", and the DataSource beans are []."));
        application
                .withPropertyValues("leasehold.redis.reuse-connection-factory=true")
                .run(
                        context -> assertThat(
                                        analysis(context.getStartupFailure()).getDescription())
                                .startsWith(
                                        "leasehold.redis.reuse-connection-factory is true, and there is no LettuceConnectionFactory"));
        inMemory.withPropertyValues("leasehold.defaults.ttl=1ms")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getDescription())
                        .startsWith("The properties leasehold.defaults.* conflict: lock options: ttl is 1ms"));
        inMemory.withPropertyValues("leasehold.require.scope=network")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getDescription())
                        .contains("requires Scope NETWORK"));
    }

    @Test
    void theApplicationStartsWithoutItsStoreWhenToldTo() {
        application
                .withPropertyValues("leasehold.uri=redis://localhost:1", "leasehold.connect-lazily=true")
                .run(context -> {
                    LockClient client = context.getBean(LockClient.class);
                    assertThatThrownBy(() -> client.named("x").tryAcquire(Duration.ZERO))
                            .isInstanceOf(StoreUnavailableException.class);
                });
    }

    @Test
    void aMethodThatCannotBeLockedIsAnalysed() {
        inMemory.withBean(Broken.class).run(context -> {
            FailureAnalysis analysis = analysis(context.getStartupFailure());
            assertThat(analysis.getDescription()).startsWith("@Locked method Broken.run() has the key \"#nothing\"");
            assertThat(analysis.getAction()).isEqualTo("Name one of them.");
        });
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold(order = 10)
    static class OwnOrder {}

    @Test
    void theOrderThatTheApplicationWritesIsTaken() {
        inMemory.withUserConfiguration(OwnOrder.class)
                .withBean(Jobs.class)
                .withPropertyValues("leasehold.defaults.max-wait=0")
                .run(context -> {
                    assertThat(context.getBean("leaseholdAdvisor", Ordered.class)
                                    .getOrder())
                            .isEqualTo(10);
                    assertThat(context.getBean(Jobs.class).run()).isEqualTo("job");
                });
        inMemory.withUserConfiguration(OwnOrder.class)
                .withPropertyValues("leasehold.advisor-order=11")
                .run(context -> assertThat(context.getBean("leaseholdAdvisor", Ordered.class)
                                .getOrder())
                        .isEqualTo(11));
    }

    @Test
    void aClientOfTheApplicationsOwnIsTaken() {
        application
                .withBean(LockClient.class, () -> Leasehold.connect("memory:"))
                .withBean(Jobs.class)
                .withPropertyValues("leasehold.defaults.max-wait=0")
                .run(context -> assertThat(context.getBean(Jobs.class).run()).isEqualTo("job"));
    }

    @Test
    void metersAreBoundByThemselves() {
        inMemory.withBean(MeterRegistry.class, SimpleMeterRegistry::new).run(context -> {
            context.getBean(LockClient.class).named("x").acquire().close();
            assertThat(context.getBean(MeterRegistry.class)
                            .get("distributed.lock.wait")
                            .tag("outcome", "acquired")
                            .timer()
                            .count())
                    .isOne();
        });
        inMemory.run(context -> assertThat(context).doesNotHaveBean("leaseholdMetrics"));
    }

    @Test
    void lossesAreApplicationEvents() {
        BlockingQueue<Object> events = new LinkedBlockingQueue<>();
        inMemory.withBean("heard", ApplicationListener.class, () ->
                        (ApplicationListener<PayloadApplicationEvent<?>>) event -> events.add(event.getPayload()))
                .run(context -> {
                    LockClient client = context.getBean(LockClient.class);
                    try (Lease lease = client.named("x").acquire()) {
                        client.admin().forceRelease("x", null);
                        assertThat(events.poll(1, TimeUnit.MINUTES))
                                .isInstanceOfSatisfying(
                                        LockListener.Lost.class,
                                        lost -> assertThat(lost.name().text()).isEqualTo("x"));
                    }
                });
    }

    @Test
    void theEndTellsHoldersAndClosesTheClient() {
        inMemory.withPropertyValues("leasehold.shutdown.await=200ms").run(context -> {
            LockClient client = context.getBean(LockClient.class);
            Lease lease = client.named("x").acquire();
            assertThat(context.getBean(LeaseholdShutdown.class).isRunning()).isTrue();
            context.close();
            assertThat(lease.isValid()).isFalse();
            assertThatThrownBy(() -> client.named("y").tryAcquire(Duration.ZERO))
                    .isInstanceOf(IllegalStateException.class);
        });
    }

    @Test
    void healthIsUpWhileTheStoreAnswers() {
        inMemory.run(context -> {
            LeaseholdHealth health = new LeaseholdHealth(
                    context.getBeanProvider(LockClient.class),
                    context.getBean(LeaseStatus.class),
                    context.getBean(ConfiguredClients.class));
            assertThat(health.code()).isEqualTo("UNKNOWN");
            LockClient client = context.getBean(LockClient.class);
            try (Lease lease = client.named("x").acquire()) {
                assertThat(health.details())
                        .containsEntry("held", 1)
                        .containsEntry("waiting", 0)
                        .containsKeys("store", "guarantees");
                client.admin().forceRelease("x", null);
                assertThat(lease.whenEnded().toCompletableFuture().get(1, TimeUnit.MINUTES))
                        .isNotNull();
            }
            assertThat(health.code()).isEqualTo("UP");
            assertThat(health.details()).containsEntry("held", 0).containsEntry("lost", 1L);
            assertThat(context).hasBean("leaseholdHealthIndicator");
        });
        inMemory.withPropertyValues("management.health.leasehold.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("leaseholdHealthIndicator"));
        ApplicationContextRunner withoutDefaults =
                inMemory.withPropertyValues("management.health.defaults.enabled=false");
        withoutDefaults.run(context -> assertThat(context).doesNotHaveBean("leaseholdHealthIndicator"));
        withoutDefaults
                .withPropertyValues("management.health.leasehold.enabled=true")
                .run(context -> assertThat(context).hasBean("leaseholdHealthIndicator"));
    }

    @Test
    void aStoreThatAnswersAgainIsUpWithoutWork() {
        inMemory.run(context -> {
            LeaseStatus status = context.getBean(LeaseStatus.class);
            LeaseholdHealth health = new LeaseholdHealth(
                    context.getBeanProvider(LockClient.class), status, context.getBean(ConfiguredClients.class));
            status.renewed(new LockListener.Renewed(
                    LockName.exactly("x"), 1, LockListener.RenewalOutcome.FAILED, Duration.ZERO, Duration.ZERO));
            assertThat(health.code()).isEqualTo("UP");
        });
        inMemory.withBean(
                        LockClient.class,
                        () -> Leasehold.builder()
                                .store(LeaseholdAutoConfigurationTest::full)
                                .connect())
                .run(context -> {
                    assertThat(context.getBean(LockClient.class).admin().inspect("x"))
                            .isEmpty();
                    LeaseStatus status = context.getBean(LeaseStatus.class);
                    LeaseholdHealth health = new LeaseholdHealth(
                            context.getBeanProvider(LockClient.class),
                            status,
                            context.getBean(ConfiguredClients.class));
                    status.renewed(new LockListener.Renewed(
                            LockName.exactly("x"),
                            1,
                            LockListener.RenewalOutcome.FAILED,
                            Duration.ZERO,
                            Duration.ZERO));
                    assertThat(health.code()).isEqualTo("OUT_OF_SERVICE");
                });
    }

    /** A store that answers queries and grants no lock, like a Redis that is full or has become a replica. */
    private static LockStore full(LockRuntime runtime) {
        return new PassingStore(new SingleNodeStore(new InMemoryNode(runtime), runtime)) {
            @Override
            public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
                return CompletableFuture.completedFuture(new AcquireReply.Failed(
                        FailureKind.NO_EFFECT,
                        new StoreUnavailableException("command not allowed when used memory > 'maxmemory'", null),
                        request.ballotSoFar()));
            }
        };
    }

    @Test
    void theEndpointShowsAndReleasesByForce() {
        inMemory.withPropertyValues("management.endpoints.web.exposure.include=leasehold")
                .run(context -> {
                    LeaseholdEndpoint endpoint = new LeaseholdEndpoint(
                            context.getBeanProvider(LockClient.class),
                            context.getBean(LeaseStatus.class),
                            context.getBean(ConfiguredClients.class));
                    LockClient client = context.getBean(LockClient.class);
                    try (Lease lease = client.named("x").acquire()) {
                        assertThat(endpoint.overview().toString()).contains("Count[lock=x, count=1]");
                        assertThat(endpoint.lock("x")).containsEntry("holder", client.holderId());
                        assertThat(endpoint.lock("y")).doesNotContainKey("holder");
                        assertThat(endpoint.forceRelease("x")).containsEntry("released", true);
                    }
                });
    }

    record First(LockClient client) {}

    /** A factory like that of JNDI, which does not report the type of its object before it is created. */
    @Lazy
    static final class LookedUp implements FactoryBean<Object>, InitializingBean {

        private @Nullable DataSource found;

        @Override
        public void afterPropertiesSet() {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL("jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
            found = database;
        }

        @Override
        public @Nullable Object getObject() {
            return found;
        }

        @Override
        public @Nullable Class<?> getObjectType() {
            return found == null ? null : found.getClass();
        }
    }

    /**
     * The injection that creates the client first creates such a factory, whose object could be the requested one; the
     * condition creates nothing.
     */
    @Test
    void aDatabaseOfAFactoryThatIsNotMadeYetIsSeen() {
        application
                .withBean(First.class)
                .withBean("orders", LookedUp.class)
                .run(context -> assertThat(context.getBean(First.class).client().storeDescription())
                        .contains("h2"));
        application
                .withBean(First.class)
                .withBean("orders", LookedUp.class)
                .withPropertyValues("leasehold.jdbc.datasource=orders")
                .run(context -> assertThat(context.getBean(First.class).client().storeDescription())
                        .contains("h2"));
        application
                .withBean("orders", LookedUp.class)
                .withPropertyValues("leasehold.clients.audit.uri=memory:")
                .run(context -> assertThat(context).doesNotHaveBean("leaseholdClient"));
        application
                .withBean("orders", LookedUp.class)
                .withPropertyValues("leasehold.clients.audit.uri=memory:", "leasehold.jdbc.datasource=orders")
                .run(context -> assertThat(context.getBean("leaseholdClient", LockClient.class)
                                .storeDescription())
                        .contains("h2"));
    }
}
