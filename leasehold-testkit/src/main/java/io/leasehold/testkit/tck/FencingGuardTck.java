package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.fencing.TokenPair;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Tests of a {@link FencingGuard}: it answers as {@link TokenPair} does. Implement it in a test class for your guard.
 *
 * <pre>{@code
 * final class InMemoryGuardTest implements FencingGuardTck {
 *     @Override
 *     public FencingGuard guard() {
 *         return FencingGuard.inMemory();
 *     }
 * }
 * }</pre>
 *
 * <p>The tests use the resources {@code tck-1} and {@code tck-2}, which no holder has used before each test.
 */
public interface FencingGuardTck {

    /** The guard under test. */
    FencingGuard guard();

    /**
     * A guard of the same resources that keeps only the largest token, as clients do that know no readers; or null if
     * there is none.
     */
    default @Nullable FencingGuard olderGuard() {
        return null;
    }

    /** A reader raises the token that writers must not be below. */
    @Test
    default void aLateWriterIsRefusedAfterANewerRead() {
        FencingGuard guard = guard();
        assertAdmitted(guard.admit("tck-1", 5));
        assertAdmitted(guard.admit("tck-1", 7, Access.READ));
        assertEquals(7, newest(guard.admit("tck-1", 6)));
        assertEquals(7, newest(guard.admit("tck-1", 5, Access.WRITE)));
        assertAdmitted(guard.admit("tck-2", 5));
    }

    /** Readers come in any order, also before the first writer. */
    @Test
    default void readersNeverRefuseEachOther() {
        FencingGuard guard = guard();
        for (long token : new long[] {2, 3, 1, 3, 2}) {
            assertAdmitted(guard.admit("tck-1", token, Access.READ));
        }
        assertAdmitted(guard.admit("tck-1", 4));
        for (long token : new long[] {7, 9, 5, 9}) {
            assertAdmitted(guard.admit("tck-1", token, Access.READ));
        }
        assertEquals(4, newest(guard.admit("tck-1", 3, Access.READ)));
        assertEquals(9, newest(guard.admit("tck-1", 8)));
    }

    /** A writer excludes readers before it, also if it brings the newest reader's token. */
    @Test
    default void aLateReaderIsRefusedAfterANewerWrite() {
        FencingGuard guard = guard();
        assertAdmitted(guard.admit("tck-1", 7, Access.READ));
        assertAdmitted(guard.admit("tck-1", 8));
        assertEquals(8, newest(guard.admit("tck-1", 7, Access.READ)));
        assertAdmitted(guard.admit("tck-1", 8, Access.READ));
        assertAdmitted(guard.admit("tck-1", 9, Access.READ));
        assertAdmitted(guard.admit("tck-1", 9));
        assertEquals(9, newest(guard.admit("tck-1", 8, Access.READ)));
    }

    /** A random sequence of tokens that rise and come late. */
    @Test
    default void anySequenceIsAnsweredAsThePairSays() {
        FencingGuard guard = guard();
        Random random = new Random(4);
        TokenPair pair = TokenPair.NONE;
        for (int step = 0; step < 300; step++) {
            long token = 1L + step / 20 + random.nextInt(8);
            Access access = random.nextBoolean() ? Access.READ : Access.WRITE;
            assertEquals(
                    newest(pair.decide("tck-1", token, access)),
                    newest(guard.admit("tck-1", token, access)),
                    "step " + step + ": " + token + " " + access + " at " + pair);
            pair = pair.after(token, access);
        }
    }

    /** A token that such a client registers counts as a writer's. */
    @Test
    default void anySequenceBesideOlderClientsIsAnsweredAsThePairSays() {
        FencingGuard older = olderGuard();
        assumeTrue(older != null, "there is no guard of one number for these resources");
        FencingGuard guard = guard();
        Random random = new Random(5);
        TokenPair pair = TokenPair.NONE;
        for (int step = 0; step < 300; step++) {
            long token = 1L + step / 20 + random.nextInt(8);
            // Of one kind, as a lease is.
            Access access = token % 2 == 0 ? Access.READ : Access.WRITE;
            boolean byTheNumberAlone = access == Access.WRITE && random.nextBoolean();
            assertEquals(
                    newest(pair.decide("tck-1", token, access)),
                    newest(byTheNumberAlone ? older.admit("tck-1", token) : guard.admit("tck-1", token, access)),
                    "step " + step + ": " + token + " " + access + " at " + pair);
            pair = pair.after(token, access);
        }
    }

    /** Such a client also takes a reader's token for a writer's: more is refused then, and nothing more admitted. */
    @Test
    default void olderClientsThatTakeReadersForWritersAdmitNothingMore() {
        FencingGuard older = olderGuard();
        assumeTrue(older != null, "there is no guard of one number for these resources");
        FencingGuard guard = guard();
        Random random = new Random(6);
        TokenPair pair = TokenPair.NONE;
        for (int step = 0; step < 300; step++) {
            long token = 1L + step / 20 + random.nextInt(8);
            Access access = token % 2 == 0 ? Access.READ : Access.WRITE;
            Admission admission =
                    random.nextBoolean() ? older.admit("tck-1", token) : guard.admit("tck-1", token, access);
            if (admission.isAdmitted()) {
                assertAdmitted(pair.decide("tck-1", token, access));
                pair = pair.after(token, access);
            }
        }
        assertTrue(pair.any() > 0, "none was admitted");
    }

    /**
     * Four threads use one resource: the answers are those of some order of the uses, in which none comes before one that
     * ended before it began.
     */
    @Test
    default void usesAtTheSameTimeAreAnsweredInOneOrder() throws InterruptedException, ExecutionException {
        FencingGuard guard = guard();
        AtomicLong moments = new AtomicLong();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<List<FencedUse>>> parts = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                Random random = new Random(thread);
                parts.add(threads.submit(() -> {
                    List<FencedUse> uses = new ArrayList<>();
                    for (int step = 0; step < 50; step++) {
                        long began = moments.incrementAndGet();
                        long token = 1 + began / 10 + random.nextInt(8);
                        // Of one kind, as a lease is.
                        Access access = token % 3 == 0 ? Access.WRITE : Access.READ;
                        Admission admission = guard.admit("tck-1", token, access);
                        uses.add(new FencedUse(token, access, began, moments.incrementAndGet(), admission));
                    }
                    return uses;
                }));
            }
            List<FencedUse> all = new ArrayList<>();
            for (Future<List<FencedUse>> part : parts) {
                all.addAll(part.get());
            }
            all.forEach(use -> use.requireReason(all));
        } finally {
            threads.shutdownNow();
        }
    }

    private static void assertAdmitted(Admission admission) {
        assertTrue(admission.isAdmitted(), admission.toString());
    }

    /** The token that excludes the rejected one; 0 if it was admitted. */
    private static long newest(Admission admission) {
        return admission instanceof Admission.Rejected rejected ? rejected.newest() : 0;
    }
}
