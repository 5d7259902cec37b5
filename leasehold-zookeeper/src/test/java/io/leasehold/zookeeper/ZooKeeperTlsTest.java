package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.PortReservation;
import io.leasehold.servers.ServerCertificate;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.testkit.process.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server that accepts TLS only: a client that trusts it and names it correctly gets in, and every other client gets
 * the reason for its refusal.
 */
@Tag("full")
class ZooKeeperTlsTest {

    @TempDir
    private static Path directory;

    private static ServerCertificate certificate;
    private static ChildJvm server;
    private static int port;

    @BeforeAll
    static void start() throws Exception {
        certificate = ServerCertificate.create(directory, "localhost");
        port = PortReservation.forThisJvm();
        Path configuration = Files.writeString(
                directory.resolve("zoo.cfg"),
                "dataDir=" + directory.resolve("data") + "\nsecureClientPort=" + port
                        + "\nsecureClientPortAddress=127.0.0.1\ntickTime=" + Ensemble.TICK_MILLIS
                        + "\nmaxSessionTimeout=3600000\nssl.clientAuth=none\nssl.keyStore.location="
                        + certificate.store()
                        + "\nssl.keyStore.password=" + ServerCertificate.PASSWORD
                        // A store that holds a key but no trusted certificate would end every handshake at the server.
                        + "\nssl.trustStore.location=" + certificate.certificate() + "\n");
        server = ChildJvm.of(ZooKeeperServerMain.class)
                .jvmArgument("-Xmx128m")
                .property("zookeeper.admin.enableServer", "false")
                .property("zookeeper.serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory")
                .property("org.slf4j.simpleLogger.log.org.apache.zookeeper", "info")
                .property("org.slf4j.simpleLogger.logFile", "System.out")
                .arguments(configuration.toString())
                .start();
        server.awaitLine(line -> line.contains("bound to port " + port), Duration.ofMinutes(2));
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static String uri(String host, String options) {
        return "zk://" + host + ":" + port + "/tls?tickTime=100ms" + options;
    }

    @Test
    void locksOverTls() throws Exception {
        try (LockClient client = Leasehold.connect(uri("localhost", "&tls=true&ca=" + certificate.certificate()));
                Lease lease = client.named("a").acquire()) {
            lease.renew();
            assertThat(lease.isValid()).isTrue();
        }
    }

    /**
     * A second connection, to check whether TLS works, would cost each client a handshake. A client makes one if the
     * ensemble is silent for a second, as it may be on a busy machine; so one of several clients must do without.
     */
    @Test
    void aClientConnectsOnce() throws Exception {
        List<Long> connections = new ArrayList<>();
        while (!connections.contains(1L)) {
            assertThat(connections).as("connections of each client").hasSizeLessThan(10);
            try (TcpProxy proxy = TcpProxy.to(port);
                    LockClient client = Leasehold.connect("zk://localhost:" + proxy.port()
                            + "/tls?tickTime=100ms&tls=true&ca=" + certificate.certificate())) {
                client.named("counted").acquire().close();
                connections.add(proxy.connections().accepted());
            }
        }
    }

    @Test
    void anUntrustedCertificateIsRefused() {
        assertThatThrownBy(() -> Leasehold.connect(uri("localhost", "&tls=true")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("zk://localhost:" + port + "/tls")
                .hasMessageContaining("ca=FILE");
    }

    @Test
    void anotherHostNameThanThatOfTheCertificateIsRefused() {
        assertThatThrownBy(() -> Leasehold.connect(uri("127.0.0.1", "&tls=true&ca=" + certificate.certificate())))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("name the members as their certificates do");
    }

    @Test
    void aFileThatNoPasswordOpensIsRefused() {
        assertThatThrownBy(() -> Leasehold.connect(
                        uri("localhost", "&tls=true&ca=" + certificate.store() + "&caPassword=falsch")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("check ca, caPassword")
                .hasMessageNotContaining("falsch");
    }

    @Test
    void aPortThatDoesNotSpeakTlsIsToldAtOnce(@TempDir Path data) {
        try (Member plain = new Member(data)) {
            assertThatThrownBy(() -> Leasehold.connect(plain.uri("&tls=true&ca=" + certificate.certificate())))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("ended the handshake")
                    .hasMessageContaining("secureClientPort");
        }
    }
}
