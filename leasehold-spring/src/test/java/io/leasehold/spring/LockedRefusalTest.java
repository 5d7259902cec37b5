package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import kotlinx.coroutines.flow.StateFlow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.reactivestreams.Publisher;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ReactiveTypeDescriptor;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.ConnectableFlux;
import reactor.core.publisher.Mono;

/** Tests of refusals and findings at the start, with their messages. */
@Tag("quick")
class LockedRefusalTest {

    @TempDir
    private Path scratch;

    private static void refused(Class<?> bean, String message) {
        assertThat(Application.refused(MemoryLocks.class, bean)).hasMessage(message);
    }

    static class NoPatience {
        @Locked
        public void run() {}
    }

    static class UnknownParameter {
        @Locked(name = "order:{}", key = "#ordr.id", maxWait = "0")
        public void run(String order) {}
    }

    static class NoSpel {
        @Locked(name = "order:{}", key = "#order.", maxWait = "0")
        public void run(String order) {}
    }

    static class KeyWithoutPlace {
        @Locked(name = "order", key = "#id", maxWait = "0")
        public void run(String id) {}
    }

    static class PlaceWithoutKey {
        @Locked(name = "order:{}", maxWait = "0")
        public void run(String id) {}
    }

    static class TooFewKeys {
        @Locked(
                name = "{}:{}:{}",
                key = {"#p0", "#a0"},
                maxWait = "0")
        public void run(String id) {}
    }

    static class PrimitiveSkip {
        @Locked(maxWait = "0", onBusy = OnBusy.SKIP)
        public int run() {
            return 1;
        }
    }

    static class AFuture {
        @Locked(maxWait = "0")
        public Future<String> run() {
            throw new AssertionError();
        }
    }

    /** As the futures of several results. */
    interface VertxFuture extends io.vertx.core.Future<String> {}

    interface FutureOfADriver extends VertxFuture {}

    static class AFutureOfVertx {
        @Locked(maxWait = "0")
        public FutureOfADriver run() {
            throw new AssertionError();
        }
    }

    /** A type of its own, as those of some drivers. */
    interface OwnStage extends CompletionStage<String> {}

    static class AStageOfItsOwn {
        @Locked(maxWait = "0")
        public OwnStage run() {
            throw new AssertionError();
        }
    }

    /** A type of stage for which the application registers an adapter. */
    static final class AdaptedStage extends CompletableFuture<Object> {

        static AdaptedStage of(Publisher<?> publisher) {
            AdaptedStage stage = new AdaptedStage();
            Mono.from(publisher).subscribe(stage::complete, stage::completeExceptionally);
            return stage;
        }
    }

    static class AnAdaptedType {
        @Locked(maxWait = "0")
        public AdaptedStage run() {
            return AdaptedStage.of(Mono.just("ran"));
        }
    }

    /** The method would return another object than the declared one: the publisher that acquires when it is subscribed to. */
    static class AHotPublisher {
        @Locked(maxWait = "0")
        public ConnectableFlux<String> run() {
            throw new AssertionError();
        }
    }

    static class AStateFlow {
        @Locked(maxWait = "0")
        public StateFlow<String> run() {
            throw new AssertionError();
        }
    }

    static class ACallable {
        @Locked(maxWait = "0")
        public Callable<String> run() {
            throw new AssertionError();
        }
    }

    static class NoDuration {
        @Locked(maxWait = "soon")
        public void run() {}
    }

    static class NoUnit {
        @Locked(maxWait = "3")
        public void run() {}
    }

    static class Negative {
        @Locked(maxWait = "-3s")
        public void run() {}
    }

    static class UnsafeTimings {
        @Locked(maxWait = "0", ttl = "1ms")
        public void run() {}
    }

    static class LongGuard {
        @Locked(maxWait = "0", ttl = "3s", commitGuard = "2990ms")
        public void run() {}
    }

    static class NoFallback {
        @Locked(maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "busy")
        public String run(String id) {
            return id;
        }
    }

