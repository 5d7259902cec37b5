package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.LockName;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of renewal: it extends a hold, and changes nothing else. */
public interface RenewTck extends SharesStore {

    /** A renewed lock outlives its first ttl. */
    @Test
    default void renewExtends(TckBench bench) {
        StoreDriver store = bench.store();
        Duration ttl = Duration.ofSeconds(2);
        for (int attempt = 0; ; attempt++) {
            LockName name = bench.name("renewed-" + attempt);
            long start = System.nanoTime();
            Grant grant = store.granted(name, store.owner(), ttl);
            long before = store.nanoTime();
            RenewReply.Item reply = store.renew(name, grant.owner(), LONG_TTL);
            if (reply instanceof RenewReply.NotOurs && System.nanoTime() - start >= ttl.toNanos() && attempt < 10) {
                continue; // This machine stood still for a whole ttl: nothing was tested yet.
            }
            RenewReply.Renewed renewed = assertInstanceOf(RenewReply.Renewed.class, reply);
            assertTrue(store.nanoTime() - renewed.sentAtNanos() >= 0, "renewed from a moment after the reply");
            assertTrue(renewed.sentAtNanos() - before >= -ttl.toNanos(), "renewed from a moment long before");
            TckBench.sleepUntil(start, ttl.plusMillis(500));
            bench.store().busy(name);
            return;
        }
    }

    /** A renewal by an owner token without a hold reports that, and neither acquires nor disturbs the lock. */
    @Test
    default void renewOfAStrangerIsHarmless(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("stranger");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, store.owner(), LONG_TTL));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, grant.owner(), LONG_TTL));
        store.busy(name);
    }

    /** A lock that is gone is never brought back by a renewal. */
    @Test
    default void renewNeverRecreates(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("recreate");
        OwnerToken never = store.owner();
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, never, LONG_TTL));
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        store.release(name, grant);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, grant.owner(), LONG_TTL));
        Grant next = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, grant.owner(), LONG_TTL));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, next.owner(), LONG_TTL));
    }

    /** After expiry and takeover, the old owner's renewal is answered with the loss. */
    @Test
    default void renewAfterTakeoverIsNotOurs(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("takeover");
        Grant old = store.granted(name, store.owner(), Duration.ofSeconds(1));
        Grant next = bench.store().grantedInTheEnd(name, LONG_TTL);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, old.owner(), LONG_TTL));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, next.owner(), LONG_TTL));
    }

    /** A batch is answered item by item in its order, and one that fails stops none of the others. */
    @Test
    default void renewAnswersABatchItemByItem(TckBench bench) {
        StoreDriver store = bench.store();
        long ttl = LONG_TTL.toNanos();
        LockName mine = bench.name("batch-mine");
        LockName others = bench.name("batch-others");
        LockName free = bench.name("batch-free");
        LockName alsoMine = bench.name("batch-also-mine");
        Grant first = store.granted(mine, store.owner(), LONG_TTL);
        store.granted(others, store.owner(), LONG_TTL);
        Grant second = store.granted(alsoMine, store.owner(), LONG_TTL);
        List<RenewReply.Item> answers = store.renew(List.of(
                new RenewBatch.Item(others, store.owner(), ttl),
                new RenewBatch.Item(mine, first.owner(), ttl),
                new RenewBatch.Item(free, store.owner(), ttl),
                new RenewBatch.Item(alsoMine, second.owner(), ttl)));
        assertEquals(4, answers.size());
        assertInstanceOf(RenewReply.NotOurs.class, answers.get(0));
        assertInstanceOf(RenewReply.Renewed.class, answers.get(1));
        assertInstanceOf(RenewReply.NotOurs.class, answers.get(2));
        assertInstanceOf(RenewReply.Renewed.class, answers.get(3));
        store.granted(free, store.owner(), LONG_TTL);
    }
}
