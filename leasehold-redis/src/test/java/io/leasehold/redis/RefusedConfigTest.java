package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of proxies and services that refuse CONFIG in their own words or close the connection: the durability of the
 * server is then unknown.
 */
@Tag("full")
@Timeout(60)
final class RefusedConfigTest {

    private static RedisServer withoutConfig() {
        return RedisUnderTest.start(builder -> builder.config("rename-command CONFIG \"\""));
    }

    private static String uri(int port) {
        return "redis://127.0.0.1:" + port;
    }

    private static void locks(String uri) throws InterruptedException {
        try (LockClient locks = Leasehold.connect(uri);
                Lease lease = locks.named("plain").tryAcquire(Duration.ofSeconds(20))) {
            assertThat(lease).isNotNull();
            assertThat(locks.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
    }

    @Test
    void inOtherWords() throws Exception {
        try (RedisServer server = withoutConfig();
                WordsFront front = new WordsFront(server.port())) {
            locks(uri(front.port()));
            assertThatThrownBy(() -> Leasehold.builder()
                            .store(uri(front.port()))
                            .require(Guarantee.Exclusion.WITHIN_DRIFT)
                            .connect()
                            .close())
                    .isInstanceOf(LockStoreException.class);
        }
    }

    @Test
    void inOtherWordsToLocksWithoutFence() throws Exception {
        try (RedisServer server = withoutConfig();
                WordsFront front = new WordsFront(server.port())) {
            Deployment where = Deployment.parse(StoreUri.parse(uri(front.port())));
            SystemLockRuntime runtime = new SystemLockRuntime();
            try {
                new NodeOpening(where, LettuceDriver.of(where, new DriverThreads()), runtime)
                        .openPlain()
                        .close();
            } finally {
                runtime.close();
            }
        }
    }

    @Test
    void inOtherWordsToAMember() throws Exception {
        try (RedisServer server = withoutConfig();
                WordsFront front = new WordsFront(server.port())) {
            String node = URLEncoder.encode(uri(front.port()) + "?name=node-1", StandardCharsets.UTF_8);
            try (LockClient locks = Leasehold.connect("redlock:?maxTtl=30s&nodeTimeout=2s&node=" + node)) {
                locks.admin().declareNewNodes();
                try (Lease lease = locks.named("member").tryAcquire(Duration.ofSeconds(20))) {
                    assertThat(lease).isNotNull();
                }
            }
        }
    }

    @Test
    void byAResetOfTheConnection() throws Exception {
        try (RedisServer server = RedisUnderTest.start(RedisServer.Builder::durable);
                TcpProxy proxy = TcpProxy.to(server.port())) {
            ScheduledLoss loss = proxy.loseNextRequest(request -> request.contains("\r\nCONFIG\r\n"));
            locks(uri(proxy.port()));
            assertThat(loss.happened()).isTrue();
        }
    }

    /** A temporary refusal does not count: the application must open the store again. */
    @Test
    void whatIsRefusedOnlyForNowIsNotBelieved() {
        for (String text :
                List.of("LOADING Redis is loading", "BUSY Redis is busy", "NOAUTH Authentication required.")) {
            assertThat(RedisErrors.isRefused(new ServerRefusal(text, null)))
                    .as(text)
                    .isFalse();
        }
    }
}
