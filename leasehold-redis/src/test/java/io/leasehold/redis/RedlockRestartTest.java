package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.DataCopy;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of members with a disk: after a restart from an older state they are quarantined, unless they are declared
 * durable.
 */
@Timeout(120)
@Tag("full")
final class RedlockRestartTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static LockClient client(String uri) {
        return Leasehold.builder()
                .store(uri)
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)).recheck(Duration.ofMillis(500)))
                .connect();
    }

    @Test
    void restartedFromAnOlderStateTheyGrantNothing() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "60s", "2s", builder -> builder.appendOnly("always"))) {
            servers.declareNew();
            DataCopy first = servers.server(0).copyData();
            DataCopy second = servers.server(1).copyData();
            try (LockClient holder = client(servers.uri());
                    LockClient other = client(servers.uri());
                    Lease lease = holder.named("older").acquire()) {
                restartFrom(servers.server(0), first);
                restartFrom(servers.server(1), second);
                assertThat(servers.server(0).call("KEYS", "lock:{older}").strip())
                        .as("what a client without the quarantine would take for a free lock")
                        .doesNotContain("older");
                assertThat(servers.server(0).call("GET", "lock:member"))
                        .as("the marker of then")
                        .startsWith("born");
                assertThatThrownBy(() -> untilItGrants(other))
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageContaining("may have forgotten");
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    /** Retries until the restarted nodes have answered; fails with their answers. */
    private static void untilItGrants(LockClient other) throws InterruptedException {
        while (true) {
            try {
                assertThat(other.named("older").attempt(Duration.ZERO))
                        .as("two hold")
                        .isInstanceOf(Attempt.Busy.class);
            } catch (StoreUnavailableException e) {
                if (e.getMessage().contains("forgotten")) {
                    throw e;
                }
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static void restartFrom(RedisServer server, DataCopy copy) {
        server.kill();
        server.restartFrom(copy);
    }

    @Test
    void declaredDurableTheyGoOnAtOnce() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "60s", "2s", RedisServer.Builder::durable)) {
            String uri = servers.uri().replace("%3Fname", "%3Fdurable%3Dtrue%26name");
            LockClient operator = client(uri);
            operator.admin().declareNewNodes();
            try (operator;
                    LockClient other = client(uri)) {
                Lease lease = operator.named("durable").acquire();
                for (int node = 0; node < 3; node++) {
                    servers.server(node).kill();
                    servers.server(node).restart();
                }
                boolean asked = false;
                while (!asked) {
                    try {
                        assertThat(other.named("durable").attempt(Duration.ZERO))
                                .isInstanceOf(Attempt.Busy.class);
                        asked = true;
                    } catch (StoreUnavailableException e) {
                        assertThat(e.getMessage()).doesNotContain("forgotten");
                    }
                }
                lease.close();
                try (Lease next = other.named("durable").tryAcquire(PATIENCE)) {
                    assertThat(next).isNotNull();
                    assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
                }
            }
        }
    }

    /** A node that was down at the start is checked when it comes back. */
    @Test
    void aNodeThatComesBackIsVerified() throws Exception {
        AtomicInteger started = new AtomicInteger();
        UnaryOperator<RedisServer.Builder> secondIsNot = builder ->
                started.incrementAndGet() == 2 ? builder.maxMemory("64mb", "allkeys-lru") : builder.durable();
        try (RedlockServers servers = RedlockServers.start(3, "60s", "2s", secondIsNot)) {
            RedisServer unfit = servers.server(1);
            unfit.kill();
            String uri = servers.uri().replace("%3Fname", "%3Fdurable%3Dtrue%26name");
            List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
            try (LockClient locks = Leasehold.builder()
                    .store(uri)
                    .listener(new LockListener() {
                        @Override
                        public void nodeChanged(NodeChanged event) {
                            changes.add(event);
                        }
                    })
                    .connect()) {
                assertThat(locks.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
                locks.admin().declareNewNodes();
                unfit.restart();
                // Without this server, the quorum would need the node.
                servers.server(2).kill();
                refusedUntil(locks, "node-2 is declared durable=true", changes);
                unfit.call("CONFIG", "SET", "appendonly", "yes", "appendfsync", "always");
                unfit.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
                locks.admin().declareNewNodes();
                try (Lease lease = locks.named("verified").tryAcquire(PATIENCE)) {
                    assertThat(lease).as("it is what was declared now").isNotNull();
                }
            }
        }
    }

    /** Only a refused right makes the declaration count: a check that was cut off proves nothing and is repeated. */
    @Test
    void aCheckThatWasCutOffIsMadeAgain() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "60s", "2s", RedisServer.Builder::durable)) {
            String uri = servers.uriOverProxies().replace("%3Fname", "%3Fdurable%3Dtrue%26name");
            try (LockClient locks = client(uri)) {
                locks.admin().declareNewNodes();
                locks.named("verified").acquire().close();
                ScheduledLoss cutOff = servers.proxy(1).loseNextReplyTo(request -> request.contains("\r\nCONFIG\r\n"));
                for (RedisServer unfit : List.of(servers.server(0), servers.server(1))) {
                    unfit.call("CONFIG", "SET", "appendfsync", "no");
                    unfit.call("CONFIG", "REWRITE");
                    unfit.kill();
                    unfit.restart();
                }
                String said = "";
                long start = System.nanoTime();
                while (!(said.contains("node-1 is declared durable=true")
                        && said.contains("node-2 is declared durable=true"))) {
                    assertThat(System.nanoTime() - start).as(said).isLessThan(PATIENCE.toNanos());
                    try {
                        assertThat(locks.named("verified").attempt(Duration.ZERO))
                                .as("granted with the vote of an unfit node")
                                .isInstanceOf(Attempt.Busy.class);
                    } catch (LockStoreException e) {
                        said = e.getMessage();
                    }
                }
                assertThat(cutOff.happened()).as("the check was cut off").isTrue();
            }
        }
    }

    private static final List<String> ALWAYS = List.of("appendonly yes", "appendfsync always");

    private static void make(RedisServer server, List<String> settings) {
        settings.forEach(setting -> {
            String[] words = setting.split(" ", 2);
            server.call("CONFIG", "SET", words[0], words[1]);
        });
    }

    /**
     * A change by a start script or by an operator after the restart is too late for the data that this life has
     * loaded: a marker but not the lock.
     */
    private static void madeDurableAgainTheyGrantNothing(
            UnaryOperator<RedisServer.Builder> configuration, boolean rewritten) throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "60s", "2s", configuration)) {
            for (int node = 0; node < 3; node++) {
                make(servers.server(node), ALWAYS);
            }
            String uri = servers.uri().replace("%3Fname", "%3Fdurable%3Dtrue%26name");
            try (LockClient holder = client(uri)) {
                holder.admin().declareNewNodes();
                List<RedisServer> older = List.of(servers.server(0), servers.server(1));
                older.forEach(server -> server.call("SAVE"));
                try (Lease lease = holder.named("older").acquire()) {
                    for (RedisServer server : older) {
                        server.kill();
                        server.restart();
                        make(server, ALWAYS);
                        if (rewritten) {
                            server.call("CONFIG", "RESETSTAT");
                            server.call("CONFIG", "REWRITE");
                        }
                        assertThat(server.call("GET", "lock:member"))
                                .as("the marker of then")
                                .startsWith("born");
                    }
                    try (LockClient other = client(uri)) {
                        assertThatThrownBy(() -> untilItGrants(other))
                                .isInstanceOf(StoreUnavailableException.class)
                                .hasMessageContaining("may have forgotten");
                    }
                    assertThat(lease.isValid()).isTrue();
                }
            }
        }
    }

    @Test
    void madeDurableByAStartScriptTheyGrantNothing() throws Exception {
        madeDurableAgainTheyGrantNothing(builder -> builder, false);
    }

    @Test
    void madeDurableByAnOperatorAfterwardsTheyGrantNothing() throws Exception {
        madeDurableAgainTheyGrantNothing(builder -> builder, true);
    }

    /** The server does not report the origin of its settings. */
    @Test
    void madeDurableAnOldServerGrantsNothing() throws Exception {
        madeDurableAgainTheyGrantNothing(builder -> builder.binary(BundledBinaries.oldestServer()), false);
    }

    /**
     * Clients that judge a life differently agree after its new birth; a client that saw it start is not refused
     * permanently.
     */
    @Test
    void aSettingThatIsChangedLaterCostsOneQuarantine() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "2s", "300ms", RedisServer.Builder::durable)) {
            String uri = servers.uri().replace("%3Fname", "%3Fdurable%3Dtrue%26name");
            LockOptions shortly = LockOptions.defaults().ttl(Duration.ofSeconds(2));
            try (LockClient sawTheStart =
                    Leasehold.builder().store(uri).defaults(shortly).connect()) {
                sawTheStart.admin().declareNewNodes();
                for (int node = 0; node < 3; node++) {
                    servers.server(node).kill();
                    servers.server(node).restart();
                }
                acquired(sawTheStart).close();
                for (int node = 0; node < 3; node++) {
                    servers.server(node).call("CONFIG", "SET", "loglevel", "warning");
                }
                try (LockClient cameLater =
                        Leasehold.builder().store(uri).defaults(shortly).connect()) {
                    acquired(cameLater).close();
                    acquired(sawTheStart).close();
                    acquired(cameLater).close();
                }
            }
        }
    }

    /** Repeats temporary failures. */
    private static Lease acquired(LockClient locks) throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            try {
                Lease lease = locks.named("changed").tryAcquire(PATIENCE);
                assertThat(lease).isNotNull();
                return lease;
            } catch (StoreUnavailableException e) {
                assertThat(System.nanoTime() - start).as(e.getMessage()).isLessThan(PATIENCE.toNanos());
                LockSupport.parkNanos(20_000_000);
            }
        }
    }

    private static void refusedUntil(LockClient locks, String why, List<LockListener.NodeChanged> changes)
            throws InterruptedException {
        long start = System.nanoTime();
        while (changes.stream()
                .noneMatch(
                        event -> event.node().equals("node-2") && event.detail().contains(why))) {
            assertThat(System.nanoTime() - start).as(why).isLessThan(PATIENCE.toNanos());
            try {
                Attempt<Lease> attempt = locks.named("verified").attempt(Duration.ZERO);
                assertThat(attempt).as("granted with the vote of an unfit node").isInstanceOf(Attempt.Busy.class);
            } catch (LockStoreException e) {
                LockSupport.parkNanos(20_000_000);
            }
        }
    }
}
