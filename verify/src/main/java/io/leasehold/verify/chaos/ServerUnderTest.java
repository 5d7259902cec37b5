package io.leasehold.verify.chaos;

import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.PortReservation;
import io.leasehold.servers.RedisServer;
import io.leasehold.testkit.process.ChildFailedException;
import io.leasehold.testkit.process.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/**
 * The server behind the proxies, as the faults need it: it can be killed, restarted with its data, frozen and thawed.
 */
interface ServerUnderTest extends AutoCloseable {

    /** Its name and version. */
    String name();

    int port();

    /** The store URI of a client whose proxy to the server has this port. */
    String uri(int port);

    /** Whether a proxy can lose a single request or reply of its protocol. */
    boolean speaksResp();

    /** The remains in the store, read by its own tools. */
    default Remains remains() {
        return Remains.UNSEEN;
    }

    void kill() throws InterruptedException;

    void restart() throws InterruptedException;

    void freeze() throws InterruptedException;

    void thaw() throws InterruptedException;

    @Override
    void close();

    /** A Redis server that persists every write. */
    static ServerUnderTest redis() {
        return Started.redis(RedisServer.builder().durable().start());
    }

    /** An etcd of one member. */
    static ServerUnderTest etcd() {
        return Started.etcd(EtcdServer.start("--log-level=error"));
    }

    /** A ZooKeeper server in a separate JVM. */
    static ServerUnderTest zooKeeper(Path directory) throws InterruptedException {
        return ZooKeeper.start(directory);
    }

    /**
     * A server that this process has started.
     *
     * @param uri the text of the store URI before and after the port
     */
    record Started(String name, int port, Uri uri, boolean speaksResp, Remains remains, Verbs verbs)
            implements ServerUnderTest {

        private record Uri(String before, String after) {}

        private record Verbs(Runnable killed, Runnable restarted, Runnable frozen, Runnable thawed, Runnable closed) {}

        static Started redis(RedisServer server) {
            return new Started(
                    "redis " + server.version(),
                    server.port(),
                    new Uri("redis://127.0.0.1:", ""),
                    true,
                    Remains.UNSEEN,
                    new Verbs(server::kill, server::restart, server::freeze, server::thaw, server::close));
        }

        static Started etcd(EtcdServer server) {
            return new Started(
                    "etcd",
                    server.port(),
                    new Uri("etcd://127.0.0.1:", "/chaos"),
                    false,
                    new EtcdRemains(server.port()),
                    new Verbs(server::kill, server::restart, server::freeze, server::thaw, server::close));
        }

        @Override
        public String uri(int throughPort) {
            return uri.before() + throughPort + uri.after();
        }

        @Override
        public void kill() {
            verbs.killed().run();
        }

        @Override
        public void restart() {
            verbs.restarted().run();
        }

        @Override
        public void freeze() {
            verbs.frozen().run();
        }

        @Override
        public void thaw() {
            verbs.thawed().run();
        }

        @Override
        public void close() {
            verbs.closed().run();
        }
    }

    /** ZooKeeper. */
    final class ZooKeeper implements ServerUnderTest {
        private static final int TICK_MILLIS = 500;
        private static final Duration START_PATIENCE = Duration.ofSeconds(60);
        private static final int START_TRIES = 10;

        private final Path directory;
        private final int port;
        private ChildJvm child;

        private ZooKeeper(Path directory, int port, ChildJvm child) {
            this.directory = directory;
            this.port = port;
            this.child = child;
        }

        private static ZooKeeper start(Path directory) throws InterruptedException {
            for (int attempt = 1; ; attempt++) {
                int port = PortReservation.forThisJvm();
                ChildJvm child = launch(directory, port);
                try {
                    awaitReady(child);
                    return new ZooKeeper(directory, port, child);
                } catch (ChildFailedException e) {
                    child.close();
                    if (attempt == START_TRIES) {
                        throw e;
                    }
                }
            }
        }

        private static ChildJvm launch(Path directory, int port) {
            return ChildJvm.of(ZooKeeperServerMain.class)
                    .jvmArgument("-Xmx128m")
                    .property("zookeeper.admin.enableServer", "false")
                    .property("znode.container.checkIntervalMs", "1000")
                    .property("org.slf4j.simpleLogger.log.org.apache.zookeeper", "info")
                    .property("org.slf4j.simpleLogger.logFile", "System.out")
                    .arguments(configuration(directory, port).toString())
                    .start();
        }

        /** Writes a file, since ZooKeeper's arguments cannot restrict it to listening on this machine. */
        private static Path configuration(Path directory, int port) {
            try {
                return Files.writeString(
                        directory.resolve("zoo.cfg"),
                        "dataDir=" + directory.resolve("zookeeper") + "\nclientPort=" + port
                                + "\nclientPortAddress=127.0.0.1\ntickTime=" + TICK_MILLIS + "\n");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static void awaitReady(ChildJvm child) throws InterruptedException {
            child.awaitLine(line -> line.contains("PrepRequestProcessor (sid:0) started"), START_PATIENCE);
        }

        @Override
        public String name() {
            return "zookeeper";
        }

        @Override
        public int port() {
            return port;
        }

        @Override
        public Remains remains() {
            return new ZooKeeperRemains(port);
        }

        @Override
        public String uri(int port) {
            return "zk://127.0.0.1:" + port + "/chaos?tickTime=" + TICK_MILLIS + "ms";
        }

        @Override
        public boolean speaksResp() {
            return false;
        }

        @Override
        public void kill() throws InterruptedException {
            child.kill();
        }

        @Override
        public void restart() throws InterruptedException {
            child = launch(directory, port);
            awaitReady(child);
        }

        @Override
        public void freeze() throws InterruptedException {
            child.freeze();
        }

        @Override
        public void thaw() throws InterruptedException {
            child.thaw();
        }

        @Override
        public void close() {
            child.close();
        }
    }
}
