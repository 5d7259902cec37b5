package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Tests of a store that restarts with its data: holds and fences survive, and clients reconnect. */
public interface RestartTck extends SharesStore {

    /** A lease survives the restart of its store, keeps others out, and is renewed and released afterwards. */
    @Test
    @ResourceLock(TckBench.STORE)
    default void leaseSurvivesARestart(TckBench bench) throws Exception {
        needsRestart(bench);
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        LockClient other = bench.client();
        LockName name = bench.name("survives");
        Lease lease = client.named(name).acquire();
        bench.fixture().restart();
        TckBench.until("the other client finds the store again", () -> answers(other, name));
        assertNull(other.named(name).tryAcquire(Duration.ZERO), "the restart freed the lock");
        assertTrue(lease.isValid());
        TckBench.until("the lease is renewed", () -> renews(lease));
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        try (Lease next = other.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(next);
            assertTrue(next.fencingToken() > lease.fencingToken());
        }
    }

    /** Fencing tokens keep increasing over a restart, for a client that saw the old ones and for a new one. */
    @Test
    @ResourceLock(TckBench.STORE)
    default void fencingTokensIncreaseOverARestart(TckBench bench) throws Exception {
        needsRestart(bench);
        bench.needs(Guarantee.Fencing.INCREASING);
        StoreDriver store = bench.store();
        LockName name = bench.name("restart-tokens");
        Grant grant = store.granted(store.request(name, store.owner(), LONG_TTL).reserve(64));
        store.release(name, grant);
        bench.fixture().restart();
        StoreDriver fresh = bench.store();
        Grant next = fresh.grantedInTheEnd(name, LONG_TTL);
        assertTrue(next.tokens().first() > grant.tokens().last(), "the token went down over the restart");
        TckBench.until(
                "the old client finds the store again",
                () -> !(store.acquire(name, store.owner(), LONG_TTL) instanceof AcquireReply.Failed));
        assertInstanceOf(AcquireReply.Busy.class, store.acquire(name, store.owner(), LONG_TTL));
    }

    private static void needsRestart(TckBench bench) {
        if (!bench.fixture().canRestart()) {
            bench.leaveOut("cannot be restarted by its fixture");
        }
    }

    private static boolean answers(LockClient client, LockName name) {
        try {
            return client.admin().inspect(name).isPresent();
        } catch (io.leasehold.LockStoreException e) {
            return false;
        }
    }

    private static boolean renews(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (io.leasehold.LockStoreException e) {
            return false;
        }
    }
}
