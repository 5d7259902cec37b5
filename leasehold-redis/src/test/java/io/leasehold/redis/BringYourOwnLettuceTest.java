package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that the store uses the application's own client and leaves it unchanged. */
@Tag("quick")
class BringYourOwnLettuceTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static RedisClient client;
    private static RedisURI uri;

    @BeforeAll
    static void connect() {
        uri = RedisURI.create(SERVER.server().uri());
        client = RedisClient.create(uri);
    }

    @AfterAll
    static void disconnect() {
        client.shutdown(0, 2, TimeUnit.SECONDS);
    }

    private static LockClient over(RedisStore store) {
        return Leasehold.builder().store(store::open).connect();
    }

    private static void holdAndHandOver(LockClient locks) throws Exception {
        try (LockClient others = Leasehold.connect(SERVER.server().uri())) {
            Lease first = others.named("order:1").acquire();
            CompletableFuture<Lease> waiting = locks.named("order:1").acquireAsync();
            NodeBench.until("asked", () -> SERVER.redis().info("commandstats").contains("evalsha"));
            first.close();
            try (Lease lease = waiting.get(60, TimeUnit.SECONDS)) {
                lease.renew();
                assertThat(lease.fencingToken()).isGreaterThan(first.fencingToken());
            }
        }
    }

    @Test
    void aClientLendsItsThreadsAndKeepsItsOptions() throws Exception {
        ClientOptions before = client.getOptions();
        StatefulRedisConnection<String, String> theirs = client.connect();
        long connections = connections();
        try (LockClient locks = over(RedisStore.over(client, uri))) {
            holdAndHandOver(locks);
        }
        assertThat(client.getOptions()).isSameAs(before);
        assertThat(before.isAutoReconnect()).isTrue();
        assertThat(theirs.sync().ping()).isEqualTo("PONG");
        assertThat(client.connect().sync().ping()).isEqualTo("PONG");
        // The connections for locks are closed; the client has opened one more of its own.
        NodeBench.until("closed", () -> connections() <= connections + 1);
        theirs.close();
    }

    private static long connections() {
        return SERVER.redis().clientList().lines().count();
    }

    @Test
    void whatWasCarriedOutIsToldSoWhenItsReplyIsLost() throws InterruptedException {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            RedisURI through = RedisURI.create("127.0.0.1", proxy.port());
            // This client reconnects and resends unanswered commands.
            assertThat(client.getOptions().isAutoReconnect()).isTrue();
            try (LockClient locks = over(RedisStore.over(client, through));
                    EfficiencyLocks plain =
                            EfficiencyLocks.over(RedisStore.over(client, through), LockOptions.defaults())) {
                for (int i = 0; i < 20; i++) {
                    Lease lease = locks.named("order:" + i).acquire();
                    ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains("EVAL"));
                    assertThat(lease.release()).isNotEqualTo(ReleaseOutcome.ALREADY_LOST);
                    loss.await(NodeBench.PATIENCE);

                    // If the reset came before the SET was sent, a script follows that checks the outcome.
                    loss = proxy.loseNextReplyTo(
                            request -> request.contains("\r\nSET\r\n") || request.contains("EVAL"));
                    Hold hold = plain.named("report:" + i)
                            .attempt(NodeBench.PATIENCE)
                            .orElseThrow();
                    loss.await(NodeBench.PATIENCE);
                    loss = proxy.loseNextReplyTo(request -> request.contains("EVAL"));
                    assertThat(hold.release()).isNotEqualTo(ReleaseOutcome.ALREADY_LOST);
                    loss.await(NodeBench.PATIENCE);
                    String order = "lock:{order:" + i + "}";
                    String report = "lock:{report:" + i + "}";
                    // If the reset came before the release was sent, the release is repeated.
                    NodeBench.until("no lock to be left", () -> SERVER.redis().exists(order, report) == 0);
                }
            }
        }
    }

    @Test
    void aUriWithoutAHostIsRefused() {
        RedisURI sentinel = RedisURI.Builder.sentinel("127.0.0.1", "mymaster").build();
        assertThatThrownBy(() -> RedisStore.over(client, sentinel))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("host");
        assertThatThrownBy(() -> RedisStore.at("memory:")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void efficiencyLocksDoTheSame() throws InterruptedException {
        try (EfficiencyLocks locks =
                        EfficiencyLocks.over(RedisStore.over(client, uri).keys("job:*"), LockOptions.defaults());
                Hold hold = locks.named("report").acquire()) {
            assertThat(hold.isValid()).isTrue();
            assertThat(SERVER.redis().exists("job:report")).isOne();
        }
        assertThat(client.connect().sync().ping()).isEqualTo("PONG");
    }

    @Test
    void aClusterIsNamedByNodesWithoutADatabase() {
        RedisClusterClient ofCluster = RedisClusterClient.create(uri);
        try {
            assertThatThrownBy(() -> RedisStore.over(ofCluster)).hasMessageContaining("at least one node");
            assertThatThrownBy(() -> RedisStore.over(ofCluster, RedisURI.create("redis://:secret@127.0.0.1/3")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("database")
                    .hasMessageNotContaining("secret");
            assertThat(RedisStore.over(ofCluster, RedisURI.create("rediss://:secret@127.0.0.1")))
                    .hasToString("rediss-cluster://127.0.0.1:6379");
        } finally {
            ofCluster.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }
}
