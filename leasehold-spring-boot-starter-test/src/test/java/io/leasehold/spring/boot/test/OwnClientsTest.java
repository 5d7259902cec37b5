package io.leasehold.spring.boot.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import io.leasehold.spring.boot.LeaseholdAutoConfiguration;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;

/** Tests that clients which the application declares itself keep their locks in memory, too. */
@Tag("quick")
class OwnClientsTest {

    private final ApplicationContextRunner test = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LeaseholdTestAutoConfiguration.class, LeaseholdAutoConfiguration.class))
            .withPropertyValues("leasehold.defaults.max-wait=0");

    private static LockClient unreachable() {
        throw new AssertionError("the application's own client was created");
    }

    @Configuration(proxyBeanMethods = false)
    static class OneClient {
        @Bean
        LockClient locks() {
            return unreachable();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class PrimaryClient {
        @Bean
        @Primary
        LockClient locks() {
            return unreachable();
        }

        @Bean
        LockClient others() {
            return unreachable();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Audit {
        @Bean(defaultCandidate = false)
        @Qualifier("entries")
        LockClient audit() {
            return unreachable();
        }
    }

    static class Orders {
        @Locked(name = "order")
        public void pay() {
            Locks.current();
        }
    }

    static class Entries {
        @Locked(name = "entry", client = "audit")
        public void write() {
            Locks.current();
        }
    }

    static class Guarded {
        @Locked(name = "order", commitGuard = "1m")
        public void pay() {
            Locks.current();
        }
    }

    record Injected(@Qualifier("entries") LockClient client) {}

    @ParameterizedTest
    @ValueSource(classes = {OneClient.class, PrimaryClient.class})
    void theClientThatIsInjectedByTypeIsThatOfTheFaults(Class<?> application) {
        test.withUserConfiguration(application).withBean(Orders.class).run(context -> {
            assertThat(context).hasNotFailed();
            Orders orders = context.getBean(Orders.class);
            orders.pay();
            try (Lease other = context.getBean(LockFaults.class).occupy("order")) {
                assertThatThrownBy(orders::pay).isInstanceOf(LockBusyException.class);
            }
            assertThat(context.getBean(LockClient.class)).isSameAs(context.getBean("locks"));
        });
    }

    @Test
    void anotherClientIsReachedByTheNameOfItsBean() {
        test.withUserConfiguration(OneClient.class, Audit.class)
                .withBean(Entries.class)
                .withBean(Injected.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Entries entries = context.getBean(Entries.class);
                    entries.write();
                    try (Lease other =
                            context.getBean(LockFaults.class).at("audit").occupy("entry")) {
                        assertThatThrownBy(entries::write).isInstanceOf(LockBusyException.class);
                    }
                    assertThat(context.getBean(Injected.class).client()).isSameAs(context.getBean("audit"));
                });
    }

    /** As in the application, in which such a method does not start. */
    @Test
    void withClientsWithANameOnlyNoOtherClientAppears() {
        test.withPropertyValues("leasehold.clients.audit.uri=redis://nowhere:1")
                .run(context ->
                        assertThat(context).getBeanNames(LockClient.class).containsExactly("audit"));
        test.withPropertyValues("leasehold.clients.audit.uri=redis://nowhere:1")
                .withBean(Orders.class)
                .run(context -> assertThat(context).hasFailed());
    }

    @Test
    void theDefaultsOfThePropertiesApply() {
        test.withPropertyValues(
                        "leasehold.uri=redis://nowhere:1",
                        "leasehold.defaults.ttl=2m",
                        "leasehold.defaults.max-hold=1h",
                        "leasehold.clients.audit.uri=redis://nowhere:1",
                        "leasehold.clients.audit.defaults.node-timeout=80ms",
                        "leasehold.clients.audit.defaults.fairness=strict-fifo")
                .withBean(Guarded.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(LockClient.class)
                                    .named("x")
                                    .options()
                                    .toString())
                            .contains("ttl=2m", "maxHold=1h");
                    assertThat(context.getBean("audit", LockClient.class)
                                    .named("x")
                                    .options()
                                    .toString())
                            .contains("ttl=30s", "nodeTimeout=80ms", "fairness=STRICT_FIFO");
                });
    }

    /** A client of a type of its own. */
    interface AuditedLocks extends LockClient {}

    @Configuration(proxyBeanMethods = false)
    static class Decorated {
        @Bean
        @Lazy
        LockClient raw() {
            return unreachable();
        }

        @Bean
        @Primary
        AuditedLocks audited(@Qualifier("raw") LockClient raw) {
            return (AuditedLocks) Proxy.newProxyInstance(
                    AuditedLocks.class.getClassLoader(),
                    new Class<?>[] {AuditedLocks.class},
                    (proxy, method, arguments) -> method.invoke(raw, arguments));
        }
    }

    record Auditor(AuditedLocks locks) {}

    /** It is injected by that type, and has a behaviour of its own. */
    @Test
    void aClientOfATypeOfItsOwnStays() {
        test.withUserConfiguration(Decorated.class)
                .withBean(Auditor.class)
                .withBean(Orders.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(Auditor.class).locks()).isSameAs(context.getBean(LockClient.class));
                    Orders orders = context.getBean(Orders.class);
                    try (Lease other = context.getBean(LockFaults.class).occupy("order")) {
                        assertThatThrownBy(orders::pay).isInstanceOf(LockBusyException.class);
                    }
                    assertThat(context.getBeanFactory().getBeanDefinition("raw").isLazyInit())
                            .isTrue();
                });
    }

    /** A mock of the test, for example. */
    @Test
    void anObjectThatIsAlreadyThereStays() {
        try (LockClient mock = Leasehold.connect("memory:")) {
            test.withInitializer(context -> context.getBeanFactory().registerSingleton("locks", mock))
                    .run(context ->
                            assertThat(context.getBean(LockClient.class)).isSameAs(mock));
        }
    }
}
