package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.testkit.process.ChildJvm;
import java.time.Duration;
import java.util.StringTokenizer;
import org.junit.jupiter.api.Test;

/** Tests of exclusion between JVMs, one of which is killed while it holds a lock. */
public interface CrossProcessTck extends SharesStore {

    /**
     * If a JVM is killed while it holds a lock, others acquire the lock after its ttl, and not before; at once if the
     * store detects the death.
     */
    @Test
    default void killedHolderIsTakenOverAfterItsTtl(TckBench bench) throws Exception {
        bench.needs(Guarantee.Scope.MACHINE);
        boolean atOnce = bench.fixture().noticesDeath();
        Duration ttl = atOnce ? TckBench.LONG_TTL : Duration.ofSeconds(4);
        LockName name = bench.name("killed");
        LockClient client = bench.client();
        try (ChildJvm child = start(bench, name, ttl, false)) {
            ChildHold held = held(child);
            Holder holder = client.admin().inspect(name).orElse(null);
            if (holder != null) {
                assertTrue(holder.id().contains("/" + child.pid() + "/"), "held by " + holder.id());
            }
            child.kill();
            try (Lease lease = client.named(name).tryAcquire(TckBench.PATIENCE)) {
                long tookOver = System.nanoTime();
                assertNotNull(lease);
                assertTrue(
                        atOnce || tookOver - held.askedAtNanos() >= ttl.toNanos() * 98 / 100,
                        "taken over " + (tookOver - held.askedAtNanos()) / 1_000_000 + " ms after a ttl of " + ttl
                                + " had begun");
                if (client.guarantees().covers(Guarantee.Fencing.INCREASING)) {
                    assertTrue(lease.fencingToken() > held.fencingToken());
                }
            }
        }
    }

    /** A JVM that renews excludes others for longer than its ttl; after it is killed, another one acquires the lock. */
    @Test
    default void renewingHolderKeepsOtherProcessesOut(TckBench bench) throws Exception {
        bench.needs(Guarantee.Scope.MACHINE);
        // A child that gets no processor for a ttl loses its lease with good reason.
        Duration ttl = Duration.ofSeconds(6);
        LockName name = bench.name("renewing");
        LockClient client = bench.client();
        try (ChildJvm child = start(bench, name, ttl, true)) {
            ChildHold held = held(child);
            assertNull(
                    client.named(name).tryAcquire(ttl.multipliedBy(3).dividedBy(2)),
                    "the lease of another JVM was not renewed");
            child.kill();
            try (Lease lease = client.named(name).tryAcquire(TckBench.PATIENCE)) {
                assertNotNull(lease);
                if (client.guarantees().covers(Guarantee.Fencing.INCREASING)) {
                    assertTrue(lease.fencingToken() > held.fencingToken());
                }
            }
        }
    }

    /** A JVM that is asked to end releases: the lock is free without waiting for any ttl. */
    @Test
    default void otherProcessReleases(TckBench bench) throws Exception {
        bench.needs(Guarantee.Scope.MACHINE);
        LockName name = bench.name("released");
        LockClient client = bench.client();
        try (ChildJvm child = start(bench, name, TckBench.LONG_TTL, true)) {
            held(child);
            assertNull(client.named(name).tryAcquire(Duration.ZERO));
            child.send("release");
            assertEquals(HolderMain.RELEASED + " RELEASED", child.awaitLine(HolderMain.RELEASED, TckBench.PATIENCE));
            try (Lease lease = client.named(name).tryAcquire(TckBench.PATIENCE)) {
                assertNotNull(lease);
            }
        }
    }

    private static ChildJvm start(TckBench bench, LockName name, Duration ttl, boolean renew) {
        String uri = bench.fixture().uriForOtherProcesses();
        if (uri == null) {
            throw new AssertionError(
                    bench.fixture().name() + " excludes other processes, but its fixture has no URI for them");
        }
        // The URI goes into the environment, where other users of the machine cannot read it.
        return ChildJvm.of(HolderMain.class)
                .jvmArgument("-Xmx64m")
                .environment(HolderMain.URI_VARIABLE, uri)
                .arguments(name.text(), Long.toString(ttl.toMillis()), Boolean.toString(renew))
                .start();
    }

    private static ChildHold held(ChildJvm child) throws InterruptedException {
        String line = child.awaitLine(HolderMain.HELD, TckBench.PATIENCE);
        StringTokenizer words = new StringTokenizer(line.substring(HolderMain.HELD.length()));
        return new ChildHold(Long.parseLong(words.nextToken()), Long.parseLong(words.nextToken()));
    }
}
