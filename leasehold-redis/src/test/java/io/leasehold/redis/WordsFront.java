package io.leasehold.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A proxy in front of a real server that rejects unknown commands in its own words. */
final class WordsFront implements AutoCloseable {

    private final ServerSocket socket = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    private final int target;

    WordsFront(int target) throws IOException {
        this.target = target;
        daemon(this::accept);
    }

    int port() {
        return socket.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = socket.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                daemon(() -> copy(client, server));
                daemon(() -> copy(server, client));
            }
        } catch (IOException closed) {
            // This is the normal end.
        }
    }

    private static void copy(Socket from, Socket to) {
        try (from;
                to;
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            byte[] buffer = new byte[65_536];
            for (int n; (n = in.read(buffer)) >= 0; ) {
                String text = new String(buffer, 0, n, StandardCharsets.ISO_8859_1);
                out.write(text.replace("-ERR unknown command", "-ERR unsupported command")
                        .getBytes(StandardCharsets.ISO_8859_1));
                out.flush();
            }
        } catch (IOException ended) {
            // One side has closed; the other is closed, too.
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "words-front");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
