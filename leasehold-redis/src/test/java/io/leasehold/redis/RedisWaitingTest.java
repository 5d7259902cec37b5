package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.LOCK_KEY;
import static io.leasehold.redis.NodeBench.NAME;
import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.NodeReply;
import io.leasehold.spi.OwnerToken;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of queueing and wake-ups through real connections. */
@Tag("quick")
class RedisWaitingTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static NodeBench bench() {
        return NodeBench.at(SERVER.server().port());
    }

    private static boolean queued(NodeReply reply) {
        return reply instanceof NodeReply.Held held && held.queued();
    }

    private static long subscribers() {
        return SERVER.redis().pubsubChannels("lock:wake:*").size();
    }

    @Test
    void aClientThatNeverFindsALockBusyNeverSubscribes() {
        try (NodeBench bench = bench()) {
            OwnerToken owner = bench.owner();
            assertThat(bench.acquireWaiting(owner)).isInstanceOf(NodeReply.Yes.class);
            assertThat(subscribers()).isZero();
        }
    }

    @Test
    void whoeverIsToldToBeQueuedIsWoken() throws InterruptedException {
        try (NodeBench holder = bench();
                NodeBench waiter = bench()) {
            for (int i = 0; i < 50; i++) {
                OwnerToken held = holder.owner();
                long candidate = holder.candidate() + i;
                assertThat(holder.acquire(held, candidate)).isInstanceOf(NodeReply.Yes.class);
                OwnerToken waiting = waiter.owner();
                assertThat(queued(waiter.acquireWaiting(waiting))).isTrue();
                holder.release(held, candidate);
                assertThat(waiter.wakes.poll(60, TimeUnit.SECONDS)).isEqualTo(NAME);
                waiter.release(waiting, 0);
            }
            assertThat(subscribers()).isOne();
            assertThat(SERVER.redis().exists(LOCK_KEY + ":queued")).isZero();
        }
    }

    @Test
    void aLostSubscriptionIsMadeAgainAndTold() throws InterruptedException {
        try (NodeBench holder = bench();
                NodeBench waiter = bench()) {
            OwnerToken held = holder.owner();
            long candidate = holder.candidate();
            holder.acquire(held, candidate);
            OwnerToken waiting = waiter.owner();
            assertThat(queued(waiter.acquireWaiting(waiting))).isTrue();
            int before = waiter.reconnections.get();

            assertThat(SERVER.server().call("CLIENT", "KILL", "TYPE", "pubsub")).isNotEqualTo("0");

            until("the subscription is back", () -> waiter.reconnections.get() > before);
            until("the waiter is queued", () -> queued(waiter.acquireWaiting(waiting)));
            holder.release(held, candidate);
            assertThat(waiter.wakes.poll(60, TimeUnit.SECONDS)).isEqualTo(NAME);
        }
    }

    @Test
    void aWaiterWhoseProcessDiedKeepsTheLockFromNobody() {
        try (NodeBench holder = bench();
                NodeBench next = bench()) {
            OwnerToken held = holder.owner();
            long candidate = holder.candidate();
            holder.acquire(held, candidate);
            try (NodeBench dying = bench()) {
                assertThat(queued(dying.acquireWaiting(dying.owner()))).isTrue();
                OwnerToken waiting = next.owner();
                assertThat(queued(next.acquireWaiting(waiting))).isTrue();
            }
            until("its subscription has ended", () -> subscribers() == 1);

            holder.release(held, candidate);

            assertThat(StoredQueue.of(SERVER.redis().get(LOCK_KEY + ":queued")).waiters())
                    .hasSize(1);
        }
    }

    @Test
    void closingLeavesNoConnection() {
        NodeBench bench = bench();
        bench.acquire(bench.owner());
        assertThat(queued(bench.acquireWaiting(bench.owner()))).isTrue();
        long during = connected();

        bench.close();

        until("both connections are gone", () -> connected() <= during - 2);
    }

    private static long connected() {
        return SERVER.redis().clientList().lines().count();
    }
}
