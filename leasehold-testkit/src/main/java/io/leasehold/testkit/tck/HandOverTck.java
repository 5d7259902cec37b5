package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * Tests for a {@link LockNode} that promises {@link io.leasehold.Guarantee.Queueing#FIFO}: the step that frees a lock
 * gives it to the first waiter, if the waiter requested that.
 */
public interface HandOverTck {

    /** Opens the node; the test closes it. */
    LockNode openNode(LockRuntime runtime);

    private NodeDriver open() {
        NodeDriver driver = new NodeDriver(this::openNode);
        if (!driver.isFifo()) {
            driver.close();
        }
        assumeTrue(driver.isFifo(), "the node promises no order of waiters, so it hands nothing over");
        return driver;
    }

    private static void assertQueued(NodeReply reply) {
        assertTrue(assertInstanceOf(NodeReply.Held.class, reply).queued(), "the waiter is queued");
    }

    /** The first waiter owns a freed lock at once: its request is granted, and no other. */
    @Test
    default void aFreedLockIsItsFirstWaiters() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken first = node.owner();
            OwnerToken second = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(first, candidate + 10, 5, TckBench.LONG_TTL));
            assertQueued(node.queue(second, candidate + 20, 1, TckBench.LONG_TTL));
            assertInstanceOf(ReleaseReply.Released.class, node.end(holder, candidate));
            HandOver handOver = node.handedTo(first);
            assertTrue(handOver.tokens().first() > candidate);
            assertEquals(handOver.tokens().first() + 4, handOver.tokens().last());
            assertFalse(node.wasHanded(second));
            long last = handOver.tokens().last();
            assertInstanceOf(NodeReply.Stale.class, node.propose(first, last, 1));
            assertInstanceOf(NodeReply.Held.class, node.propose(node.owner(), last + 1_000_000, 1));
            assertQueued(node.queue(second, last + 1_000_000, 1, TckBench.LONG_TTL));
            assertInstanceOf(NodeReply.Yes.class, node.propose(first, last + 1, 1));
        }
    }

    /** The tokens of a hand-over are above the number to which the release raises the fence. */
    @Test
    default void handOverLiesAboveTheReleasersBallot() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken waiter = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(waiter, candidate + 10, 1, TckBench.LONG_TTL));
            node.end(holder, candidate + 3_000_000);
            assertTrue(node.handedTo(waiter).tokens().first() > candidate + 3_000_000);
            assertInstanceOf(NodeReply.Stale.class, node.propose(holder, candidate + 3_000_000, 1));
        }
    }

    /** A waiter that gives up after the hand-over passes the lock on; ending it once more changes nothing. */
    @Test
    default void givingUpAfterTheHandOverPassesItOn() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken leaving = node.owner();
            OwnerToken next = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(leaving, candidate + 10, 1, TckBench.LONG_TTL));
            assertQueued(node.queue(next, candidate + 20, 1, TckBench.LONG_TTL));
            node.end(holder, candidate);
            long last = node.handedTo(leaving).tokens().last();
            assertInstanceOf(ReleaseReply.Released.class, node.end(leaving, last));
            HandOver handOver = node.handedTo(next);
            assertTrue(handOver.tokens().first() > last);
            assertInstanceOf(ReleaseReply.NotOurs.class, node.end(leaving, last));
            assertInstanceOf(
                    NodeReply.Yes.class, node.propose(next, handOver.tokens().last() + 1, 1));
        }
    }

    /** A waiter that has left the queue is handed nothing, also if a late copy of its last request arrives. */
    @Test
    default void aLateRecheckDoesNotReturnToTheQueue() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken gone = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(gone, candidate + 10, 1, TckBench.LONG_TTL));
            assertQueued(node.queue(gone, candidate + 20, 1, TckBench.LONG_TTL));
            assertInstanceOf(ReleaseReply.NotOurs.class, node.end(gone, candidate + 20));
            assertInstanceOf(NodeReply.Stale.class, node.queue(gone, candidate + 20, 1, TckBench.LONG_TTL));
            node.end(holder, candidate);
            assertInstanceOf(NodeReply.Yes.class, node.propose(node.owner(), candidate + 21, 1));
            assertFalse(node.wasHanded(gone));
        }
    }

    /** A waiter that does not come loses the lock after its claim. */
    @Test
    default void anUnclaimedLockIsFreeAfterTheClaim() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken silent = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(silent, candidate + 10, 1, Duration.ofMillis(50)));
            node.end(holder, candidate);
            long fence = node.handedTo(silent).tokens().last();
            OwnerToken other = node.owner();
            TckBench.until("the claim is over", () -> node.propose(other, fence + 1, 1) instanceof NodeReply.Yes);
        }
    }

    /** A waiter that requested no hand-over receives none, and gets the free lock by a request. */
    @Test
    default void whoAsksForNoHandOverIsOnlyWoken() {
        try (NodeDriver node = open()) {
            OwnerToken holder = node.owner();
            OwnerToken waiter = node.owner();
            long candidate = node.micros();
            assertInstanceOf(NodeReply.Yes.class, node.propose(holder, candidate, 1));
            assertQueued(node.queue(waiter, candidate + 10, 1, Duration.ZERO));
            node.end(holder, candidate);
            assertInstanceOf(ReleaseReply.NotOurs.class, node.end(node.owner(), 0));
            assertInstanceOf(NodeReply.Yes.class, node.queue(waiter, candidate + 20, 1, Duration.ZERO));
            assertFalse(node.wasHanded(waiter));
        }
    }
}
