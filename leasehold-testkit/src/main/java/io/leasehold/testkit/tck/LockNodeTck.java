package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.leasehold.LockName;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/**
 * What a {@link LockNode} has to pass: the grant rule with its ballots, and zombies, which are copies of requests that
 * arrive after their owner token was ended.
 */
public interface LockNodeTck {

    /** Opens the node with a listener that hears nothing; the test closes it. */
    LockNode openNode(LockRuntime runtime);

    /** Probing tells the node's life and clock, and no floor. */
    @Test
    default void probeTellsLifeAndClock() {
        try (Probe probe = new Probe(this)) {
            NodeReply.Stale reply =
                    assertInstanceOf(NodeReply.Stale.class, probe.answer(probe.node.probe(Probe.TIMEOUT_NANOS)));
            assertEquals(0, reply.floor());
            assertTrue(reply.serverMicros() > 0);
            assertEquals(
                    reply.incarnation(),
                    assertInstanceOf(NodeReply.Answered.class, probe.propose(probe.owner(), probe.micros(), 1))
                            .incarnation());
        }
    }

    /** A granted candidate is the fence: the same ballot again, and smaller ones, are stale, whoever sends them. */
    @Test
    default void grantRaisesTheFence() {
        try (Probe probe = new Probe(this)) {
            OwnerToken owner = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, candidate, 1));
            NodeReply.Stale own = assertInstanceOf(NodeReply.Stale.class, probe.propose(owner, candidate, 1));
            assertTrue(own.floor() >= candidate);
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate, 1));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(owner, candidate - 1, 1));
        }
    }

    /** The whole reserved range lies below the next floor. */
    @Test
    default void reservedRangeIsBelowTheFence() {
        try (Probe probe = new Probe(this)) {
            OwnerToken owner = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, candidate, 64));
            probe.end(owner, candidate + 63);
            NodeReply.Stale reply =
                    assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate + 63, 1));
            assertTrue(reply.floor() >= candidate + 63);
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), reply.floor() + 1, 1));
        }
    }

    /** The own token with a higher ballot is granted, and raises the fence as well. */
    @Test
    default void ownTokenWithAHigherBallotRaisesTheFence() {
        try (Probe probe = new Probe(this)) {
            OwnerToken owner = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, candidate, 1));
            assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, candidate + 1_000, 4));
            probe.end(owner, candidate + 1_003);
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate + 1_003, 1));
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), candidate + 1_004, 1));
        }
    }

    /** The order of the checks: a stale candidate is stale also where the lock is held. */
    @Test
    default void floorIsCheckedBeforeTheHolder() {
        try (Probe probe = new Probe(this)) {
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), candidate, 1));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate, 1));
            assertInstanceOf(NodeReply.Held.class, probe.propose(probe.owner(), candidate + 1, 1));
        }
    }

    /** What is held does not raise the fence for those who were refused. */
    @Test
    default void refusedCandidateLeavesTheFence() {
        try (Probe probe = new Probe(this)) {
            OwnerToken owner = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, candidate, 1));
            assertInstanceOf(NodeReply.Held.class, probe.propose(probe.owner(), candidate + 500, 1));
            probe.end(owner, candidate);
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), candidate + 1, 1));
        }
    }

    /** A late copy of an acquire whose owner token was ended is not granted: also if the original never arrived. */
    @Test
    default void zombieAcquireIsNotGranted() {
        try (Probe probe = new Probe(this)) {
            OwnerToken neverArrived = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(ReleaseReply.NotOurs.class, probe.end(neverArrived, candidate));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(neverArrived, candidate, 1));
            OwnerToken arrived = probe.owner();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(arrived, candidate + 10, 1));
            assertInstanceOf(ReleaseReply.Released.class, probe.end(arrived, candidate + 10));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(arrived, candidate + 10, 1));
            assertInstanceOf(ReleaseReply.NotOurs.class, probe.end(arrived, candidate + 10));
        }
    }

    /** An undo by somebody else raises the fence under a holder's feet, and disturbs the holder in nothing. */
    @Test
    default void undoRaisesTheFenceUnderAHolder() {
        try (Probe probe = new Probe(this)) {
            OwnerToken holder = probe.owner();
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(holder, candidate, 1));
            OwnerToken loser = probe.owner();
            assertInstanceOf(ReleaseReply.NotOurs.class, probe.end(loser, candidate + 2_000));
            assertInstanceOf(RenewReply.Renewed.class, probe.renew(holder));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(loser, candidate + 2_000, 1));
            assertInstanceOf(ReleaseReply.Released.class, probe.end(holder, candidate));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate + 2_000, 1));
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), candidate + 2_001, 1));
        }
    }

    /** The stored fence never goes down, whatever ballots releases bring. */
    @Test
    default void fenceNeverGoesDown() {
        try (Probe probe = new Probe(this)) {
            long candidate = probe.micros();
            probe.end(probe.owner(), candidate + 5_000);
            probe.end(probe.owner(), candidate);
            probe.end(probe.owner(), 0);
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate + 5_000, 1));
        }
    }

    /** An absurd ballot, far beyond the clock, is neither granted nor able to poison the fence. */
    @Test
    default void absurdBallotsDoNotPoisonTheFence() {
        try (Probe probe = new Probe(this)) {
            long absurd = (1L << 53) - 2;
            NodeReply reply = probe.propose(probe.owner(), absurd, 1);
            assertInstanceOf(NodeReply.Refused.class, reply);
            probe.end(probe.owner(), absurd);
            NodeReply.Stale after =
                    assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), probe.micros(), 1));
            assertTrue(after.floor() < absurd - 1_000_000, "the fence was raised to " + after.floor());
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), after.floor() + 1, 1));
        }
    }

    /** A node with a fresh lock name, and its verbs as plain calls. */
    final class Probe implements AutoCloseable {

        private static final long TIMEOUT_NANOS = Duration.ofSeconds(20).toNanos();

        private final WallTimeRuntime runtime = new WallTimeRuntime();
        private final LockName name;
        private final LockNode node;

        Probe(LockNodeTck tck) {
            byte[] random = new byte[6];
            ThreadLocalRandom.current().nextBytes(random);
            name = LockName.exactly("tck-node-" + java.util.HexFormat.of().formatHex(random));
            node = tck.openNode(runtime);
            node.listen(new Deaf());
        }

        private OwnerToken owner() {
            return OwnerToken.draw(runtime);
        }

        /** The node's clock. */
        private long micros() {
            NodeReply reply = answer(node.probe(TIMEOUT_NANOS));
            return assertInstanceOf(NodeReply.Answered.class, reply).serverMicros();
        }

        private NodeReply propose(OwnerToken owner, long candidate, int reserve) {
            AcquireRequest request = AcquireRequest.exclusive(
                            List.of(name), owner, StoreDriver.HOLDER, LONG_TTL.toNanos(), TIMEOUT_NANOS)
                    .reserve(reserve);
            NodeReply reply = answer(node.acquire(new Ballot(request, candidate, reserve)));
            return reply instanceof NodeReply.Failed failed ? fail("acquire failed", failed.error()) : reply;
        }

        private ReleaseReply end(OwnerToken owner, long ballot) {
            return answer(node.release(
                    new ReleaseRequest(List.of(name), owner, ballot, ReleaseRequest.Kind.UNDO, TIMEOUT_NANOS)));
        }

        private RenewReply.Item renew(OwnerToken owner) {
            RenewBatch.Item item = new RenewBatch.Item(name, owner, LONG_TTL.toNanos());
            return answer(node.renew(new RenewBatch(List.of(item), TIMEOUT_NANOS)))
                    .items()
                    .get(0);
        }

        private <T> T answer(CompletableFuture<T> future) {
            try {
                return future.get(TckBench.PATIENCE.toSeconds(), TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return fail("interrupted", e);
            } catch (ExecutionException | TimeoutException e) {
                return fail("the node did not answer normally within its time limit", e);
            }
        }

        @Override
        public void close() {
            node.close();
            runtime.close();
        }
    }

    /** Hears nothing. */
    final class Deaf implements StoreSignals {
        @Override
        public void wake(LockName name) {}

        @Override
        public void lost(OwnerToken owner, io.leasehold.LossCause cause) {}

        @Override
        public void reconnected() {}
    }
}
