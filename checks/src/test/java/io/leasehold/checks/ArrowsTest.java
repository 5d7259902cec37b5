package io.leasehold.checks;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The permitted dependencies between modules and inside them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS) // the classes are read once
@Tag("quick")
class ArrowsTest {

    private static final String API = "io.leasehold";
    private static final String ADMIN = "io.leasehold.admin";
    private static final String SPI = "io.leasehold.spi";
    private static final String METHOD = "io.leasehold.spi.method";
    private static final String TOOLKIT = "io.leasehold.spi.toolkit";
    private static final String ENGINE = "io.leasehold.engine..";
    private static final String NODE = "io.leasehold.node..";
    private static final String QUORUM = "io.leasehold.quorum..";
    private static final String MEMORY = "io.leasehold.memory..";
    private static final String FENCING = "io.leasehold.fencing..";
    private static final String REDIS = "io.leasehold.redis..";
    private static final String JEDIS = "io.leasehold.jedis..";
    private static final String JDBC = "io.leasehold.jdbc..";
    private static final String ZOOKEEPER = "io.leasehold.zookeeper..";
    private static final String ETCD = "io.leasehold.etcd..";
    private static final String MICROMETER = "io.leasehold.micrometer..";
    private static final String REACTOR = "io.leasehold.reactor..";
    private static final String KOTLIN = "io.leasehold.kotlin..";
    private static final String CDI = "io.leasehold.cdi..";
    private static final String SPRING = "io.leasehold.spring";
    private static final String SPRING_BOOT = "io.leasehold.spring.boot";
    private static final String SPRING_BOOT_TEST = "io.leasehold.spring.boot.test";
    private static final String SHEDLOCK = "io.leasehold.shedlock..";
    private static final String SPRING_INTEGRATION = "io.leasehold.spring.integration..";
    private static final String DB_SCHEDULER = "io.leasehold.dbscheduler..";
    private static final String SERVERS = "io.leasehold.servers..";
    private static final String TESTKIT = "io.leasehold.testkit..";
    private static final String SIMULATOR = "io.leasehold.simulator..";
    private static final String CLI = "io.leasehold.cli..";
    private static final String DEMO = "io.leasehold.demo..";
    private static final String VERIFY = "io.leasehold.verify..";

    private static final List<String> JDK = List.of("java..", "javax..", "jdk..");
    private static final List<String> EVERYWHERE = List.of("org.slf4j..", "org.jspecify..");

    private static final DescribedPredicate<JavaClass> OURS =
            resideInAPackage("io.leasehold..").as("of this project");

    /** Models of servers are in verify, in the package of the store whose seam they implement. */
    private static final DescribedPredicate<JavaClass> A_MODEL = new DescribedPredicate<>("a model of a service") {
        @Override
        public boolean test(JavaClass type) {
            return type.getSource()
                            .filter(source -> source.getUri().toString().contains("/verify/target/classes/"))
                            .isPresent()
                    && !type.getPackageName().startsWith("io.leasehold.verify");
        }
    };

    private final JavaClasses all = ProductionClasses.ofAll().that(DescribedPredicate.not(A_MODEL));

    @Test
    void theRulesSeeTheCode() {
        assertThat(List.of("io.leasehold.Leasehold", "io.leasehold.spi.LockStore", "io.leasehold.engine.EngineClient"))
                .allSatisfy(name -> assertThat(all.contain(name)).as(name).isTrue());
        for (Module module : Module.withSources()) {
            assertThat(ProductionClasses.of(module)).as(module.name()).isNotEmpty();
        }
    }

    @Test
    void theApiKnowsOnlyItselfAndLeaseholdTheRest() {
        DescribedPredicate<JavaClass> leasehold = new DescribedPredicate<>("Leasehold and its builder") {
            @Override
            public boolean test(JavaClass type) {
                return type.getName().equals("io.leasehold.Leasehold")
                        || type.getName().startsWith("io.leasehold.Leasehold$");
            }
        };
        classes()
                .that()
                .resideInAPackage(API)
                .and(DescribedPredicate.not(leasehold))
                .should()
                .onlyDependOnClassesThat(foreign().or(resideInAnyPackage(API, ADMIN)))
                .because("api, admin ← spi ← engine: only Leasehold, which wires them, may look down")
                .check(all);
        classes()
                .that(leasehold)
                .should()
                .onlyDependOnClassesThat(foreign().or(resideInAnyPackage(API, ADMIN, SPI, ENGINE)))
                .check(all);
    }

    @Test
    void theRoomsOfCoreKnowOnlyWhatTheyMay() {
        room(ADMIN, API, ADMIN);
        room(SPI, API, ADMIN, SPI);
        room(TOOLKIT, API, ADMIN, SPI, TOOLKIT);
        room(METHOD, API, SPI, METHOD);
        room(ENGINE, API, ADMIN, SPI, TOOLKIT, ENGINE);
        room(NODE, API, ADMIN, SPI, TOOLKIT, NODE);
        room(QUORUM, API, ADMIN, SPI, TOOLKIT, NODE, QUORUM);
        room(
                MEMORY, API, ADMIN, SPI, TOOLKIT, NODE,
                MEMORY); // one node in memory is lifted to a store as any other node is
        room(FENCING, API, FENCING);
    }

