package io.leasehold.cli;

import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerUnavailableException;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;

/** Real servers of the stores; without one, a test is skipped with the reason. */
final class TestServers {

    private TestServers() {}

    static EmbeddedPostgres postgres(Path directory) throws IOException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        assumeTrue(
                system.equals("Linux amd64"),
                "no PostgreSQL server for " + system + ": the archive is for Linux x86-64");
        return EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(directory.resolve("binaries").toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
    }

    static EtcdServer etcd() {
        try {
            return EtcdServer.start();
        } catch (ServerUnavailableException e) {
            return abort(e.getMessage());
        }
    }

    /** A member with the default limits (a tick of 2 s, sessions of up to 40 s), which fit the default ttl. */
    static TestingServer zooKeeper() throws Exception {
        return new TestingServer(
                new InstanceSpec(null, 0, 0, 0, true, -1, 2_000, -1, Map.of("maxSessionTimeout", "40000")), true);
    }
}
