package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

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

    @Test
    void aConfiguredClientShowsThatItHoldsNothing() {
        application
                .withPropertyValues("leasehold.uri=memory:")
                .run(context -> assertThat(endpoint(context).overview()).containsKeys("held", "waiting", "lost"));
    }
}
