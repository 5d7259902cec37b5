package io.leasehold.cdi;

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
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import io.leasehold.cdi.Container.Application;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.enterprise.inject.Stereotype;
import jakarta.enterprise.inject.spi.BeanManager;
import jakarta.enterprise.inject.spi.InterceptionType;
import jakarta.enterprise.inject.spi.Interceptor;
import jakarta.inject.Inject;
import jakarta.inject.Named;
import jakarta.inject.Qualifier;
import jakarta.inject.Singleton;
import jakarta.interceptor.InvocationContext;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jboss.weld.environment.se.WeldContainer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of blocking methods. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("quick")
class LockedTest {

    private static Application application;

    private final LockClient locks = application.get(LockClient.class);
    private final Orders orders = application.get(Orders.class);

    private final Container container;

    LockedTest(Container container) {
        this.container = container;
    }

    @BeforeParameterizedClassInvocation
    static void start(Container container) throws Exception {
        application = container.start(
                MemoryLocks.class,
                Orders.class,
                OtherClient.class,
                AtTwoClients.class,
                OneAtATime.class,
                Nightly.class);
    }

    @AfterParameterizedClassInvocation
    static void close() {
        application.close();
    }

    record Order(String id) {}

    static final class Bean {

        public Bean getInner() {
            return this;
        }

        public boolean isOpen() {
            return true;
        }
    }

    @Qualifier
    @Retention(RetentionPolicy.RUNTIME)
    @interface Elsewhere {}

    /** Two clients, each with its own memory. */
    @ApplicationScoped
    static class OtherClient {

        @Produces
        @Singleton
        @Elsewhere
        @Named("other")
        LockClient other() {
            return Leasehold.connect("memory:");
        }

        void close(@Disposes @Elsewhere @Named("other") LockClient other) {
            other.close();
        }
    }

    @ApplicationScoped
    static class AtTwoClients {

        @Inject
        AtTwoClients self;

        @Locked(name = "same", maxWait = "0")
        public String outer() {
            return self.inner();
        }

        @Locked(name = "same", maxWait = "0", client = "other")
        public String inner() {
            return "both";
        }
    }

    @ApplicationScoped
    @Locked(name = "one at a time", maxWait = "0")
    static class OneAtATime {

        public String first() {
            return Locks.current().lockName().text();
        }

        @Locked(maxWait = "0")
        public String second() {
            return Locks.current().lockName().text();
        }
    }

