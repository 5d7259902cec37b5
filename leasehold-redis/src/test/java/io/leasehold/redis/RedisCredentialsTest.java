package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Tests that a change of passwords at the server during leases loses nothing, and that waiters continue. */
@Tag("full")
final class RedisCredentialsTest {

    private static final String OLD = "s3cret-old";
    private static final String NEW = "s3cret-new";
    private static final String RIGHTS = RedisErrors.RIGHTS + " +cluster|slots +cluster|info +asking +spublish"
            + " +ssubscribe +sunsubscribe +client";

    /** Returns the credentials that the test sets, and records the requests. */
    private static final class Vault implements CredentialsProvider {
        private final AtomicInteger asked = new AtomicInteger();
        private final Set<String> threads = ConcurrentHashMap.newKeySet();
        private volatile String password = OLD;

        @Override
        public Credentials credentials() {
            asked.incrementAndGet();
            threads.add(Thread.currentThread().getName());
            return Credentials.of("app", password);
        }
    }

    private static LockClient connect(String uri, CredentialsProvider provider) {
        return Leasehold.builder().store(uri).credentials(provider).connect();
    }

    private static void makeUser(Stream<RedisServer> servers) {
        servers.forEach(server -> server.call(Stream.of(
                        Stream.of("ACL", "SETUSER", "app", "on", ">" + OLD, "resetchannels"),
                        Stream.of(RIGHTS.split(" ")))
                .flatMap(words -> words)
                .toArray(String[]::new)));
    }

    private static void rotate(Stream<RedisServer> servers) {
        servers.forEach(server -> {
            server.call("ACL", "SETUSER", "app", "<" + OLD, ">" + NEW);
            server.call("CLIENT", "KILL", "USER", "app");
        });
    }

