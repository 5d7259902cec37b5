package io.leasehold.checks;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * The pure classes are computations: time comes in as a number, and decisions go out as records. And outside them, one class
 * alone reads clocks, sleeps and draws randomness.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS) // the classes are read once
class PurityTest {

    /** Who has to be pure. A class that is renamed is renamed here too; one that is missing fails the first test. */
    private static final Set<String> PURE = Set.of(
            "io.leasehold.ballot.BallotClock",
            "io.leasehold.engine.AcquireMachine",
            "io.leasehold.engine.LeaseMachine",
            "io.leasehold.engine.Timings",
            "io.leasehold.engine.WaitPolicy",
            "io.leasehold.spi.TokenRange");

    private static final String RUNTIME = "io.leasehold.engine.SystemLockRuntime";

    private static final Set<String> PURE_JAVA_LANG_EXCEPTIONS = Set.of(
            "java.lang.Thread",
            "java.lang.ThreadLocal",
            "java.lang.InheritableThreadLocal",
            "java.lang.Runtime",
            "java.lang.Process",
            "java.lang.ProcessBuilder",
            "java.lang.ProcessHandle",
            "java.lang.ClassLoader");

    private static final Set<String> PURE_JAVA_UTIL_EXCEPTIONS =
            Set.of("java.util.Random", "java.util.Timer", "java.util.TimerTask", "java.util.UUID", "java.util.Scanner");

    /** The doors to the world through which a pure class gets nothing. */
    private static final Set<String> IMPURE_OURS = Set.of(
            "io.leasehold.spi.LockRuntime",
            "io.leasehold.spi.LockStore",
            "io.leasehold.spi.LockNode",
            "io.leasehold.spi.StoreSignals",
            "io.leasehold.spi.StoreProvider");

    private final JavaClasses core = ProductionClasses.of(Module.CORE);
    private final JavaClasses storesAndCore = ProductionClasses.of(Module.CORE, Module.REDIS, Module.JDBC);

    @Test
    void everyClassOfTheListIsThere() {
        Set<String> missing = new TreeSet<>();
        for (String type : PURE) {
            if (!core.contain(type)) {
                missing.add(type);
            }
        }
        assertThat(missing)
                .as("pure classes that are gone: rename them in the list")
                .isEmpty();
    }

    @Test
    void pureClassesSeeOnlyValues() {
        classes().that(pure()).should().onlyDependOnClassesThat(values()).check(core);
    }

    @Test
    void pureClassesAskTheSystemNothing() {
        DescribedPredicate<JavaAccess<?>> asksTheSystem =
                new DescribedPredicate<>("ask the system, a clock or chance") {
                    @Override
                    public boolean test(JavaAccess<?> access) {
                        AccessTarget target = access.getTarget();
                        String owner = target.getOwner().getName();
                        return switch (owner) {
                            case "java.lang.System" -> !target.getName().equals("arraycopy");
                            case "java.lang.Math" -> target.getName().equals("random");
                            case "java.util.Collections" -> target.getName().equals("shuffle");
                            default -> target.getName().equals("parallelStream");
                        };
                    }
                };
        noClasses().that(pure()).should().accessTargetWhere(asksTheSystem).check(core);
    }

    @Test
    void pureClassesShareNothingBetweenThreads() {
        methods()
                .that()
                .areDeclaredInClassesThat(pure())
                .should()
                .notHaveModifier(JavaModifier.SYNCHRONIZED)
                .check(core);
        fields().that()
                .areDeclaredInClassesThat(pure())
                .should()
                .notHaveModifier(JavaModifier.VOLATILE)
                .check(core);
    }

    @Test
    void onlyTheRuntimeReadsClocksSleepsAndDrawsRandomness() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName(RUNTIME)
                .and(DescribedPredicate.not(nestedIn(RUNTIME)))
                .should()
                .callMethodWhere(target(readsTheWorld()))
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching("java\\.(util\\.(Random|Timer|concurrent\\.ThreadLocalRandom|SplittableRandom)"
                        + "|util\\.concurrent\\.Scheduled.*|security\\.SecureRandom|time\\.Clock)")
                .because(
                        "everything else takes time and chance from LockRuntime, so that the simulator can play the world")
                .check(storesAndCore);
    }

    private static DescribedPredicate<AccessTarget> readsTheWorld() {
        return new DescribedPredicate<>("reads a clock, sleeps or draws randomness") {
            @Override
            public boolean test(AccessTarget target) {
                String owner = target.getOwner().getName();
                String method = target.getName();
                return switch (owner) {
                    case "java.lang.System" -> method.equals("nanoTime") || method.equals("currentTimeMillis");
                    case "java.lang.Thread" -> method.equals("sleep") || method.equals("onSpinWait");
                    case "java.lang.Math" -> method.equals("random");
                    case "java.util.UUID" -> method.equals("randomUUID");
                    case "java.util.Collections" -> method.equals("shuffle");
                    case "java.util.concurrent.TimeUnit" -> method.startsWith("sleep") || method.startsWith("timed");
                    case "java.util.concurrent.locks.LockSupport" -> method.startsWith("park");
                    case "java.util.concurrent.CompletableFuture" ->
                        method.equals("orTimeout")
                                || method.equals("completeOnTimeout")
                                || method.equals("delayedExecutor");
                    default -> owner.startsWith("java.time.") && method.equals("now");
                };
            }
        };
    }

    private static DescribedPredicate<JavaClass> pure() {
        return new DescribedPredicate<>("pure classes") {
            @Override
            public boolean test(JavaClass type) {
                return isPure(type);
            }
        };
    }

    private static DescribedPredicate<JavaClass> nestedIn(String outer) {
        return new DescribedPredicate<>("nested in " + outer) {
            @Override
            public boolean test(JavaClass type) {
                return type.getName().startsWith(outer + "$");
            }
        };
    }

    private static boolean isPure(JavaClass type) {
        String name = type.getName();
        int nested = name.indexOf('$');
        return PURE.contains(nested < 0 ? name : name.substring(0, nested));
    }

    private static DescribedPredicate<JavaClass> values() {
        return new DescribedPredicate<>("values: of java.lang, java.util, java.time.Duration, of the API and the SPI") {
            @Override
            public boolean test(JavaClass type) {
                JavaClass element = type.getBaseComponentType();
                String name = element.getName();
                return switch (element.getPackageName()) {
                    case "" -> true;
                    case "java.lang", "java.lang.annotation", "java.lang.invoke", "java.lang.runtime" ->
                        !PURE_JAVA_LANG_EXCEPTIONS.contains(name);
                    case "java.util" -> !PURE_JAVA_UTIL_EXCEPTIONS.contains(name);
                    case "java.util.function", "java.util.stream", "java.math", "org.jspecify.annotations" -> true;
                    case "java.time" -> name.equals("java.time.Duration");
                    case "java.util.concurrent" -> name.equals("java.util.concurrent.TimeUnit");
                    case "io.leasehold", "io.leasehold.spi" -> isValue(element);
                    default -> isPure(element);
                };
            }
        };
    }

    /** No door to the world: an object of this class or interface neither waits nor calls back. */
    private static boolean isValue(JavaClass type) {
        String name = type.getName();
        int nested = name.indexOf('$');
        return !IMPURE_OURS.contains(nested < 0 ? name : name.substring(0, nested))
                && !type.isAssignableTo(AutoCloseable.class);
    }
}
