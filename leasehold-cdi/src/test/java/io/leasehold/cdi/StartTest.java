package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Fairness;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.cdi.Container.Application;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import jakarta.enterprise.inject.Stereotype;
import jakarta.inject.Inject;
import jakarta.inject.Named;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of the messages when an application starts, and of the sources of its locks. */
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

    abstract static class Job {

        @Locked(name = "job", maxWait = "0")
        public String run() {
            return "ran";
        }
    }

    @ApplicationScoped
    static class Overriding extends Job {

        @Override
        public String run() {
            return "overrides";
        }
    }

    @ApplicationScoped
    static class OverridingLocked extends Job {

        @Override
        @Locked(name = "overriding", maxWait = "0")
        public String run() {
            return Locks.current().lockName().text();
        }
    }

    abstract static class AbstractJob {

        @Locked(name = "job", maxWait = "0")
        public abstract void run();
    }

    @ApplicationScoped
    static class Implementing extends AbstractJob {

        @Override
        public void run() {}
    }

    record Order(String id) {}

    abstract static class Handler<T> {

        @Locked(name = "handled", maxWait = "0")
        public String handle(T one) {
            return "handled";
        }
    }

    @ApplicationScoped
    static class OrderHandler extends Handler<Order> {

        @Override
        public String handle(Order order) {
            return "overrides";
        }
    }

    @ApplicationScoped
    static class LockedOrderHandler extends Handler<Order> {

        @Override
        @Locked(name = "order:{}", key = "order.id", maxWait = "0")
        public String handle(Order order) {
            return Locks.current().lockName().text();
        }
    }

    @Locked(name = "of an interface", maxWait = "0")
    interface LockedInterface {}

    @ApplicationScoped
    static class OfLockedInterface implements LockedInterface {

        public void run() {}
    }

    interface Greeting {

        default String greeting() {
            return Locks.current().lockName().text();
        }
    }

    @ApplicationScoped
    @Locked(name = "greeting", maxWait = "0")
    static class Greeter implements Greeting {}

    @ApplicationScoped
    @Locked(name = "greeting", onBusy = OnBusy.SKIP)
    static class ImpatientGreeter implements Greeting {}

    abstract static class Reports {

        public String report() {
            return Locks.current().lockName().text();
        }
    }

    @Stereotype
    @Locked(name = "nightly", maxWait = "0")
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface OnceAtNight {}

    @OnceAtNight
    @ApplicationScoped
    static class NightlyReports extends Reports {}

    static class Produced {

        @Locked(name = "produced", maxWait = "0")
        public void run() {}
    }

    @ApplicationScoped
    static class ProducingMethod {

        @Produces
        Produced make() {
            return new Produced();
        }
    }

    @ApplicationScoped
    static class ProducingField {

        @Produces
        Produced made = new Produced();
    }

    @ApplicationScoped
    static class Unscoped {

        @Produces
        @Named("anew")
        LockClient locks() {
            return Leasehold.connect("memory:");
        }
    }

    @ApplicationScoped
    static class Injected {

        @Inject
        LockClient locks;

        LockOptions options() {
            return locks.named("x").options();
        }
    }

    /** A store that accepts only short leases would refuse the ttl of 30 s, which no setting names. */
    @Test
    void oneDefaultThatIsSetLeavesTheOthersToTheStore() throws Exception {
        System.setProperty("leasehold.uri", "brief:");
        System.setProperty("leasehold.defaults.max-hold", "1h");
        try (Application application = container.start(Orders.class, Injected.class)) {
            assertThat(application.get(Orders.class).holder()).isEqualTo("order");
            LockOptions options = application.get(Injected.class).options();
            assertThat(options.ttl()).isEqualTo(Duration.ofSeconds(10));
            assertThat(options.maxHold()).isEqualTo(Duration.ofHours(1));
        }
    }

    @Test
    void defaultsThatAreSetTogetherAllCount() throws Exception {
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.defaults.ttl", "20s");
        System.setProperty("leasehold.defaults.max-hold", "1h");
        System.setProperty("leasehold.defaults.node-timeout", "700ms");
        System.setProperty("leasehold.defaults.fairness", "STRICT_FIFO");
        try (Application application = container.start(Orders.class, Injected.class)) {
            LockOptions options = application.get(Injected.class).options();
            assertThat(options.ttl()).isEqualTo(Duration.ofSeconds(20));
            assertThat(options.maxHold()).isEqualTo(Duration.ofHours(1));
            assertThat(options.nodeTimeout()).isEqualTo(Duration.ofMillis(700));
            assertThat(options.fairness()).isEqualTo(Fairness.STRICT_FIFO);
        }
    }

    private void refused(String message, Class<?>... beans) throws Exception {
        assertThat(container.refused(beans)).hasMessage(message);
    }

    @Test
    void badUseIsRefused() throws Exception {
        refused(
                "@Locked method UnknownKey.pay(String) has the key \"order.id\", and order is not one of its parameters [id]."
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
                "@Locked method Described.run() belongs to an interface, whose annotations CDI does not read: it would"
                        + " run without the lock. Write @Locked on the method of the class.",
                MemoryLocks.class,
                OfInterface.class);
    }

    @Test
    void anOverrideThatLosesTheLockIsRefused() throws Exception {
        refused(
                "Overriding.run overrides the @Locked method Job.run(), whose annotation CDI does not inherit: it would run without"
                        + " the lock. Write @Locked on the overriding method.",
                MemoryLocks.class,
                Overriding.class);
        refused(
                "Implementing.run overrides the @Locked method AbstractJob.run(), whose annotation CDI does not inherit: it would"
                        + " run without the lock. Write @Locked on the overriding method.",
                MemoryLocks.class,
                Implementing.class);
        refused(
                "OrderHandler.handle overrides the @Locked method Handler.handle(Object), whose annotation CDI does not inherit: it"
                        + " would run without the lock. Write @Locked on the overriding method.",
                MemoryLocks.class,
                OrderHandler.class);
        try (Application application =
                container.start(MemoryLocks.class, OverridingLocked.class, LockedOrderHandler.class)) {
            assertThat(application.get(OverridingLocked.class).run()).isEqualTo("overriding");
            assertThat(application.get(LockedOrderHandler.class).handle(new Order("1")))
                    .isEqualTo("order:1");
        }
    }

    @Test
    void anInterfaceWhoseAnnotationCdiDoesNotReadIsRefused() throws Exception {
        refused(
                "@Locked on the interface LockedInterface does not apply to the bean OfLockedInterface, since CDI does not read"
                        + " annotations of interfaces: its methods would run without the lock. Write @Locked on the class"
                        + " OfLockedInterface.",
                MemoryLocks.class,
                OfLockedInterface.class);
    }

    @Test
    void whatAProducerMakesIsRefused() throws Exception {
        String rest =
                " creates a bean of type Produced, which has locked methods, and CDI does not intercept objects that a"
                        + " producer creates: they would run without the lock. Make its class a bean, or declare the"
                        + " producer with an interface that does"
                        + " not carry @Locked.";
        refused("ProducingMethod.make" + rest, MemoryLocks.class, ProducingMethod.class);
        refused("ProducingField.made" + rest, MemoryLocks.class, ProducingField.class);
    }

    @Test
    void theAnnotationOfAClassHoldsForDefaultMethods() throws Exception {
        refused(
                "@Locked method Greeting.greeting() does not define how long it waits for the lock. Write maxWait = \"3s\", or 0 for"
                        + " one try, or set leasehold.defaults.max-wait.",
                MemoryLocks.class,
                ImpatientGreeter.class);
        try (Application application = container.start(MemoryLocks.class, Greeter.class)) {
            assertThat(application.get(Greeter.class).greeting()).isEqualTo("greeting");
        }
    }

    @Test
    void aStereotypeHoldsForMethodsOfTheClassAbove() throws Exception {
        try (Application application = container.start(MemoryLocks.class, NightlyReports.class)) {
            assertThat(application.get(NightlyReports.class).report()).isEqualTo("nightly");
        }
    }

    @Test
    void aClientThatIsNoneIsRefused() throws Exception {
        refused(
                "@Locked method UnknownClient.report() names the client \"reports\", and no LockClient has that @Named value. The names are"
                        + " [].",
                MemoryLocks.class,
                UnknownClient.class);
        refused(
                "there is no store for locks: neither a setting leasehold.uri nor a LockClient of the application. Set"
                        + " leasehold.uri=redis://localhost:6379, or declare @Produces @ApplicationScoped LockClient locks().",
                Orders.class);
        refused(
                "@Locked method Orders.holder() has a client that is created at each use, since its producer has no scope. Write"
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

    /** Each setting alone, so that none hides another. */
    @Test
    void eachDefaultOfTheSettingsArrives() throws Exception {
        Map<String, String> defaults = Map.of(
                "ttl=7s", "ttl=7s",
                "max-hold=2h", "maxHold=2h",
                "node-timeout=123ms", "nodeTimeout=123ms",
                "fairness=strict-fifo", "fairness=STRICT_FIFO");
        for (Map.Entry<String, String> one : defaults.entrySet()) {
            String[] setting = one.getKey().split("=", -1);
            System.setProperty("leasehold.uri", "memory:");
            System.setProperty("leasehold.defaults." + setting[0], setting[1]);
            try (Application application = container.start(Orders.class)) {
                assertThat(application.get(LockClient.class).named("any").options())
                        .asString()
                        .contains(one.getValue());
            }
            forgetSettings();
        }
    }

    /** Each guarantee is stronger than that of the in-memory store, if a stronger one exists. */
    @Test
    void eachGuaranteeThatIsRequiredIsAskedFor() throws Exception {
        for (String required : List.of("exclusion=by-store", "scope=network")) {
            System.setProperty("leasehold.uri", "memory:");
            System.setProperty("leasehold.require." + required.split("=", -1)[0], required.split("=", -1)[1]);
            assertThat(container.refused(Orders.class))
                    .as(required)
                    .hasMessageStartingWith("the store for locks cannot be used: ");
            forgetSettings();
        }
    }

    @Test
    void callsInsideATransactionCanBeRefused() throws Exception {
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.outer-transaction", "fail");
        try (Application application = container.start(Jta.with(container, Orders.class))) {
            Jta.manager().begin();
            assertThatThrownBy(application.get(Orders.class)::holder)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is requested inside a transaction of the caller");
            assertThatThrownBy(application.get(Orders.class)::stage)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is requested inside a transaction of the caller");
            Jta.manager().setRollbackOnly();
            assertThatThrownBy(application.get(Orders.class)::holder)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is requested inside a transaction of the caller");
            Jta.manager().rollback();
            assertThat(application.get(Orders.class).holder()).isEqualTo("order");
        }
    }

    @Test
    void settingsThatCannotWorkAreNamed() throws Exception {
        refused(
                "@Locked method Impatient.run() does not define how long it waits for the lock. Write maxWait = \"3s\", or 0 for one"
                        + " try, or set leasehold.defaults.max-wait.",
                MemoryLocks.class,
                Impatient.class);
        System.setProperty("leasehold.uri", "nowhere://");
        assertThat(container.refused(Orders.class))
                .hasMessageStartingWith("the store for locks cannot be used: ")
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
