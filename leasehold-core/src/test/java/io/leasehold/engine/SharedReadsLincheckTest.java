package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Readers of one process that share a hold: none is forgotten, no hold is released while a reader has it, each hold is
 * released once, and no reader joins a hold that has ended. Lincheck explores the interleavings of readers that come and
 * leave, and of the store's answers; jcstress races losses.
 */
@Tag("full")
public final class SharedReadsLincheckTest {

    private static final int READERS = 11;

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop workshop = new Workshop(runtime, store);
    private final SharedReads reads = new SharedReads(workshop.context, workshop.queues);
    private final Reader[] readers = new Reader[READERS];
    private final AtomicInteger came = new AtomicInteger();

    /** Begins with a reader that may be joined, or with two that wait for one request. */
    public SharedReadsLincheckTest() {
        for (int i = 0; i < READERS; i++) {
            readers[i] = new Reader();
        }
        come();
        if (ThreadLocalRandom.current().nextBoolean()) {
            grant();
        } else {
            come();
        }
        runtime.afterTheClockIsRead(SharedReadsLincheckTest::pause);
    }

    /** Lets the other thread perform a whole operation in between, which a stress of short operations seldom does. */
    private static void pause() {
        int spins = 1 << ThreadLocalRandom.current().nextInt(10);
        for (int i = 0; i < spins; i++) {
            Thread.onSpinWait();
        }
    }

    /** A caller that comes once and leaves once. */
    private final class Reader {
        private final ReadAttempt attempt =
                new ReadAttempt(Workshop.NAME.asRead(), workshop.settings, Long.MAX_VALUE, workshop.context, null);
        private final AtomicBoolean left = new AtomicBoolean();
        private volatile boolean entered;

        void come() {
            reads.enter(attempt);
            entered = true;
        }

        boolean isThere() {
            return entered && !left.get();
        }

        /** Releases its lease, or gives up if it has none; returns false if it is not there. */
        @SuppressWarnings("FutureReturnValueIgnored")
        boolean leave() {
            if (!entered || !left.compareAndSet(false, true)) {
                return false;
            }
            LeaseHandle lease = lease();
            if (lease == null) {
                attempt.giveUp();
            } else {
                lease.state().release();
            }
            return true;
        }

        @Nullable
        LeaseHandle lease() {
            boolean hasFailed = attempt.result().isCompletedExceptionally();
            return !hasFailed && attempt.result().getNow(null) instanceof Attempt.Acquired<Lease> acquired
                    ? LeaseHandle.of(acquired.lease())
                    : null;
        }
    }

    /** The next reader comes. */
    @Operation
    public void come() {
        readers[came.getAndIncrement()].come();
    }

    /** The reader that has been there for the longest time leaves. */
    @Operation
    public void leave() {
        for (Reader reader : readers) {
            if (reader.leave()) {
                return;
            }
        }
    }

    /** The store grants each request that waits for its answer. */
    @Operation
    public void grant() {
        List<SilentStore.Asked<AcquireRequest, AcquireReply>> all = store.acquires();
        for (int i = 0; i < all.size(); i++) {
            OwnerToken owner = all.get(i).request().owner();
            // The number in its token names the request.
            Grant grant = new Grant(owner, TokenRange.of(1_000L + i, 1), runtime.nanoTime(), Incarnation.DURABLE);
            all.get(i).answer().complete(new AcquireReply.Granted(grant, List.of()));
        }
    }

    private long releases(long token) {
        OwnerToken owner = store.acquires().get((int) (token - 1_000)).request().owner();
        return store.releases().stream()
                .filter(request -> request.owner().equals(owner))
                .count();
    }

    @Validate
    public void noneIsForgottenAndEachHoldIsReleasedOnce() {
        int asked;
        do {
            asked = store.acquires().size();
            // A request that was withdrawn makes room for the next one only once it is answered.
            grant();
        } while (store.acquires().size() > asked);
        for (Reader reader : readers) {
            if (reader.isThere()) {
                LeaseHandle lease = reader.lease();
                require(lease != null, "a reader was forgotten");
                require(lease.isValid(), "a reader has a lease that is not valid");
                require(releases(lease.fencingToken()) == 0, "a hold was released under its reader");
            }
        }
        for (Reader reader : readers) {
            reader.leave();
        }
        for (int i = 0; i < store.acquires().size(); i++) {
            require(releases(1_000L + i) == 1, "hold " + i + " was released " + releases(1_000L + i) + " times");
        }
        require(workshop.holds.isEmpty() && workshop.queues.isEmpty(), "a hold or a request is left");
        require(!reads.blocksForever(Workshop.NAME.asRead(), Thread.currentThread()), "a hold is still recorded");
        asked = store.acquires().size();
        new Reader().come();
        require(store.acquires().size() == asked + 1, "a reader joins a hold that has ended");
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }

    @Test
    void forgetsNoneAndReleasesEachHoldOnce() {
        Lincheck.stressPairs(SharedReadsLincheckTest.class);
    }
}
