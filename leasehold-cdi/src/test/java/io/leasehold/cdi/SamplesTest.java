package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import jakarta.transaction.Transactional;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of the samples of the document, which are repeated here and run. */
@Tag("quick")
class SamplesTest {

    record Order(String id, String state) {

        Order paid() {
            return new Order(id, "paid");
        }
    }

    @ApplicationScoped
    static class Orders {

        private String written = "nothing";

        void write(Order order, long fencingToken) {
            assertThat(fencingToken).isPositive();
            written = order.state();
        }

        String written() {
            return written;
        }
    }

    @ApplicationScoped
    static class Payments {
        @Inject
        Orders orders;

        @Locked(name = "order:{}", key = "order.id", maxWait = "3s")
        @Transactional
        public void pay(Order order, Lease lease) {
            orders.write(order.paid(), lease.fencingToken());
        }

        @Locked(name = "report", maxWait = "0", onBusy = OnBusy.SKIP, atLeast = "1m")
        public Optional<String> report() {
            return Optional.of("written under " + Locks.current().fencingToken());
        }

        @Locked(name = "refund:{}:{}", maxWait = "3s")
        public CompletionStage<String> refund(@LockKey("id") Order order, @LockKey int item, @FencingToken long token) {
            return CompletableFuture.completedFuture("refunded under " + token);
        }
    }

    @ApplicationScoped
    static class LockClients {
        @Produces
        @ApplicationScoped
        LockClient locks() {
            return Leasehold.connect("memory:");
        }

        void close(@Disposes LockClient locks) {
            locks.close();
        }
    }

    @ParameterizedTest
    @MethodSource("io.leasehold.cdi.Container#ofThisRun")
    void theSamplesRun(Container container) throws Exception {
        try (Application application =
                container.start(Jta.with(container, Orders.class, Payments.class, LockClients.class))) {
            Payments payments = application.get(Payments.class);
            payments.pay(new Order("1001", "new"), null);
            assertThat(application.get(Orders.class).written()).isEqualTo("paid");
            assertThat(payments.report()).isPresent();
            assertThat(payments.report()).isEmpty();
            assertThat(payments.refund(new Order("1001", "new"), 7, 0)
                            .toCompletableFuture()
                            .get())
                    .startsWith("refunded under ");
        }
    }

    @Test
    void theDocumentHasTheseSamples() throws IOException {
        String here = unindented(Files.readString(Path.of("src/test/java/io/leasehold/cdi/SamplesTest.java")));
        List<String> samples = Arrays.stream(Files.readString(Path.of("../docs/cdi.md"))
                        .replace("redis://localhost:6379", "memory:")
                        .split("```java\n"))
                .skip(1)
                .map(sample ->
                        unindented(sample.substring(0, sample.indexOf("```"))).replace("\nclass ", "\nstatic class "))
                .toList();
        assertThat(samples).hasSize(2);
        samples.forEach(sample -> assertThat(here).contains(sample));
    }

    private static String unindented(String text) {
        return text.lines().map(String::strip).collect(Collectors.joining("\n"));
    }
}
