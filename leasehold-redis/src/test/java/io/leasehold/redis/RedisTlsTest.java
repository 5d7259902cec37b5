package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tests of connections over TLS: the trusted certificates of the server, and the refusal of all others. */
@Tag("full")
class RedisTlsTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    @TempDir
    private Path directory;

    @Test
    void aServerWithTheGivenCertificateIsUsed() throws Exception {
        try (TlsFront front =
                        new TlsFront(directory, "127.0.0.1", SERVER.server().port());
                NodeBench bench = new NodeBench("rediss://127.0.0.1:" + front.port() + "?ca=" + front.certificate())) {
            assertThat(bench.acquire(bench.owner())).isInstanceOf(NodeReply.Yes.class);
            assertThat(bench.node.description()).isEqualTo("rediss://127.0.0.1:" + front.port());
        }
    }

    @Test
    void aServerThatNobodyVouchesForIsRefused() throws Exception {
        try (TlsFront front =
                new TlsFront(directory, "127.0.0.1", SERVER.server().port())) {
            assertThatThrownBy(() -> new NodeBench("rediss://127.0.0.1:" + front.port()))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("certificat");
        }
    }

    @Test
    void aCertificateForAnotherHostIsRefused() throws Exception {
        try (TlsFront front =
                new TlsFront(directory, "elsewhere.example", SERVER.server().port())) {
            assertThatThrownBy(() -> new NodeBench("rediss://127.0.0.1:" + front.port() + "?ca=" + front.certificate()))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("127.0.0.1");
        }
    }

    @Test
    void aMissingCertificateFileIsNamed() {
        assertThatThrownBy(() -> new NodeBench("rediss://127.0.0.1:1?ca=/no/such/file.pem"))
                .hasMessageContaining("/no/such/file.pem")
                .isInstanceOfAny(IllegalArgumentException.class, StoreUnavailableException.class);
    }

    @Test
    void aServerWithoutTlsIsSaidNotToAnswer() {
        assertThatThrownBy(() ->
                        new NodeBench("rediss://127.0.0.1:" + SERVER.server().port()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("rediss://");
    }
}
