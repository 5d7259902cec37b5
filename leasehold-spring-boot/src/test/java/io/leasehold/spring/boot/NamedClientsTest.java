package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.Permit;
import io.leasehold.spring.LeaseholdSettings;
import io.leasehold.spring.LeaseholdTemplate;
import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Tests of the clients of {@code leasehold.clients.*}. */
@Tag("quick")
class NamedClientsTest {

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LeaseholdAutoConfiguration.class,
                    LeaseholdMetricsAutoConfiguration.class,
                    LeaseholdHealthAutoConfiguration.class,
                    LeaseholdEndpointAutoConfiguration.class))
            .withPropertyValues("spring.application.name=orders");

    private final ApplicationContextRunner two =
            application.withPropertyValues("leasehold.uri=memory:", "leasehold.clients.audit.uri=memory:");

    public static class Jobs {
        @Locked(name = "job", maxWait = "0")
        public String atTheDefault() {
            return Locks.current().lockName().text();
        }

        @Locked(name = "job", client = "audit")
        public String atAudit() {
            return Locks.current().lockName().text();
        }
    }

    static class Misspelled {
        @Locked(name = "job", maxWait = "0", client = "audti")
        public void run() {}
    }

    private static LockClient audit(AssertableApplicationContext context) {
        return context.getBean("audit", LockClient.class);
    }

    private static FailureAnalysis analysis(AssertableApplicationContext context) {
        Throwable failure = context.getStartupFailure();
        FailureAnalysis analysis = new NoLockStoreFailureAnalyzer().analyze(failure);
        return analysis != null ? analysis : new LockedUsageFailureAnalyzer().analyze(failure);
    }

    @Test
    void aMethodIsLockedAtTheClientThatItNames() {
        two.withBean(Jobs.class)
                .withPropertyValues("leasehold.clients.audit.defaults.max-wait=0", "leasehold.lint=off")
                .run(context -> {
                    Jobs jobs = context.getBean(Jobs.class);
                    try (Lease lease = audit(context).named("job").acquire()) {
                        assertThat(lease.isValid()).isTrue();
                        assertThat(jobs.atTheDefault()).isEqualTo("job");
                        assertThatThrownBy(jobs::atAudit).hasMessageContaining("job");
                    }
                    assertThat(jobs.atAudit()).isEqualTo("job");
                });
    }

    @Test
    void eachHasSettingsOfItsOwn() {
        two.withPropertyValues(
                        "leasehold.defaults.ttl=20s",
                        "leasehold.defaults.max-wait=1s",
                        "leasehold.clients.audit.defaults.ttl=10s",
                        "leasehold.clients.audit.defaults.max-wait=2s",
                        "leasehold.clients.audit.label=auditor",
                        "leasehold.clients.audit.require.fencing=increasing",
                        "leasehold.clients.night-jobs.uri=memory:",
                        "leasehold.clients.night-jobs.connect-lazily=true")
                .run(context -> {
                    assertThat(context.getBean(LockClient.class)
                                    .named("x")
                                    .options()
                                    .ttl())
                            .isEqualTo(Duration.ofSeconds(20));
                    assertThat(audit(context).named("x").options().ttl()).isEqualTo(Duration.ofSeconds(10));
                    assertThat(audit(context).holderId()).contains("auditor");
                    assertThat(audit(context).guarantees().covers(Guarantee.Fencing.INCREASING))
                            .isTrue();
                    assertThat(context.getBean("night-jobs", LockClient.class).holderId())
                            .contains("orders");
                    LeaseholdSettings settings = context.getBean(LeaseholdSettings.class);
                    assertThat(settings.maxWait("audit")).isEqualTo(Duration.ofSeconds(2));
                    assertThat(settings.maxWait("night-jobs")).isEqualTo(Duration.ofSeconds(1));
                    assertThat(settings.maxWait()).isEqualTo(Duration.ofSeconds(1));
                });
    }

    @Test
    void oneMoreChangesNothingForWhoNamesNone() {
        two.run(context -> {
            assertThat(context.getBean(LockClient.class)).isNotSameAs(audit(context));
            assertThat(context).hasSingleBean(LeaseholdTemplate.class);
        });
        application
                .withBean("own", LockClient.class, () -> Leasehold.connect("memory:"))
                .withPropertyValues("leasehold.clients.audit.uri=memory:")
                .run(context -> {
                    assertThat(context.getBean(LockClient.class)).isSameAs(context.getBean("own"));
                    assertThat(context).doesNotHaveBean("leaseholdClient");
                });
        application
                .withBean("orders", DataSource.class, NamedClientsTest::database)
                .withPropertyValues("leasehold.clients.audit.uri=memory:")
                .run(context -> assertThat(context.getBean(LockClient.class).storeDescription())
                        .contains("h2"));
    }

    private static DataSource database() {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
        return database;
    }

    @Test
    void aDatabaseOfTheApplicationKeepsTheLocksOfOne() {
        application
                .withBean("orders", DataSource.class, NamedClientsTest::database)
                .withPropertyValues("leasehold.uri=memory:", "leasehold.clients.audit.jdbc.datasource=orders")
                .run(context -> assertThat(audit(context).storeDescription()).contains("h2"));
    }

    /** Without any setting for a client without a name, no such client exists. */
    @Test
    void theyMayBeTheOnlyOnes() {
        application
                .withPropertyValues(
                        "leasehold.clients.audit.uri=memory:",
                        "leasehold.clients.jobs.uri=memory:",
                        "management.endpoints.web.exposure.include=leasehold")
                .run(context -> {
                    assertThat(context.getBeansOfType(LockClient.class)).containsOnlyKeys("audit", "jobs");
                    assertThat(context).doesNotHaveBean(LeaseholdTemplate.class);
                    assertThat(health(context).code()).isEqualTo("UNKNOWN");
                    assertThatThrownBy(() ->
                                    context.getBean(LeaseholdEndpoint.class).lock("x"))
                            .isInstanceOf(InvalidEndpointRequestException.class)
                            .hasMessage("there is no client without a name; the named clients are [audit, jobs]");
                });
        application
                .withPropertyValues("leasehold.clients.audit.uri=memory:", "leasehold.clients.jobs.uri=memory:")
                .withBean(Jobs.class)
                .run(context -> assertThat(analysis(context).getDescription())
                        .contains("names no client, and there are several: [audit, jobs]"));
    }

    /** Such values come from templates of a configuration and from unset variables. */
    @Test
    void anEmptyOrDefaultValueMakesNoClientWithoutAName() {
        for (String value : List.of(
                "leasehold.uri=",
                "leasehold.uri=${LEASEHOLD_URI_OF_NO_ONE:}",
                "leasehold.jdbc.datasource=",
                "leasehold.redis.reuse-connection-factory=false")) {
            application
                    .withPropertyValues("leasehold.clients.audit.uri=memory:", value)
                    .run(context -> assertThat(context.getBeansOfType(LockClient.class))
                            .as(value)
                            .containsOnlyKeys("audit"));
        }
    }

    record Injected(LockClient client) {}

    /** A replica without the property, or with one more, would lock somewhere else. */
    @Test
    void theOnlyOneIsNotTakenForTheClientWithoutAName() {
        ApplicationContextRunner one = application.withPropertyValues(
                "leasehold.clients.audit.uri=memory:", "leasehold.clients.audit.defaults.max-wait=0");
        one.run(context -> {
            assertThat(context.getBeansOfType(LockClient.class)).containsOnlyKeys("audit");
            assertThat(context).doesNotHaveBean(LeaseholdTemplate.class);
        });
        one.withBean(Jobs.class).run(context -> {
            assertThat(analysis(context).getDescription())
                    .startsWith(
                            "@Locked method Jobs.atTheDefault() names no client, and the only one is that of the bean"
                                    + " \"audit\", which is not a default candidate.");
            assertThat(analysis(context).getAction()).contains("client = \"audit\"", "leasehold.uri");
        });
        one.withBean(Injected.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .hasRootCauseInstanceOf(NoSuchBeanDefinitionException.class));
    }

    @Test
    void anUnknownClientIsAnalysed() {
        two.withBean(Misspelled.class).run(context -> {
            assertThat(analysis(context).getDescription())
                    .startsWith("@Locked method Misspelled.run() names the client \"audti\"");
            assertThat(analysis(context).getAction()).contains("audit", "leaseholdClient");
        });
    }

    @Test
    void whatIsWrongWithOneIsSaidWithItsProperties() {
        application
                .withPropertyValues("leasehold.uri=memory:", "leasehold.clients.audit.label=x")
                .run(context -> {
                    assertThat(analysis(context).getDescription())
                            .isEqualTo("leasehold.clients.audit names no store for locks.");
                    assertThat(analysis(context).getAction()).startsWith("Set leasehold.clients.audit.uri (redis://…");
                });
        application
                .withPropertyValues("leasehold.uri=memory:", "leasehold.clients.audit.uri=nosql://x")
                .run(context -> {
                    assertThat(analysis(context).getDescription())
                            .startsWith("The store for locks of leasehold.clients.audit cannot be used");
                    assertThat(analysis(context).getAction()).isEqualTo("Change leasehold.clients.audit.uri.");
                });
        application
                .withPropertyValues("leasehold.uri=memory:", "leasehold.clients.audit.jdbc.datasource=orders")
                .run(context -> assertThat(analysis(context).getDescription())
                        .startsWith("leasehold.clients.audit.jdbc.datasource is \"orders\""));
        two.withPropertyValues("leasehold.clients.audit.defaults.ttl=1ms")
                .run(context -> assertThat(analysis(context).getDescription())
                        .startsWith("The properties leasehold.clients.audit.defaults.* conflict"));
        two.withBean("audit", String.class, () -> "of the application")
                .run(context -> assertThat(context.getStartupFailure()).hasMessageContaining("audit"));
    }

    @Test
    void theEndClosesAllAtOnce() {
        two.withPropertyValues("leasehold.shutdown.await=200ms").run(context -> {
            LockClient audit = audit(context);
            Lease lease = audit.named("x").acquire();
            Lease other = context.getBean(LockClient.class).named("x").acquire();
            context.close();
            assertThat(lease.isValid()).isFalse();
            assertThat(other.isValid()).isFalse();
            assertThatThrownBy(() -> audit.named("y").tryAcquire(Duration.ZERO))
                    .isInstanceOf(IllegalStateException.class);
        });
    }

    private static LeaseholdHealth health(AssertableApplicationContext context) {
        return new LeaseholdHealth(
                context.getBeanProvider(LockClient.class),
                context.getBean(LeaseStatus.class),
                context.getBean(ConfiguredClients.class));
    }

    @Test
    void healthIsThatOfTheWorst() {
        two.withPropertyValues(
                        "leasehold.clients.away.uri=redis://localhost:1", "leasehold.clients.away.connect-lazily=true")
                .run(context -> {
                    LeaseholdHealth health = health(context);
                    try (Lease lease = audit(context).named("x").acquire()) {
                        assertThat(lease.isValid()).isTrue();
                        assertThat(health.code()).isEqualTo("UP");
                        assertThat(health.details()).containsEntry("held", 0);
                        assertThat(of(health.details(), "audit"))
                                .containsEntry("status", "UP")
                                .containsEntry("held", 1)
                                .containsKey("store");
                        assertThat(of(health.details(), "away")).containsEntry("status", "UNKNOWN");
                    }
                    LeaseStatus away = context.getBean(ConfiguredClients.class)
                            .all()
                            .get("away")
                            .status();
                    away.renewed(new LockListener.Renewed(
                            LockName.exactly("x"),
                            1,
                            LockListener.RenewalOutcome.FAILED,
                            Duration.ZERO,
                            Duration.ZERO));
                    assertThat(health.code()).isEqualTo("OUT_OF_SERVICE");
                });
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> of(Map<String, Object> details, String client) {
        return (Map<String, Object>) ((Map<String, Object>) details.get("clients")).get(client);
    }

    @Test
    void metersCountWhatEachDoes() {
        two.withBean(MeterRegistry.class, SimpleMeterRegistry::new).run(context -> {
            audit(context).named("x").acquire().close();
            assertThat(context.getBean(MeterRegistry.class)
                            .get("distributed.lock.wait")
                            .tag("outcome", "acquired")
                            .timer()
                            .count())
                    .isOne();
        });
    }

    @Test
    void theEndpointShowsEach() {
        two.withPropertyValues("management.endpoints.web.exposure.include=leasehold")
                .run(context -> {
                    LeaseholdEndpoint endpoint = context.getBean(LeaseholdEndpoint.class);
                    try (Lease lease = audit(context).named("x").acquire()) {
                        assertThat(lease.isValid()).isTrue();
                        assertThat(of(endpoint.overview(), "audit").toString()).contains("Count[lock=x, count=1]");
                        assertThat(endpoint.lock("x")).doesNotContainKey("holder");
                        assertThat(endpoint.lockAt("audit", "x"))
                                .containsEntry("holder", audit(context).holderId());
                        assertThat(endpoint.forceRelease("x")).containsEntry("released", false);
                        assertThat(endpoint.forceReleaseAt("audit", "x")).containsEntry("released", true);
                    }
                    assertThatThrownBy(() -> endpoint.lockAt("x", "x"))
                            .hasMessage("there is no client \"x\"; the named clients are [audit]");
                });
    }

    @Test
    void theEndpointShowsReadersAndPermits() {
        two.withPropertyValues("management.endpoints.web.exposure.include=leasehold")
                .run(context -> {
                    LeaseholdEndpoint endpoint = context.getBean(LeaseholdEndpoint.class);
                    LockClient locks = context.getBean(LockClient.class);
                    try (Lease reader = locks.readWrite("x").read().acquire();
                            Permit permit = locks.permits("pool", 3).acquire()) {
                        assertThat(reader.isValid()).isTrue();
                        assertThat(endpoint.lock("x"))
                                .containsEntry("readers", List.of(locks.holderId()))
                                .doesNotContainKeys("holder", "permits");
                        assertThat(endpoint.lock("pool"))
                                .containsEntry(
                                        "permits",
                                        Map.of(
                                                "count",
                                                3,
                                                "held",
                                                Map.of(permit.slot(), locks.holderId()),
                                                "waiters",
                                                List.of()))
                                .doesNotContainKeys("holder", "readers");
                    }
                    assertThat(endpoint.lock("x")).doesNotContainKeys("holder", "readers", "permits");
                });
    }
}
