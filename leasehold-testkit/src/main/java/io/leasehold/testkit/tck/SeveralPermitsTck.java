package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.Permits;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests of several permits at once: all or none, nothing is held while an attempt waits, and no deadlock. */
public interface SeveralPermitsTck extends SharesStore {

    private static void needPermits(TckBench bench) {
        if (bench.store().store().permits().isEmpty()) {
            bench.leaveOut("does not keep permits");
        }
    }

    private static boolean keepsCount(TckBench bench) {
        return bench.store().store().permits().orElseThrow().keepsCount();
    }

    /** Over nodes, the votes on a free slot may be split, so a caller without patience may be told that it is busy. */
    private static Duration atOnce(TckBench bench) {
        return bench.store().store().isOfNodes() ? TckBench.PATIENCE : Duration.ZERO;
    }

    private static int held(LockClient client, LockName name) {
        return client.admin()
                .permits(name)
                .map(PermitsStatus::held)
                .map(List::size)
                .orElse(0);
    }

    private static List<Permit> take(TckBench bench, LockName name, int count, int number) throws InterruptedException {
        List<Permit> taken = new ArrayList<>();
        Permits permits = bench.client().permits(name, count);
        for (int i = 0; i < number; i++) {
            Permit permit = permits.tryAcquire(atOnce(bench));
            assertNotNull(permit, "a permit is free");
            taken.add(permit);
        }
        return taken;
    }

    /** Each permit has its slot and token; one release ends all; the rest stays for others. */
    @Test
    default void severalPermitsAreOneHold(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("several");
        LockClient client = bench.client();
        MultiPermit three = client.permits(name, 4).several(3).tryAcquire(atOnce(bench));
        assertNotNull(three);
        assertEquals(3, new TreeSet<>(three.slots()).size());
        assertEquals(three.slots(), three.slots().stream().sorted().toList());
        assertEquals(name.asPermits(), three.lockName());
        assertEquals(3, held(client, name));
        assertThrows(IllegalArgumentException.class, () -> three.fencingToken(4));
        three.renew();
        assertTrue(three.isValid());
        List<Permit> last = take(bench, name, 4, 1);
        assertFalse(three.slots().contains(last.get(0).slot()));
        assertNull(client.permits(name, 4).several(1).tryAcquire(Duration.ZERO));
        assertEquals(ReleaseOutcome.RELEASED, last.get(0).release());
        List<Long> before = three.slots().stream().map(three::fencingToken).toList();
        assertEquals(ReleaseOutcome.RELEASED, three.release());
        assertFalse(three.isValid());
        assertEquals(0, held(client, name));
        MultiPermit all = bench.client().permits(name, 4).several(4).tryAcquire(atOnce(bench));
        assertNotNull(all);
        assertEquals(List.of(0, 1, 2, 3), all.slots());
        for (int i = 0; i < 3; i++) {
            assertTrue(all.fencingToken(three.slots().get(i)) > before.get(i));
        }
    }

    /** A caller that cannot have all gets that answer when it has released what it took. */
    @Test
    default void allOrNone(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("none");
        take(bench, name, 4, 2);
        LockClient client = bench.client();
        assertNull(client.permits(name, 4).several(3).tryAcquire(Duration.ZERO));
        assertEquals(2, held(client, name), "nothing is left of the attempt");
        assertNull(client.permits(name, 4).several(3).tryAcquire(Duration.ofMillis(200)));
        assertEquals(2, held(client, name), "nothing is left of the attempt that waited");
        take(bench, name, 4, 2);
    }

    /** A caller that waits gets all when enough are free; until then, others can have those that are free. */
    @Test
    default void aWaiterForSeveralHoldsNothing(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("waits");
        List<Permit> held = take(bench, name, 3, 3);
        CompletableFuture<MultiPermit> waiting =
                bench.client().permits(name, 3).several(2).acquireAsync();
        assertEquals(ReleaseOutcome.RELEASED, held.get(0).release());
        LockClient observer = bench.client();
        TckBench.until("nothing is held by the waiter", () -> held(observer, name) == 2);
        assertFalse(waiting.isDone());
        assertEquals(ReleaseOutcome.RELEASED, held.get(1).release());
        MultiPermit two = TckBench.join(waiting);
        assertEquals(
                Set.of(held.get(0).slot(), held.get(1).slot()), Set.copyOf(two.slots()), "those that were released");
        assertTrue(two.isValid());
    }

    /** A caller that withdraws leaves nothing. */
    @Test
    default void aWithdrawnAttemptOnSeveralLeavesNothing(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("withdrawn");
        List<Permit> held = take(bench, name, 2, 1);
        CompletableFuture<MultiPermit> waiting =
                bench.client().permits(name, 2).several(2).acquireAsync();
        assertFalse(waiting.isDone());
        assertTrue(waiting.cancel(false));
        LockClient observer = bench.client();
        TckBench.until("nothing is left", () -> held(observer, name) == 1);
        held.get(0).close();
        MultiPermit both = observer.permits(name, 2).several(2).tryAcquire(TckBench.PATIENCE);
        assertNotNull(both);
    }