    /** A lease is held, and another client waits for it, while the password changes; the provider gives the new one late. */
    private static void livesThroughARotation(String uri, Runnable rotation) throws Exception {
        Vault vault = new Vault();
        try (LockClient holding = connect(uri, vault);
                LockClient waiting = connect(uri, vault)) {
            Lease lease = holding.named("order:1").acquire();
            CompletableFuture<Lease> next = waiting.named("order:1").acquireAsync();
            rotation.run();
            int before = vault.asked.get();
            CompletableFuture<Lease> during = waiting.named("order:2").acquireAsync();
            NodeBench.until("refused a few times", () -> vault.asked.get() >= before + 6);
            assertThat(next).isNotDone();
            assertThat(during).isNotDone();

            vault.password = NEW;

            NodeBench.until("renewed", () -> isRenewed(lease));
            assertThat(lease.isValid()).isTrue();
            during.get(60, TimeUnit.SECONDS).close();
            lease.close();
            try (Lease second = next.get(60, TimeUnit.SECONDS)) {
                assertThat(second.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
        assertThat(vault.threads).isNotEmpty().allMatch(name -> name.startsWith("leasehold-"));
        assertThat(vault.threads).noneMatch(name -> name.contains("timer"));
    }

    private static boolean isRenewed(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (LockStoreException e) {
            assertThat(e).hasMessageNotContaining("s3cret");
            return false;
        }
    }

    @Test
    void atASingleServer() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            livesThroughARotation("redis://127.0.0.1:" + server.port(), () -> rotate(Stream.of(server)));
        }
    }

    @Test
    void atACluster() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node)) {
            makeUser(cluster.nodes().stream());
            livesThroughARotation(cluster.uri(), () -> rotate(cluster.nodes().stream()));
        }
    }

    @Test
    void behindSentinelsWhichKeepTheirOwn() throws Exception {
        try (RedisSentinelGroup group = Groups.sentinel(1, node -> node)) {
            makeUser(group.servers().stream());
            livesThroughARotation(group.uri(), () -> rotate(group.servers().stream()));
        }
    }

    @Test
    void overAQuorum() throws Exception {
        List<RedisServer> servers =
                List.of(RedisUnderTest.start(b -> b), RedisUnderTest.start(b -> b), RedisUnderTest.start(b -> b));
        try {
            makeUser(servers.stream());
            Vault vault = new Vault();
            Redlock set = Redlock.over(servers.stream().map(RedisServer::uri).toArray(String[]::new))
                    .credentials(vault);
            try (LockClient locks = Leasehold.builder().store(set::open).connect()) {
                locks.admin().declareNewNodes();
                Lease lease = locks.named("order:1").acquire();
                rotate(servers.stream());
                vault.password = NEW;
                NodeBench.until("renewed", () -> isRenewed(lease));
                lease.close();
            }
        } finally {
            servers.forEach(RedisServer::close);
        }
    }

    @Test
    void efficiencyLocksAndAClientOfOnesOwn() throws Exception {
        RedisClient client = RedisClient.create();
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            Vault vault = new Vault();
            RedisStore store = RedisStore.over(client, RedisURI.create("127.0.0.1", server.port()))
                    .credentials(vault);
            try (EfficiencyLocks locks = EfficiencyLocks.over(store, LockOptions.defaults())) {
                Hold hold = locks.named("report").acquire();
                rotate(Stream.of(server));
                vault.password = NEW;
                NodeBench.until("renewed", () -> {
                    try {
                        hold.renew();
                        return true;
                    } catch (LockStoreException e) {
                        return false;
                    }
                });
                hold.close();
            }
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    @Test
    void patienceEndsWithTheRefusal() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            Vault vault = new Vault();
            try (LockClient locks = connect("redis://127.0.0.1:" + server.port(), vault)) {
                rotate(Stream.of(server));
                NodeBench.until("refused", () -> vault.asked.get() >= 4);
                assertThatThrownBy(() -> locks.named("order:1").tryAcquire(Duration.ofMillis(300)))
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("credentials provider")
                        .hasMessageNotContaining("s3cret");
            }
            // At the start, the client has no reason to wait.
            assertThatThrownBy(() -> connect("redis://127.0.0.1:" + server.port(), vault))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("WRONGPASS");
        }
    }

    @Test
    void aPasswordFileIsReadAtEachConnection(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("password"), OLD + "\n");
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            try (LockClient locks =
                    connect("redis://127.0.0.1:" + server.port(), CredentialsProvider.passwordFile("app", file))) {
                Lease lease = locks.named("order:1").acquire();
                Files.writeString(file, NEW + "\r\n");
                rotate(Stream.of(server));
                NodeBench.until("renewed", () -> isRenewed(lease));
                lease.close();
            }
        }
    }

    @Test
    void aProviderThatFailsIsSaidSoWithoutItsWords() {
        assertThatThrownBy(() -> connect("redis://127.0.0.1:1", () -> {
                    throw new IOException("token s3cret-token has ended");
                }))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("credentials provider")
                .hasMessageContaining("redis://127.0.0.1:1")
                .hasMessageContaining("IOException")
                .hasMessageNotContaining("s3cret");
        assertThatThrownBy(() -> connect("redis://127.0.0.1:1", () -> null))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("credentials provider");
        assertThatThrownBy(() -> connect("redis://:s3cret@127.0.0.1:1", new Vault()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a credentials provider is also set")
                .hasMessageNotContaining("s3cret");
        assertThatThrownBy(() -> connect("memory:", new Vault()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("takes no credentials");
    }

    private static RedisClient reauthenticating() {
        RedisClient client = RedisClient.create();
        client.setOptions(ClientOptions.builder()
                .reauthenticateBehavior(ClientOptions.ReauthenticateBehavior.ON_NEW_CREDENTIALS)
                .build());
        return client;
    }

    private static RedisURI streaming(RedisServer server, Sinks.Many<RedisCredentials> news) {
        RedisURI uri = RedisURI.create("127.0.0.1", server.port());
        uri.setCredentialsProvider(new RedisCredentialsProvider() {
            @Override
            public Mono<RedisCredentials> resolveCredentials() {
                return news.asFlux().next();
            }

            @Override
            public boolean supportsStreaming() {
                return true;
            }

            @Override
            public Flux<RedisCredentials> credentials() {
                return news.asFlux();
            }
        });
        return uri;
    }

    /** Lettuce makes no connection for subscriptions that would log in again over RESP2: wake-ups go without that. */
    @Test
    void aClientThatLogsInAgainIsWoken() throws Exception {
        RedisClient client = reauthenticating();
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            Sinks.Many<RedisCredentials> news = Sinks.many().replay().latest();
            news.tryEmitNext(RedisCredentials.just("app", OLD));
            RedisStore store = RedisStore.over(client, streaming(server, news));
            try (LockClient holding = Leasehold.builder().store(store::open).connect();
                    LockClient waiting = Leasehold.builder().store(store::open).connect()) {
                Lease lease = holding.named("order:1").acquire();
                CompletableFuture<Lease> next = waiting.named("order:1").acquireAsync();
                NodeBench.until(
                        "subscribed", () -> server.call("PUBSUB", "CHANNELS").contains("lock:wake:"));
                lease.close();
                next.get(60, TimeUnit.SECONDS).close();
            }
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    /**
     * Lettuce also asks its own provider at each connection; a streaming provider logs in again on open connections.
     */
    @Test
    void theDriversOwnProviders() throws Exception {
        RedisClient client = reauthenticating();
        try (RedisServer server = RedisUnderTest.start(b -> b)) {
            makeUser(Stream.of(server));
            Sinks.Many<RedisCredentials> news = Sinks.many().replay().latest();
            news.tryEmitNext(RedisCredentials.just("app", OLD));
            RedisURI uri = streaming(server, news);
            try (LockClient locks = Leasehold.builder()
                    .store(RedisStore.over(client, uri)::open)
                    .connect()) {
                Lease lease = locks.named("order:1").acquire();
                server.call("ACL", "SETUSER", "other", "on", ">" + NEW, "~*", "&*", "+@all");
                news.tryEmitNext(RedisCredentials.just("other", NEW));
                NodeBench.until(
                        "logged in again on the open connection",
                        () -> server.call("CLIENT", "LIST").contains("user=other"));
                lease.renew();
                rotate(Stream.of(server));
                NodeBench.until("renewed", () -> isRenewed(lease));
                lease.close();
            }
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }
}