    static class UnusedFallback {
        @Locked(maxWait = "0", fallback = "busy")
        public void run() {}

        void busy() {}
    }

    static class LeaseOfSeveral {
        @Locked(
                name = "a:{}",
                key = {"#p0", "#p1"},
                maxWait = "0")
        public void run(String from, String to, Lease lease) {}
    }

    static class TokenOfText {
        @Locked(maxWait = "0")
        public void run(@FencingToken String token) {}
    }

    static class TwoFairnesses {
        @Locked(
                maxWait = "0",
                fairness = {Fairness.STRICT_FIFO, Fairness.BOUNDED_LOCAL_HAND_OVER})
        public void run() {}
    }

    static class UnknownClient {
        @Locked(maxWait = "0", client = "redis")
        public void run() {}
    }

    @Test
    void whatCannotWorkIsRefusedWithItsCure() {
        refused(
                NoPatience.class,
                "@Locked method NoPatience.run() does not define how long it waits for the lock. Write maxWait = \"3s\", or 0 for one try,"
                        + " or set a default in LeaseholdSettings.");
        refused(
                UnknownParameter.class,
                "@Locked method UnknownParameter.run(String) has the key \"#ordr.id\", and #ordr is not one of its parameters [order]. Name"
                        + " one of them.");
        refused(
                KeyWithoutPlace.class,
                "@Locked method KeyWithoutPlace.run(String) has a key, and the name \"order\" has no place for it. Write name ="
                        + " \"order:{}\".");
        refused(
                PlaceWithoutKey.class,
                "@Locked method PlaceWithoutKey.run(String) has the name \"order:{}\" and no key for its placeholder. Write key ="
                        + " \"#parameter\", or a name without {}.");
        refused(
                TooFewKeys.class,
                "@Locked method TooFewKeys.run(String) has 2 key(s) for the 3 placeholders of \"{}:{}:{}\". Write one key for each"
                        + " placeholder, or one placeholder that each key fills.");
        refused(
                PrimitiveSkip.class,
                "@Locked method PrimitiveSkip.run() skips when the lock is busy, and then has no int to return. Return Optional or a type"
                        + " that can be null, or use onBusy = THROW.");
        refused(
                AFuture.class,
                "@Locked method AFuture.run() returns Future, whose work would continue after the lock has been released. Return a"
                        + " CompletionStage, a Mono or a Flux, or block inside the method.");
        refused(
                AFutureOfVertx.class,
                "@Locked method AFutureOfVertx.run() returns FutureOfADriver, whose work would continue after the lock has been released. Return"
                        + " a CompletionStage, a Mono or a Flux, or block inside the method.");
        refused(
                AStageOfItsOwn.class,
                "@Locked method AStageOfItsOwn.run() returns OwnStage, whose work would continue after the lock has been released. Return"
                        + " a CompletionStage, a Mono or a Flux, or block inside the method.");
        refused(
                AHotPublisher.class,
                "@Locked method AHotPublisher.run() returns ConnectableFlux, and under the lock its caller would get a Flux. Return Flux.");
        refused(
                AStateFlow.class,
                "@Locked method AStateFlow.run() returns StateFlow, and under the lock its caller would get a Flow. Return Flow.");
        refused(
                ACallable.class,
                "@Locked method ACallable.run() returns Callable, whose work would continue after the lock has been released. Return a"
                        + " CompletionStage, a Mono or a Flux, or block inside the method.");
        refused(
                LongGuard.class,
                "@Locked method LongGuard.run() has a commitGuard of 2.99s, and a healthy lease with a ttl of 3s is certain to have only"
                        + " 2.938s left. Write a shorter commitGuard or a longer ttl.");
        refused(
                NoFallback.class,
                "@Locked method NoFallback.run(String) has the fallback \"busy\", but its class has no such method with"
                        + " the same parameters and result. Write String busy(…) with its parameters, optionally"
                        + " followed by Attempt.Busy.");
        refused(
                UnusedFallback.class,
                "@Locked method UnusedFallback.run() names a fallback that is never called. Add onBusy = OnBusy.FALLBACK, or remove it.");
        refused(
                LeaseOfSeveral.class,
                "@Locked method LeaseOfSeveral.run(String, String, Lease) takes several locks, and has a parameter for the lease or the"
                        + " token of one. Take a MultiLease, and read the token of each name from it.");
        refused(
                TokenOfText.class,
                "@Locked method TokenOfText.run(String) has a @FencingToken of type String. Make it a long.");
        refused(TwoFairnesses.class, "@Locked method TwoFairnesses.run() names several kinds of fairness. Name one.");
        refused(
                UnknownClient.class,
                "@Locked method UnknownClient.run() names the client \"redis\", and no bean of type LockClient has that name."
                        + " Name one of [locks], or declare a client of that name.");
        assertThat(Application.refused(MemoryLocks.class, NoSpel.class))
                .hasMessageStartingWith(
                        "@Locked method NoSpel.run(String) has the key \"#order.\", which is not valid SpEL: ");
        assertThat(Application.refused(MemoryLocks.class, UnsafeTimings.class))
                .hasMessageStartingWith("@Locked method UnsafeTimings.run() has unsafe timings: ");
    }

