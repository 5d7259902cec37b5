package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.SpringVersion;

/** Tests of blocking methods. */
@Tag("quick")
class LockedTest {

    private final AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Orders.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Orders orders = application.getBean(Orders.class);

    @AfterEach
    void close() {
        application.close();
    }

    record Order(String id) {}

    static class Orders {

        @Locked(name = "order:{}", key = "#order.id", maxWait = "3s")
        public Lease pay(Order order, Lease lease) {
            assertThat(lease.isValid()).isTrue();
            assertThat(Locks.current()).isSameAs(lease);
            return lease;
        }

        @Locked(name = "order:{}", key = "#id", maxWait = "3s")
        public long token(String id, @FencingToken long token) {
            assertThat(Locks.current().fencingToken()).isEqualTo(token);
            return token;
        }

        @Locked(maxWait = "0")
        public String named() {
            return Locks.current().lockName().text();
        }

        @Locked(key = "#id + '!'", maxWait = "0")
        public String namedByKey(String id) {
            return Locks.current().lockName().text();
        }

        @Locked(
                name = "account:{}",
                key = {"#from", "#to"},
                maxWait = "0")
        public MultiLease transfer(String from, String to, MultiLease lease) {
            assertThat(Locks.currentMulti()).isSameAs(lease);
            assertThat(lease.fencingToken("account:" + from)).isPositive();
            return lease;
        }

        @Locked(name = "account:{}", key = "#ids", maxWait = "0")
        public List<String> all(List<String> ids) {
            return Locks.currentMulti().lockNames().stream()
                    .map(Object::toString)
                    .toList();
        }

        @Locked(name = "account:{}", key = "#ids", maxWait = "0")
        public Lease oneOf(List<String> ids, Lease lease) {
            return lease;
        }

        @Locked(
                name = "tenant:{}:user:{}",
                key = {"#tenant", "#user"},
                maxWait = "0")
        public String parts(String tenant, int user) {
            return Locks.current().lockName().text();
        }

        @Locked(name = "any:{}", key = "#what", maxWait = "0")
        public String any(Object what) {
            return Locks.current().lockName().text();
        }

        @Locked(
                name = "any:{}:{}",
                key = {"#what", "'part'"},
                maxWait = "0")
        public String twoParts(Object what) {
            return "ran";
        }

        @Locked(name = "busy", maxWait = "10ms")
        public String busy() {
            return "ran";
        }

        @Locked(name = "busy", maxWait = "0", onBusy = OnBusy.SKIP)
        public String skipped() {
            return "ran";
        }

        @Locked(name = "busy", maxWait = "0", onBusy = OnBusy.SKIP)
        public Optional<String> skippedOptional() {
            return Optional.of("ran");
        }

        @Locked(name = "busy", maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "instead")
        public String fallback(String text) {
            return "ran";
        }

        @SuppressWarnings("UnusedMethod") // named by the annotation
        private String instead(String text, Attempt.Busy<?> busy) {
            return text + " " + busy.lockName();
        }

        @Locked(name = "outer", maxWait = "0")
        public <T> T run(Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "outer", maxWait = "0", onLoss = OnLoss.NOTIFY)
        public <T> T runNotified(Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "patient", maxWait = "1m")
        public String patient() {
            return "ran";
        }

        @Locked(name = "patient", maxWait = "1m")
        public String patientAndSaysSo() throws InterruptedException {
            return "ran";
        }

        @Locked(name = "job", maxWait = "0", onBusy = OnBusy.SKIP, atLeast = "1m")
        public String job() {
            return "ran";
        }

        public String unlocked() {
            return "ran";
        }
    }

    @Test
    void theseAreTestsOfTheSpringThatIsMeant() {
        assumeThat(System.getProperty("expected.spring")).isNotNull();
        assertThat(SpringVersion.getVersion()).isEqualTo(System.getProperty("expected.spring"));
    }

    @Test
    void theBodyRunsUnderTheLeaseThatItsParameterIs() {
        Lease lease = orders.pay(new Order("1001"), null);
        assertThat(lease.lockName().text()).isEqualTo("order:1001");
        assertThat(lease.lockName().template()).isEqualTo("order:{}");
        assertThat(lease.isValid()).isFalse();
        assertThat(locks.admin().inspect("order:1001")).isEmpty();
        assertThat(orders.unlocked()).isEqualTo("ran");
    }

    @Test
    void tokensIncrease() {
        long first = orders.token("1", 0);
        assertThat(orders.token("1", 0)).isGreaterThan(first);
    }

    @Test
    void theDefaultNameIsClassAndMethod() {
        assertThat(orders.named()).isEqualTo("io.leasehold.spring.LockedTest$Orders.named");
        assertThat(orders.namedByKey("a:b")).isEqualTo("io.leasehold.spring.LockedTest$Orders.namedByKey:a%3Ab!");
    }

