package io.leasehold.simulator.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
@Tag("quick")
class LostMessageTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String INCR = "*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n";
    private static final String PING = "*1\r\n$4\r\nPING\r\n";
    private static final String NOISE = "*1\r\n$5\r\nNOISE\r\n";

    private CountingRespServer server;
    private TcpProxy proxy;

    @BeforeEach
    void start() throws IOException {
        server = new CountingRespServer();
        proxy = TcpProxy.to(server.address());
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        server.close();
    }

    @Test
    void losesTheReplyToTheNextRequestThatMatches() throws Exception {
        try (Socket client = connect()) {
            ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains("INCR"));
            assertThat(exchange(client, PING, 5)).isEqualTo("+OK\r\n");
            assertThat(loss.happened()).isFalse();
            send(client, INCR);
            assertReset(client);
            loss.await(PATIENCE);
            assertThat(server.count()).isEqualTo(1);
            assertThat(proxy.connections().repliesLost()).isEqualTo(1);
            assertThat(proxy.connections().reset()).isEqualTo(1);
        }
        try (Socket client = connect()) {
            assertThat(exchange(client, INCR, 4)).isEqualTo(":2\r\n");
        }
    }

    @Test
    void deliversTheRepliesOfEarlierRequestsOfAPipeline() throws Exception {
        proxy.loseNextReplyTo(request -> request.contains("INCR"));
        try (Socket client = connect()) {
            send(client, PING + NOISE + INCR + PING);
            client.setSoTimeout((int) PATIENCE.toMillis());
            String expected = "+OK\r\n>2\r\n+invalidate\r\n_\r\n+OK\r\n";
            assertThat(new String(client.getInputStream().readNBytes(expected.length()), StandardCharsets.US_ASCII))
                    .isEqualTo(expected);
            assertReset(client);
            assertThat(server.count()).isEqualTo(1);
        }
    }

    @Test
    void fallsSilentInsteadOfReplying() throws Exception {
        ScheduledLoss loss = proxy.silenceFromNextReplyTo(request -> request.contains("INCR"));
        try (Socket client = connect()) {
            send(client, INCR);
            loss.await(PATIENCE);
            assertThat(server.count()).isEqualTo(1);
            client.setSoTimeout(100);
            assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            proxy.heal();
            client.setSoTimeout((int) PATIENCE.toMillis());
            assertReset(client);
        }
    }

    @Test
    void resetsAfterTheNextRequestWhateverItIs() throws Exception {
        try (Socket client = connect()) {
            assertThat(exchange(client, PING, 5)).isEqualTo("+OK\r\n");
            ScheduledLoss loss = proxy.resetAfterNextRequest();
            send(client, INCR);
            assertReset(client);
            loss.await(PATIENCE);
            assertThat(server.count()).isEqualTo(1);
        }
    }

    @Test
    void losesTheRequestItself() throws Exception {
        ScheduledLoss loss = proxy.loseNextRequest(request -> request.contains("INCR"));
        try (Socket client = connect()) {
            assertThat(exchange(client, PING, 5)).isEqualTo("+OK\r\n");
            send(client, INCR);
            assertReset(client);
            loss.await(PATIENCE);
            assertThat(server.count()).isZero();
            assertThat(proxy.connections().requestsLost()).isEqualTo(1);
        }
    }

    @Test
    void saysWhenTheFaultNeverHappened() {
        ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains("INCR"));
        assertThatThrownBy(() -> loss.await(Duration.ofMillis(10)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no matching message");
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket();
        socket.connect(proxy.address());
        return socket;
    }

    private static String exchange(Socket client, String request, int replyLength) throws IOException {
        send(client, request);
        return new String(client.getInputStream().readNBytes(replyLength), StandardCharsets.US_ASCII);
    }

    private static void send(Socket client, String request) throws IOException {
        client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    }

    private static void assertReset(Socket client) {
        assertThatThrownBy(() -> client.getInputStream().read())
                .isInstanceOf(SocketException.class)
                .hasMessageContaining("reset");
    }
}
