package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A client or connection that somebody brings along is used, and left as it was. */
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
        // What was made for the locks is gone; the client has made one more of its own.
        NodeBench.until("closed", () -> connections() <= connections + 1);
        theirs.close();
    }

    private static long connections() {
        return SERVER.redis().clientList().lines().count();
    }

    @Test
    void aConnectionIsNeverClosed() throws Exception {
        StatefulRedisConnection<String, String> theirs = client.connect();
        for (int i = 0; i < 3; i++) {
            try (LockClient locks = over(RedisStore.over(uri, theirs))) {
                holdAndHandOver(locks);
            }
            assertThat(theirs.isOpen()).isTrue();
            assertThat(theirs.sync().ping()).isEqualTo("PONG");
        }
        theirs.close();
    }

    @Test
    void theFlushModeOfAConnectionIsNotChanged() throws Exception {
        StatefulRedisConnection<String, String> theirs = client.connect();
        theirs.setAutoFlushCommands(false);
        try (LockClient locks = over(RedisStore.over(uri, theirs));
                Lease lease = locks.named("order:2").acquire()) {
            lease.renew();
            RedisFuture<String> heldBack = theirs.async().ping();
            assertThat(heldBack.await(200, TimeUnit.MILLISECONDS)).isFalse();
            theirs.flushCommands();
            assertThat(heldBack.get(60, TimeUnit.SECONDS)).isEqualTo("PONG");
        }
        RedisFuture<String> stillHeldBack = theirs.async().ping();
        assertThat(stillHeldBack.await(200, TimeUnit.MILLISECONDS)).isFalse();
        theirs.flushCommands();
        assertThat(stillHeldBack.get(60, TimeUnit.SECONDS)).isEqualTo("PONG");
        theirs.close();
    }

    @Test
    void wakeUpsComeOverASecondConnectionAndLeaveItsOwnSubscriptions() throws Exception {
        StatefulRedisConnection<String, String> theirs = client.connect();
        StatefulRedisPubSubConnection<String, String> theirPushes = client.connectPubSub();
        BlockingQueue<String> news = new LinkedBlockingQueue<>();
        theirPushes.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                if (channel.equals("news")) {
                    news.add(message);
                }
            }
        });
        theirPushes.sync().subscribe("news");
        try (LockClient locks = over(RedisStore.over(uri, theirs, theirPushes))) {
            try (LockClient others = Leasehold.connect(SERVER.server().uri())) {
                Lease first = others.named("order:3").acquire();
                CompletableFuture<Lease> waiting = locks.named("order:3")
                        .with(o -> o.recheck(Duration.ofMinutes(5)))
                        .acquireAsync();
                NodeBench.until("queued", () -> SERVER.redis().exists("lock:{order:3}:waiters") == 1);
                assertThat(SERVER.redis().pubsubChannels("lock:wake:*")).isNotEmpty();
                first.close();
                // Its own recheck would come after five minutes.
                waiting.get(60, TimeUnit.SECONDS).close();
            }
        }
        NodeBench.until("unsubscribed", () -> SERVER.redis().pubsubChannels().equals(List.of("news")));
        SERVER.redis().publish("news", "still here");
        assertThat(news.poll(60, TimeUnit.SECONDS)).isEqualTo("still here");
        theirs.close();
        theirPushes.close();
    }

    @Test
    void aConnectionThatReconnectsIsUsedAgain() throws Exception {
        StatefulRedisConnection<String, String> theirs = client.connect();
        try (LockClient locks = over(RedisStore.over(uri, theirs))) {
            locks.named("order:4").acquire().close();
            for (int i = 0; i < 3; i++) {
                SERVER.redis().clientKill("" + localAddress(theirs));
                try (Lease lease =
                        locks.named("order:4").attempt(NodeBench.PATIENCE).orElseThrow()) {
                    NodeBench.until("renewed", () -> isRenewed(lease));
                }
            }
        }
        assertThat(theirs.sync().ping()).isEqualTo("PONG");
        theirs.close();
    }

    /** The end of the connection may be noticed as late as by this. */
    private static boolean isRenewed(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (StoreUnavailableException e) {
            return false;
        }
    }

    private static String localAddress(StatefulRedisConnection<String, String> connection) {
        long id = connection.sync().clientId();
        return SERVER.redis()
                .clientList()
                .lines()
                .filter(line -> line.startsWith("id=" + id + " "))
                .map(line -> line.replaceAll(".* addr=([^ ]+) .*", "$1"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aClosedConnectionIsRefused() {
        StatefulRedisConnection<String, String> theirs = client.connect();
        theirs.close();
        assertThatThrownBy(() -> over(RedisStore.over(uri, theirs)))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("brought along");
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
        StatefulRedisConnection<String, String> theirs = client.connect();
        try (EfficiencyLocks locks =
                        EfficiencyLocks.over(RedisStore.over(uri, theirs).keys("job:*"), LockOptions.defaults());
                Hold hold = locks.named("report").acquire()) {
            assertThat(hold.isValid()).isTrue();
            assertThat(SERVER.redis().exists("job:report")).isOne();
        }
        assertThat(theirs.sync().ping()).isEqualTo("PONG");
        theirs.close();
    }
}
