package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.LockName;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Tests for a {@link LockNode}: the grant rule with its ballots, and zombies, which are copies of requests that
 * arrive after their owner token was ended.
 */
public interface LockNodeTck extends PermitNodeTck {

    /** A probe reports the life and the clock of the node, and no floor. */
    @Test
    default void probeTellsLifeAndClock() {
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
            NodeReply.Stale reply = assertInstanceOf(NodeReply.Stale.class, probe.probe());
            assertEquals(0, reply.floor());
            assertTrue(reply.serverMicros() > 0);
            assertEquals(
                    reply.incarnation(),
                    assertInstanceOf(NodeReply.Answered.class, probe.propose(probe.owner(), probe.micros(), 1))
                            .incarnation());
        }
    }

    /** A granted candidate is the fence: the same ballot again, and smaller ones, are stale from every sender. */
    @Test
    default void grantRaisesTheFence() {
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
            long candidate = probe.micros();
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), candidate, 1));
            assertInstanceOf(NodeReply.Stale.class, probe.propose(probe.owner(), candidate, 1));
            assertInstanceOf(NodeReply.Held.class, probe.propose(probe.owner(), candidate + 1, 1));
        }
    }

    /** A held lock does not raise the fence for refused candidates. */
    @Test
    default void refusedCandidateLeavesTheFence() {
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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

    /** An undo by another client raises the fence during a hold, and disturbs the holder in nothing. */
    @Test
    default void undoRaisesTheFenceUnderAHolder() {
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
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

    /** A ballot for several locks is bounded by the lowest fence: it takes no lock further ahead of the clock. */
    @Test
    default void aBallotForSeveralLocksIsBoundedByTheLowestFence() {
        try (NodeDriver probe = new NodeDriver(this::openNode)) {
            Optional<LockName> other = probe.another();
            assumeTrue(other.isPresent(), "the node grants several locks one after the other");
            long ahead = probe.micros();
            for (int step = 0; step < 2; step++) {
                ahead += 7_000_000;
                OwnerToken owner = probe.owner();
                assertInstanceOf(NodeReply.Yes.class, probe.propose(owner, ahead, 1));
                assertInstanceOf(ReleaseReply.Released.class, probe.end(owner, ahead));
            }
            assertInstanceOf(NodeReply.Refused.class, probe.proposeWith(other.get(), probe.owner(), ahead + 1));
            assertInstanceOf(NodeReply.Yes.class, probe.propose(probe.owner(), ahead + 1, 1));
        }
    }
}
