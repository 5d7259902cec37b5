package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;

/** A client of the user lends its settings, and stays as it was. */
@Tag("quick")
final class BringYourOwnJedisTest {

    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = Servers.orSkip(() -> RedisServer.builder()
                .user("app", "on >s3cret allkeys allchannels +@all")
                .start());
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static LockClient over(JedisStore store) {
        return Leasehold.builder().store(store::open).connect();
    }

    private static long connections() {
        return server.call("CLIENT", "LIST").lines().count();
    }

    @Test
    void anExhaustedPoolKeepsNobodyFromLocksAndGivesNothingAway() throws Exception {
        ConnectionPoolConfig one = new ConnectionPoolConfig();
        one.setMaxTotal(1);
        try (RedisClient client = RedisClient.builder()
                .hostAndPort("127.0.0.1", server.port())
                .poolConfig(one)
                .build()) {
            long before;
            try (Connection theirs = client.getPool().getResource()) {
                before = connections();
                try (LockClient locks = over(JedisStore.over(client));
                        Lease lease = locks.named("order:1").acquire()) {
                    lease.renew();
                    assertThat(lease.isValid()).isTrue();
                    assertThat(client.getPool().getNumActive()).isOne();
                }
                assertThat(theirs.ping()).isTrue();
            }
            assertThat(client.ping()).isEqualTo("PONG");
            // The connections that were made for the locks are closed.
            Servers.until("closed", () -> connections() <= before);
        }
    }

    /** For example after the master has moved to another server of the same host. */
    @Test
    void aConnectionThatLeadsElsewhereIsRefusedAndEnded() {
        try (RedisClient client = RedisClient.builder()
                .hostAndPort("127.0.0.1", server.port())
                .clientConfig(DefaultJedisClientConfig.builder()
                        .clientName("elsewhere")
                        .build())
                .build()) {
            ClientSettings settings = ClientSettings.of(client);
            // The client may keep a connection of its own, which it closes after a minute.
            long ofTheClient = connectionsNamed("elsewhere");
            for (String elsewhere : new String[] {"127.0.0.1:" + (server.port() + 1), "127.0.0.2:" + server.port()}) {
                RedisUri there = RedisUri.parse(StoreUri.parse("redis://" + elsewhere));
                assertThatThrownBy(() -> settings.connect(there, null))
                        .hasMessageContaining("leads to 127.0.0.1:" + server.port() + " and not to " + elsewhere);
            }
            assertThat(ClientSettings.address(client).getPort()).isEqualTo(server.port());
            Servers.until("what was made is ended", () -> connectionsNamed("elsewhere") <= ofTheClient);
        }
    }

    private long connectionsNamed(String name) {
        return server.call("CLIENT", "LIST")
                .lines()
                .filter(line -> line.contains(" name=" + name + " "))
                .count();
    }

    @Test
    void aClosedClientLendsNothingMore() throws Exception {
        RedisClient client = RedisClient.create("127.0.0.1", server.port());
        JedisStore store = JedisStore.over(client);
        try (LockClient locks = over(store);
                Lease lease = locks.named("order:2").acquire()) {
            client.close();
            lease.renew();
            assertThat(lease.isValid()).isTrue();
            assertThatThrownBy(() -> over(store))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("the Jedis client is closed");
        }
    }

    /** With the client's credentials, over RESP3. */
    @Test
    void itsCredentialsAndItsProtocolAreUsed() throws Exception {
        DefaultJedisClientConfig settings = DefaultJedisClientConfig.builder()
                .user("app")
                .password("s3cret")
                .protocol(RedisProtocol.RESP3)
                .clientName("theirs")
                .build();
        try (RedisClient client = RedisClient.builder()
                        .hostAndPort("127.0.0.1", server.port())
                        .clientConfig(settings)
                        .build();
                LockClient locks = over(JedisStore.over(client));
                LockClient others = over(JedisStore.over(client))) {
            Lease lease = locks.named("order:3").acquire();
            var waiting = others.named("order:3").acquireAsync();
            Servers.until(
                    "queued",
                    () -> server.call("EXISTS", "lock:{order:3}:queued").equals("1"));
            assertThat(server.call("CLIENT", "LIST").lines().filter(line -> line.contains("user=app")))
                    .isNotEmpty()
                    .allMatch(line -> line.contains("name=theirs"));
            lease.close();
            waiting.get(60, java.util.concurrent.TimeUnit.SECONDS).close();
            assertThat(locks.admin().list("*", 10)).isEmpty();
        }
    }

