package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
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
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.Permits;
import io.leasehold.ReleaseOutcome;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests of permits: at most so many holders, each on a slot of its own; a store that keeps none refuses. */
public interface PermitsTck extends SharesStore {

    private static boolean areKept(TckBench bench) {
        try (LockClient probe = bench.client()) {
            return !isRefused(probe, bench.name("probe"));
        }
    }

    private static boolean isRefused(LockClient client, LockName name) {
        try {
            client.admin().permits(name);
            return false;
        } catch (UnsafeStoreException refused) {
            return true;
        }
    }

    private static void needPermits(TckBench bench) {
        if (!areKept(bench)) {
            bench.leaveOut("does not keep permits");
        }
    }

    /** Whether the store keeps the count, and one fence and one queue for all slots of a name. */
    private static boolean keepsCount(TckBench bench) {
        return bench.store()
                .store()
                .permits()
                .filter(permits -> !permits.keepsCount())
                .isEmpty();
    }

    private static void needCount(TckBench bench) {
        needPermits(bench);
        if (!keepsCount(bench)) {
            bench.leaveOut("does not keep the count of permits");
        }
    }

    private static List<Permit> all(Permits permits) throws InterruptedException {
        List<Permit> held = new ArrayList<>();
        for (int i = 0; i < permits.count(); i++) {
            Permit permit = permits.tryAcquire(TckBench.PATIENCE);
            assertNotNull(permit, "a permit is free");
            held.add(permit);
        }
        return held;
    }

    private static Set<Integer> slots(List<Permit> permits) {
        return permits.stream().map(Permit::slot).collect(Collectors.toSet());
    }

