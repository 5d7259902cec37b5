package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.ReleaseOutcome;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a queue with clients of another version of the wire format. Requests are refused with both versions in the
 * message, locks stay exclusive and can be released, and the queue is not changed.
 */
@Timeout(180)
@Tag("full")
final class OtherVersionTest {

    private static final String NAME = "shared";
    private static final String QUEUED = "lock:{shared}:queued";

    /** The version that clients of version 1 write. */
    private static final String THEIRS = "1";

    private static void isRefused(ThrowingCallable request) {
        assertThatThrownBy(request)
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("\"" + NAME + "\"")
                .hasMessageContaining(QUEUED)
                .hasMessageContaining("wire format 1")
                .hasMessageContaining("wire format 2");
    }

    /** @param server the server of the lock */
    private static void isToldAndLeftAlone(String uri, Supplier<RedisServer> server) throws Exception {
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri);
            Lease lease = client.named(NAME).acquire();
            server.get().call("SET", QUEUED, THEIRS, "PX", "600000");

            // Each attempt has its own client: an attempt that has answered its caller stays in its client's line for a
            // moment, and a request without patience behind it gets "busy" at once.
            Supplier<DistributedLock> lock = () -> bench.client(uri).named(NAME);
            isRefused(() -> lock.get().attempt(Duration.ofSeconds(30)).orElseThrow());
            isRefused(() -> lock.get().tryAcquire(Duration.ZERO));
            isRefused(() -> client.admin().waiters(LockName.exactly(NAME), 10));
            lease.renew();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            isRefused(() -> lock.get().tryAcquire(Duration.ZERO));
            isRefused(() -> bench.client(uri)
                    .all(LockName.exactly(NAME), LockName.exactly("{" + NAME + "}b"))
                    .tryAcquire(Duration.ZERO));

            assertThat(server.get().call("GET", QUEUED)).isEqualTo(THEIRS);
            // The queue disappears with its last waiter, or an operator deletes a queue without waiters.
            server.get().call("DEL", QUEUED);
            try (Lease next = lock.get().acquire()) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
    }

    @Test
    void atOneServer() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            isToldAndLeftAlone("redis://127.0.0.1:" + server.port(), () -> server);
        }
    }

    @Test
    void atAMasterWithReplicas() throws Exception {
        try (RedisReplicated group = Groups.replicated(1)) {
            isToldAndLeftAlone(group.uri(), group::primary);
        }
    }

    @Test
    void behindSentinels() throws Exception {
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member)) {
            // On a busy machine a second is too short, and a request without patience fails with a separate error in a
            // fail-over.
            for (RedisSentinel sentinel : group.sentinels()) {
                sentinel.call("SENTINEL", "SET", RedisSentinelGroup.MASTER_NAME, "down-after-milliseconds", "60000");
            }
            isToldAndLeftAlone(group.uri(), group::primary);
        }
    }

    @Test
    void inACluster() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node)) {
            RedisServer any = cluster.nodes().get(0);
            int slot = Integer.parseInt(any.call("CLUSTER", "KEYSLOT", QUEUED));
            until("the slot has a master", () -> cluster.masterOf(slot) != null);
            isToldAndLeftAlone(cluster.uri(), () -> cluster.masterOf(slot));
        }
    }
}
