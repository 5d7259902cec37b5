package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Tests that clients which delete unused data never delete a held lock. */
public interface HousekeepingTck extends SharesStore {

    /** Locks that are used now and then, by clients that delete all the time: each is held by one, to its end, and tokens increase. */
    @Test
    @ResourceLock(TckBench.STORE)
    default void deletingWhatIsUnusedLeavesWhatIsHeld(TckBench bench) {
        int clients = 4;
        int names = 40;
        int rounds = 400;
        List<StoreDriver> stores = new ArrayList<>();
        for (int c = 0; c < clients; c++) {
            stores.add(bench.forgetfulStore());
        }
        boolean ordered = stores.get(0).store().guarantees().covers(Guarantee.Fencing.INCREASING);
        AtomicIntegerArray holders = new AtomicIntegerArray(names);
        AtomicLongArray tokens = new AtomicLongArray(names);
        List<Thread> threads = new ArrayList<>();
        TaskErrors errors = new TaskErrors();
        for (int c = 0; c < clients; c++) {
            StoreDriver store = stores.get(c);
            int client = c;
            threads.add(errors.start("user-" + c, () -> {
                for (int round = 0; round < rounds; round++) {
                    // Names of one use give the clients something to delete.
                    LockName once = bench.name("once-" + client + "-" + round);
                    store.release(once, store.granted(once, store.owner(), LONG_TTL));
                    int i = ThreadLocalRandom.current().nextInt(names);
                    LockName name = bench.name("now-and-then-" + i);
                    OwnerToken owner = store.owner();
                    if (!(store.acquire(name, owner, LONG_TTL) instanceof AcquireReply.Granted granted)) {
                        continue;
                    }
                    Grant grant = granted.grant();
                    assertEquals(1, holders.incrementAndGet(i), "holders of one lock");
                    long before = tokens.getAndSet(i, grant.tokens().last());
                    assertTrue(!ordered || grant.tokens().first() > before, "the token went down");
                    assertInstanceOf(
                            RenewReply.Renewed.class, store.renew(name, owner, LONG_TTL), "what is held is kept");
                    holders.decrementAndGet(i);
                    assertInstanceOf(ReleaseReply.Released.class, store.release(name, grant), "what is held is kept");
                }
            }));
        }
        errors.join(threads);
    }
}
