package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.DataCopy;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of members that lose their memory while a client knows the run id of its connection: a restart from older data
 * between the making of a request and its arrival, FLUSHALL, a full resynchronisation, and proxies.
 */
@Timeout(120)
@Tag("full")
final class RedlockLifeTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Longer than a slow machine needs, since members that have forgotten renew nothing. */
    private static final Duration TTL = Duration.ofMinutes(5);

    private static final String MAX_TTL = "10m";

    private final List<AutoCloseable> open = new ArrayList<>();
    private RedlockServers servers;

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }

    private void three() {
        servers = opened(RedlockServers.start(3, MAX_TTL, "2s", builder -> builder.appendOnly("always")));
        servers.declareNew();
    }

    private LockClient client(String uri) {
        return opened(Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(TTL).recheck(Duration.ofMillis(500)))
                .connect());
    }

    /** A client that has used each of its connections. */
    private LockClient used(String uri) throws InterruptedException {
        LockClient client = client(uri);
        client.named("before").acquire().close();
        return client;
    }

    /** Retries until the nodes that have forgotten say so. */
    private static void untilTheySayThatTheyForgot(LockClient other) {
        long start = System.nanoTime();
        AtomicReference<Object> last = new AtomicReference<>();
        assertThatThrownBy(() -> {
                    while (true) {
                        assertThat(System.nanoTime() - start)
                                .as(() -> "the last answer is " + last.get())
                                .isLessThan(PATIENCE.toNanos());
                        try {
                            last.set("busy");
                            assertThat(other.named("held").attempt(Duration.ZERO))
                                    .as("two hold")
                                    .isInstanceOf(Attempt.Busy.class);
                        } catch (StoreUnavailableException e) {
                            if (e.getMessage().contains("forgotten")) {
                                throw e;
                            }
                            last.set(e);
                        }
                        LockSupport.parkNanos(5_000_000);
                    }
                })
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("may have forgotten");
    }

    @Test
    void flushedWhileTheConnectionStaysTheyGrantNothing() throws InterruptedException {
        three();
        LockClient other = used(servers.uri());
        try (Lease lease = client(servers.uri()).named("held").acquire()) {
            servers.server(0).call("FLUSHALL");
            servers.server(1).call("FLUSHALL");
            untilTheySayThatTheyForgot(other);
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** The data of another server replace those of the node, without the hold; its connections stay. */
    @Test
    void resynchronisedWhileTheConnectionStaysTheyGrantNothing() throws InterruptedException {
        for (boolean born : new boolean[] {true, false}) {
            three();
            LockClient other = used(servers.uri());
            try (Lease lease = client(servers.uri()).named("held").acquire()) {
                for (int node = 0; node < 2; node++) {
                    RedisServer source = opened(RedisUnderTest.start(builder -> builder));
                    if (born) {
                        String runId = servers.server(2).call("GET", "lock:member");
                        source.call("SET", "lock:member", runId);
                    }
                    RedisServer member = servers.server(node);
                    member.call("REPLICAOF", "127.0.0.1", Integer.toString(source.port()));
                    until(() -> member.call("INFO", "replication").contains("master_link_status:up"));
                    member.call("REPLICAOF", "NO", "ONE");
                }
                untilTheySayThatTheyForgot(other);
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(10_000_000);
        }
    }

    private void restartFrom(int node, DataCopy copy) {
        servers.server(node).kill();
        servers.server(node).restartFrom(copy);
    }

    /** The bytes with the former run id are held on their way, and the server restarts before they arrive. */
    @Test
    void restartedFromOlderDataBeforeARequestArrivesTheyGrantNothing() throws Exception {
        three();
        DataCopy first = servers.server(0).copyData();
        DataCopy second = servers.server(1).copyData();
        LockClient other = used(servers.uriOverProxies().replace("%3Fname", "%3Fproxy%3Dfalse%26name"));
        try (Lease lease = client(servers.uri()).named("held").acquire()) {
            servers.proxy(0).toServer().stall();
            servers.proxy(1).toServer().stall();
            CompletableFuture<Object> asked = CompletableFuture.supplyAsync(() -> {
                try {
                    return other.named("held").attempt(Duration.ZERO);
                } catch (LockStoreException e) {
                    return e;
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            until(() -> servers.proxy(0).toServer().traffic().stalled() > 0
                    && servers.proxy(1).toServer().traffic().stalled() > 0);
            restartFrom(0, first);
            restartFrom(1, second);
            servers.proxy(0).toServer().resume();
            servers.proxy(1).toServer().resume();
            assertThat(asked.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("two hold")
                    .isNotInstanceOf(Attempt.Acquired.class);
            untilTheySayThatTheyForgot(other);
            assertThat(lease.isValid()).isTrue();
        }
    }

    private String uriOverRedialing(String option) {
        String uri = servers.uri(
                List.of(
                        opened(RedialingProxy.to(servers.server(0).port())).port(),
                        opened(RedialingProxy.to(servers.server(1).port())).port(),
                        servers.server(2).port()),
                MAX_TTL);
        return uri.replace("%3Fname", "%3F" + option + "name");
    }

    /** The port of a proxy says nothing of it. */
    private String uriOverRedialingAtTheSamePorts() {
        String uri = servers.uri();
        for (int node = 0; node < 2; node++) {
            int port = opened(RedialingProxy.atThePortOf(servers.server(node).port()))
                    .port();
            uri = uri.replace("127.0.0.1%3A" + port, "127.0.0.2%3A" + port);
        }
        return uri;
    }

    /** Without an option, since the server does not see the client's end of the connection. */
    @Test
    void behindAProxyThatKeepsConnectionsTheyGrantNothing() throws InterruptedException {
        three();
        DataCopy first = servers.server(0).copyData();
        DataCopy second = servers.server(1).copyData();
        List<LockClient> others = List.of(
                used(uriOverRedialing("")),
                used(uriOverRedialing("proxy%3Dtrue%26")),
                used(uriOverRedialingAtTheSamePorts()));
        try (Lease lease = client(servers.uri()).named("held").acquire()) {
            restartFrom(0, first);
            restartFrom(1, second);
            others.forEach(RedlockLifeTest::untilTheySayThatTheyForgot);
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** A client whose connections outlive its servers undoes no birth, even if its URI wrongly denies the proxy. */
    @Test
    void aClientWithAFormerRunIdDoesNotKeepThemFromBeingBorn() throws InterruptedException {
        three();
        LockClient wrong = used(uriOverRedialing("proxy%3Dfalse%26"));
        for (int node = 0; node < 2; node++) {
            servers.server(node).kill();
            servers.server(node).restartEmpty();
        }
        servers.declareNew();
        List<String> markers = List.of(
                servers.server(0).call("GET", "lock:member"), servers.server(1).call("GET", "lock:member"));
        for (LockClient each : List.of(wrong, client(servers.uri()))) {
            each.named("later").acquire().close();
        }
        assertThat(List.of(
                        servers.server(0).call("GET", "lock:member"),
                        servers.server(1).call("GET", "lock:member")))
                .isEqualTo(markers)
                .allMatch(marker -> marker.startsWith("born|"));
    }
}
