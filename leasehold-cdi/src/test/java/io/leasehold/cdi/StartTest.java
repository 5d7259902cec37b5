package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Named;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages when an application starts, and the sources of its locks. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("quick")
class StartTest {

    private final Container container;

    StartTest(Container container) {
        this.container = container;
    }

    @AfterEach
    void forgetSettings() {
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("leasehold."))
                .forEach(System::clearProperty);
    }

    @ApplicationScoped
    static class Orders {

        @Locked(name = "order", maxWait = "0")
        public String holder() {
            return Locks.current().lockName().text();
        }

        @Locked(name = "order", maxWait = "0")
        public CompletableFuture<String> stage() {
            return CompletableFuture.completedFuture("ran");
        }
    }

    @ApplicationScoped
    static class Impatient {

        @Locked(name = "impatient")
        public String run() {
            return "ran";
        }
    }

    @ApplicationScoped
    static class UnknownKey {

        @Locked(name = "order:{}", key = "order.id", maxWait = "0")
        public void pay(String id) {}
    }

    @ApplicationScoped
    static class UnknownClient {

        @Locked(name = "order", client = "reports", maxWait = "0")
        public void report() {}
    }

    @ApplicationScoped
    @Locked(name = "count", maxWait = "0", onBusy = OnBusy.SKIP)
    static class Primitive {

        public int count() {
            return 1;
        }
    }

    interface Described {

        @Locked(name = "described", maxWait = "0")
        void run();
    }

    @ApplicationScoped
    static class OfInterface implements Described {

        @Override
        public void run() {}
    }

    @ApplicationScoped
    static class Unscoped {

        @Produces
        @Named("anew")
        LockClient locks() {
            return Leasehold.connect("memory:");
        }
    }

    private void refused(String message, Class<?>... beans) throws Exception {
        assertThat(container.refused(beans)).hasMessage(message);
    }

    @Test
    void badUseIsRefused() throws Exception {
        refused(
                "@Locked method UnknownKey.pay(String) has the key \"order.id\", and order is none of its parameters [id]."
                        + " Name one of them, such as key = \"id\" or key = \"order.id\".",
                MemoryLocks.class,
                Orders.class,
                UnknownKey.class);
        refused(
                "@Locked method Primitive.count() skips when the lock is busy, and then has no int to return. Return Optional or"
                        + " a type that can be null, or use onBusy = THROW.",
                MemoryLocks.class,
                Primitive.class);
    }

    @Test
    void anAnnotationThatCdiDoesNotReadIsRefused() throws Exception {
        refused(
                "@Locked method Described.run() is of an interface, whose annotations CDI does not read: it would run without the"
                        + " lock. Write @Locked on the method of the class.",
                MemoryLocks.class,
                OfInterface.class);
    }

    @Test
    void aClientThatIsNoneIsRefused() throws Exception {
        refused(
                "@Locked method UnknownClient.report() names the client \"reports\", and no LockClient is @Named so. The names are"
                        + " [].",
                MemoryLocks.class,
                UnknownClient.class);
        refused(
                "there is no place for locks: neither a setting leasehold.uri nor a LockClient of the application. Set"
                        + " leasehold.uri=redis://localhost:6379, or declare @Produces @ApplicationScoped LockClient locks().",
                Orders.class);
        refused(
                "@Locked method Orders.holder() has a client that each use would make anew, since its producer has no scope. Write"
                        + " @ApplicationScoped or @Singleton on it.",
                Unscoped.class,
                Orders.class);
    }

    @Test
    void theSettingsMakeAClientAndTheApplicationClosesIt() throws Exception {
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.label", "of-settings");
        System.setProperty("leasehold.defaults.ttl", "7s");
        System.setProperty("leasehold.defaults.max-wait", "2s");
        System.setProperty("leasehold.require.fencing", "increasing");
        LockClient client;
        try (Application application = container.start(Orders.class, Impatient.class)) {
            client = application.get(LockClient.class);
            assertThat(client.holderId()).contains("of-settings");
            assertThat(client.named("any").options().ttl()).hasSeconds(7);
            assertThat(application.get(Orders.class).holder()).isEqualTo("order");
            assertThat(application.get(Impatient.class).run()).isEqualTo("ran");
        }
        assertThatThrownBy(() -> client.named("any").acquire()).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void callsInsideATransactionCanBeRefused() throws Exception {
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.outer-transaction", "fail");
        try (Application application = container.start(Jta.with(container, Orders.class))) {
            Jta.manager().begin();
            assertThatThrownBy(application.get(Orders.class)::holder)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is asked for inside a transaction of the caller");
            assertThatThrownBy(application.get(Orders.class)::stage)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is asked for inside a transaction of the caller");
            Jta.manager().rollback();
            assertThat(application.get(Orders.class).holder()).isEqualTo("order");
        }
    }

    @Test
    void settingsThatCannotWorkAreNamed() throws Exception {
        refused(
                "@Locked method Impatient.run() does not say how long it waits for the lock. Write maxWait = \"3s\", or 0 for one"
                        + " try, or set leasehold.defaults.max-wait.",
                MemoryLocks.class,
                Impatient.class);
        System.setProperty("leasehold.uri", "nowhere://");
        assertThat(container.refused(Orders.class))
                .hasMessageStartingWith("the place for locks cannot be used: ")
                .hasMessageEndingWith("Change leasehold.uri or leasehold.defaults.*.");
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.defaults.ttl", "7");
        refused("the setting leasehold.defaults.ttl is \"7\". Write 3s, 500ms, 1m30s or PT3S.", Orders.class);
        System.setProperty("leasehold.outer-transaction", "sometimes");
        refused(
                "the setting leasehold.outer-transaction is \"sometimes\". Write one of [RELEASE_AFTER_COMPLETION, FAIL].",
                MemoryLocks.class,
                Orders.class);
    }
}
