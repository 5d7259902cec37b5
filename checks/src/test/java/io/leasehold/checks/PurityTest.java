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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * The pure classes are computations: time is a parameter, and decisions are returned as records. A class is pure if the
 * Javadoc of the class or of its package says so ("Pure."); some classes must be. Of all other classes in core and in
 * the stores, only one reads clocks, sleeps and draws randomness.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS) // the classes are read once
@Tag("quick")
class PurityTest {

    /** The classes that must be pure whatever their Javadoc says. After a rename, change the name here, too. */
    private static final Set<String> REQUIRED = Set.of(
            "io.leasehold.node.BallotClock",
            "io.leasehold.engine.AcquireMachine",
            "io.leasehold.engine.GrantMachine",
            "io.leasehold.engine.GrantTokens",
            "io.leasehold.engine.LocalQueue",
            "io.leasehold.engine.CandidacyMachine",
            "io.leasehold.engine.MultiMachine",
            "io.leasehold.engine.Timings",
            "io.leasehold.engine.WaitingChecks",
            "io.leasehold.engine.WaitPolicy",
            "io.leasehold.node.QueuedAnswer",
            "io.leasehold.quorum.BirthMarkers",
            "io.leasehold.quorum.NodeClocks",
            "io.leasehold.quorum.QuorumAttempt",
            "io.leasehold.quorum.QuorumRenewal",
            "io.leasehold.quorum.QuorumRound",
            "io.leasehold.quorum.VoteTally",
            "io.leasehold.spi.toolkit.Repetition",
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

    /** The interfaces to the outside world that a pure class must not use. */
    private static final Set<String> IMPURE_OURS = Set.of(
            "io.leasehold.spi.LockKeeper",
            "io.leasehold.spi.LockRuntime",
            "io.leasehold.spi.LockStore",
            "io.leasehold.node.LockNode",
            "io.leasehold.spi.StoreSignals",
            "io.leasehold.spi.StoreProvider");

    private final Set<String> pureNames = PureSources.names();
    private final JavaClasses all = ProductionClasses.ofAll();
    private final JavaClasses storesAndCore =
            ProductionClasses.of(Module.CORE, Module.REDIS, Module.JDBC, Module.ZOOKEEPER, Module.ETCD);

    @Test
    void theClassesThatHaveToBePureAreThere() {
        assertThat(REQUIRED)
                .allSatisfy(name -> assertThat(all.contain(name)).as(name).isTrue());
    }

    @Test
    void pureClassesSeeOnlyValues() {
        classes().that(pure()).should().onlyDependOnClassesThat(values()).check(all);
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
        noClasses().that(pure()).should().accessTargetWhere(asksTheSystem).check(all);
    }

    @Test
    void pureClassesShareNothingBetweenThreads() {
        methods()
                .that()
                .areDeclaredInClassesThat(pure())
                .should()
                .notHaveModifier(JavaModifier.SYNCHRONIZED)
                .check(all);
        fields().that()
                .areDeclaredInClassesThat(pure())
                .should()
                .notHaveModifier(JavaModifier.VOLATILE)
                .check(all);
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

    private DescribedPredicate<JavaClass> pure() {
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

    private boolean isPure(JavaClass type) {
        String name = topLevel(type);
        return REQUIRED.contains(name) || pureNames.contains(name);
    }

    private static String topLevel(JavaClass type) {
        int nested = type.getName().indexOf('$');
        return nested < 0 ? type.getName() : type.getName().substring(0, nested);
    }

    private DescribedPredicate<JavaClass> values() {
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
                    case "java.util.function",
                            "java.util.stream",
                            "java.math",
                            "java.nio.charset",
                            "org.jspecify.annotations" -> true;
                    case "java.time" -> name.equals("java.time.Duration");
                    case "java.util.concurrent" -> name.equals("java.util.concurrent.TimeUnit");
                    case "io.leasehold", "io.leasehold.spi" -> isValue(element);
                    default -> isPure(element) || element.isRecord() || element.isEnum() || isSealed(element);
                };
            }
        };
    }

    /**
     * Whether objects of this class or interface neither wait nor call back, and so give no access to the outside
     * world.
     */
    private static boolean isValue(JavaClass type) {
        return !IMPURE_OURS.contains(topLevel(type)) && !type.isAssignableTo(AutoCloseable.class);
    }

    /** A closed list of cases, each of which is checked. */
    private static boolean isSealed(JavaClass type) {
        return type.isInterface() && type.reflect().isSealed();
    }
}
