package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.EtcdServer;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link RollingUpgrade} over a file, databases, ZooKeeper and etcd. */
@Tag("full")
class RollingUpgradeTest extends RollingUpgrade {

    @Test
    void thePreviousClientIsTheOneThatWasKept() {
        assertThat(previous("memory:").run("--version").out()).contains("wire 1");
        assertThat(today("memory:").run("--version").out()).doesNotContain("wire");
    }

    @Test
    void sqlite() {
        shareLocks("sqlite:" + directory.resolve("locks.db"));
    }

    @Test
    void postgres() throws Exception {
        try (EmbeddedPostgres server = TestServers.postgres(directory)) {
            shareLocks(server.getJdbcUrl("postgres", "postgres"));
            newKindsOfHoldsExcludeThePrevious(server.getJdbcUrl("postgres", "postgres"));
        }
    }

    @Test
    void mariaDb() throws Exception {
        try (MariaDb server = MariaDb.start(directory)) {
            shareLocks(server.url());
        }
    }

    @Test
    void zooKeeper() throws Exception {
        try (TestingServer server = TestServers.zooKeeper()) {
            shareLocks("zk://" + server.getConnectString() + "/upgrade");
        }
    }

    @Test
    void etcd() {
        try (EtcdServer server = TestServers.etcd()) {
            shareLocks("etcd://127.0.0.1:" + server.port() + "/upgrade");
        }
    }
}
