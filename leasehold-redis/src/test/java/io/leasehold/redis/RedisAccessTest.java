package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.LOCK_KEY;
import static io.leasehold.redis.NodeBench.NAME;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of access: clients that may connect, messages for clients that may not, and the resulting guarantees. */
@Tag("quick")
class RedisAccessTest {

    private static final String ALL = "on >secret ~lock:* &* +@all";

    private static LockStoreException refusal(String uri) {
        Throwable thrown = catchThrowable(() -> new NodeBench(uri).close());
        assertThat(thrown).isInstanceOf(LockStoreException.class);
        assertThat(thrown.getMessage()).doesNotContain("\n").doesNotContain("hunter2");
        return (LockStoreException) thrown;
    }

    @Test
    void aServerThatIsDownIsNamedWithTheReason() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        long start = System.nanoTime();

        LockStoreException refusal = refusal("redis://:hunter2@127.0.0.1:" + port);

        assertThat(refusal)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("redis://127.0.0.1:" + port)
                .hasMessageContaining("refused");
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
    }

    @Test
    void aHostThatDoesNotExistIsNamed() {
        assertThat(refusal("redis://no-such-host.invalid"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("no-such-host.invalid");
    }

    @Test
    void aServerThatDoesNotAnswerIsGivenUp() {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                TcpProxy proxy = TcpProxy.to(server.port())) {
            proxy.drop();

            assertThat(refusal("redis://:hunter2@127.0.0.1:" + proxy.port()))
                    .isInstanceOf(StoreUnavailableException.class);
            assertThat(proxy.connections().accepted()).isPositive();
        }
    }

    @Test
    void whatIsNoRedisIsSaidToBeNone() throws IOException {
        try (ServerSocket web = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread answering = new Thread(() -> {
                try (Socket client = web.accept();
                        OutputStream out = client.getOutputStream()) {
                    out.write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    out.flush();
                    client.getInputStream().readAllBytes();
                } catch (IOException clientWentAway) {
                    // The client may disconnect.
                }
            });
            answering.setDaemon(true);
            answering.start();

            assertThat(refusal("redis://127.0.0.1:" + web.getLocalPort()))
                    .isInstanceOf(StoreUnavailableException.class);
        }
    }

    @Test
    void passwordsAreChecked() {
        try (RedisServer server = RedisUnderTest.start(b -> b.password("right"))) {
            String host = "127.0.0.1:" + server.port();
            assertThat(refusal("redis://" + host))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("password");
            assertThat(refusal("redis://:hunter2@" + host))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("WRONGPASS");
            assertThat(refusal("redis://nobody:hunter2@" + host)).isInstanceOf(StoreAccessException.class);
            try (NodeBench bench = new NodeBench("redis://:right@" + host)) {
                assertThat(bench.acquire(bench.owner())).isInstanceOf(NodeReply.Yes.class);
            }
        }
    }

    @Test
    void aClusterMemberIsRefusedWithTheRightScheme() {
        try (RedisServer server = RedisUnderTest.start(b -> b.config("cluster-enabled yes"))) {
            assertThat(refusal(server.uri()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis-cluster://");
        }
    }

    @Test
    void aReplicaIsRefused() {
        try (RedisServer primary = RedisUnderTest.start(b -> b);
                RedisServer replica = RedisUnderTest.start(b -> b.config("replicaof 127.0.0.1 " + primary.port()))) {
            assertThat(refusal(replica.uri()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("replica");
        }
    }

    @Test
    void theDocumentedRightsAreEnoughForEverything() throws InterruptedException {
        try (RedisServer server =
                        RedisUnderTest.start(b -> b.user("app", "on >secret resetchannels " + RedisErrors.RIGHTS));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port() + "/1")) {
            OwnerToken holder = bench.owner();
            long candidate = bench.candidate();
            assertThat(bench.probe()).isInstanceOf(NodeReply.Answered.class);
            assertThat(bench.acquire(holder, candidate)).isInstanceOf(NodeReply.Yes.class);
            assertThat(bench.renew(holder)).isInstanceOf(RenewReply.Renewed.class);
            OwnerToken waiter = bench.owner();
            assertThat(bench.acquireWaiting(waiter))
                    .isInstanceOfSatisfying(
                            NodeReply.Held.class,
                            held -> assertThat(held.queued()).isTrue());
            assertThat(bench.release(holder, candidate)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(bench.wakes.poll(60, TimeUnit.SECONDS)).isEqualTo(NAME);
            assertThat(bench.acquireWaiting(waiter)).isInstanceOf(NodeReply.Yes.class);
            assertThat(NodeBench.answer(bench.node.admin().describe(NAME))).isPresent();
            assertThat(NodeBench.answer(bench.node.admin().list("*", 10)))
                    .extracting(HeldLock::name)
                    .containsExactly(NAME);
            assertThat(NodeBench.answer(bench.node.admin().forceRelease(NAME, null)))
                    .isTrue();
            // The driver requests maintenance notifications when it connects, and continues without them.
            assertThat(refusedObjects(server)).isSubsetOf("client", "client|maint_notifications");
        }
    }

    private static List<String> refusedObjects(RedisServer server) {
        List<String> lines = server.call("ACL", "LOG").lines().toList();
        return IntStream.range(1, lines.size())
                .filter(i -> lines.get(i - 1).equals("object"))
                .mapToObj(lines::get)
                .toList();
    }

    @Test
    void theDocumentationListsTheseRights() throws IOException {
        assertThat(Files.readString(Path.of("..", "docs", "stores", "redis.md")).replaceAll("\\s+", " "))
                .contains(RedisErrors.RIGHTS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-evalsha -eval", "-set", "-time", "-mget", "-del"})
    void aMissingRightIsNamedWithTheLineThatGrantsIt(String missing) {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", ALL + " " + missing));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            OwnerToken owner = bench.owner();
            NodeReply acquired = bench.acquire(owner);
            if (acquired instanceof NodeReply.Failed failed) {
                assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                assertThat(failed.error())
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("order:1")
                        .hasMessageContaining("ACL SETUSER")
                        .hasMessageContaining(RedisErrors.RIGHTS);
                assertThat(server.call("EXISTS", LOCK_KEY)).isEqualTo("0");
            } else {
                assertThat(missing).contains("-del");
                assertThat(bench.release(owner, 0)).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
                    assertThat(failed.kind()).as("to be repeated").isEqualTo(FailureKind.NO_EFFECT);
                    assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
                });
            }
        }
    }

    @Test
    void aMissingRightToQueueIsNamed() {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", ALL + " -pttl"));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            bench.acquire(bench.owner());

            assertThat(bench.acquireWaiting(bench.owner())).isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
            });
        }
    }

    @Test
    void aForbiddenKeyIsAMissingRight() {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", "on >secret ~other:* &* +@all"));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            assertThat(bench.acquire(bench.owner())).isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
            });
        }
    }

    @Test
    void withoutTheRightToSubscribeWaitersPoll() {
        try (RedisServer server = RedisUnderTest.start(b -> b.user("app", "on >secret ~lock:* resetchannels +@all"));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            bench.acquire(bench.owner());

            assertThat(bench.acquireWaiting(bench.owner()))
                    .isInstanceOfSatisfying(
                            NodeReply.Held.class,
                            held -> assertThat(held.queued()).isFalse());
        }
    }

    @Test
    void onlyADurableServerPromisesMore() {
        assertThat(promised(RedisServer.builder())).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        assertThat(promised(RedisServer.builder().durable())).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
        assertThat(promised(RedisServer.builder().appendOnly("everysec"))).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        assertThat(promised(RedisServer.builder().durable().config("no-appendfsync-on-rewrite yes")))
                .isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        assertThat(promised(RedisServer.builder().durable().maxMemory("100mb", "volatile-lru")))
                .isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
    }

    @Test
    void aServerThatHidesItsConfigurationPromisesLess() {
        try (RedisServer server = RedisUnderTest.start(b -> b.durable().user("app", ALL + " -config"));
                NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            assertThat(bench.node.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
    }

    private static Guarantee.Exclusion promised(RedisServer.Builder builder) {
        try (RedisServer server = RedisUnderTest.start(ignored -> builder);
                NodeBench bench = NodeBench.at(server.port())) {
            Guarantees guarantees = bench.node.guarantees();
            assertThat(guarantees.queueing()).isEqualTo(Guarantee.Queueing.FIFO);
            assertThat(guarantees.scope()).isEqualTo(Guarantee.Scope.NETWORK);
            return guarantees.exclusion();
        }
    }

    @Test
    void malformedUrisAreRefusedBeforeAnythingIsConnected() {
        assertThatThrownBy(() -> new NodeBench("redis://h:99999")).isInstanceOf(IllegalArgumentException.class);
    }
}
