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
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests of readers and writers: readers share, a writer is alone; a store that keeps no readers refuses them. */
public interface ReadWriteTck extends SharesStore {

    private static Lease reader(LockClient client, LockName name) throws InterruptedException {
        Lease lease = client.readWrite(name).read().tryAcquire(TckBench.PATIENCE);
        assertNotNull(lease, "a reader is let in");
        return lease;
    }

    private static boolean isFifo(LockClient client) {
        return client.guarantees().queueing() == Guarantee.Queueing.FIFO;
    }

    private static void queued(LockClient observer, LockName name, int waiters) {
        TckBench.until(
                waiters + " are queued",
                () -> observer.admin().waiters(name, 10).size() == waiters);
    }

    private static void assertNoWriter(LockClient client, LockName name) throws InterruptedException {
        assertNull(client.readWrite(name).write().tryAcquire(Duration.ZERO), "readers hold it");
        assertNull(client.named(name).tryAcquire(Duration.ZERO), "readers hold it");
    }

    /** A store that does not keep readers refuses before anything is sent, names itself, and says what to use. */
    @Test
    default void aStoreWithoutReadersRefusesThem(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockName name = bench.name("refused");
        assertEquals(bench.keepsReaders(), client.keepsReaders());
        if (client.keepsReaders()) {
            return;
        }
        UnsafeStoreException refused = assertThrows(UnsafeStoreException.class, () -> client.readWrite(name));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.contains(client.storeDescription()), message);
        assertTrue(message.contains("named(...)"), message);
        assertEquals(List.of(), client.admin().readers(name, 10));
        client.named(name).acquire().close();
    }

    /** Readers of several clients hold the lock together; no writer does, by whichever interface it asks. */
    @Test
    default void readersShareAndExcludeWriters(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("share");
        LockClient one = bench.client();
        LockClient other = bench.client();
        Lease first = reader(one, name);
        Lease second = reader(other, name);
        assertTrue(first.isValid() && second.isValid());
        assertNoWriter(one, name);
        assertNoWriter(bench.client(), name);
        first.renew();
        second.renew();
        assertEquals(ReleaseOutcome.RELEASED, first.release());
        assertNoWriter(one, name);
        assertTrue(second.isValid());
        assertEquals(ReleaseOutcome.RELEASED, second.release());
        try (Lease writer = bench.client().named(name).tryAcquire(Duration.ZERO)) {
            assertNotNull(writer, "it is free at once");
        }
    }

    /** A writer is alone, whether it has requested a write lease or the lock of that name. */
    @Test
    default void aWriterExcludesReadersAndWriters(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("alone");
        LockClient holder = bench.client();
        LockClient other = bench.client();
        for (Lease writer : List.of(
                holder.readWrite(name).write().acquire(),
                holder.named(bench.name("plain")).acquire())) {
            LockName held = writer.lockName();
            assertNull(other.readWrite(held).read().tryAcquire(Duration.ZERO));
            assertNull(other.readWrite(held).write().tryAcquire(Duration.ZERO));
            assertNull(other.named(held).tryAcquire(Duration.ZERO));
            writer.renew();
            CompletableFuture<Lease> waiting = other.readWrite(held).read().acquireAsync();
            assertEquals(ReleaseOutcome.RELEASED, writer.release());
            assertTrue(TckBench.join(waiting).isValid());
        }
    }

    /** Neighbouring readers that wait are let in together, and the next writer after the last of them. */
    @Test
    default void readersThatWaitAreLetInTogether(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("together");
        WriteLease writer = bench.client().readWrite(name).write().acquire();
        CompletableFuture<Lease> one = bench.client().readWrite(name).read().acquireAsync();
        CompletableFuture<Lease> other = bench.client().readWrite(name).read().acquireAsync();
        LockClient observer = bench.client();
        if (isFifo(observer)) {
            queued(observer, name, 2);
        }
        writer.close();
        Lease first = TckBench.join(one);
        Lease second = TckBench.join(other);
        assertTrue(first.isValid() && second.isValid());
        first.renew();
        second.renew();
        CompletableFuture<WriteLease> next = observer.readWrite(name).write().acquireAsync();
        first.close();
        assertFalse(next.isDone());
        second.close();
        assertTrue(TckBench.join(next).isValid());
    }

    /** A reader that comes after a waiting writer waits behind it. */
    @Test
    default void aReaderWaitsBehindAWriter(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        bench.needs(Guarantee.Queueing.FIFO);
        LockName name = bench.name("behind");
        LockClient observer = bench.client();
        Lease first = reader(bench.client(), name);
        CompletableFuture<WriteLease> writer =
                bench.client().readWrite(name).write().acquireAsync();
        queued(observer, name, 1);
        assertNull(observer.readWrite(name).read().tryAcquire(Duration.ZERO), "a writer waits");
        CompletableFuture<Lease> late = bench.client().readWrite(name).read().acquireAsync();
        queued(observer, name, 2);
        first.close();
        WriteLease written = TckBench.join(writer);
        assertFalse(late.isDone());
        assertTrue(written.fencingToken() > first.fencingToken());
        written.close();
        assertTrue(TckBench.join(late).fencingToken() > written.fencingToken());
    }

    /** A writer that gives up lets in the readers behind it, although others hold the lock. */
    @Test
    default void aWithdrawnWriterLetsReadersIn(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        bench.needs(Guarantee.Queueing.FIFO);
        LockName name = bench.name("withdrawn");
        LockClient observer = bench.client();
        Lease first = reader(bench.client(), name);
        CompletableFuture<WriteLease> writer =
                bench.client().readWrite(name).write().acquireAsync();
        queued(observer, name, 1);
        CompletableFuture<Lease> behind = bench.client().readWrite(name).read().acquireAsync();
        queued(observer, name, 2);
        writer.cancel(false);
        assertTrue(TckBench.join(behind).isValid());
        assertTrue(first.isValid());
    }

    /** The token of a reader is above that of the writer before it, and the next writer's above those of all readers. */
    @Test
    default void tokensOrderWritersAgainstReaders(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        bench.needs(Guarantee.Fencing.INCREASING);
        LockName name = bench.name("tokens");
        LockClient one = bench.client();
        LockClient other = bench.client();
        long floor = 0;
        for (int round = 0; round < 3; round++) {
            Lease writer = one.named(name).tryAcquire(TckBench.PATIENCE);
            assertNotNull(writer);
            assertTrue(writer.fencingToken() > floor);
            writer.close();
            Lease first = reader(other, name);
            Lease second = reader(one, name);
            assertTrue(first.fencingToken() > writer.fencingToken());
            assertTrue(second.fencingToken() > writer.fencingToken());
            first.close();
            second.close();
            floor = Math.max(first.fencingToken(), second.fencingToken());
        }
    }

    /** A writer becomes a reader with a larger token; readers join, and no writer comes in between. */
    @Test
    default void aDowngradeLeavesNoGap(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("downgrade");
        LockClient client = bench.client();
        LockClient observer = bench.client();
        WriteLease writer = client.readWrite(name).write().acquire();
        CompletableFuture<Lease> waiting = bench.client().readWrite(name).read().acquireAsync();
        if (isFifo(observer)) {
            queued(observer, name, 1);
        }
        CompletableFuture<WriteLease> nextWriter =
                bench.client().readWrite(name).write().acquireAsync();
        if (isFifo(observer)) {
            queued(observer, name, 2);
        }
        Lease reader = writer.downgrade();
        assertFalse(writer.isValid());
        assertEquals(ReleaseOutcome.DOWNGRADED, writer.release());
        assertTrue(reader.isValid());
        assertTrue(reader.fencingToken() > writer.fencingToken());
        Lease joined = TckBench.join(waiting);
        reader.renew();
        joined.renew();
        assertNoWriter(observer, name);
        assertFalse(nextWriter.isDone());
        joined.close();
        assertNoWriter(observer, name);
        assertFalse(nextWriter.isDone());
        assertEquals(ReleaseOutcome.RELEASED, reader.release());
        assertTrue(TckBench.join(nextWriter).fencingToken() > reader.fencingToken());
    }

    /** At the store: a repeated downgrade finds its own reader; one of a lost writer changes nothing, even if it is free. */
    @Test
    default void aDowngradeIsOneSwap(TckBench bench) {
        bench.needsReaders();
        StoreDriver store = bench.store();
        LockName name = bench.name("swap");
        OwnerToken reader = store.owner();
        Grant writer = store.granted(name, store.owner(), LONG_TTL);
        Grant first = StoreDriver.grantOf(
                store.downgrade(name, reader, writer.owner(), writer.tokens().last()));
        assertTrue(first.tokens().first() > writer.tokens().last());
        Grant again = StoreDriver.grantOf(
                store.downgrade(name, reader, writer.owner(), first.tokens().last()));
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, writer.owner(), LONG_TTL));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, writer));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name.asRead(), reader, LONG_TTL));
        assertInstanceOf(
                AcquireReply.Busy.class,
                store.downgrade(
                        name, store.owner(), writer.owner(), again.tokens().last()));
        assertInstanceOf(ReleaseReply.Released.class, store.release(name.asRead(), again));
        assertInstanceOf(
                AcquireReply.Busy.class,
                store.downgrade(
                        name, store.owner(), writer.owner(), again.tokens().last()),
                "a free lock is not taken");
        assertTrue(store.granted(name, store.owner(), LONG_TTL).tokens().first()
                > again.tokens().last());
    }

    /** At the store: each reader has its own end, however long the others renew theirs. */
    @Test
    default void aReaderEndsWithItsOwnTtl(TckBench bench) {
        bench.needsReaders();
        StoreDriver store = bench.store();
        StoreDriver other = bench.store();
        LockName name = bench.name("ttl");
        LockName readers = name.asRead();
        long start = System.nanoTime();
        Grant dying = store.granted(readers, store.owner(), Duration.ofMillis(800));
        Grant living = other.granted(readers, other.owner(), Duration.ofMillis(800));
        assertInstanceOf(RenewReply.Renewed.class, other.renew(readers, living.owner(), LONG_TTL));
        other.busy(name);
        TckBench.sleepUntil(start, Duration.ofSeconds(1));
        assertEquals(1, other.answer(other.store().admin().readers(name, 10)).size());
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(readers, dying.owner(), LONG_TTL));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(readers, dying));
        other.busy(name);
        assertInstanceOf(ReleaseReply.Released.class, other.release(readers, living));
        assertTrue(store.granted(name, store.owner(), LONG_TTL).tokens().first()
                > living.tokens().last());
    }

    /** At the store: the last reader that crashes keeps writers out for its own ttl only. */
    @Test
    default void aLockWhoseReadersAreGoneIsFree(TckBench bench) {
        bench.needsReaders();
        StoreDriver store = bench.store();
        LockName name = bench.name("gone");
        long start = System.nanoTime();
        Grant longer = store.granted(name.asRead(), store.owner(), LONG_TTL);
        store.granted(name.asRead(), store.owner(), Duration.ofMillis(800));
        assertInstanceOf(ReleaseReply.Released.class, store.release(name.asRead(), longer));
        store.busy(name);
        TckBench.sleepUntil(start, Duration.ofSeconds(1));
        // A store may keep a lock for a while longer than its ttl, but not for the ttl of a reader that has left.
        TckBench.until(
                "the lock is free", () -> store.acquire(name, store.owner(), LONG_TTL) instanceof AcquireReply.Granted);
    }

    /** At the store: a late request of a reader that has ended is not granted, nor one of a reader that was undone. */
    @Test
    default void aReaderThatHasEndedStaysEnded(TckBench bench) {
        bench.needsReaders();
        StoreDriver store = bench.store();
        LockName name = bench.name("ended");
        Grant held = store.granted(name.asRead(), store.owner(), LONG_TTL);
        store.undo(name.asRead(), held.owner(), held.tokens().last());
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name.asRead(), held.owner(), LONG_TTL));
        OwnerToken waiter = store.owner();
        Grant writer = store.granted(name, store.owner(), LONG_TTL);
        AcquireReply reply = store.acquire(store.request(name.asRead(), waiter, LONG_TTL)
                .waiting(Duration.ofMinutes(1).toNanos()));
        assertFalse(reply instanceof AcquireReply.Granted);
        store.undo(name.asRead(), waiter, reply.ballot());
        store.release(name, writer);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name.asRead(), waiter, LONG_TTL));
        store.granted(name, store.owner(), LONG_TTL);
    }

    /** At the store: the end of a reader does not touch the writer, nor the reverse, whatever the owner token. */
    @Test
    default void aReaderIsNoWriter(TckBench bench) {
        bench.needsReaders();
        StoreDriver store = bench.store();
        LockName name = bench.name("kinds");
        Grant writer = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name.asRead(), writer.owner(), LONG_TTL));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name.asRead(), writer));
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, writer.owner(), LONG_TTL));
        store.release(name, writer);
        Grant reader = store.granted(name.asRead(), store.owner(), LONG_TTL);
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, reader.owner(), LONG_TTL));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, reader));
        List<RenewReply.Item> answers = store.renew(List.of(
                new RenewBatch.Item(name, reader.owner(), LONG_TTL.toNanos()),
                new RenewBatch.Item(name.asRead(), reader.owner(), LONG_TTL.toNanos())));
        assertInstanceOf(RenewReply.NotOurs.class, answers.get(0));
        assertInstanceOf(RenewReply.Renewed.class, answers.get(1));
    }

    /** An operator sees the readers and releases one client's, then all; their holders are notified. */
    @Test
    default void readersAreReleasedByForce(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("force");
        LockClient operator = bench.client();
        LockClient one = bench.client();
        LockClient other = bench.client();
        Lease first = reader(one, name);
        Lease second = reader(other, name);
        CompletableFuture<LossCause> lost = new CompletableFuture<>();
        CompletableFuture<LossCause> lostToo = new CompletableFuture<>();
        first.onLost(lost::complete);
        second.onLost(lostToo::complete);
        assertEquals(
                Set.of(one.holderId(), other.holderId()),
                operator.admin().readers(name, 10).stream().map(Holder::id).collect(Collectors.toSet()));
        assertEquals(1, operator.admin().readers(name, 1).size());
        assertTrue(operator.admin().inspect(name).isPresent());
        assertEquals(1, operator.admin().list(name.text(), 10).size());
        assertFalse(operator.admin().forceRelease(name, "another"));
        assertTrue(operator.admin().forceRelease(name, one.holderId()));
        assertThrows(RuntimeException.class, first::renew);
        TckBench.join(lost);
        second.renew();
        assertNoWriter(operator, name);
        assertTrue(operator.admin().forceRelease(name, null));
        assertFalse(operator.admin().forceRelease(name, null), "it is free");
        assertThrows(RuntimeException.class, second::renew);
        TckBench.join(lostToo);
        assertEquals(List.of(), operator.admin().readers(name, 10));
        Lease next = operator.named(name).tryAcquire(TckBench.PATIENCE);
        assertNotNull(next);
        assertTrue(next.fencingToken() > Math.max(first.fencingToken(), second.fencingToken()));
        assertEquals(ReleaseOutcome.ALREADY_LOST, first.release());
        assertTrue(next.isValid());
    }

    /** A waiting reader that gives up leaves no place. */
    @Test
    default void aReaderThatGivesUpLeavesNothing(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("give-up");
        WriteLease writer = bench.client().readWrite(name).write().acquire();
        LockClient client = bench.client();
        assertNull(client.readWrite(name).read().tryAcquire(Duration.ofMillis(300)));
        CompletableFuture<Lease> cancelled = client.readWrite(name).read().acquireAsync();
        cancelled.cancel(false);
        writer.close();
        WriteLease next = bench.client().readWrite(name).write().tryAcquire(TckBench.PATIENCE);
        assertNotNull(next);
        next.close();
    }

    /** Threads of several clients: no writer next to any other holder, and each writer's token above all before it. */
    @Test
    default void noWriterIsNextToAnother(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        ReadWriteTurns turns = new ReadWriteTurns();
        LockName name = bench.name("turns");
        turns.run(
                List.of(
                        bench.client().readWrite(name),
                        bench.client().readWrite(name),
                        bench.client().readWrite(name)),
                3,
                8);
        assertEquals(List.of(), turns.violations());
        assertEquals(72, turns.taken());
    }
}