    @Test
    void severalKeysAreAllOrNone() throws InterruptedException {
        MultiLease lease = orders.transfer("b", "a", null);
        assertThat(lease.lockNames()).extracting(Object::toString).containsExactly("account:a", "account:b");
        assertThat(orders.all(List.of("x", "y"))).containsExactly("account:x", "account:y");
        assertThat(orders.parts("acme", 7)).isEqualTo("tenant:acme:user:7");
        assertThat(orders.oneOf(List.of("x"), null).lockName().text()).isEqualTo("account:x");
        assertThatThrownBy(() -> orders.oneOf(List.of("x", "y"), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "@Locked method Orders.oneOf(List, Lease): the key has 2 values, and the method takes the lease of one"
                                + " lock; take a MultiLease");
        try (Lease held = locks.named("account:b").acquire()) {
            assertThatThrownBy(() -> orders.transfer("a", "b", null)).isInstanceOf(LockBusyException.class);
            assertThat(locks.admin().inspect("account:a")).isEmpty();
        }
    }

    @Test
    void keysThatNameNothingAreRefused() {
        assertThatThrownBy(() -> orders.pay(new Order(null), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("@Locked method Orders.pay(Order, Lease): the key \"#order.id\" is null; the method has not"
                        + " run, since the wrong lock would guard it");
        assertThatThrownBy(() -> orders.token(" ", 0)).hasMessageContaining("the key \"#id\" is blank");
        assertThatThrownBy(() -> orders.all(List.of())).hasMessageContaining("the key \"#ids\" is an empty collection");
        assertThatThrownBy(() -> orders.pay(null, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the key \"#order.id\" cannot be evaluated");
    }

    static final class Nameless {}

    @Test
    void keysWhoseTextNamesNothingAreRefused() {
        assertThat(orders.any(Optional.of("1"))).isEqualTo("any:1");
        assertThatThrownBy(() -> orders.any(Optional.empty())).hasMessageContaining("the key \"#what\" is null");
        assertThatThrownBy(() -> orders.any(new Nameless()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("whose text differs from object to object");
        assertThatThrownBy(() -> orders.any(List.of(new Nameless())))
                .hasMessageContaining("whose text differs from object to object");
        assertThatThrownBy(() -> orders.twoParts(List.of("1", "2")))
                .hasMessageContaining("has several values, but each key fills one placeholder");
    }

    @Test
    void aBusyLockIsThrownSkippedOrHandedToTheFallback() throws InterruptedException {
        assertThat(orders.busy()).isEqualTo("ran");
        assertThat(orders.fallback("free")).isEqualTo("ran");
        assertThat(orders.skippedOptional()).contains("ran");
        try (Lease held = locks.named("busy").acquire()) {
            assertThatThrownBy(orders::busy)
                    .isInstanceOf(LockBusyException.class)
                    .hasMessageContaining("\"busy\"");
            assertThat(orders.skipped()).isNull();
            assertThat(orders.skippedOptional()).isEmpty();
            assertThat(orders.fallback("instead of")).isEqualTo("instead of busy");
        }
    }

    @Test
    void theSameLockInsideIsRefusedAndAnotherIsNot() {
        assertThat(orders.<String>run(orders::named)).endsWith("named");
        assertThatThrownBy(() -> orders.<String>run(() -> orders.run(() -> "inner")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("locks are not reentrant");
        assertThat(orders.<String>run(() -> {
                    orders.named();
                    return Locks.current().lockName().text();
                }))
                .isEqualTo("outer");
        assertThatThrownBy(Locks::current)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no locked body");
    }

    @Test
    void whatTheBodyThrowsArrivesAsItIs() {
        RuntimeException failure = new RuntimeException("of the body");
        assertThat(catchThrowable(() -> orders.run(() -> {
                    throw failure;
                })))
                .isSameAs(failure);
        assertThat(locks.admin().inspect("outer")).isEmpty();
    }

    @Test
    void aLossInterruptsTheBodyAndTheExitTellsIt() {
        Throwable thrown = catchThrowable(() -> orders.run(() -> {
            locks.admin().forceRelease("outer", null);
            var unused = Locks.current().renewAsync();
            try {
                new CountDownLatch(1).await();
                return "not interrupted";
            } catch (InterruptedException e) {
                throw new IllegalStateException("stopped", e);
            }
        }));
        assertThat(thrown).isInstanceOf(LeaseLostException.class);
        assertThat(((LeaseLostException) thrown).lockName().text()).isEqualTo("outer");
        assertThat(thrown.getSuppressed()).hasSize(1);
        assertThat(thrown.getSuppressed()[0]).hasMessage("stopped");
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    @Test
    void aLossThatTheBodyIsOnlyToldOfIsThrownAtItsExit() {
        Throwable thrown = catchThrowable(() -> orders.runNotified(() -> {
            CountDownLatch told = new CountDownLatch(1);
            Locks.current().onLost(cause -> told.countDown());
            locks.admin().forceRelease("outer", null);
            var unused = Locks.current().renewAsync();
            try {
                told.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return "done";
        }));
        assertThat(thrown).isInstanceOf(LeaseLostException.class);
        assertThat(thrown.getSuppressed()).isEmpty();
    }

    @Test
    void aLossThatTheBodyHasNotNoticedIsThrownToo() {
        assertThatThrownBy(() -> orders.run(() -> locks.admin().forceRelease("outer", null)))
                .isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aLeaseThatTheBodyGaveBackIsNoLoss() {
        assertThat(orders.<String>run(() -> {
                    Locks.current().release();
                    return "done";
                }))
                .isEqualTo("done");
    }

    @Test
    void anInterruptWhileWaitingArrivesAsTheMethodCanThrowIt() throws InterruptedException {
        try (Lease held = locks.named("patient").acquire()) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(orders::patient)
                    .isInstanceOf(AcquireInterruptedException.class)
                    .hasMessage("interrupted while waiting for [patient]");
            assertThat(Thread.interrupted()).isTrue();
            Thread.currentThread().interrupt();
            assertThatThrownBy(orders::patientAndSaysSo).isInstanceOf(InterruptedException.class);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
    }

    /** Throws the exception as Kotlin and other languages without checked exceptions do. */
    private static <X extends Exception> void interruptedBody() throws X {
        @SuppressWarnings("unchecked")
        X undeclared = (X) new InterruptedException("of the body");
        throw undeclared;
    }

    @Test
    void anInterruptOfTheBodyIsNotTakenForOneOfTheWait() {
        assertThatThrownBy(() -> orders.run(() -> {
                    LockedTest.<RuntimeException>interruptedBody();
                    return null;
                }))
                .isInstanceOf(UndeclaredThrowableException.class)
                .hasRootCauseMessage("of the body");
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aJobKeepsItsLockAtLeastForAWhile() {
        assertThat(orders.job()).isEqualTo("ran");
        assertThat(orders.job()).isNull();
        locks.admin().forceRelease("job", null);
    }

    @Test
    void theTemplateDoesTheSame() throws Exception {
        LeaseholdTemplate template = new LeaseholdTemplate(locks).with(options -> options.ttl(Duration.ofSeconds(5)));
        LockName name = LockName.of("t:{}", 1);
        assertThat(template.<Long, RuntimeException>call(name, Duration.ZERO, Lease::fencingToken))
                .isPositive();
        assertThat(template.<String, InterruptedException>call(
                        name,
                        Duration.ZERO,
                        lease -> new LeaseholdTemplate(locks)
                                .<String, RuntimeException>call(
                                        LockName.of("u:{}", 1),
                                        Duration.ZERO,
                                        inner -> Locks.current().lockName().text())))
                .isEqualTo("u:1");
        try (Lease held = locks.named("t:1").acquire()) {
            assertThat(template.<String, RuntimeException>call(name, Duration.ZERO, lease -> "ran", busy -> "busy"))
                    .isEqualTo("busy");
            assertThatThrownBy(() -> template.call(name, Duration.ZERO, lease -> "ran"))
                    .isInstanceOf(LockBusyException.class);
        }
        assertThatThrownBy(() -> template.call(name, Duration.ZERO, lease -> {
                    throw new IOException("of the work");
                }))
                .isInstanceOf(IOException.class);
    }

    /** Two clients, each with its own memory. */
    @Configuration(proxyBeanMethods = false)
    static class OtherClient {
        @Bean(autowireCandidate = false)
        LockClient other() {
            return Leasehold.connect("memory:");
        }

        @Bean
        AtTwoClients atTwoClients(ObjectProvider<AtTwoClients> self) {
            return new AtTwoClients(self);
        }
    }

    static class AtTwoClients {

        private final ObjectProvider<AtTwoClients> self;

        AtTwoClients(ObjectProvider<AtTwoClients> self) {
            this.self = self;
        }

        @Locked(name = "same", maxWait = "0")
        public String outer() {
            return self.getObject().inner();
        }

        @Locked(name = "same", maxWait = "0", client = "other")
        public String inner() {
            return "both";
        }
    }

    @Test
    void theSameNameAtAnotherClientIsAnotherLock() {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, OtherClient.class)) {
            assertThat(application.getBean(AtTwoClients.class).outer()).isEqualTo("both");
        }
    }
}
