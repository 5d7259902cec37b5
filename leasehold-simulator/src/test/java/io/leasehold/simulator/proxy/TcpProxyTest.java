package io.leasehold.simulator.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
@Tag("full")
class TcpProxyTest {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final int SILENCE_MILLIS = 100;

    private EchoServer server;
    private TcpProxy proxy;

    @BeforeEach
    void start() throws IOException {
        server = new EchoServer();
        proxy = TcpProxy.to(server.address());
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        server.close();
    }

    @Test
    void passesBytesAndEndsUnchanged() throws Exception {
        try (Socket client = connect()) {
            send(client, "hello");
            assertThat(receive(client, 5)).isEqualTo("hello");
            client.shutdownOutput();
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        }
        assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("end");
        awaitOpen(0);
        assertThat(proxy.toServer().traffic()).isEqualTo(new Traffic(5, 0, 0, 0, 0));
        assertThat(proxy.toClient().traffic()).isEqualTo(new Traffic(5, 0, 0, 0, 0));
        assertThat(proxy.connections()).isEqualTo(new Connections(1, 0, 0, 0, 0, 0, 0));
    }

    @Test
    void passesMuchMoreThanItsBuffers() throws Exception {
        String large = "0123456789".repeat(500_000);
        try (Socket client = connect()) {
            Thread writer = new Thread(() -> send(client, large));
            writer.start();
            assertThat(receive(client, large.length())).isEqualTo(large);
            writer.join();
        }
    }

    @Test
    void passesAResetOn() throws Exception {
        Socket client = connect();
        exchange(client);
        client.setSoLinger(true, 0);
        client.close();
        assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("reset");
        awaitOpen(0);
    }