    /** A job that one of many machines performs. */
    @Stereotype
    @Locked(name = "nightly", maxWait = "0", onBusy = OnBusy.SKIP)
    @Target(ElementType.TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface OnceAtNight {}

    @OnceAtNight
    @ApplicationScoped
    static class Nightly {

        public String report() {
            return Locks.current().lockName().text();
        }
    }

    @ApplicationScoped
    static class Orders {

        @Locked(name = "${shop.name:shop}-${shop.branch:none}", maxWait = "${shop.patience:0}")
        public String configured() {
            return Locks.current().lockName().text();
        }

        @Locked(name = "marked:{}:{}", maxWait = "0")
        public String marked(String ignored, @LockKey("id") Order order, @LockKey int item) {
            return Locks.current().lockName().text();
        }

        public String callsItself() {
            return named();
        }

        @Locked(name = "bean:{}", key = "bean.inner.open", maxWait = "0")
        public String getters(Bean bean) {
            return Locks.current().lockName().text();
        }

        @Locked(name = "order:{}", key = "order.id", maxWait = "3s")
        public Lease pay(Order order, Lease lease) {
            assertThat(lease.isValid()).isTrue();
            assertThat(Locks.current()).isSameAs(lease);
            return lease;
        }

        @Locked(name = "db", permits = "${pool.size:2}", maxWait = "0")
        public int slot(Permit permit, @FencingToken long token) {
            assertThat(Locks.current()).isSameAs(permit);
            assertThat(permit.fencingToken()).isEqualTo(token);
            return permit.slot();
        }

        @Locked(name = "db", permits = "2", maxWait = "0", maxHold = "1h")
        public CompletionStage<Integer> slotOfAStage(Permit permit) {
            return CompletableFuture.completedFuture(permit.slot());
        }

        @Locked(name = "db:{}", key = "regions", permits = "1", maxWait = "0")
        public String regional(List<String> regions) {
            return Locks.current().lockName().text();
        }

        @Locked(name = "order:{}", key = "id", maxWait = "3s")
        public long token(String id, @FencingToken long token) {
            assertThat(Locks.current().fencingToken()).isEqualTo(token);
            return token;
        }

        @Locked(maxWait = "0")
        public String named() {
            return Locks.current().lockName().text();
        }

        @Locked(key = "id", maxWait = "0")
        public String namedByKey(String id) {
            return Locks.current().lockName().text();
        }

        @Locked(
                name = "account:{}",
                key = {"from", "to"},
                maxWait = "0")
        public MultiLease transfer(String from, String to, MultiLease lease) {
            assertThat(Locks.currentMulti()).isSameAs(lease);
            assertThat(lease.fencingToken("account:" + from)).isPositive();
            return lease;
        }

        @Locked(name = "account:{}", key = "ids", maxWait = "0")
        public List<String> all(List<String> ids) {
            return Locks.currentMulti().lockNames().stream()
                    .map(Object::toString)
                    .toList();
        }

        @Locked(name = "account:{}", key = "ids", maxWait = "0")
        public Lease oneOf(List<String> ids, Lease lease) {
            return lease;
        }

        @Locked(
                name = "tenant:{}:user:{}",
                key = {"tenant", "user"},
                maxWait = "0")
        public String parts(String tenant, int user) {
            return Locks.current().lockName().text();
        }

        @Locked(name = "any:{}", key = "what", maxWait = "0")
        public String any(Object what) {
            return Locks.current().lockName().text();
        }

        @Locked(
                name = "any:{}:{}",
                key = {"what", "part"},
                maxWait = "0")
        public String twoParts(Object what, String part) {
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

        @Locked(name = "nested", maxWait = "0")
        public <T> T nested(Supplier<T> body) {
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
    void eachCallHasAPermitOfItsOwn() throws Exception {
        try (Permit taken = locks.permits("db", 2).acquire()) {
            int free = 1 - taken.slot();
            assertThat(orders.slot(null, 0)).isEqualTo(free);
            assertThat(orders.slotOfAStage(null).toCompletableFuture().get(1, TimeUnit.MINUTES))
                    .isEqualTo(free);
            try (Permit last = locks.permits("db", 2).acquire()) {
                assertThat(last.slot()).isEqualTo(free);
                assertThatThrownBy(() -> orders.slot(null, 0)).isInstanceOf(LockBusyException.class);
            }
        }
        assertThat(orders.regional(List.of("eu"))).isEqualTo("db:eu");
        assertThatThrownBy(() -> orders.regional(List.of("eu", "us")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("the key has 2 values, and a call takes one of 1 permits of one name");
    }

    @Test
    void theseAreTestsOfTheWeldThatIsMeant() {
        assumeThat(System.getProperty("expected.weld")).isNotNull();
        assertThat(WeldContainer.class.getPackage().getImplementationVersion())
                .startsWith(System.getProperty("expected.weld"));
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
        assertThat(orders.named()).isEqualTo("io.leasehold.cdi.LockedTest$Orders.named");
        assertThat(orders.namedByKey("a:b")).isEqualTo("io.leasehold.cdi.LockedTest$Orders.namedByKey:a%3Ab");
    }

    @Test
    void pathsReadRecordsAndGetters() {
        assertThat(orders.getters(new Bean())).isEqualTo("bean:true");
    }

    @Test
    void severalKeysAreAllOrNone() throws InterruptedException {
        MultiLease lease = orders.transfer("b", "a", null);
        assertThat(lease.lockNames()).extracting(Object::toString).containsExactly("account:a", "account:b");
        assertThat(orders.all(List.of("x", "y"))).containsExactly("account:x", "account:y");
        assertThat(orders.parts("acme", 7)).isEqualTo("tenant:acme:user:7");
        assertThat(orders.marked("", new Order("a"), 7)).isEqualTo("marked:a:7");
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
                .hasMessage(
                        "@Locked method Orders.pay(Order, Lease): the key \"order.id\" is null; the method has not run,"
                                + " since the wrong lock would guard it");
        assertThatThrownBy(() -> orders.token(" ", 0)).hasMessageContaining("the key \"id\" is blank");
        assertThatThrownBy(() -> orders.all(List.of())).hasMessageContaining("the key \"ids\" is an empty collection");
        assertThatThrownBy(() -> orders.pay(null, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the key \"order.id\" is null");
    }

    static final class Nameless {}

    @Test
    void keysWhoseTextNamesNothingAreRefused() {
        assertThat(orders.any(Optional.of("1"))).isEqualTo("any:1");
        assertThatThrownBy(() -> orders.any(Optional.empty())).hasMessageContaining("the key \"what\" is null");
        assertThatThrownBy(() -> orders.any(new Nameless()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("whose text differs from object to object");
        assertThatThrownBy(() -> orders.any(List.of(new Nameless())))
                .hasMessageContaining("whose text differs from object to object");
        assertThatThrownBy(() -> orders.twoParts(List.of("1", "2"), "part"))
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
                .hasMessageContaining("no locked method");
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

    /**
     * The exit of the inner body clears the interrupt of its own loss; that of the other loss must reach the outer
     * body.
     */
    @Test
    void twoLossesAtOnceInterruptBothBodies() {
        List<Boolean> interrupted = new ArrayList<>();
        Throwable thrown = catchThrowable(() -> orders.run(() -> {
            Lease outer = Locks.current();
            Throwable inner = catchThrowable(() -> orders.nested(() -> {
                lose(Locks.current());
                lose(outer);
                return "done";
            }));
            assertThat(inner).isInstanceOf(LeaseLostException.class);
            interrupted.add(isInterruptedWithin(Duration.ofMinutes(1)));
            return "done";
        }));
        assertThat(thrown).isInstanceOf(LeaseLostException.class);
        assertThat(interrupted).containsExactly(true);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    private static boolean isInterruptedWithin(Duration patience) {
        try {
            return new CountDownLatch(1).await(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Returns when the loss was reported. */
    private void lose(Lease lease) {
        AtomicBoolean told = new AtomicBoolean();
        lease.onLost(cause -> told.set(true));
        locks.admin().forceRelease(lease.lockName().text(), null);
        var unused = lease.renewAsync();
        while (!told.get()) {
            Thread.onSpinWait();
        }
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

    @Test
    void aJobKeepsItsLockAtLeastForAWhile() {
        assertThat(orders.job()).isEqualTo("ran");
        assertThat(orders.job()).isNull();
        locks.admin().forceRelease("job", null);
    }

    @Test
    void theSameNameAtAnotherClientIsAnotherLock() {
        assertThat(application.get(AtTwoClients.class).outer()).isEqualTo("both");
    }

    @Test
    void anAnnotationOfTheClassHoldsForItsMethods() {
        assertThat(application.get(OneAtATime.class).first()).isEqualTo("one at a time");
        assertThat(application.get(OneAtATime.class).second())
                .isEqualTo("io.leasehold.cdi.LockedTest$OneAtATime.second");
        assertThat(application.get(Nightly.class).report()).isEqualTo("nightly");
    }

    /** Tests the statement of the document about a call that does not leave its object. */
    @Test
    void aCallOfItsOwnObjectIsLockedInArcOnly() {
        if (container == Container.ARC) {
            assertThat(orders.callsItself()).endsWith("named");
        } else {
            assertThatThrownBy(orders::callsItself).hasMessageContaining("no locked method");
        }
    }

    /** The call of a timer, as a container of Jakarta Enterprise Beans makes it: that is no invocation of the method. */
    private record TimeoutCall(Orders target, Method timeout, Map<String, Object> data) implements InvocationContext {

        @Override
        public Object getTarget() {
            return target;
        }

        @Override
        public Object getTimer() {
            return "timer";
        }

        @Override
        public Method getMethod() {
            return timeout;
        }

        @Override
        public Constructor<?> getConstructor() {
            return null;
        }

        @Override
        public Object[] getParameters() {
            return new Object[0];
        }

        @Override
        public void setParameters(Object[] parameters) {
            throw new IllegalStateException("a timeout without parameters has none to set");
        }

        @Override
        public Map<String, Object> getContextData() {
            return data;
        }

        @Override
        public Object proceed() {
            return Locks.current().lockName().text();
        }
    }

    @Test
    void aTimerIsLockedToo() throws Exception {
        assumeThat(container).isEqualTo(Container.WELD); // ArC has no timers
        Method method = Orders.class.getDeclaredMethod("busy");
        BeanManager manager = application.get(BeanManager.class);
        List<Interceptor<?>> around =
                manager.resolveInterceptors(InterceptionType.AROUND_TIMEOUT, method.getAnnotation(Locked.class));
        assertThat(around).hasSize(1);
        TimeoutCall call = new TimeoutCall(new Orders(), method, new HashMap<>());
        assertThat(timedOut(manager, around.get(0), call)).isEqualTo("busy");
    }

    private static <T> Object timedOut(BeanManager manager, Interceptor<T> interceptor, InvocationContext call)
            throws Exception {
        T instance = interceptor.create(manager.createCreationalContext(interceptor));
        return interceptor.intercept(InterceptionType.AROUND_TIMEOUT, instance, call);
    }

    @Test
    void configurationFillsTexts() {
        assertThat(orders.configured()).isEqualTo("shop-none");
    }
}
