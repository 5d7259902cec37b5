package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests of the permits of a node: late, repeated and lost requests. */
public interface PermitNodeTck {

    /** Opens the node with a listener that ignores all signals; the test closes it. */
    LockNode openNode(LockRuntime runtime);

    private NodeDriver driver(int count) {
        return new NodeDriver(this::openNode, name -> name.asPermits(count));
    }

    private static int yes(NodeReply reply) {
        return assertInstanceOf(NodeReply.Yes.class, reply).slots().get(0);
    }

    /** A second ballot of an attempt whose first was granted gets the same slot, and no second one. */
    @Test
    default void aSecondBallotFindsItsOwnSlot() {
        try (NodeDriver node = driver(2)) {
            OwnerToken owner = node.owner();
            OwnerToken other = node.owner();
            long candidate = node.micros();
            assertEquals(0, yes(node.propose(other, candidate, 1)));
            assertEquals(1, yes(node.propose(owner, candidate + 1, 1)));
            node.end(other, candidate);
            assertEquals(1, yes(node.propose(owner, candidate + 2, 1)), "slot 0 is free, but slot 1 is its own");
            assertEquals(0, yes(node.propose(node.owner(), candidate + 3, 1)));
            node.end(owner, candidate + 2);
            assertInstanceOf(RenewReply.NotOurs.class, node.renew(owner));
        }
    }

    /** One fence guards all slots: a late copy of a request of a finished owner token takes no other slot. */
    @Test
    default void aLateCopyTakesNoOtherSlot() {
        try (NodeDriver node = driver(2)) {
            OwnerToken owner = node.owner();
            long candidate = node.micros();
            assertEquals(0, yes(node.propose(owner, candidate, 1)));
            assertInstanceOf(ReleaseReply.Released.class, node.end(owner, candidate + 5));
            assertInstanceOf(NodeReply.Stale.class, node.propose(owner, candidate, 1), "the copy");
            assertInstanceOf(
                    NodeReply.Stale.class, node.propose(owner, candidate + 5, 1), "the last ballot that was ended");
            assertInstanceOf(RenewReply.NotOurs.class, node.renew(owner));
            assertEquals(0, yes(node.propose(node.owner(), candidate + 6, 1)));
        }
    }

    /** The end of an attempt that never arrived raises the fence as well. */
    @Test
    default void anEndBeforeTheRequestKeepsItOut() {
        try (NodeDriver node = driver(2)) {
            OwnerToken owner = node.owner();
            long candidate = node.micros() + 1_000;
            assertInstanceOf(ReleaseReply.NotOurs.class, node.end(owner, candidate));
            assertInstanceOf(NodeReply.Stale.class, node.propose(owner, candidate, 1));
        }
    }

    /** Released permits are handed to the waiters in their order, with larger tokens; a caller behind them waits. */
    @Test
    default void waitersAreServedInTheirOrder() {
        try (NodeDriver node = driver(2)) {
            if (!node.isFifo()) {
                return;
            }
            OwnerToken one = node.owner();
            OwnerToken two = node.owner();
            OwnerToken first = node.owner();
            OwnerToken second = node.owner();
            long candidate = node.micros();
            yes(node.propose(one, candidate, 1));
            yes(node.propose(two, candidate + 1, 1));
            Duration claim = Duration.ofSeconds(30);
            assertTrue(assertInstanceOf(NodeReply.Held.class, node.queue(first, candidate + 2, 1, claim))
                    .queued());
            assertTrue(assertInstanceOf(NodeReply.Held.class, node.queue(second, candidate + 3, 1, claim))
                    .queued());
            node.end(two, candidate + 1);
            HandOver handed = node.handedTo(first);
            assertTrue(handed.tokens().first() > candidate + 1);
            assertInstanceOf(
                    NodeReply.Held.class,
                    node.propose(node.owner(), handed.tokens().last() + 1, 1));
            assertEquals(1, yes(node.propose(first, handed.tokens().last() + 2, 1)), "it finds its slot");
            node.end(one, candidate);
            HandOver next = node.handedTo(second);
            assertTrue(next.tokens().first() > handed.tokens().last() + 2);
            assertEquals(0, yes(node.propose(second, next.tokens().last() + 1, 1)));
        }
    }

    /** A waiter that was only woken takes one of two free slots; the other one goes to the waiter behind it. */
    @Test
    default void aWokenWaiterHidesNoFurtherFreeSlot() {
        try (NodeDriver node = driver(2)) {
            if (!node.isFifo()) {
                return;
            }
            OwnerToken one = node.owner();
            OwnerToken two = node.owner();
            OwnerToken woken = node.owner();
            OwnerToken behind = node.owner();
            long candidate = node.micros();
            yes(node.propose(one, candidate, 1));
            yes(node.propose(two, candidate + 1, 1));
            node.queue(woken, candidate + 2, 1, Duration.ZERO);
            node.queue(behind, candidate + 3, 1, Duration.ofSeconds(30));
            node.end(one, candidate);
            node.end(two, candidate + 1);
            assertEquals(0, yes(node.propose(woken, candidate + 4, 1)));
            HandOver handed = node.handedTo(behind);
            assertEquals(1, yes(node.propose(behind, handed.tokens().last() + 1, 1)));
        }
    }

    /** A waiter that ends before it is served is passed over. */
    @Test
    default void aWithdrawnWaiterIsPassedOver() {
        try (NodeDriver node = driver(1)) {
            if (!node.isFifo()) {
                return;
            }
            OwnerToken holder = node.owner();
            OwnerToken gone = node.owner();
            OwnerToken waiter = node.owner();
            long candidate = node.micros();
            yes(node.propose(holder, candidate, 1));
            node.queue(gone, candidate + 1, 1, Duration.ofSeconds(30));
            node.queue(waiter, candidate + 2, 1, Duration.ofSeconds(30));
            node.end(gone, candidate + 1);
            node.end(holder, candidate);
            HandOver handed = node.handedTo(waiter);
            assertEquals(0, yes(node.propose(waiter, handed.tokens().last() + 1, 1)));
        }
    }

    /** A ballot far ahead of the node's clock is refused. */
    @Test
    default void aBallotFarAheadIsRefused() {
        try (NodeDriver node = driver(1)) {
            assertInstanceOf(NodeReply.Refused.class, node.propose(node.owner(), node.micros() + 60_000_000L, 1));
        }
    }
}
