package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

/**
 * Tests of a network partition: the master and one client on one side, the Sentinels, the replica and the other client
 * on the other. The master refuses the Sentinels and the replica, and the client's connections to the Sentinels drop
 * all data.
 */
@Timeout(180)
@Tag("quick")
final class SentinelSplitTest {

    /** The user as which the members of a group and its Sentinels connect to the master. */
    private static final String MEMBERS = "leasehold-launcher";

    @Test
    void whatWasGrantedOnTheCutOffSideIsReportedLostWhenTheSplitEnds() throws Exception {
        List<TcpProxy> ways = new ArrayList<>();
        try (RedisSentinelGroup group = Groups.sentinel(
                        1,
                        member -> member.user("default", "off")
                                .user("admin", "on >secret ~* &* +@all")
                                .user("app", "on >secret resetchannels " + RedisErrors.RIGHTS));
                TopologyBench bench = new TopologyBench()) {
            List<String> addresses = new ArrayList<>();
            for (RedisSentinel sentinel : group.sentinels()) {
                TcpProxy way = TcpProxy.to(sentinel.port());
                ways.add(way);
                addresses.add("127.0.0.1:" + way.port());
            }
            String cutOffUri =
                    "redis-sentinel://app:secret@" + String.join(",", addresses) + "/" + RedisSentinelGroup.MASTER_NAME;
            String uri = group.uri().replace("//", "//app:secret@");
            LockClient cutOff = bench.client(cutOffUri);
            LockClient other = bench.client(uri);
            cutOff.named("before").acquire().close();
            RedisServer former = group.primary();
            try (Jedis admin = new Jedis("127.0.0.1", former.port())) {
                admin.auth("admin", "secret");
                ways.forEach(TcpProxy::drop);
                admin.aclSetUser(MEMBERS, "off");
                admin.sendCommand(Protocol.Command.CLIENT, "KILL", "USER", MEMBERS);
                RedisServer present = group.awaitPrimaryOtherThan(former);

                Lease lost = cutOff.named("split").acquire();
                assertThat(admin.exists("lock:{split}"))
                        .as("acknowledged by the former master")
                        .isTrue();
                TopologyBench.obtainsSoon(other, "free");
                Lease kept = other.named("split").acquire();
                assertThat(present.call("EXISTS", "lock:{split}")).isEqualTo("1");
                assertThat(lost.isValid() && kept.isValid())
                        .as("two hold, as the documentation says: no fail-over is safe")
                        .isTrue();
                assertThat(cutOff.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);

                admin.aclSetUser(MEMBERS, "on");
                // The connections of the meantime were refused and would stay so for a while.
                killUnauthenticated(former);
                ways.forEach(TcpProxy::heal);
                HoldEnd end = lost.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
                assertThat(end).isInstanceOf(HoldEnd.Lost.class);
                assertThat(kept.isValid())
                        .as("the other one knows nothing of it")
                        .isTrue();
                AtomicLong killedAtNanos = new AtomicLong(System.nanoTime());
                until("the former master follows", () -> {
                    // A connection that began its handshake before the first KILL may have been refused after it.
                    if (System.nanoTime() - killedAtNanos.get() > TimeUnit.SECONDS.toNanos(5)) {
                        killedAtNanos.set(System.nanoTime());
                        killUnauthenticated(former);
                    }
                    return former.call("ROLE").startsWith("slave");
                });
                bench.obtainsSoon(cutOffUri, cutOff, "free");
                bench.obtainsSoon(uri, other, "free");
                kept.close();
                bench.obtainsSoon(uri, cutOff, "split");
                nothingIsHeld(List.of(present));
            }
        } finally {
            ways.forEach(TcpProxy::close);
        }
    }

    /** By a connection of its own: a server that is demoted closes those that it has. */
    private static void killUnauthenticated(RedisServer server) {
        try (Jedis admin = new Jedis("127.0.0.1", server.port())) {
            admin.auth("admin", "secret");
            admin.sendCommand(Protocol.Command.CLIENT, "KILL", "USER", "default");
        }
    }
}