    /** A store that does not keep permits refuses every attempt, names itself, and says what to use. */
    @Test
    default void aStoreWithoutPermitsRefusesThem(TckBench bench) {
        LockClient client = bench.client();
        LockName name = bench.name("refused");
        if (!isRefused(client, name)) {
            return;
        }
        UnsafeStoreException refused = assertThrows(
                UnsafeStoreException.class, () -> client.permits(name, 3).tryAcquire(Duration.ZERO));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.contains(client.storeDescription()), message);
        assertTrue(message.contains("does not keep permits"), message);
        assertThrows(UnsafeStoreException.class, () -> client.admin().changePermits(name, 3, 0));
        assertEquals(List.of(), client.admin().listPermits("*", 10));
    }

    /**
     * So many permits are granted, to all clients together; each has its own slot, and tokens increase: on each slot,
     * and over the name if the store keeps its count.
     */
    @Test
    default void permitsHaveSlotsOfTheirOwn(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("slots");
        Permits one = bench.client().permits(name, 3);
        Permits other = bench.client().permits(name, 3);
        Permit first = one.acquire();
        Permit second = other.acquire();
        Permit third = one.acquire();
        assertEquals(Set.of(0, 1, 2), slots(List.of(first, second, third)));
        if (keepsCount(bench)) {
            assertTrue(first.fencingToken() < second.fencingToken());
            assertTrue(second.fencingToken() < third.fencingToken());
        }
        assertNull(one.tryAcquire(Duration.ZERO), "none is left");
        assertNull(other.tryAcquire(Duration.ZERO), "none is left");
        assertEquals(ReleaseOutcome.RELEASED, second.release());
        Permit again = one.tryAcquire(TckBench.PATIENCE);
        assertNotNull(again);
        assertEquals(second.slot(), again.slot());
        assertTrue(again.fencingToken() > (keepsCount(bench) ? third : second).fencingToken());
        assertTrue(first.isValid() && third.isValid() && again.isValid());
    }

    /**
     * A thread that asks once gets a free permit although other threads of its process ask at the same time. Over
     * nodes, their votes may be split, so that the threads ask again.
     */
    @Test
    default void callersWithoutPatienceDoNotBlockEachOther(TckBench bench) {
        needPermits(bench);
        Permits permits = bench.client().permits(bench.name("at-once"), 8);
        Duration patience = bench.store().store().isOfNodes() ? TckBench.PATIENCE : Duration.ZERO;
        List<CompletableFuture<Permit>> asked = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            asked.add(permits.attemptAsync(patience).thenApply(attempt -> attempt.orElseThrow()));
        }
        assertEquals(8, slots(asked.stream().map(TckBench::join).toList()).size());
    }

    /** A waiter gets the permit that is released, whichever it is. */
    @Test
    default void aWaiterGetsTheReleasedPermit(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("wait");
        List<Permit> held = all(bench.client().permits(name, 3));
        CompletableFuture<Permit> waiting = bench.client().permits(name, 3).acquireAsync();
        LockClient observer = bench.client();
        boolean keepsCount = keepsCount(bench);
        if (keepsCount && observer.guarantees().queueing() == Guarantee.Queueing.FIFO) {
            TckBench.until(
                    "the waiter is queued",
                    () -> observer.admin().waiters(name.asPermits(), 10).size() == 1);
            assertNull(observer.permits(name, 3).tryAcquire(Duration.ZERO));
        }
        assertFalse(waiting.isDone());
        held.get(1).close();
        Permit got = TckBench.join(waiting);
        assertEquals(held.get(1).slot(), got.slot());
        assertTrue(got.fencingToken() > held.get(keepsCount ? 2 : 1).fencingToken());
        // The first renewal of a permit that was handed over asks for the whole ttl.
        got.renew();
        assertTrue(got.isValid());
    }

    /** Several waiters are served by several releases, and one that gives up leaves nothing behind. */
    @Test
    default void aWaiterThatGivesUpLeavesNothing(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("give-up");
        List<Permit> held = all(bench.client().permits(name, 2));
        CompletableFuture<Permit> first = bench.client().permits(name, 2).acquireAsync();
        CompletableFuture<Permit> second = bench.client().permits(name, 2).acquireAsync();
        assertNull(bench.client().permits(name, 2).tryAcquire(Duration.ofMillis(300)));
        first.cancel(false);
        held.get(0).close();
        Permit got = TckBench.join(second);
        held.get(1).close();
        Permit last = bench.client().permits(name, 2).tryAcquire(TckBench.PATIENCE);
        assertNotNull(last);
        assertEquals(Set.of(0, 1), slots(List.of(got, last)));
    }

    /** The count belongs to the permits: a client that states another one gets both numbers, at once. */
    @Test
    default void anotherCountIsRefusedWithBothNumbers(TckBench bench) throws InterruptedException {
        needCount(bench);
        LockName name = bench.name("count");
        LockClient first = bench.client();
        Permit held = first.permits(name, 2).acquire();
        for (LockClient client : List.of(first, bench.client())) {
            for (int stated : new int[] {1, 3}) {
                PermitCountException refused = assertThrows(
                        PermitCountException.class,
                        () -> client.permits(name, stated).tryAcquire(TckBench.PATIENCE));
                assertEquals(stated, refused.stated());
                assertEquals(2, refused.kept());
                String message = String.valueOf(refused.getMessage());
                assertTrue(message.contains("a count of " + stated), message);
                assertTrue(message.contains("keeps 2"), message);
            }
        }
        assertTrue(held.isValid());
        assertNotNull(bench.client().permits(name, 2).tryAcquire(TckBench.PATIENCE));
    }

    /**
     * A store that keeps no count: an attempt that meets a holder with another one gets both numbers, and no operator
     * can change it.
     */
    @Test
    default void aHolderWithAnotherCountIsRefusedWithBothNumbers(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("counts");
        LockClient client = bench.client();
        if (keepsCount(bench)) {
            return;
        }
        assertTrue(client.admin().permits(name).isEmpty());
        List<Permit> held = all(client.permits(name, 2));
        PermitCountException refused = assertThrows(
                PermitCountException.class,
                () -> bench.client().permits(name, 1).tryAcquire(TckBench.PATIENCE));
        assertEquals(1, refused.stated());
        assertEquals(2, refused.kept());
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.contains("a count of 1"), message);
        assertTrue(message.contains("states 2"), message);
        held.forEach(permit -> assertTrue(permit.isValid()));
        PermitsStatus status = client.admin().permits(name).orElseThrow();
        assertEquals(2, status.count());
        assertEquals(PermitsStatus.NO_COUNT, status.version());
        assertThrows(UnsafeStoreException.class, () -> client.admin().changePermits(name, 3, status.version()));
        assertEquals(2, client.admin().list(bench.prefix() + "counts*", 10).size(), "each slot is a lock");
    }

    /** An operator changes the count: higher slots stay until they end and are not granted again. */
    @Test
    default void anOperatorChangesTheCount(TckBench bench) throws InterruptedException {
        needCount(bench);
        LockName name = bench.name("change");
        LockClient operator = bench.client();
        List<Permit> held = all(bench.client().permits(name, 3));
        PermitsStatus status = operator.admin().permits(name).orElseThrow();
        assertEquals(3, status.count());
        assertEquals(
                List.of(0, 1, 2),
                status.held().stream().map(PermitsStatus.HeldPermit::slot).toList());
        assertFalse(operator.admin().changePermits(name, 1, status.version() + 1), "another version");
        assertTrue(operator.admin().changePermits(name, 1, status.version()));
        assertFalse(operator.admin().changePermits(name, 2, status.version()), "the version has changed");
        assertThrows(
                PermitCountException.class,
                () -> bench.client().permits(name, 3).tryAcquire(Duration.ZERO));
        held.get(2).renew();
        held.forEach(permit -> assertTrue(permit.isValid(), "a holder keeps its permit"));
        for (Permit permit : held) {
            if (permit.slot() > 0) {
                assertEquals(ReleaseOutcome.RELEASED, permit.release());
            }
        }
        Permits one = bench.client().permits(name, 1);
        assertNull(one.tryAcquire(Duration.ZERO), "slot 0 is held, and there is no other");
        CompletableFuture<Permit> waiting = one.acquireAsync();
        held.forEach(Permit::close);
        assertEquals(0, TckBench.join(waiting).slot());
        PermitsStatus changed = operator.admin().permits(name).orElseThrow();
        assertEquals(1, changed.count());
        assertTrue(changed.version() > status.version());
    }

    /** An operator releases one permit by force: its holder is notified, and the others keep theirs. */
    @Test
    default void aPermitIsReleasedByForce(TckBench bench) throws InterruptedException {
        needPermits(bench);
        LockName name = bench.name("force");
        LockClient operator = bench.client();
        LockClient holder = bench.client();
        List<Permit> held = all(holder.permits(name, 2));
        CompletableFuture<LossCause> lost = new CompletableFuture<>();
        held.get(1).onLost(lost::complete);
        int slot = held.get(1).slot();
        assertFalse(operator.admin().forceReleasePermit(name, slot, "another"));
        assertTrue(operator.admin().forceReleasePermit(name, slot, holder.holderId()));
        assertFalse(operator.admin().forceReleasePermit(name, slot, null), "it is free");
        Permit next = operator.permits(name, 2).tryAcquire(TckBench.PATIENCE);
        assertNotNull(next);
        assertEquals(slot, next.slot());
        assertTrue(next.fencingToken() > held.get(1).fencingToken());
        assertThrows(RuntimeException.class, held.get(1)::renew);
        TckBench.join(lost);
        assertTrue(held.get(0).isValid());
        List<PermitsStatus> listed = operator.admin().listPermits(bench.prefix() + "*", 10);
        assertEquals(1, listed.size());
        assertEquals(
                Set.of(operator.holderId(), holder.holderId()),
                listed.get(0).held().stream()
                        .map(permit -> permit.holder().id())
                        .collect(Collectors.toSet()));
    }

    /** At the store: a permit ends with its ttl unless it is renewed; a repeated request finds its own slot. */
    @Test
    default void aPermitEndsWithItsTtl(TckBench bench) {
        needPermits(bench);
        StoreDriver store = bench.store();
        StoreDriver other = bench.store();
        LockName name = bench.name("ttl").asPermits(2);
        long start = System.nanoTime();
        OwnerToken dying = store.owner();
        OwnerToken living = store.owner();
        Grant first = store.granted(name, dying, Duration.ofMillis(800));
        Grant second = store.granted(name, living, Duration.ofMillis(800));
        assertEquals(Set.of(0, 1), Set.of(first.slot(), second.slot()));
        Grant repeated = store.granted(name, living, Duration.ofMillis(800));
        assertEquals(second.slot(), repeated.slot(), "a request finds its own slot");
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, living, LONG_TTL));
        other.busy(name);
        TckBench.sleepUntil(start, Duration.ofSeconds(1));
        Grant next = other.granted(name, other.owner(), LONG_TTL);
        assertEquals(first.slot(), next.slot());
        assertTrue(next.tokens().first()
                > (keepsCount(bench) ? repeated : first).tokens().last());
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, dying, LONG_TTL));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, first));
        other.busy(name);
        assertInstanceOf(ReleaseReply.Released.class, store.release(name, repeated));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, repeated));
        assertEquals(second.slot(), other.granted(name, other.owner(), LONG_TTL).slot());
    }

    /** At the store: several permits of one name are renewed by one request, each by its own owner token. */
    @Test
    default void permitsAreRenewedTogether(TckBench bench) {
        needPermits(bench);
        StoreDriver store = bench.store();
        LockName permits = bench.name("together").asPermits(2);
        LockName lock = bench.name("a-lock");
        Grant one = store.granted(permits, store.owner(), LONG_TTL);
        Grant two = store.granted(permits, store.owner(), LONG_TTL);
        Grant three = store.granted(lock, store.owner(), LONG_TTL);
        OwnerToken stranger = store.owner();
        List<RenewReply.Item> answers = store.renew(List.of(
                new RenewBatch.Item(permits, two.owner(), LONG_TTL.toNanos()),
                new RenewBatch.Item(lock, three.owner(), LONG_TTL.toNanos()),
                new RenewBatch.Item(permits, stranger, LONG_TTL.toNanos()),
                new RenewBatch.Item(permits, one.owner(), LONG_TTL.toNanos())));
        assertInstanceOf(RenewReply.Renewed.class, answers.get(0), answers::toString);
        assertInstanceOf(RenewReply.Renewed.class, answers.get(1), answers::toString);
        assertInstanceOf(RenewReply.NotOurs.class, answers.get(2), answers::toString);
        assertInstanceOf(RenewReply.Renewed.class, answers.get(3), answers::toString);
    }

    /** At the store: an attempt that was undone holds nothing, and a queued one that is undone is not served. */
    @Test
    default void anUndoneAttemptHoldsNothing(TckBench bench) {
        needPermits(bench);
        StoreDriver store = bench.store();
        LockName name = bench.name("undone").asPermits(1);
        Grant held = store.granted(name, store.owner(), LONG_TTL);
        OwnerToken waiter = store.owner();
        AcquireReply reply = store.acquire(store.request(name, waiter, LONG_TTL)
                .waiting(Duration.ofMinutes(1).toNanos()));
        assertFalse(reply instanceof AcquireReply.Granted);
        store.undo(name, waiter, reply.ballot());
        store.release(name, held);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, waiter, LONG_TTL));
        Grant next = store.granted(name, store.owner(), LONG_TTL);
        store.undo(name, next.owner(), next.tokens().last());
        store.granted(name, store.owner(), LONG_TTL);
    }

    /** Threads of several clients: at most so many are inside at a time, each slot is exclusive, tokens increase on each slot. */
    @Test
    default void atMostSoManyAreInside(TckBench bench) throws InterruptedException {
        needPermits(bench);
        PermitTurns turns = new PermitTurns(3);
        LockName name = bench.name("turns");
        List<Permits> clients = List.of(
                bench.client().permits(name, 3),
                bench.client().permits(name, 3),
                bench.client().permits(name, 3));
        turns.run(clients, 3, 6);
        assertEquals(List.of(), turns.violations());
        assertEquals(54, turns.taken());
    }
}
