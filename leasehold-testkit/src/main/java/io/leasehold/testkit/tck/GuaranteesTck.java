package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Tests that a store keeps the guarantees that it declares. */
public interface GuaranteesTck extends SharesStore {

    /** Each promised level can be required, and each other level is refused before anything is locked. */
    @Test
    default void whatIsPromisedMayBeRequiredAndNothingElse(TckBench bench) {
        Guarantees promised = bench.store().store().guarantees();
        List<Guarantee> levels = Stream.of(
                        Guarantee.Exclusion.values(),
                        Guarantee.Fencing.values(),
                        Guarantee.Queueing.values(),
                        Guarantee.Scope.values())
                .flatMap(Stream::<Guarantee>of)
                .toList();
        for (Guarantee level : levels) {
            Leasehold.Builder builder = Leasehold.builder()
                    .store(runtime -> fixture().open(runtime))
                    .require(level);
            if (promised.covers(level)) {
                try (LockClient client = builder.connect()) {
                    assertEquals(promised, client.guarantees(), "promised twice, differently");
                }
            } else {
                assertThrows(UnsafeStoreException.class, builder::connect, level + " is not promised");
            }
        }
    }

    /**
     * A store that promises first come, first served keeps to it among many on several clients, when one of them leaves, and
     * against newcomers that wait or do not.
     */
    @Test
    default void firstComeIsFirstServed(TckBench bench) {
        bench.needs(Guarantee.Queueing.FIFO);
        List<StoreDriver> stores = List.of(bench.store(), bench.store(), bench.store());
        LockName name = bench.name("fifo");
        StoreDriver holder = stores.get(0);
        Grant held = holder.granted(name, holder.owner(), LONG_TTL);
        List<OwnerToken> line = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            StoreDriver store = stores.get(i % 3);
            OwnerToken owner = store.owner();
            assertInstanceOf(AcquireReply.Queued.class, store.acquire(waiting(store, name, owner)));
            line.add(owner);
        }
        stores.get(2).undo(name, line.get(2), 0);
        long last = held.tokens().last();
        for (int next = 0; next < 6; next++) {
            if (next == 2) {
                continue;
            }
            holder.release(name, held);
            StoreDriver newcomer = stores.get((next + 1) % 3);
            assertInstanceOf(AcquireReply.Busy.class, newcomer.acquire(name, newcomer.owner(), LONG_TTL));
            holder = stores.get(next % 3);
            held = holder.granted(waiting(holder, name, line.get(next)));
            assertTrue(held.tokens().first() > last, "the token of waiter " + next);
            last = held.tokens().last();
        }
    }

    /** Tokens increase over everything that ends a lease: releases, undoing, force, and other clients. */
    @Test
    default void tokensIncreaseHoweverALeaseEnds(TckBench bench) {
        bench.needs(Guarantee.Fencing.INCREASING);
        List<StoreDriver> stores = List.of(bench.store(), bench.store());
        LockName name = bench.name("tokens");
        long last = 0;
        for (int i = 0; i < 12; i++) {
            StoreDriver store = stores.get(i % 2);
            Grant grant = store.grantedInTheEnd(name, LONG_TTL);
            assertTrue(grant.tokens().first() > last, "token " + grant.tokens().first() + " after " + last);
            last = grant.tokens().last();
            if (i % 3 == 0) {
                store.release(name, grant);
            } else if (i % 3 == 1) {
                assertTrue(store.answer(stores.get((i + 1) % 2).store().admin().forceRelease(name, null)));
            } else {
                store.undo(name, grant.owner(), grant.tokens().last());
            }
        }
    }

    /** The largest token survives restarts of the store that follow each other, for clients that have seen none. */
    @Test
    @ResourceLock(TckBench.STORE)
    default void tokensSurviveRestarts(TckBench bench) throws Exception {
        if (!bench.fixture().canRestart()) {
            bench.leaveOut("cannot be restarted by its fixture");
        }
        bench.needs(Guarantee.Fencing.INCREASING);
        LockName name = bench.name("restarts");
        long last = 0;
        for (int i = 0; i < 2; i++) {
            StoreDriver store = bench.store();
            Grant grant = store.grantedInTheEnd(name, LONG_TTL);
            assertTrue(grant.tokens().first() > last, "token " + grant.tokens().first() + " after " + last);
            last = grant.tokens().last();
            store.release(name, grant);
            bench.fixture().restart();
        }
        assertTrue(bench.store().grantedInTheEnd(name, LONG_TTL).tokens().first() > last);
    }

    private static AcquireRequest waiting(StoreDriver store, LockName name, OwnerToken owner) {
        return store.request(name, owner, LONG_TTL)
                .waiting(Duration.ofMinutes(5).toNanos());
    }
}