    /** A number below one, or above the count, is refused at the call with both numbers; nothing is lost. */
    @Test
    default void aNumberOutOfBoundsIsRefused(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("bounds");
        LockClient client = bench.client();
        Permits permits = client.permits(name, 3);
        for (int number : new int[] {0, -1, 4}) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> permits.several(number));
            String message = String.valueOf(refused.getMessage());
            assertTrue(message.contains("count of 3") && message.contains("" + number), message);
        }
        assertEquals(0, held(client, name));
        take(bench, name, 3, 3);
    }

    /** A client that states another count is refused, and holds nothing. */
    @Test
    default void anotherCountIsRefusedForSeveral(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("count");
        take(bench, name, 3, 2);
        LockClient client = bench.client();
        if (keepsCount(bench)) {
            PermitCountException refused = assertThrows(
                    PermitCountException.class,
                    () -> client.permits(name, 4).several(2).tryAcquire(TckBench.PATIENCE));
            assertEquals(4, refused.stated());
            assertEquals(3, refused.kept());
        } else {
            // Two of three slots are held, so the attempt meets one of them below slot 2.
            assertThrows(
                    PermitCountException.class,
                    () -> client.permits(name, 2).several(2).tryAcquire(TckBench.PATIENCE));
        }
        TckBench.until("nothing is left", () -> held(client, name) == 2);
    }

    /** The loss of one permit is the loss of all, told once; the others are still released. */
    @Test
    default void theLossOfOneIsTheLossOfAll(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("loss");
        LockClient client = bench.client();
        MultiPermit two = client.permits(name, 3).several(2).tryAcquire(TckBench.PATIENCE);
        assertNotNull(two);
        AtomicInteger told = new AtomicInteger();
        CompletableFuture<LossCause> lost = new CompletableFuture<>();
        two.onLost(cause -> {
            told.incrementAndGet();
            lost.complete(cause);
        });
        LockClient operator = bench.client();
        assertTrue(operator.admin().forceReleasePermit(name, two.slots().get(1), client.holderId()));
        assertThrows(RuntimeException.class, two::renew);
        TckBench.join(lost);
        assertFalse(two.isValid());
        assertEquals(ReleaseOutcome.ALREADY_LOST, two.release());
        assertEquals(1, told.get());
        assertEquals(0, held(operator, name));
    }

    /** A request that waits for several is not overtaken, if the store takes them in one step and has a queue. */
    @Test
    default void aLargeRequestIsNotOvertaken(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockClient observer = bench.client();
        if (!bench.store().store().permits().orElseThrow().takesSeveral()
                || observer.guarantees().queueing() != Guarantee.Queueing.FIFO) {
            bench.leaveOut("has no queue of requests for several permits");
        }
        LockName name = bench.name("large");
        List<Permit> held = take(bench, name, 4, 2);
        CompletableFuture<MultiPermit> large =
                bench.client().permits(name, 4).several(3).acquireAsync();
        TckBench.until(
                "the large request is queued",
                () -> observer.admin().waiters(name.asPermits(), 10).size() == 1);
        CompletableFuture<Permit> small = bench.client().permits(name, 4).acquireAsync();
        assertNull(observer.permits(name, 4).tryAcquire(Duration.ZERO), "two are free, but another waits before");
        assertEquals(2, held(observer, name), "nothing is held for it");
        assertFalse(small.isDone());
        held.get(0).close();
        MultiPermit three = TckBench.join(large);
        assertEquals(3, three.slots().size());
        three.renew();
        assertTrue(three.isValid());
        assertFalse(small.isDone());
        held.get(1).close();
        assertEquals(held.get(1).slot(), TckBench.join(small).slot());
        assertTrue(three.isValid());
    }

    /** At the store: a repeated request for several finds its own, renews and ends all of them. */
    @Test
    default void aRepeatedRequestForSeveralFindsItsOwn(TckBench bench) {
        needPermits(bench);
        if (!bench.store().store().permits().orElseThrow().takesSeveral()) {
            bench.leaveOut("takes permits one by one");
        }
        StoreDriver store = bench.store();
        LockName name = bench.name("repeated").asPermits(5);
        Grant single = store.granted(name, store.owner(), TckBench.LONG_TTL);
        OwnerToken owner = store.owner();
        Grant first = granted(store, name, owner);
        assertEquals(3, first.tokens().last() - first.tokens().first() + 1);
        store.release(name, single);
        Grant second = granted(store, name, owner);
        assertEquals(first.slots(), second.slots());
        assertTrue(second.tokens().first() > first.tokens().last());
        assertEquals(3, held(bench.client(), name));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, owner, TckBench.LONG_TTL));
        store.release(name, second);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, owner, TckBench.LONG_TTL));
        assertEquals(0, held(bench.client(), name));
    }

    private static Grant granted(StoreDriver store, LockName name, OwnerToken owner) {
        AcquireReply reply =
                store.acquire(store.request(name, owner, TckBench.LONG_TTL).reserve(3));
        assertInstanceOf(AcquireReply.Granted.class, reply);
        return ((AcquireReply.Granted) reply).grant();
    }

    /** Clients that want three of four, and clients that want one: all get theirs, and each slot is exclusive. */
    @Test
    default void largeRequestsDoNotDeadlock(TckBench bench) throws InterruptedException {
        needPermits(bench);
        PermitTurns turns = new PermitTurns(4);
        LockName name = bench.name("three-of-four");
        List<Permits> clients =
                List.of(bench.client().permits(name, 4), bench.client().permits(name, 4));
        turns.runSeveral(clients, 1, 5, 3);
        assertEquals(List.of(), turns.violations());
        assertEquals(30, turns.taken());
        PermitTurns mixed = new PermitTurns(4);
        List<Thread> single = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Permits permits = bench.client().permits(name, 4);
            Thread thread = new Thread(
                    () -> {
                        try {
                            mixed.run(List.of(permits), 1, 10);
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    },
                    "one-of-four");
            single.add(thread);
            thread.start();
        }
        mixed.runSeveral(clients, 1, 3, 3);
        for (Thread thread : single) {
            thread.join(TckBench.PATIENCE.toMillis());
            assertFalse(thread.isAlive());
        }
        assertEquals(List.of(), mixed.violations());
        assertEquals(20 + 18, mixed.taken());
    }
}
