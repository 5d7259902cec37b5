package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the cost of renewals at a real server, by its own counts. */
@Tag("full")
class RedisRenewalTest {

    private static final int LEASES = 10_000;
    private static final Duration TTL = Duration.ofSeconds(9);
    /** 40 in a second, over an interval of 3 s in which each lease is renewed once. */
    private static final int MAX_CALLS_FOR_ALL = 40 * 3;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static long scriptCalls() {
        return SERVER.server()
                .call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_evalsha:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("^cmdstat_evalsha:calls=(\\d+),.*", "$1")
                        .strip()))
                .sum();
    }

    @Test
    void tenThousandLeasesOfNineSecondsShareTheirRenewals() {
        AtomicInteger renewals = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        LockListener counting = new LockListener() {
            @Override
            public void renewed(Renewed event) {
                (event.outcome() == RenewalOutcome.RENEWED ? renewals : failed).incrementAndGet();
            }
        };
        try (LockClient client = Leasehold.builder()
                .store(SERVER.server().uri())
                .listener(counting)
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect()) {
            List<Lease> leases = new ArrayList<>();
            for (int from = 0; from < LEASES; from += 500) {
                List<CompletableFuture<Lease>> some = new ArrayList<>();
                for (int i = from; i < from + 500; i++) {
                    some.add(client.named("renewed:" + i).acquireAsync());
                }
                some.forEach(future ->
                        leases.add(future.orTimeout(60, TimeUnit.SECONDS).join()));
            }
            long callsBefore = scriptCalls();
            int renewalsBefore = renewals.get();

            NodeBench.until("each is renewed twice", () -> renewals.get() - renewalsBefore >= 2 * LEASES);

            int counted = renewals.get() - renewalsBefore;
            long calls = scriptCalls() - callsBefore;
            System.out.println("renewals: " + counted + " of " + LEASES + " leases in " + calls + " script calls");
            assertThat(failed).hasValue(0);
            assertThat(calls * LEASES).isLessThanOrEqualTo((long) MAX_CALLS_FOR_ALL * counted);
            assertThat(leases).allMatch(Lease::isValid);

            // Release in parts: with more requests than a connection accepts at once, the rest would be released a
            // moment later.
            for (int from = 0; from < LEASES; from += 500) {
                CompletableFuture.allOf(leases.subList(from, from + 500).stream()
                                .map(Lease::releaseAsync)
                                .toArray(CompletableFuture<?>[]::new))
                        .orTimeout(60, TimeUnit.SECONDS)
                        .join();
            }
            long after = scriptCalls();
            int renewalsAfter = renewals.get();
            assertThat(SERVER.redis().keys("lock:*}")).isEmpty();
            assertThat(scriptCalls()).as("none after the releases").isEqualTo(after);
            assertThat(renewals).hasValue(renewalsAfter);
        }
    }
}
