package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Credentials;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.spi.StoreUri;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Connection;

/**
 * The commands that a connection to a server of a store URI sends first: the settings of the URI, or the login in their
 * place, and no more.
 */
@Tag("quick")
@Timeout(120)
final class OwnSettingsTest {

    /** The commands of a handshake. */
    private static List<String> said(String before, String after, Credentials login) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<List<String>> said = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try (Socket client = server.accept()) {
                    said.complete(commands(client));
                } catch (IOException | RuntimeException e) {
                    said.completeExceptionally(e);
                }
            });
            thread.setDaemon(true);
            thread.start();
            RedisUri where =
                    RedisUri.parse(StoreUri.parse("redis://" + before + "127.0.0.1:" + server.getLocalPort() + after));
            try (Connection made = new OwnSettings().connect(where, login)) {
                assertThat(made.getSoTimeout()).as("of the handshake").isEqualTo(2_000);
                assertThat(made.getHostAndPort().getPort()).isEqualTo(server.getLocalPort());
            }
            return said.get(60, TimeUnit.SECONDS);
        }
    }

    private static List<String> commands(Socket client) {
        List<String> commands = new ArrayList<>();
        try {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
            for (String head = in.readLine(); head != null; head = in.readLine()) {
                List<String> words = new ArrayList<>();
                for (int i = Integer.parseInt(head.substring(1)); i > 0; i--) {
                    in.readLine();
                    words.add(in.readLine());
                }
                commands.add(String.join(" ", words));
                client.getOutputStream().write("+OK\r\n".getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException reset) {
            // Jedis ends a connection this way.
        }
        return commands;
    }

    @Test
    void nothingIsSaidThatTheUriDoesNotName() throws Exception {
        assertThat(said("", "", null)).isEmpty();
        assertThat(said("", "/0", null)).isEmpty();
    }

    @Test
    void itsDatabaseIsSelected() throws Exception {
        assertThat(said("", "/7", null)).containsExactly("SELECT 7");
    }

    @Test
    void itsUserLogsInAndWithoutOneThePasswordAlone() throws Exception {
        assertThat(said("app:s3cret@", "/7", null)).containsExactly("AUTH app s3cret", "SELECT 7");
        assertThat(said(":s3cret@", "", null)).containsExactly("AUTH s3cret");
    }

    /** For example from a provider of credentials. */
    @Test
    void aLoginThatIsGivenComesInPlaceOfTheUris() throws Exception {
        assertThat(said("app:s3cret@", "", Credentials.of("other", "drawn"))).containsExactly("AUTH other drawn");
        assertThat(said("app:s3cret@", "", Credentials.ofPassword("drawn"))).containsExactly("AUTH drawn");
        assertThat(said("", "/3", Credentials.of("other", "drawn"))).containsExactly("AUTH other drawn", "SELECT 3");
    }
}