    @Test
    void aRefusedLoginIsToldSo() {
        DefaultJedisClientConfig wrong =
                DefaultJedisClientConfig.builder().user("app").password("wrong").build();
        try (RedisClient client = RedisClient.builder()
                .hostAndPort("127.0.0.1", server.port())
                .clientConfig(wrong)
                .build()) {
            assertThatThrownBy(() -> over(JedisStore.over(client)))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("WRONGPASS");
        }
        assertThatThrownBy(() -> over(JedisStore.at("redis://app:wrong@127.0.0.1:" + server.port())))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("WRONGPASS");
    }

    /** Jedis repeats commands by its own policy; no command of Leasehold is sent that way. */
    @Test
    void whatWasCarriedOutIsToldSoWhenItsReplyIsLost() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port());
                RedisClient client = RedisClient.create(new HostAndPort("127.0.0.1", proxy.port()));
                LockClient locks = over(JedisStore.over(client))) {
            for (int i = 0; i < 10; i++) {
                // The reply to an acquire: the acquire is undone, or repeated under its own token.
                ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains("EVAL"));
                Lease lease = locks.named("order:" + i).acquire();
                loss.await(Servers.PATIENCE);
                assertThat(lease.isValid()).isTrue();
                loss = proxy.loseNextReplyTo(request -> request.contains("EVAL"));
                assertThat(lease.release()).isNotEqualTo(ReleaseOutcome.ALREADY_LOST);
                loss.await(Servers.PATIENCE);
                String order = "lock:{order:" + i + "}";
                Servers.until(
                        "no lock to be left", () -> server.call("EXISTS", order).equals("0"));
            }
        }
    }

    /** Each reply belongs to its own request, however late. */
    @Test
    void anAnswerThatIsLateIsTakenForNoOther() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port());
                RedisClient client = RedisClient.create(new HostAndPort("127.0.0.1", proxy.port()));
                LockClient locks = over(JedisStore.over(client));
                Lease other = locks.named("held").acquire()) {
            proxy.toClient().delay(Duration.ofMillis(300));
            for (int i = 0; i < 5; i++) {
                try {
                    Lease late = locks.named("late:" + i).tryAcquire(Duration.ofMillis(100));
                    if (late != null) {
                        late.close();
                    }
                } catch (StoreUnavailableException expected) {
                    assertThat(expected).isNotNull();
                }
            }
            proxy.toClient().delay(Duration.ZERO);
            try (LockClient watcher = over(JedisStore.at(server.uri()))) {
                Servers.until(
                        "only what is held is left",
                        () -> watcher.admin().list("*", 10).size() == 1);
                Servers.isBusy(watcher, "held");
            }
            assertThat(other.isValid()).isTrue();
        }
    }

    @Test
    void whatNeedsLettuceIsRefused() {
        assertThatThrownBy(() -> JedisStore.at("redis://127.0.0.1?waitReplicas=1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("waitReplicas")
                .hasMessageContaining("Lettuce");
        assertThatThrownBy(() -> JedisStore.at("redis://127.0.0.1?toldAtOnce=true"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("toldAtOnce")
                .hasMessageContaining("Lettuce");
        try (RedisClient client = RedisClient.create("127.0.0.1", server.port())) {
            assertThatThrownBy(() -> JedisStore.over(client).credentials(() -> null))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("logs in");
        }
    }

    @Test
    void locksAreWhereTheTemplateSays() throws Exception {
        try (RedisClient client = RedisClient.create("127.0.0.1", server.port());
                LockClient locks = over(JedisStore.over(client).keys("job:{*}"));
                Lease lease = locks.named("report").acquire()) {
            assertThat(lease.isValid()).isTrue();
            assertThat(server.call("EXISTS", "job:{report}")).isEqualTo("1");
        }
    }
}
