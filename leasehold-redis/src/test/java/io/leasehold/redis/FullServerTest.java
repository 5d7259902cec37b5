package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a server without room for more clients counts as temporarily down: nothing is refused permanently. */
@Timeout(120)
@Tag("quick")
final class FullServerTest {

    /** Connects the one client that the server has room for. */
    private static Socket fill(RedisServer server) throws IOException {
        Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port());
        client.getOutputStream().write("CONFIG SET maxclients 1\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(client.getInputStream().read()).isEqualTo('+');
        return client;
    }

    @Test
    void aFullServerIsUnavailable() throws IOException {
        try (RedisServer server = RedisUnderTest.start(b -> b);
                Socket only = fill(server)) {
            // By chance, the driver reports either the server's error or the end of the connection.
            for (int i = 0; i < 30; i++) {
                String login = i % 2 == 0 ? "" : ":hunter2@";
                assertThatThrownBy(() -> Leasehold.connect("redis://" + login + "127.0.0.1:" + server.port())
                                .close())
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageNotContaining("hunter2");
            }
            assertThat(only.isConnected()).isTrue();
        }
    }

    @Test
    void aMinorityThatIsFullKeepsNoQuorumFromOpening() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "10s")) {
            servers.declareNew();
            try (Socket only = fill(servers.server(1));
                    LockClient locks = Leasehold.connect(servers.uri());
                    Lease lease = locks.named("order:1").acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(only.isConnected()).isTrue();
            }
        }
    }
}
