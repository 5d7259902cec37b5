package io.leasehold.benchmarks.workload;

import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.RedisServer;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;

/** The stores whose cost is compared, each started as its page recommends, with one member unless stated otherwise. */
enum StoreKind {
    MEMORY("in-process"),
    REDIS("Redis, no persistence"),
    REDIS_DURABLE("Redis, appendfsync always"),
    REDLOCK_3("Redlock, 3 servers, no persistence"),
    REDLOCK_5("Redlock, 5 servers, no persistence"),
    SQLITE("SQLite file"),
    POSTGRESQL("PostgreSQL"),
    ZOOKEEPER("ZooKeeper, 1 member"),
    ETCD("etcd, 1 member");

    private static final int TICK_MILLIS = 500;

    private final String label;

    StoreKind(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    /** A running store, and the parts to be ended with it, in reverse order. */
    record Started(String uri, List<AutoCloseable> parts) implements AutoCloseable {

        @Override
        public void close() {
            for (int i = parts.size() - 1; i >= 0; i--) {
                try {
                    parts.get(i).close();
                } catch (Exception e) {
                    throw new IllegalStateException("what was started for " + uri + " cannot be ended", e);
                }
            }
        }
    }

    /** @throws io.leasehold.servers.ServerUnavailableException if this machine has no such server */
    Started start() {
        try {
            return switch (this) {
                case MEMORY -> new Started("memory:", List.of());
                case REDIS -> redis(RedisServer.start());
                case REDIS_DURABLE -> redis(RedisServer.builder().durable().start());
                case REDLOCK_3 -> redlock(3);
                case REDLOCK_5 -> redlock(5);
                case SQLITE -> sqlite();
                case POSTGRESQL -> postgresql();
                case ZOOKEEPER -> zookeeper();
                case ETCD -> etcd();
            };
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Started redis(RedisServer server) {
        return new Started(server.uri(), List.of(server));
    }

    private static Started redlock(int count) {
        RedisSet servers = RedisSet.start(count);
        return new Started(servers.patient(), List.of(servers));
    }

    private static Started sqlite() throws IOException {
        Path directory = Files.createTempDirectory("leasehold-stores");
        return new Started("sqlite:" + directory.resolve("locks.db"), List.of(() -> delete(directory)));
    }

    private static Started postgresql() throws IOException {
        Path directory = Files.createTempDirectory("leasehold-stores");
        EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(directory.resolve("binaries").toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
        return new Started(postgres.getJdbcUrl("postgres", "postgres"), List.of(() -> delete(directory), postgres));
    }

    private static Started zookeeper() {
        Map<String, Object> properties = Map.of("maxSessionTimeout", "3600000");
        InstanceSpec member = new InstanceSpec(null, 0, 0, 0, true, -1, TICK_MILLIS, 100, properties);
        try {
            TestingServer server = new TestingServer(member, true);
            return new Started(
                    "zk://" + server.getConnectString() + "?tickTime=" + TICK_MILLIS + "ms", List.of(server));
        } catch (Exception e) {
            throw new IllegalStateException("no ZooKeeper server could be started", e);
        }
    }

    private static Started etcd() {
        EtcdServer server = EtcdServer.start();
        return new Started("etcd://127.0.0.1:" + server.port(), List.of(server));
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
