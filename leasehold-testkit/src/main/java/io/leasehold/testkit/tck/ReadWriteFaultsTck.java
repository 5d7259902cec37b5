package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Tests of readers while replies are lost: no hold is left behind, and no writer comes between a writer and its reader. */
public interface ReadWriteFaultsTck extends SharesFront {

    /** How long the connections of a client are broken. */
    Duration BROKEN = Duration.ofMillis(150);

    private static LockOptions lasting(LockOptions options) {
        return options.ttl(TckBench.LONG_TTL);
    }

    private static SharedLock through(TckBench bench, StoreFront front, LockName name) {
        return bench.clientThrough(front, ReadWriteFaultsTck::lasting).readWrite(name);
    }

    private static void assertFree(TckBench bench, LockName name) throws InterruptedException {
        Lease next = bench.client().named(name).tryAcquire(TckBench.PATIENCE);
        assertNotNull(next, "nothing is left of the readers");
        next.close();
    }

    /** A read lease whose reply is lost is asked for again, and is one hold. */
    @Test
    default void aReaderSurvivesALostReply(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("read-lost");
        StoreFront front = bench.front();
        SharedLock lock = through(bench, front, name);
        lock.read().acquire().close();
        front.holdReplies();
        CompletableFuture<Lease> one = lock.read().acquireAsync();
        CompletableFuture<Lease> other = lock.read().acquireAsync();
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        Lease first = TckBench.join(one);
        Lease second = TckBench.join(other);
        first.renew();
        assertTrue(second.isValid());
        assertEquals(1, bench.client().admin().readers(name, 10).size());
        assertEquals(ReleaseOutcome.RELEASED, first.release());
        assertNull(bench.client().named(name).tryAcquire(Duration.ZERO));
        assertEquals(ReleaseOutcome.RELEASED, second.release());
        assertFree(bench, name);
    }

    /** A reader that gives up while the store is silent leaves nothing behind. */
    @Test
    default void aReaderWithoutAReplyIsUndone(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("read-undone");
        StoreFront front = bench.front();
        SharedLock lock = through(bench, front, name);
        lock.read().acquire().close();
        front.holdReplies();
        CompletableFuture<Attempt<Lease>> asked = lock.read().attemptAsync(Duration.ZERO);
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        Throwable why = TckBench.join(asked.handle((attempt, error) -> error));
        if (why == null) {
            asked.join().orElseThrow().close();
        }
        assertFree(bench, name);
    }

    /** A release of the last reader whose reply is lost is repeated, and the lock is free long before its ttl. */
    @Test
    default void aReleaseSurvivesALostReply(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("release-lost");
        StoreFront front = bench.front();
        Lease lease = through(bench, front, name).read().acquire();
        front.holdReplies();
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        assertNotNull(TckBench.join(released));
        assertFree(bench, name);
    }

    /** A downgrade whose reply is lost is repeated, and there is one reader, with no writer in between. */
    @Test
    default void aDowngradeSurvivesALostReply(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("downgrade-lost");
        StoreFront front = bench.front();
        WriteLease writer = through(bench, front, name).write().acquire();
        CompletableFuture<WriteLease> next =
                bench.client().readWrite(name).write().acquireAsync();
        front.holdReplies();
        CompletableFuture<Lease> asked = writer.downgradeAsync();
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        Lease reader = TckBench.join(asked);
        assertTrue(reader.fencingToken() > writer.fencingToken());
        reader.renew();
        assertEquals(1, bench.client().admin().readers(name, 10).size());
        assertTrue(!next.isDone());
        assertEquals(ReleaseOutcome.RELEASED, reader.release());
        assertTrue(TckBench.join(next).fencingToken() > reader.fencingToken());
    }

    /** A downgrade without a reply gives no read lease, and neither the writer nor the reader stays. */
    @Test
    default void aDowngradeWithoutAReplyIsUndone(TckBench bench) throws InterruptedException {
        bench.needsReaders();
        LockName name = bench.name("downgrade-undone");
        StoreFront front = bench.front();
        WriteLease writer = bench.clientThrough(front, options -> options.ttl(Duration.ofSeconds(2)))
                .readWrite(name)
                .write()
                .acquire();
        front.holdReplies();
        CompletableFuture<Lease> asked = writer.downgradeAsync();
        while (!asked.isDone()) {
            front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        }
        if (!asked.isCompletedExceptionally()) {
            // A request came between two breaks.
            asked.join().close();
        } else {
            assertInstanceOf(
                    AmbiguousAcquireException.class,
                    assertThrows(CompletionException.class, asked::join).getCause());
        }
        assertFree(bench, name);
    }
}