    @Test
    void coreNeedsNothingButTheJdkSlf4jAndJspecify() {
        outsideWorld(new String[] {API, ADMIN, SPI, METHOD, TOOLKIT, ENGINE, NODE, QUORUM, MEMORY, FENCING});
    }

    @Test
    void storesKnowOnlyCoreAndTheirOwnDriver() {
        room(REDIS, API, ADMIN, SPI, TOOLKIT, NODE, QUORUM, FENCING, REDIS);
        room(
                JEDIS,
                API,
                SPI,
                TOOLKIT,
                NODE,
                "io.leasehold.redis.node..",
                "io.leasehold.redis.store..",
                "io.leasehold.redis.topology..",
                "io.leasehold.redis.wire..",
                JEDIS);
        room(JDBC, API, ADMIN, SPI, TOOLKIT, FENCING, JDBC);
        room(ZOOKEEPER, API, ADMIN, SPI, TOOLKIT, ZOOKEEPER);
        room(ETCD, API, ADMIN, SPI, TOOLKIT, ETCD);
        outsideWorld(new String[] {REDIS}, "io.lettuce..", "io.netty..", "reactor..", "org.reactivestreams..");
        outsideWorld(new String[] {JEDIS}, "redis.clients.jedis..", "org.apache.commons.pool2..");
        outsideWorld(new String[] {JDBC}, "org.sqlite..");
        outsideWorld(new String[] {ZOOKEEPER}, "org.apache.zookeeper..");
        outsideWorld(
                new String[] {ETCD}, "io.etcd.jetcd..", "io.grpc..", "io.netty.handler.ssl..", "com.google.protobuf..");
    }

    @Test
    void metersKnowOnlyTheApiAndTheirRegistry() {
        room(MICROMETER, API, ADMIN, FENCING, MICROMETER);
        outsideWorld(new String[] {MICROMETER}, "io.micrometer.core.instrument..");
    }

    @Test
    void springKnowsOnlyTheApiAndSpring() {
        room(SPRING, API, METHOD, "io.leasehold.jdbc", SPRING);
        outsideWorld(
                new String[] {SPRING},
                "org.springframework..",
                "io.micrometer.context..",
                "io.micrometer.observation..",
                "org.aopalliance..",
                "reactor..",
                "org.reactivestreams..",
                "kotlin..",
                "kotlinx.coroutines..",
                "jakarta.persistence..");
        room(SPRING_BOOT, API, ADMIN, "io.leasehold.jdbc", "io.leasehold.redis", MICROMETER, SPRING, SPRING_BOOT);
        outsideWorld(
                new String[] {SPRING_BOOT},
                "org.springframework..",
                "io.micrometer.core.instrument..",
                "io.micrometer.observation..",
                "io.lettuce.core..");
        room(SPRING_BOOT_TEST, API, ADMIN, SPI, NODE, MEMORY, TESTKIT, SPRING_BOOT, SPRING_BOOT_TEST);
        outsideWorld(new String[] {SPRING_BOOT_TEST}, "org.springframework..");
    }

    @Test
    void adaptersKnowOnlyTheApiAndWhatTheyAdapt() {
        room(REACTOR, API, METHOD, REACTOR);
        outsideWorld(new String[] {REACTOR}, "reactor..", "org.reactivestreams..");
        room(KOTLIN, API, METHOD, KOTLIN);
        outsideWorld(new String[] {KOTLIN}, "kotlin..", "kotlinx.coroutines..", "org.jetbrains.annotations..");
        room(CDI, API, METHOD, CDI);
        outsideWorld(
                new String[] {CDI},
                "jakarta.annotation..",
                "jakarta.enterprise..",
                "jakarta.inject..",
                "jakarta.interceptor..",
                "jakarta.transaction..",
                "org.eclipse.microprofile.config..");
        room(SHEDLOCK, API, SHEDLOCK);
        outsideWorld(new String[] {SHEDLOCK}, "net.javacrumbs.shedlock..");
        room(SPRING_INTEGRATION, API, SPRING_INTEGRATION);
        outsideWorld(
                new String[] {SPRING_INTEGRATION},
                "org.springframework.integration.support.locks..",
                "org.springframework.integration.leader..",
                "org.springframework.beans.factory..",
                "org.springframework.context..");
        room(DB_SCHEDULER, API, METHOD, DB_SCHEDULER);
        outsideWorld(new String[] {DB_SCHEDULER}, "com.github.kagkarlsson.scheduler..");
    }

    @Test
    void insideRedisTheArrowsGoFromStoreToNodeAndTopologyToWire() {
        String wire = "io.leasehold.redis.wire..";
        String topology = "io.leasehold.redis.topology..";
        String node = "io.leasehold.redis.node..";
        String store = "io.leasehold.redis.store..";
        none(wire, topology, node, store, "io.leasehold.redis");
        none(topology, node, store, "io.leasehold.redis");
        none(node, store, "io.leasehold.redis");
    }

