package io.leasehold.redis.topology;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** A server with the part of the protocol that a subscription needs. It ignores the first subscription request. */
final class ForgetfulServer implements AutoCloseable {

    private static final Pattern COMMAND = Pattern.compile("\\*\\d+\r\n");

    private final ServerSocket socket = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    private final String channel;

    ForgetfulServer(String channel) throws IOException {
        this.channel = channel;
        daemon(this::accept);
    }

    int port() {
        return socket.getLocalPort();
    }

    private void accept() {
        try {
            for (int number = 1; ; number++) {
                Socket client = socket.accept();
                boolean forgets = number == 1;
                daemon(() -> answer(client, forgets));
            }
        } catch (IOException closed) {
            // This is the normal end.
        }
    }

    private void answer(Socket client, boolean forgets) {
        try (client) {
            InputStream in = client.getInputStream();
            byte[] buffer = new byte[8_192];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                String requests = new String(buffer, 0, n, StandardCharsets.US_ASCII);
                String reply;
                if (!requests.contains("SUBSCRIBE")) {
                    reply = "+OK\r\n"
                            .repeat((int) COMMAND.matcher(requests).results().count());
                } else {
                    reply = forgets
                            ? ""
                            : "*3\r\n$9\r\nsubscribe\r\n$" + channel.length() + "\r\n" + channel + "\r\n:1\r\n";
                }
                client.getOutputStream().write(reply.getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException ended) {
            // The client has closed the connection.
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "forgetful-server");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