    @Test
    void delaysOneDirection() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.toServer().delay(Duration.ofMillis(300));
            long startNanos = System.nanoTime();
            exchange(client);
            assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(300_000_000L);
            assertThat(proxy.toServer().traffic().delayed()).isEqualTo(1);
            assertThat(proxy.toClient().traffic().delayed()).isZero();
        }
    }

    @Test
    void keepsTheOrderUnderJitter() throws Exception {
        proxy.toClient().delay(Duration.ofMillis(1), Duration.ofMillis(20));
        StringBuilder sent = new StringBuilder();
        try (Socket client = connect()) {
            for (int i = 0; i < 50; i++) {
                String part = i + ",";
                sent.append(part);
                send(client, part);
            }
            assertThat(receive(client, sent.length())).isEqualTo(sent.toString());
        }
        assertThat(proxy.toClient().traffic().delayed()).isEqualTo(sent.length());
    }

    @Test
    void stallsAndDeliversLater() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.toClient().stall();
            send(client, "abc");
            await(() -> proxy.toClient().traffic().stalled() == 3);
            assertThat(server.received()).isEqualTo("xabc");
            assertSilent(client);
            proxy.toClient().resume();
            assertThat(receive(client, 3)).isEqualTo("abc");
        }
    }

    @Test
    void stallsBothDirectionsUntilHealed() throws Exception {
        try (Socket client = connect()) {
            proxy.stall();
            send(client, "abc");
            await(() -> proxy.toServer().traffic().stalled() == 3);
            assertSilent(client);
            assertThat(server.received()).isEmpty();
            proxy.heal();
            assertThat(receive(client, 3)).isEqualTo("abc");
            assertThat(proxy.connections().reset()).isZero();
        }
    }

    @Test
    void dropsAndNeverDeliversAStreamWithAHole() throws Exception {
        try (Socket client = connect();
                Socket idle = connect()) {
            exchange(client);
            exchange(idle);
            proxy.toServer().drop();
            send(client, "lost");
            awaitDropped(proxy.toServer(), 4);
            assertThat(server.received()).isEqualTo("xx");
            proxy.heal();
            assertReset(client);
            exchange(idle);
            assertThat(server.received()).isEqualTo("xxx");
            assertThat(proxy.connections().reset()).isEqualTo(1);
        }
    }

    @Test
    void dropsAlsoTheNewsThatAConnectionEnded() throws Exception {
        Socket client = connect();
        exchange(client);
        proxy.toServer().drop();
        send(client, "bye");
        awaitDropped(proxy.toServer(), 3);
        client.close();
        assertThat(server.nextEnd(SILENCE_MILLIS)).isEqualTo("none");
        proxy.heal();
        assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("reset");
    }

    @Test
    void blocksOneWayOnly() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.toClient().drop();
            send(client, "heard");
            awaitDropped(proxy.toClient(), 5);
            assertThat(server.received()).isEqualTo("xheard");
            assertSilent(client);
        }
    }

    @Test
    void leavesTheClientHalfOpen() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.halfOpenForClients();
            assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("reset");
            send(client, "anybody there?");
            assertSilent(client);
            awaitDropped(proxy.toServer(), 14);
            assertThat(proxy.connections().halfOpened()).isEqualTo(1);
            try (Socket fresh = connect()) {
                exchange(fresh);
            }
            proxy.heal();
            assertReset(client);
        }
    }

    @Test
    void leavesTheServerHalfOpen() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.halfOpenForServer();
            assertReset(client);
            assertThat(server.nextEnd(SILENCE_MILLIS)).isEqualTo("none");
            server.sockets().get(0).getOutputStream().write('!');
            awaitDropped(proxy.toClient(), 1);
        }
    }

    @Test
    void refusesNewConnectionsOnly() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.refuseConnections();
            assertThatThrownBy(this::connect).isInstanceOf(ConnectException.class);
            exchange(client);
            proxy.acceptConnections();
            try (Socket another = connect()) {
                exchange(another);
            }
            proxy.refuseConnections();
            proxy.heal();
            try (Socket another = connect()) {
                exchange(another);
            }
        }
    }

    @Test
    void resetsAllConnections() throws Exception {
        try (Socket first = connect();
                Socket second = connect()) {
            exchange(first);
            exchange(second);
            proxy.resetAll();
            assertReset(first);
            assertReset(second);
            assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("reset");
            assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("reset");
            assertThat(proxy.connections()).isEqualTo(new Connections(2, 0, 0, 2, 0, 0, 0));
        }
    }

    @Test
    void resetsAfterExactlySoManyBytes() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.toServer().resetAfter(3);
            send(client, "abcdef");
            assertReset(client);
            assertThat(server.nextEnd(PATIENCE_MILLIS)).isEqualTo("end");
            assertThat(server.received()).isEqualTo("xabc");
            assertThat(proxy.connections().reset()).isEqualTo(1);
        }
        try (Socket another = connect()) {
            exchange(another);
        }
    }

    @Test
    void dribbles() throws Exception {
        proxy.toServer().dribble(100);
        try (Socket client = connect()) {
            long startNanos = System.nanoTime();
            send(client, "0123456789".repeat(3));
            assertThat(receive(client, 30)).isEqualTo("0123456789".repeat(3));
            assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(290_000_000L);
            assertThat(proxy.toServer().traffic().dribbled()).isEqualTo(30);
            proxy.heal();
            exchange(client);
        }
    }

    @Test
    void resetsWhereTheServerIsNotReachable() throws Exception {
        InetSocketAddress gone;
        try (EchoServer shortLived = new EchoServer()) {
            gone = shortLived.address();
        }
        proxy.retarget(gone);
        // The reset may happen as early as in connect().
        assertThatThrownBy(() -> {
                    try (Socket client = connect()) {
                        receive(client, 1);
                    }
                })
                .isInstanceOf(SocketException.class)
                .hasMessageContaining("reset");
        assertThat(proxy.connections().unreachable()).isEqualTo(1);
        proxy.retarget(server.address());
        try (Socket client = connect()) {
            exchange(client);
        }
    }

    @Test
    void closesEverythingAndKeepsItsCounters() throws Exception {
        try (Socket client = connect()) {
            exchange(client);
            proxy.close();
            proxy.close();
            assertThat(client.getInputStream().read()).isEqualTo(-1);
            assertThatThrownBy(this::connect).isInstanceOf(ConnectException.class);
            assertThat(proxy.connections().accepted()).isEqualTo(1);
            assertThat(proxy.toServer().traffic().passed()).isEqualTo(1);
        }
    }

    @Test
    void refusesImpossibleSettings() {
        assertThatThrownBy(() -> proxy.toServer().delay(Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT-0.001S");
        assertThatThrownBy(() -> proxy.toServer().dribble(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> proxy.toServer().resetAfter(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> TcpProxy.to(server.address(), proxy.port(), 1))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining(Integer.toString(proxy.port()));
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.connect(proxy.address(), PATIENCE_MILLIS);
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static void exchange(Socket client) throws IOException {
        send(client, "x");
        assertThat(receive(client, 1)).isEqualTo("x");
    }

    private static void send(Socket client, String text) {
        try {
            client.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String receive(Socket client, int count) throws IOException {
        client.setSoTimeout(PATIENCE_MILLIS);
        return new String(client.getInputStream().readNBytes(count), StandardCharsets.US_ASCII);
    }

    private static void assertSilent(Socket client) throws IOException {
        client.setSoTimeout(SILENCE_MILLIS);
        assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
    }

    private static void assertReset(Socket client) throws IOException {
        client.setSoTimeout(PATIENCE_MILLIS);
        assertThatThrownBy(() -> client.getInputStream().read())
                .isInstanceOf(SocketException.class)
                .hasMessageContaining("reset");
    }

    private static void awaitDropped(Direction direction, long bytes) throws InterruptedException {
        await(() -> direction.traffic().dropped() >= bytes);
        assertThat(direction.traffic().dropped()).isEqualTo(bytes);
    }

    private void awaitOpen(int count) throws InterruptedException {
        await(() -> proxy.connections().open() == count);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long startNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - startNanos)
                    .isLessThan(Duration.ofMillis(PATIENCE_MILLIS).toNanos());
            Thread.sleep(2);
        }
    }
}
