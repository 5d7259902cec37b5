package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS, and credentials that change, by a store URI over Jedis. */
@Tag("full")
final class JedisTlsTest {

    private static RedisServer server;

    @TempDir
    private Path directory;

    @BeforeAll
    static void start() {
        server = Servers.one();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static LockClient client(String uri) {
        return Leasehold.builder().store(JedisStore.at(uri)::open).connect();
    }

    @Test
    void locksAreHeldAndHandedOver() throws Exception {
        ServerCertificate certificate = ServerCertificate.create(directory, "127.0.0.1");
        try (TlsFront front = new TlsFront(certificate, server.port())) {
            String uri = "rediss://127.0.0.1:" + front.port() + "?ca=" + certificate.certificate();
            try (LockClient one = client(uri);
                    LockClient other = client(uri)) {
                Lease first = one.named("x").acquire();
                CompletableFuture<Lease> waiting = other.named("x").acquireAsync();
                Servers.until(
                        "queued", () -> server.call("EXISTS", "lock:{x}:queued").equals("1"));
                first.close();
                waiting.get(60, TimeUnit.SECONDS).close();
            }
        }
    }

    /** For example while one authority replaces another. */
    @Test
    void eachCertificateOfAFileVouches() throws Exception {
        ServerCertificate certificate = ServerCertificate.create(directory, "127.0.0.1");
        ServerCertificate other =
                ServerCertificate.create(Files.createDirectory(directory.resolve("other")), "elsewhere.example");
        String first = Files.readString(certificate.certificate());
        String second = Files.readString(other.certificate());
        try (TlsFront front = new TlsFront(certificate, server.port())) {
            for (String both : new String[] {first + second, second + first}) {
                Path file = Files.writeString(directory.resolve("both.pem"), both);
                try (LockClient locks = client("rediss://127.0.0.1:" + front.port() + "?ca=" + file);
                        Lease lease = locks.named("y").acquire()) {
                    assertThat(lease.isValid()).isTrue();
                }
            }
        }
    }

    @Test
    void aCertificateForAnotherHostOrOfNobodyIsRefused() throws Exception {
        ServerCertificate elsewhere = ServerCertificate.create(directory, "elsewhere.example");
        try (TlsFront front = new TlsFront(elsewhere, server.port())) {
            String uri = "rediss://127.0.0.1:" + front.port();
            assertThatThrownBy(() -> client(uri + "?ca=" + elsewhere.certificate()))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("127.0.0.1");
            assertThatThrownBy(() -> client(uri)).isInstanceOf(StoreUnavailableException.class);
            assertThatThrownBy(() -> client(uri + "?ca=" + directory.resolve("none.pem")))
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("none.pem");
        }
    }

    @Test
    void aPasswordChangesWhileALeaseIsHeld() throws Exception {
        server.call("ACL", "SETUSER", "app", "on", ">first", "allkeys", "allchannels", "+@all");
        AtomicReference<Credentials> login = new AtomicReference<>(Credentials.of("app", "first"));
        JedisStore store = JedisStore.at("redis://127.0.0.1:" + server.port()).credentials(login::get);
        try (LockClient locks = Leasehold.builder().store(store::open).connect();
                Lease lease = locks.named("rotated").acquire()) {
            server.call("ACL", "SETUSER", "app", "<first", ">second");
            login.set(Credentials.of("app", "second"));
            server.call("CLIENT", "KILL", "USER", "app");
            Servers.until("it is renewed over another connection", () -> {
                try {
                    lease.renew();
                    return true;
                } catch (StoreUnavailableException e) {
                    return false;
                }
            });
            assertThat(lease.isValid()).isTrue();
        }
        assertThatThrownBy(() -> JedisStore.at("redis://app:second@127.0.0.1").credentials(login::get))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("second");
    }
}
