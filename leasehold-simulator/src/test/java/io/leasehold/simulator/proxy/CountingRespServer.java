package io.leasehold.simulator.proxy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** A counter with RESP: INCR counts, NOISE sends a push before its reply, and everything else is answered with OK. */
final class CountingRespServer implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final AtomicInteger counter = new AtomicInteger();

    CountingRespServer() throws IOException {
        daemon(() -> {
            while (true) {
                Socket socket = listener.accept();
                daemon(() -> serve(socket));
            }
        });
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    int count() {
        return counter.get();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private void serve(Socket socket) throws IOException {
        try (socket;
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
                OutputStream out = socket.getOutputStream()) {
            for (String header = in.readLine(); header != null; header = in.readLine()) {
                String name = "";
                for (int i = Integer.parseInt(header.substring(1)); i > 0; i--) {
                    in.readLine();
                    String argument = in.readLine();
                    name = name.isEmpty() ? argument : name;
                }
                out.write(answer(name).getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    private String answer(String name) {
        return switch (name.toUpperCase(Locale.ROOT)) {
            case "INCR" -> ":" + counter.incrementAndGet() + "\r\n";
            case "NOISE" -> ">2\r\n+invalidate\r\n_\r\n+OK\r\n";
            default -> "+OK\r\n";
        };
    }

    private static void daemon(SocketWork work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (IOException ended) {
                        // Closed by the test, or by the fault that it injects.
                    }
                },
                "resp-server");
        thread.setDaemon(true);
        thread.start();
    }

    private interface SocketWork {
        void run() throws IOException;
    }
}
