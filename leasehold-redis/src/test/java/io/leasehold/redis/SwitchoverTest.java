package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a switchover behind one address: a replica is promoted, the address leads to it, and the former master, now its
 * replica, keeps its connections.
 */
@Timeout(120)
@Tag("full")
final class SwitchoverTest {

    private static void switchOver(RedisReplicated group, TcpProxy address) {
        RedisServer former = group.primary();
        RedisServer next = group.replicas().get(0);
        next.call("REPLICAOF", "NO", "ONE");
        former.call("REPLICAOF", "127.0.0.1", Integer.toString(next.port()));
        address.retarget(new InetSocketAddress(InetAddress.getLoopbackAddress(), next.port()));
        NodeBench.until(
                "it takes no writes", () -> former.call("INFO", "replication").contains("master_link_status:up"));
    }

    private static LockClient client(TcpProxy address) {
        return Leasehold.builder()
                .store("redis://127.0.0.1:" + address.port())
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
                .connect();
    }

    private static boolean isRenewed(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (StoreUnavailableException refused) {
            return false;
        }
    }

    @Test
    void aClientThatOnlyRenewsFollowsTheAddress() throws InterruptedException {
        try (RedisReplicated group = Groups.replicated(1);
                TcpProxy address = TcpProxy.to(group.primary().port());
                LockClient client = client(address)) {
            RedisServer next = group.replicas().get(0);
            Lease lease = client.named("held").acquire();
            NodeBench.until(
                    "it is replicated", () -> next.call("EXISTS", "lock:{held}").equals("1"));
            switchOver(group, address);
            assertThat(isRenewed(lease))
                    .as("its connection leads to the former master")
                    .isFalse();
            NodeBench.until("it is renewed at the next one", () -> isRenewed(lease));
            assertThat(lease.isValid()).isTrue();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            NodeBench.until(
                    "it is free there", () -> next.call("EXISTS", "lock:{held}").equals("0"));
        }
    }

    /** The subscription to the former master would last, and no message of the next one would arrive. */
    @Test
    void theSubscriptionFollowsTheAddress() throws InterruptedException {
        try (RedisReplicated group = Groups.replicated(1);
                TcpProxy address = TcpProxy.to(group.primary().port());
                LockClient client = client(address);
                LockClient rival = client(address)) {
            RedisServer next = group.replicas().get(0);
            try (Lease lease = client.named("held").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(rival.named("held").tryAcquire(Duration.ofMillis(200)))
                        .isNull();
            }
            assertThat(group.primary().call("PUBSUB", "CHANNELS")).isNotEmpty();
            switchOver(group, address);
            rival.named("after").tryAcquire(Duration.ofSeconds(30)).close();
            NodeBench.until(
                    "it is subscribed at the next one",
                    () -> !next.call("PUBSUB", "CHANNELS").isEmpty());
        }
    }

    @Test
    void anAttemptFollowsTheAddress() throws InterruptedException {
        try (RedisReplicated group = Groups.replicated(1);
                TcpProxy address = TcpProxy.to(group.primary().port());
                LockClient client = client(address)) {
            client.named("before").acquire().close();
            switchOver(group, address);
            try (Lease lease = client.named("after").tryAcquire(Duration.ofSeconds(30))) {
                assertThat(lease).isNotNull();
            }
        }
    }
}