    @Test
    void durationsSayTheirUnit() {
        refused(
                NoDuration.class,
                "@Locked method NoDuration.run() has maxWait = \"soon\", which is not a duration. Write 3s, 500ms, 1m30s or PT3S.");
        refused(
                NoUnit.class,
                "@Locked method NoUnit.run() has maxWait = \"3\", which has no unit. Write 3s, 500ms, 1m30s or PT3S.");
        refused(
                Negative.class,
                "@Locked method Negative.run() has maxWait = \"-3s\", which is negative. Write 3s, 500ms, 1m30s or PT3S.");
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class NoClient {}

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class TwoClients {
        @Bean
        LockClient one() {
            return Leasehold.connect("memory:");
        }

        @Bean
        LockClient two() {
            return Leasehold.connect("memory:");
        }
    }

    static class Plain {
        @Locked(name = "plain", maxWait = "0")
        public void run() {}
    }

    @Test
    void aPlaceWhereLocksComeFromIsNeeded() {
        assertThat(Application.refused(NoClient.class, Plain.class))
                .hasMessage(
                        "@Locked method Plain.run() has no client: there is no bean of type io.leasehold.LockClient."
                                + " Declare one: @Bean LockClient locks() { return Leasehold.connect(\"redis://…\"); }.");
        assertThat(Application.refused(TwoClients.class, Plain.class))
                .hasMessage(
                        "@Locked method Plain.run() names no client, and there are several: [one, two]. Write client = \"…\", or make"
                                + " one of them primary.");
    }

    @Test
    void aClassWithoutNamesOfParametersIsRefused() throws IOException, ClassNotFoundException {
        Path source = Files.writeString(
                scratch.resolve("Unnamed.java"),
                "public class Unnamed {"
                        + " @io.leasehold.spring.Locked(name = \"o:{}\", key = \"#id\", maxWait = \"0\") public void run(String id) {} }");
        ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-proc:none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-d",
                        scratch.toString(),
                        source.toString());
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {scratch.toUri().toURL()}, getClass().getClassLoader())) {
            refused(
                    loader.loadClass("Unnamed"),
                    "@Locked method Unnamed.run(String) has the key \"#id\", and its class was compiled without parameter names."
                            + " Compile with -parameters, or write #p0 for the first parameter.");
        }
    }

    // ---- what is told, and does not stop the application by itself

    @Configuration(proxyBeanMethods = false)
    static class Strict {
        @Bean
        LeaseholdSettings settings() {
            return LeaseholdSettings.defaults().lint(LintLevel.FAIL).maxWait(Duration.ZERO);
        }
    }

    private static void told(String message, Class<?>... beans) {
        Class<?>[] all = Stream.concat(Stream.of(MemoryLocks.class, Strict.class), Stream.of(beans))
                .toArray(Class<?>[]::new);
        assertThat(Application.refused(all)).hasMessage(message);
    }

    static class Hidden {
        @Locked
        @SuppressWarnings("UnusedMethod") // that is the mistake
        private void run() {}
    }

    static class Final {
        @Locked
        public final void run() {}
    }

    static class Static {
        @Locked
        public static void run() {}
    }

    static class SelfInvoked {
        private final SelfInvoked proxy = null;

        @Locked
        public void run() {}

        public void twice() {
            run();
            run();
        }

        public void throughProxy() {
            proxy.run();
        }
    }

    static class SelfInvokedInLambda {
        @Locked
        public void run() {}

        public Runnable later() {
            return () -> run();
        }
    }

    static class SelfInvokedByReference {
        @Locked
        public void run() {}

        public Runnable later() {
            return this::run;
        }
    }

    static class OnlyThroughProxy {
        private final OnlyThroughProxy proxy = null;

        @Locked
        public void run() {}

        public void throughProxy() {
            proxy.run();
        }
    }

    static class AStream {
        @Locked
        public Stream<String> run() {
            return Stream.of();
        }
    }

    static class OneTtl {
        @Locked(name = "shared", ttl = "10s")
        public void one() {}
    }

    static class OtherTtl {
        @Locked(name = "shared", ttl = "20s")
        public void other() {}
    }

    interface Narrow {
        void narrow();
    }

    static class OutOfInterface implements Narrow {
        @Override
        public void narrow() {}

        @Locked
        public void run() {}
    }

    @Test
    void whatLooksWrongIsTold() {
        told(
                "@Locked method Hidden.run() is private, so that no proxy can lock it: it runs without the lock. Make it a method that can"
                        + " be overridden, or lock with LeaseholdTemplate.",
                Hidden.class);
        told(
                "@Locked method Final.run() is final, so that no proxy can lock it: it runs without the lock. Make it a method that can be"
                        + " overridden, or lock with LeaseholdTemplate.",
                Final.class);
        told(
                "@Locked method Static.run() is static, so that no proxy can lock it: it runs without the lock. Make it a method that can"
                        + " be overridden, or lock with LeaseholdTemplate.",
                Static.class);
        told(
                "@Locked method AStream.run() returns a stream, which is read after the lock has been released. Return a List.",
                AStream.class);
        told(
                "@Locked method OutOfInterface.run() is in no interface of its bean, whose proxy implements only"
                        + " interfaces: it cannot be called through the proxy. Declare it in an interface, or use"
                        + " @EnableLeasehold(proxyTargetClass = true).",
                OutOfInterface.class);
        told(
                "@Locked method OtherTtl.other() names the lock \"shared\" with the ttl 20s, and @Locked method OneTtl.one() names it with"
                        + " the ttl 10s. Use one ttl for one lock.",
                OneTtl.class,
                OtherTtl.class);
    }

    @Test
    void aCallPastTheProxyIsTold() {
        told(
                "@Locked method SelfInvoked.run() is called by twice of the same object, which bypasses the proxy: such"
                        + " a call runs without the lock."
                        + " Call it from another bean, or lock with LeaseholdTemplate.",
                SelfInvoked.class);
        told(
                "@Locked method SelfInvokedInLambda.run() is called by later of the same object, which bypasses the"
                        + " proxy: such a call runs without the lock. Call it from another bean, or lock with LeaseholdTemplate.",
                SelfInvokedInLambda.class);
        told(
                "@Locked method SelfInvokedByReference.run() is called by later of the same object, which bypasses the"
                        + " proxy: such a call runs without the lock. Call it from another bean, or lock with LeaseholdTemplate.",
                SelfInvokedByReference.class);
        try (AnnotationConfigApplicationContext application =
                Application.of(MemoryLocks.class, Strict.class, OnlyThroughProxy.class)) {
            assertThat(application.getBean(OnlyThroughProxy.class)).isNotNull();
        }
    }

    static class TransactionalCaller {
        private final TransactionalCaller proxy = null;
        private final OneTtl other = null;

        @Locked
        public void run() {}

        @Transactional
        public void pay() {
            proxy.run();
        }

        @Transactional(propagation = Propagation.NOT_SUPPORTED)
        public void outside() {
            other.one();
        }
    }

    @Transactional
    static class TransactionalClass {
        private final OneTtl other = null;

        @Locked(name = "around")
        public void pay() {
            other.one();
        }
    }

    static class Mandatory {
        @Locked
        @Transactional(propagation = Propagation.MANDATORY)
        public void run() {}
    }

    static class FallsBackInTransaction {
        @Locked(onBusy = OnBusy.FALLBACK, fallback = "later")
        public void run() {}

        @Transactional
        public void later() {}
    }

    @Test
    void aLockInsideATransactionIsTold() {
        String inside =
                ": its lock is acquired inside that transaction, which may already have read data, and kept until it completes."
                        + " Lock outside of the transaction, by @Locked on the method that begins it.";
        told(
                "@Locked method TransactionalCaller.run() is called by TransactionalCaller.pay, which is @Transactional"
                        + inside,
                TransactionalCaller.class,
                OneTtl.class);
        told(
                "@Locked method OneTtl.one() is called by TransactionalClass.pay, which is @Transactional" + inside,
                TransactionalClass.class,
                OneTtl.class);
        told("@Locked method Mandatory.run() needs a transaction of its caller" + inside, Mandatory.class);
    }

    @Test
    void aFallbackWhoseTransactionNeverBeginsIsTold() {
        told(
                "@Locked method FallsBackInTransaction.run() has the fallback \"later\", whose @Transactional begins no"
                        + " transaction: its call bypasses the proxy. Call a @Transactional method of another bean in"
                        + " it, or use a TransactionTemplate.",
                FallsBackInTransaction.class);
    }

    @Test
    @SuppressWarnings("FutureReturnValueIgnored") // The adapter returns it.
    void aTypeForWhichTheApplicationHasAnAdapterIsLocked() {
        ReactiveAdapterRegistry.getSharedInstance()
                .registerReactiveType(
                        ReactiveTypeDescriptor.singleRequiredValue(AdaptedStage.class),
                        source -> Mono.fromFuture((AdaptedStage) source),
                        AdaptedStage::of);
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, AnAdaptedType.class)) {
            assertThat(application.getBean(AnAdaptedType.class).run().join()).isEqualTo("ran");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Later {
        @Bean
        @Scope("prototype")
        NoPatience later() {
            return new NoPatience();
        }
    }

    @Test
    void aBeanThatIsMadeLaterIsLookedAtThen() {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Later.class)) {
            assertThatThrownBy(() -> application.getBean(NoPatience.class))
                    .hasRootCauseInstanceOf(LockedUsageException.class);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class OnlyAudit {
        @Bean(defaultCandidate = false)
        LockClient audit() {
            return Leasehold.connect("memory:");
        }
    }

    static class NamesNone {
        @Locked(maxWait = "0")
        public void run() {}
    }

    static class NamesAudit {
        @Locked(maxWait = "0", client = "audit")
        public String run() {
            return "ran";
        }
    }

    /** Another replica, whose settings know one more client, would lock elsewhere. */
    @Test
    void aClientThatIsNoDefaultIsNotTakenForIt() {
        String refusal =
                "@Locked method NamesNone.run() names no client, and the only one is that of the bean \"audit\", which"
                        + " is not a default candidate. Write client = \"audit\", or declare a client that is a default"
                        + " candidate (with Spring Boot: set leasehold.uri).";
        assertThat(Application.refused(OnlyAudit.class, NamesNone.class)).hasMessage(refusal);
        try (AnnotationConfigApplicationContext parent = Application.of(OnlyAudit.class, NamesAudit.class);
                AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
            assertThat(parent.getBean(NamesAudit.class).run()).isEqualTo("ran");
            child.setParent(parent);
            child.register(OnlyLocked.class, NamesNone.class);
            assertThatThrownBy(child::refresh).hasMessage(refusal);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableLeasehold
    static class OnlyLocked {}
}
