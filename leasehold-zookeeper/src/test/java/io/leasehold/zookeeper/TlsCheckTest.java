package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.ServerCertificate;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The report on TLS if the members do not all behave alike. */
@Tag("quick")
class TlsCheckTest {

    /** The reaction of a member to a connection. */
    private interface Member {
        void meets(Socket connection) throws IOException;
    }

    @TempDir
    private static Path directory;

    private static ServerCertificate certificate;
    private static ServerCertificate another;

    private final List<ServerSocket> servers = new ArrayList<>();

    @BeforeAll
    static void make() throws IOException {
        certificate = ServerCertificate.create(Files.createDirectory(directory.resolve("one")), "localhost");
        another = ServerCertificate.create(Files.createDirectory(directory.resolve("other")), "localhost");
    }

    @AfterEach
    void close() throws IOException {
        for (ServerSocket server : servers) {
            server.close();
        }
    }

    private String server(Member member) throws IOException {
        ServerSocket server = new ServerSocket(0, 10, InetAddress.getByName("localhost"));
        servers.add(server);
        Thread accepting = new Thread(() -> {
            while (!server.isClosed()) {
                try {
                    member.meets(server.accept());
                } catch (IOException e) {
                    // The client has left, or the test is over.
                }
            }
        });
        accepting.setDaemon(true);
        accepting.start();
        return "localhost:" + server.getLocalPort();
    }

    private static String away() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("localhost"))) {
            return "localhost:" + server.getLocalPort();
        }
    }

    private static Member shakingHands(ServerCertificate with) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream store = Files.newInputStream(with.store())) {
            keys.load(store, ServerCertificate.PASSWORD.toCharArray());
        }
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, ServerCertificate.PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return connection -> {
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(connection, null, 0, true)) {
                socket.setUseClientMode(false);
                socket.startHandshake();
            }
        };
    }

    private static void require(String... members) {
        ZooKeeperUri uri = ZooKeeperUri.parse(
                StoreUri.parse("zk://" + String.join(",", members) + "?tls=true&ca=" + certificate.certificate()));
        TlsCheck.require(uri, Driver.config(uri));
    }

    @Test
    void oneMemberThatIsTrustedIsEnough() throws Exception {
        String refused = server(shakingHands(another));
        String trusted = server(shakingHands(certificate));
        String cut = server(Socket::close);
        require(trusted);
        require(refused, trusted);
        require(cut, trusted);
        require(away(), refused, cut, trusted);
    }

    @Test
    void aMemberThatIsNotTrustedIsToldThoughAnotherIsAway() throws Exception {
        String refused = server(shakingHands(another));
        for (List<String> members : List.of(List.of(refused), List.of(refused, away()), List.of(away(), refused))) {
            assertThatThrownBy(() -> require(members.toArray(String[]::new)))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContainingAll("TLS with zk://localhost:", "ca=FILE");
        }
        String cut = server(Socket::close);
        assertThatThrownBy(() -> require(refused, cut)).isInstanceOf(StoreAccessException.class);
        assertThatThrownBy(() -> require(cut, refused)).isInstanceOf(StoreAccessException.class);
    }

    @Test
    void aMemberThatEndsTheHandshakeIsTold() throws Exception {
        String cut = server(Socket::close);
        assertThatThrownBy(() -> require(cut, away()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("ended the handshake", "secureClientPort");
    }

    /** The driver would retry forever, and report nothing. */
    @Test
    @Timeout(60)
    void aMemberThatSaysNothingIsWaitedForForAWhileOnly() throws Exception {
        List<Socket> kept = new ArrayList<>();
        String silent = server(kept::add);
        String refused = server(shakingHands(another));
        require(away());
        assertThatThrownBy(() -> require(silent, refused)).isInstanceOf(StoreAccessException.class);
        assertThat(kept).hasSize(1);
        for (Socket connection : kept) {
            connection.close();
        }
    }
}
