package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerCertificate;
import io.leasehold.servers.ServerUnavailableException;
import java.nio.file.Path;
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
class EtcdTlsTest {

    @TempDir
    private static Path directory;

    private static ServerCertificate certificate;
    private static EtcdServer server;

    @BeforeAll
    static void start() {
        certificate = ServerCertificate.create(directory, "localhost");
        try {
            server = EtcdServer.startWithTls(certificate);
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static String uri(String host, String options) {
        return "etcd://" + host + ":" + server.port() + "/tls" + options;
    }

    @Test
    void locksOverTls() throws Exception {
        try (LockClient client = Leasehold.connect(uri("localhost", "?tls=true&ca=" + certificate.certificate()));
                Lease lease = client.named("a").acquire()) {
            lease.renew();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void anUntrustedCertificateIsRefused() {
        assertThatThrownBy(() -> Leasehold.connect(uri("localhost", "?tls=true")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("etcd://localhost:" + server.port() + "/tls")
                .hasMessageContaining("ca=FILE");
    }

    @Test
    void anotherHostNameThanThatOfTheCertificateIsRefused() {
        assertThatThrownBy(() -> Leasehold.connect(uri("127.0.0.1", "?tls=true&ca=" + certificate.certificate())))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("127.0.0.1")
                .hasMessageContaining("name the members as their certificates do");
    }

    @Test
    void whoForgetsTlsIsToldThatNobodyAnswers() {
        assertThatThrownBy(() -> Leasehold.connect(uri("localhost", "")))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("etcd://localhost:" + server.port() + "/tls");
    }
}
