package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.heldOrReported;
import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.obtainsSoon;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of locks while the master that Sentinels name dies, falls silent or is demoted. */
@Timeout(180)
@Tag("full")
final class SentinelFaultTest {

    private RedisSentinelGroup group;
    private TopologyBench bench;

    @BeforeEach
    void start() {
        group = Groups.sentinel(1, member -> member);
        bench = new TopologyBench();
    }

    @AfterEach
    void stop() {
        if (bench != null) {
            bench.close();
        }
        if (group != null) {
            group.close();
        }
    }

    @Test
    void aKilledMasterIsReplacedAndLocksGoOnAtTheNewOne() throws InterruptedException {
        LockClient client = bench.client(group.uri());
        LockClient other = bench.client(group.uri());
        Lease held = client.named("held").acquire();
        CompletableFuture<Lease> waiting = other.named("held").acquireAsync();
        RedisServer former = group.primary();
        until(
                "the replica has it",
                () -> group.servers().get(1).call("EXISTS", "lock:{held}").equals("1"));

        former.kill();
        RedisServer present = group.awaitPrimaryOtherThan(former);

        obtainsSoon(client, "free");
        bench.obtainsSoon(group.uri(), client, "free", "other");
        heldOrReported(held, bench.client(group.uri()), "held");
        assertThat(present.call("SCRIPT", "EXISTS", io.leasehold.redis.wire.LuaScript.ACQUIRE.sha1()))
                .as("its text was sent anew")
                .isEqualTo("1");
        held.close();
        waiting.orTimeout(60, TimeUnit.SECONDS).join().close();
        nothingIsHeld(List.of(present));

        former.restart();
        until("the former master follows", () -> former.call("ROLE").startsWith("slave"));
        obtainsSoon(client, "free");
    }

    @Test
    void aSilentMasterIsLeftAsSoonAsSentinelsSaySo() throws InterruptedException {
        LockClient client = bench.client(group.uri());
        client.named("free").acquire().close();
        RedisServer former = group.primary();
        former.freeze();
        try {
            RedisServer present = group.awaitPrimaryOtherThan(former);
            assertThat(present).isNotSameAs(former);

            bench.obtainsSoon(group.uri(), client, "free");

            assertThat(present.call("EXISTS", "lock:{free}:fence")).isEqualTo("1");
            nothingIsHeld(List.of(present));
        } finally {
            former.thaw();
        }
        until("the former master was told", () -> former.call("ROLE").startsWith("slave"));
        obtainsSoon(client, "free");
    }

    /**
     * A network partition: two Sentinels and the replica on one side, one Sentinel that still names the former master
     * on the other.
     */
    @Test
    void ofSentinelsThatDisagreeTheLaterEpochIsBelieved() {
        LockClient client = bench.client(group.uri());
        RedisServer former = group.primary();
        group.sentinels().get(0).freeze();
        former.kill();
        until(
                "the others have agreed",
                () -> group.sentinels()
                        .get(1)
                        .call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", RedisSentinelGroup.MASTER_NAME)
                        .endsWith(Integer.toString(group.servers().get(1).port())));
        former.restart();
        former.call("REPLICAOF", "NO", "ONE");
        group.sentinels().get(0).thaw();

        bench.obtainsSoon(group.uri(), client, "free");

        assertThat(group.servers().get(1).call("EXISTS", "lock:{free}:fence")).isEqualTo("1");
        nothingIsHeld(List.of(group.servers().get(1)));
    }

    @Test
    void aMasterThatIsDemotedUnderUsIsLeft() throws InterruptedException {
        LockClient client = bench.client(group.uri());
        Lease held = client.named("held").acquire();
        RedisServer former = group.primary();

        group.sentinels().get(0).call("SENTINEL", "FAILOVER", RedisSentinelGroup.MASTER_NAME);
        RedisServer present = group.awaitPrimaryOtherThan(former);
        until("it takes no writes", () -> former.call("ROLE").startsWith("slave"));

        bench.obtainsSoon(group.uri(), client, "free");
        heldOrReported(held, bench.client(group.uri()), "held");
        held.close();
        nothingIsHeld(List.of(present));
    }

    /**
     * All connections end, and the master accepts new ones but does not answer: a client that tries one still learns of
     * the switch.
     */
    @Test
    void aSwitchIsFollowedAlsoWhileTheFormerMasterIsBeingConnectedTo() throws Exception {
        LockClient client = bench.client(group.uri());
        LockClient other = bench.client(group.uri());
        Lease held = client.named("held").acquire();
        CompletableFuture<Lease> waiting = other.named("held").acquireAsync();
        RedisServer former = group.primary();
        until(
                "the replica has it",
                () -> group.servers().get(1).call("EXISTS", "lock:{held}").equals("1"));
        until(
                "a client listens",
                () -> !former.call("PUBSUB", "CHANNELS", "lock:wake:*").isEmpty());
        try (Socket operator = new Socket(InetAddress.getLoopbackAddress(), former.port())) {
            String all = String.join(
                    "\r\n",
                    "MULTI",
                    "CLIENT KILL TYPE normal SKIPME yes",
                    "CLIENT KILL TYPE pubsub",
                    "DEBUG SLEEP 600",
                    "EXEC",
                    "");
            operator.getOutputStream().write(all.getBytes(StandardCharsets.US_ASCII));
            RedisServer present = group.awaitPrimaryOtherThan(former);

            bench.obtainsSoon(group.uri(), client, "free", "else");
            obtainsSoon(other, "free");
            heldOrReported(held, bench.client(group.uri()), "held");
            until(
                    "its waiter listens there, or is served",
                    () -> waiting.isDone()
                            || !present.call("PUBSUB", "CHANNELS", "lock:wake:*")
                                    .isEmpty());
            held.close();
            waiting.orTimeout(60, TimeUnit.SECONDS).join().close();
            nothingIsHeld(List.of(present));
        }
    }

    @Test
    void aWrongNameIsAnsweredWithTheKnownOnes() {
        assertThatThrownBy(() -> bench.client(group.uri().replace("/mymaster", "/nobody")))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("\"nobody\"")
                .hasMessageContaining("\"mymaster\"");
    }

    @Test
    void aDataServerIsNoSentinelAndASentinelNoDataServer() {
        int data = group.primary().port();
        assertThatThrownBy(() -> bench.client("redis-sentinel://127.0.0.1:" + data + "/mymaster"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("is no Sentinel")
                .hasMessageContaining("redis://127.0.0.1:" + data);
        int sentinel = group.sentinels().get(0).port();
        assertThatThrownBy(() -> bench.client("redis://127.0.0.1:" + sentinel))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("redis-sentinel://127.0.0.1:" + sentinel);
        assertThatThrownBy(() -> bench.client("redis-sentinel://127.0.0.1:1/mymaster"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("127.0.0.1:1");
    }

    @Test
    void aDeadSentinelAndLettucesFormAreNoHindrance() throws InterruptedException {
        group.sentinels().get(0).kill();
        LockClient client = bench.client(group.uri().replace("/mymaster", "/0#mymaster"));
        try (Lease lease = client.named("free").attempt(Duration.ofSeconds(20)).orElseThrow()) {
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(client.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
    }
}
