package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.HandOverOutcome;
import io.leasehold.Leader;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.UnsafeStoreException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests of elections: one candidate of all clients leads, and the next one only after it. */
public interface ElectionTck extends SharesStore {

    /** A candidate leads alone, is seen by others, and gives way to the next one when it resigns, whose term is larger. */
    @Test
    default void candidatesLeadOneAfterTheOther(TckBench bench) throws InterruptedException {
        LockName name = bench.name("election");
        LockClient observer = bench.client();
        assertEquals(Optional.empty(), observer.election(name).leader());
        Candidate first = new Candidate(bench.client(), name);
        Candidate.Led firstTerm = first.next();
        Candidate second = new Candidate(bench.client(), name);
        Leader leader = observer.election(name).leader().orElseThrow();
        assertEquals(first.client().holderId(), leader.holderId());
        leader.term().ifPresent(token -> assertEquals(firstTerm.term().fencingToken(), token));
        assertNull(observer.named(name).tryAcquire(Duration.ZERO), "it is the lock of that name");
        assertTrue(firstTerm.term().isValid());
        awaitQueued(observer, name);

        CompletableFuture<ReleaseOutcome> resigned = first.candidacy().resignAsync();
        assertFalse(firstTerm.term().isValid());
        assertInstanceOf(Term.End.Resigned.class, TckBench.join(firstTerm.end()));
        assertFalse(second.hasLed(), "not while the callback of the first still runs");
        firstTerm.work().complete(null);
        assertEquals(ReleaseOutcome.RELEASED, TckBench.join(resigned));
        Candidate.Led secondTerm = second.nextInPlaceOf(first);
        assertTrue(secondTerm.term().fencingToken() > firstTerm.term().fencingToken());
        awaitQueued(observer, name);

        CompletableFuture<ReleaseOutcome> back = second.candidacy().resignAsync();
        secondTerm.work().complete(null);
        Candidate.Led again = first.nextInPlaceOf(second);
        assertEquals(ReleaseOutcome.RELEASED, TckBench.join(back));
        assertTrue(again.term().fencingToken() > secondTerm.term().fencingToken());
        CompletableFuture<Void> closed = first.candidacy().closeAsync();
        assertInstanceOf(Term.End.Resigned.class, TckBench.join(again.end()));
        again.work().complete(null);
        TckBench.join(closed);
        second.next();
    }

    /** Until the other candidate has its place, where there are places: otherwise the one that resigns may be the first to ask again. */
    private static void awaitQueued(LockClient observer, LockName name) {
        if (observer.guarantees().queueing() == Guarantee.Queueing.FIFO) {
            TckBench.until(
                    "the other candidate is queued",
                    () -> !observer.admin().waiters(name, 10).isEmpty());
        }
    }

    /**
     * A leader hands over to the candidate that it names, before one that came earlier, and once. Where it cannot, it still
     * leads.
     */
    @Test
    default void aLeaderHandsOverToTheOneItNames(TckBench bench) throws InterruptedException {
        LockName name = bench.name("named");
        LockClient observer = bench.client();
        Candidate first = new Candidate(bench.client(), name);
        Candidate.Led led = first.next();
        Candidate second = new Candidate(bench.client(), name);
        if (!bench.namesSuccessors()) {
            assertFalse(observer.namesSuccessors());
            String other = second.client().holderId();
            assertThrows(UnsafeStoreException.class, () -> first.candidacy().handOver(other));
            CompletableFuture<HandOverOutcome> refused = first.candidacy().handOverAsync(other);
            Throwable failure = assertThrows(CompletionException.class, () -> TckBench.join(refused));
            assertInstanceOf(UnsafeStoreException.class, failure.getCause());
            assertTrue(led.term().isValid());
            return;
        }
        assertTrue(observer.namesSuccessors());
        awaitCandidates(observer, name, second);
        Candidate third = new Candidate(bench.client(), name);
        awaitCandidates(observer, name, second, third);
        assertThrows(
                IllegalArgumentException.class,
                () -> first.candidacy().handOver(first.client().holderId()));
        assertTrue(led.term().isValid());
        assertEquals(
                HandOverOutcome.ALREADY_LOST,
                second.candidacy().handOver(third.client().holderId()),
                "it does not lead");

        CompletableFuture<HandOverOutcome> handed =
                first.candidacy().handOverAsync(third.client().holderId());
        assertFalse(led.term().isValid());
        assertInstanceOf(Term.End.Resigned.class, TckBench.join(led.end()));
        led.work().complete(null);
        assertEquals(HandOverOutcome.HANDED_OVER, TckBench.join(handed));
        Candidate.Led next = third.next();
        assertTrue(next.term().fencingToken() > led.term().fencingToken());
        awaitCandidates(observer, name, second, first);

        handed = third.candidacy().handOverAsync("no such candidate");
        next.work().complete(null);
        assertEquals(HandOverOutcome.RELEASED, TckBench.join(handed));
        assertTrue(second.next().term().fencingToken() > next.term().fencingToken());
    }

    private static void awaitCandidates(LockClient observer, LockName name, Candidate... expected) {
        List<String> ids =
                Stream.of(expected).map(one -> one.client().holderId()).toList();
        TckBench.until(
                "the candidates are queued",
                () -> observer.election(name).candidates(10).stream()
                        .map(io.leasehold.Candidate::holderId)
                        .toList()
                        .equals(ids));
    }

    /** A term that an operator ends is notified; its candidate stands again only when its callback has returned. */
    @Test
    default void aTermThatIsTakenAwayIsTold(TckBench bench) throws InterruptedException {
        LockName name = bench.name("deposed");
        LockClient operator = bench.client();
        Candidate first = new Candidate(bench.client(), name);
        Candidate.Led deposed = first.next();
        assertTrue(operator.admin().forceRelease(name, null));
        Candidate second = new Candidate(bench.client(), name);
        Candidate.Led next = second.next();
        assertInstanceOf(Term.End.Lost.class, TckBench.join(deposed.end()));
        assertFalse(deposed.term().isValid());
        next.work().complete(null);
        Candidate.Led again = second.next();
        assertFalse(first.hasLed(), "its callback has not returned");
        deposed.work().complete(null);
        second.candidacy().closeAsync();
        again.work().complete(null);
        assertTrue(first.next().term().fencingToken() > again.term().fencingToken());
    }

    /** The candidate whose client closes gives way. */
    @Test
    default void aCandidateWhoseClientClosesGivesWay(TckBench bench) throws InterruptedException {
        LockName name = bench.name("closing");
        Candidate first = new Candidate(bench.client(), name);
        Candidate.Led led = first.next();
        Candidate second = new Candidate(bench.client(), name);
        led.end().thenRun(() -> led.work().complete(null));
        first.client().close();
        second.next();
        TckBench.join(first.candidacy().whenEnded().toCompletableFuture());
        assertFalse(first.hasLed());
    }
}
