package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.PortReservation;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.RedisServer;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a server with its own TLS: locks and wake-ups work, and a certificate for another host is refused. */
@Tag("full")
class RedisOwnTlsTest {

    @TempDir
    private Path directory;

    private static RedisServer start(RedisBinary binary, int tlsPort, TestCertificate certificate) {
        return RedisUnderTest.start(b -> certificate.served(b.binary(binary), tlsPort));
    }

    @Test
    void locksAreHeldAndHandedOver() throws Exception {
        RedisBinary binary = BundledBinaries.serverWithTls();
        int port = PortReservation.forThisJvm();
        TestCertificate certificate = new TestCertificate(directory, "127.0.0.1");
        String uri = "rediss://127.0.0.1:" + port + "?ca=" + certificate.certificate();
        try (RedisServer server = start(binary, port, certificate);
                LockClient one = Leasehold.connect(uri);
                LockClient other = Leasehold.connect(uri)) {
            Lease first = one.named("x").acquire();
            CompletableFuture<Lease> waiting = other.named("x").acquireAsync();
            NodeBench.until(
                    "queued", () -> server.call("EXISTS", "lock:{x}:queued").equals("1"));
            first.close();
            waiting.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aCertificateForAnotherHostIsRefused() throws Exception {
        RedisBinary binary = BundledBinaries.serverWithTls();
        int port = PortReservation.forThisJvm();
        TestCertificate certificate = new TestCertificate(directory, "elsewhere.example");
        try (RedisServer server = start(binary, port, certificate)) {
            assertThatThrownBy(
                            () -> Leasehold.connect("rediss://127.0.0.1:" + port + "?ca=" + certificate.certificate()))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("127.0.0.1");
            assertThat(server.isRunning()).isTrue();
        }
    }
}
