package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spring.LeaseholdSettings;
import io.leasehold.spring.LintLevel;
import io.leasehold.spring.OuterTransaction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Tests of the settings that each client gets, and of the time for holders at the end of an application. */
@Tag("quick")
class ClosingTest {

    private final ApplicationContextRunner inMemory = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LeaseholdAutoConfiguration.class))
            .withPropertyValues("leasehold.uri=memory:");

    /** With one client and with two, which are closed in another way. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void holdersAreWaitedForForAsLongAsIsSaid(boolean two) {
        ApplicationContextRunner application =
                two ? inMemory.withPropertyValues("leasehold.clients.audit.uri=memory:") : inMemory;
        application.withPropertyValues("leasehold.shutdown.await=1d").run(context -> {
            List<Lease> leases = new ArrayList<>();
            for (LockClient client : context.getBeansOfType(LockClient.class).values()) {
                leases.add(client.named("x").acquire());
            }
            assertThat(leases).hasSize(two ? 2 : 1);
            Thread closing = new Thread(context::close);
            closing.start();
            // Without a setting, it waits for two and a half seconds.
            closing.join(two ? 200 : 3_000);
            assertThat(closing.isAlive()).as("it waits for the holders").isTrue();
            leases.forEach(Lease::close);
            closing.join(Duration.ofMinutes(1).toMillis());
            assertThat(closing.isAlive()).isFalse();
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Shared {

        private static final LockClient SHARED = Leasehold.connect("memory:");

        @Bean(destroyMethod = "")
        LockClient shared() {
            return SHARED;
        }
    }

    /** By the convention of Spring: another context may use it. */
    @Test
    void aClientThatTheContextDoesNotOwnStaysOpen() throws InterruptedException {
        try (LockClient registered = Leasehold.connect("memory:");
                LockClient shared = Shared.SHARED) {
            inMemory.withUserConfiguration(Shared.class)
                    .withInitializer(context -> context.getBeanFactory().registerSingleton("registered", registered))
                    .run(context ->
                            assertThat(context).getBeans(LockClient.class).hasSize(2));
            registered.named("x").acquire().close();
            shared.named("x").acquire().close();
        }
    }

    /** Otherwise it would run, refuse every lock, and count as healthy. */
    @Test
    void aStoppedContextDoesNotStartAgain() {
        inMemory.run(context -> {
            context.stop();
            assertThatThrownBy(context::start).hasStackTraceContaining("create a new context");
        });
    }

    /** Even if the store lacks only the last of them. */
    @ParameterizedTest
    @ValueSource(strings = {"exclusion", "fencing", "queueing", "scope"})
    void eachGuaranteeThatIsRequiredIsAskedFor(String which) {
        String strongest = strongest(which);
        for (String prefix : List.of("leasehold", "leasehold.clients.audit")) {
            inMemory.withPropertyValues(
                            "leasehold.clients.audit.uri=memory:", prefix + ".require." + which + "=" + strongest)
                    .run(context -> assertThat(context.getStartupFailure() == null)
                            .as(prefix)
                            .isEqualTo(inMemoryCovers(which, strongest)));
        }
    }

    private static Guarantee level(String which, String value) {
        return switch (which) {
            case "exclusion" -> Guarantee.Exclusion.valueOf(value);
            case "fencing" -> Guarantee.Fencing.valueOf(value);
            case "queueing" -> Guarantee.Queueing.valueOf(value);
            default -> Guarantee.Scope.valueOf(value);
        };
    }

    private static String strongest(String which) {
        Enum<?>[] all = switch (which) {
            case "exclusion" -> Guarantee.Exclusion.values();
            case "fencing" -> Guarantee.Fencing.values();
            case "queueing" -> Guarantee.Queueing.values();
            default -> Guarantee.Scope.values();
        };
        return all[all.length - 1].name();
    }

    private static boolean inMemoryCovers(String which, String value) {
        try (LockClient client = Leasehold.connect("memory:")) {
            return client.guarantees().covers(level(which, value));
        }
    }

    @Test
    void aLabelIsCutToWhatAStoreTakes() {
        inMemory.withPropertyValues("spring.application.name=" + "ä".repeat(10) + "o".repeat(90))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(LockClient.class).holderId())
                            .contains("-".repeat(10) + "o".repeat(54))
                            .doesNotContain("o".repeat(55));
                });
    }

    /** Each setting alone, so that none hides another. */
    @ParameterizedTest
    @CsvSource({
        "ttl=10s,ttl=10s",
        "max-hold=1h,maxHold=1h",
        "node-timeout=80ms,nodeTimeout=80ms",
        "fairness=strict-fifo,fairness=STRICT_FIFO"
    })
    void eachDefaultArrivesAlone(String property, String option) {
        inMemory.withPropertyValues(
                        "leasehold.defaults." + property,
                        "leasehold.clients.audit.uri=memory:",
                        "leasehold.clients.audit.defaults." + property)
                .run(context -> {
                    for (LockClient client :
                            context.getBeansOfType(LockClient.class).values()) {
                        assertThat(client.named("x").options().toString()).contains(option);
                    }
                });
    }

    @Test
    void whatIsSaidOfCallsStaysThoughAPatienceIsSaidToo() {
        inMemory.withPropertyValues(
                        "leasehold.outer-transaction=fail",
                        "leasehold.lint=off",
                        "leasehold.defaults.max-wait=1s",
                        "leasehold.clients.audit.uri=memory:",
                        "leasehold.clients.audit.defaults.max-wait=2s",
                        "leasehold.clients.jobs.uri=memory:",
                        "leasehold.clients.jobs.defaults.max-wait=3s")
                .run(context -> {
                    LeaseholdSettings settings = context.getBean(LeaseholdSettings.class);
                    assertThat(settings.outerTransaction()).isEqualTo(OuterTransaction.FAIL);
                    assertThat(settings.lint()).isEqualTo(LintLevel.OFF);
                    assertThat(settings.maxWait()).isEqualTo(Duration.ofSeconds(1));
                    assertThat(settings.maxWait("audit")).isEqualTo(Duration.ofSeconds(2));
                    assertThat(settings.maxWait("jobs")).isEqualTo(Duration.ofSeconds(3));
                });
    }
}
