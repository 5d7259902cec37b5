package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.NAME;
import static io.leasehold.redis.NodeBench.answer;
import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the readers of a lock on a Cluster whose slots move, and with replicas that acknowledge. */
@Timeout(180)
@Tag("full")
final class ReadersTopologiesTest {

    private static final LockName READERS = NAME.asRead();
    private static final long TTL_NANOS = TimeUnit.SECONDS.toNanos(300);
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private long next;

    private NodeReply acquire(NodeBench bench, LockName name, OwnerToken owner, boolean waits) {
        AcquireRequest plain = AcquireRequest.exclusive(List.of(name), owner, "host/1/test", TTL_NANOS, TIMEOUT_NANOS);
        AcquireRequest request = waits ? plain.waiting(TTL_NANOS) : plain;
        next = Math.max(next + 10, bench.candidate());
        return answer(bench.node.acquire(new Ballot(request, next, 1, waits ? TTL_NANOS : 0)));
    }

    private NodeReply downgrade(NodeBench bench, OwnerToken owner, OwnerToken writer) {
        AcquireRequest request =
                AcquireRequest.exclusive(List.of(READERS), owner, "host/1/test", TTL_NANOS, TIMEOUT_NANOS);
        next = Math.max(next + 10, bench.candidate());
        return answer(bench.node.downgrade(new Ballot(request, next, 1), writer));
    }

    private static ReleaseReply release(NodeBench bench, LockName name, OwnerToken owner, long ballot) {
        return answer(bench.node.release(
                new ReleaseRequest(List.of(name), owner, ballot, ReleaseRequest.Kind.RELEASE, TIMEOUT_NANOS)));
    }

    private static boolean isHandedTo(OwnerToken writer, SlotMove move) {
        return move.to().call("GET", NodeBench.LOCK_KEY).startsWith(writer.hex());
    }

    /** With the documented rights, which must be enough for the scripts that only run at such a time. */
    @Test
    void readersAreReleasedWhileTheirSlotMovesAndWaitersServedAfterwards() {
        String rights = RedisErrors.RIGHTS + " " + RedisErrors.RIGHT_OF_READERS + Deployment.RIGHTS_IN_CLUSTER;
        try (RedisCluster cluster = Groups.cluster(0, node -> node.user("app", "on >secret resetchannels " + rights));
                NodeBench bench = new NodeBench(cluster.uri().replace("//", "//app:secret@"))) {
            OwnerToken one = bench.owner();
            OwnerToken other = bench.owner();
            OwnerToken writer = bench.owner();
            assertThat(acquire(bench, READERS, one, false)).isInstanceOf(NodeReply.Yes.class);
            assertThat(acquire(bench, READERS, other, false)).isInstanceOf(NodeReply.Yes.class);
            assertThat(acquire(bench, NAME, writer, true))
                    .isInstanceOfSatisfying(
                            NodeReply.Held.class,
                            held -> assertThat(held.queued()).isTrue());
            RenewBatch batch = new RenewBatch(
                    List.of(
                            new RenewBatch.Item(READERS, one, TTL_NANOS),
                            new RenewBatch.Item(READERS, other, TTL_NANOS)),
                    TIMEOUT_NANOS);
            assertThat(answer(bench.node.renew(batch)).items()).allMatch(item -> item instanceof RenewReply.Renewed);
            long late = next;
            SlotMove move = SlotMove.of(cluster, NodeBench.LOCK_KEY);
            move.begin();
            for (int i = 0; i < 3; i++) {
                move.carry(1);
                assertThat(answer(bench.node.renew(batch)).items())
                        .as("with %s keys at the new master", i + 1)
                        .allMatch(item -> item instanceof RenewReply.Renewed);
            }

            assertThat(release(bench, READERS, other, late)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(release(bench, READERS, one, late)).isInstanceOf(ReleaseReply.Released.class);

            int before = bench.reconnections.get();
            move.end();
            until(
                    "the writer is handed the lock, or loses its place",
                    () -> isHandedTo(writer, move)
                            || move.to()
                                    .call("EXISTS", KeyLayout.queued(NodeBench.LOCK_KEY))
                                    .equals("0"));
            if (!isHandedTo(writer, move)) {
                // It was served before it had subscribed at the new master. The engine then requests the lock again.
                until("the subscription is told", () -> bench.reconnections.get() > before);
                assertThat(acquire(bench, NAME, writer, true)).isInstanceOf(NodeReply.Yes.class);
            }
            release(bench, NAME, writer, next);
            AcquireRequest copy =
                    AcquireRequest.exclusive(List.of(READERS), one, "host/1/test", TTL_NANOS, TIMEOUT_NANOS);
            assertThat(answer(bench.node.acquire(new Ballot(copy, late, 1)))).isInstanceOf(NodeReply.Stale.class);
        }
    }

    @Test
    void aGrantAndADowngradeCountOnceTheyAreAcknowledged() {
        try (RedisReplicated group = Groups.replicated(1);
                NodeBench bench = new NodeBench(group.uri() + "?waitReplicas=1&waitTimeout=300ms")) {
            OwnerToken writer = bench.owner();
            OwnerToken reader = bench.owner();
            until("the replica acknowledges", () -> acquire(bench, NAME, writer, false) instanceof NodeReply.Yes);
            RedisServer replica = group.replicas().get(0);
            replica.freeze();
            try {
                assertThat(downgrade(bench, reader, writer))
                        .isInstanceOfSatisfying(
                                NodeReply.Refused.class,
                                refused -> assertThat(refused.spent()).isTrue());
                assertThat(acquire(bench, READERS, bench.owner(), false)).isInstanceOf(NodeReply.Refused.class);
            } finally {
                replica.thaw();
            }
            until("it is repeated", () -> downgrade(bench, reader, writer) instanceof NodeReply.Yes);
            assertThat(replica.call("HEXISTS", "lock:{order:1}:readers", reader.hex()))
                    .isEqualTo("1");
        }
    }
}