    /** Another library can replace Lettuce: only the classes that make its connections may name it. */
    @Test
    void theRulesOfRedisNameNoClientLibrary() {
        DescribedPredicate<JavaClass> lettuce = new DescribedPredicate<>("over Lettuce") {
            @Override
            public boolean test(JavaClass type) {
                return Stream.of("Lettuce", "JointCalls", "GroupCommit", "DriverThreads")
                        .anyMatch(begin -> type.getName().startsWith("io.leasehold.redis.topology." + begin));
            }
        };
        noClasses()
                .that()
                .resideInAnyPackage(
                        "io.leasehold.redis.wire..",
                        "io.leasehold.redis.node..",
                        "io.leasehold.redis.store..",
                        "io.leasehold.redis.topology..")
                .and(DescribedPredicate.not(lettuce))
                .should()
                .dependOnClassesThat(resideInAnyPackage("io.lettuce..", "io.netty..", "reactor..")
                        .or(lettuce))
                .check(all);
    }

    @Test
    void serversKnowNothingOfOursTheTestkitOnlyCoreAndTheSimulatorTheTestkit() {
        room(SERVERS, SERVERS);
        room(TESTKIT, API, ADMIN, SPI, TOOLKIT, ENGINE, NODE, QUORUM, MEMORY, FENCING, TESTKIT);
        room(SIMULATOR, API, ADMIN, SPI, TOOLKIT, NODE, QUORUM, MEMORY, FENCING, TESTKIT, SIMULATOR);
        outsideWorld(new String[] {SERVERS, SIMULATOR});
        outsideWorld(new String[] {TESTKIT}, "org.junit.jupiter.api..", "org.opentest4j..", "org.apiguardian..");
    }

    @Test
    void theSimulatorDecidesNothing() {
        none("io.leasehold.simulator", ENGINE, "io.leasehold.testkit.tck..");
        DescribedPredicate<JavaClass> decides = new DescribedPredicate<>("what decides in the protocol") {
            @Override
            public boolean test(JavaClass type) {
                String name = type.getName();
                boolean made = List.of(
                                "io.leasehold.quorum.QuorumMember",
                                "io.leasehold.quorum.QuorumSettings",
                                "io.leasehold.quorum.QuorumStore")
                        .contains(name);
                return !made
                        && (name.equals("io.leasehold.node.BallotClock") || name.startsWith("io.leasehold.quorum."));
            }
        };
        noClasses()
                .that()
                .resideInAPackage("io.leasehold.simulator")
                .should()
                .dependOnClassesThat(decides)
                .because("it makes stores and clients as users do, and what happens then is theirs")
                .check(all);
    }

    @Test
    void theCommandLineIsAThinProductOverThePublicApi() {
        // Of the stores it names one class, since a run over Jedis starts faster than the store that a URI finds.
        room(CLI, API, ADMIN, SPI, TOOLKIT, METHOD, MICROMETER, JEDIS, CLI);
        none("io.leasehold.cli.process..", "io.leasehold.cli.command..", "io.leasehold.cli");
        none("io.leasehold.cli.output..", "io.leasehold.cli.command..", "io.leasehold.cli");
    }

    @Test
    void demonstrationsUseTheProductAsUsersDo() {
        room(DEMO, API, ADMIN, FENCING, SERVERS, "io.leasehold.cli", "io.leasehold.cli.output", DEMO);
        outsideWorld(new String[] {DEMO}, "io.lettuce..", "picocli..");
    }

    @Test
    void nothingKnowsTheHarness() {
        noClasses()
                .that()
                .resideOutsideOfPackage(VERIFY)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(VERIFY)
                .check(all);
    }

    /** Of Leasehold's packages, these may use only those. */
    private void room(String room, String... known) {
        classes()
                .that()
                .resideInAPackage(room)
                .should()
                .onlyDependOnClassesThat(foreign().or(resideInAnyPackage(known)))
                .allowEmptyShould(true)
                .check(all);
    }

    private void none(String room, String... unknown) {
        noClasses()
                .that()
                .resideInAPackage(room)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(unknown)
                .allowEmptyShould(true)
                .check(all);
    }

    /** Of other packages, these may use only the JDK, slf4j, JSpecify and those. */
    private void outsideWorld(String[] rooms, String... known) {
        DescribedPredicate<JavaClass> allowed = OURS.or(resideInAnyPackage(JDK.toArray(String[]::new)))
                .or(resideInAnyPackage(EVERYWHERE.toArray(String[]::new)))
                .or(resideInAnyPackage(known))
                .or(resideInAPackage("")); // arrays of primitives
        classes()
                .that()
                .resideInAnyPackage(rooms)
                .should()
                .onlyDependOnClassesThat(allowed.as("of the JDK, slf4j, JSpecify or " + List.of(known)))
                .allowEmptyShould(true)
                .check(all);
    }

    private static DescribedPredicate<JavaClass> foreign() {
        return resideOutsideOfPackages("io.leasehold..").as("of others");
    }
}
