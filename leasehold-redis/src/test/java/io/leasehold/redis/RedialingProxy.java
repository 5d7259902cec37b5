package io.leasehold.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * A proxy that keeps the connections of clients open while its server restarts, and connects them to the next life of
 * the server.
 *
 * <p>A connection with an unanswered request ends with the server: if it stayed, each later reply would answer the
 * request before its own.
 */
final class RedialingProxy implements AutoCloseable {

    private final int target;
    private final ServerSocket listening;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private volatile boolean closed;

    private RedialingProxy(int target, String host, int port) {
        this.target = target;
        try {
            listening = new ServerSocket(port, 50, InetAddress.getByName(host));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        daemon(() -> {
            while (true) {
                Socket client = listening.accept();
                sockets.add(client);
                new Pair(client).begin();
            }
        });
    }

    static RedialingProxy to(int port) {
        return new RedialingProxy(port, "127.0.0.1", 0);
    }

    /** At {@code 127.0.0.2}, at the very port of the server. */
    static RedialingProxy atThePortOf(int port) {
        return new RedialingProxy(port, "127.0.0.2", port);
    }

    int port() {
        return listening.getLocalPort();
    }

    /** A client and its connection to the present life of the server. */
    private final class Pair {
        private final Socket client;
        private volatile Socket server;
        private volatile boolean unanswered;

        Pair(Socket client) throws IOException {
            this.client = client;
            this.server = dialled();
        }

        void begin() {
            daemon(() -> {
                byte[] buffer = new byte[65_536];
                InputStream in = client.getInputStream();
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    unanswered = true;
                    try {
                        server.getOutputStream().write(buffer, 0, n);
                    } catch (IOException gone) {
                        client.close();
                    }
                }
            });
            daemon(() -> {
                byte[] buffer = new byte[65_536];
                while (!closed) {
                    int n = read(buffer);
                    if (n < 0) {
                        server = dialled();
                        if (unanswered) {
                            client.close();
                            return;
                        }
                    } else {
                        unanswered = false;
                        client.getOutputStream().write(buffer, 0, n);
                    }
                }
            });
        }

        private int read(byte[] buffer) {
            try {
                return server.getInputStream().read(buffer);
            } catch (IOException reset) {
                return -1;
            }
        }

        private Socket dialled() throws IOException {
            while (true) {
                try {
                    Socket socket = new Socket(InetAddress.getLoopbackAddress(), target);
                    sockets.add(socket);
                    return socket;
                } catch (IOException notYet) {
                    if (closed) {
                        throw notYet;
                    }
                    LockSupport.parkNanos(1_000_000);
                }
            }
        }
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void daemon(Task task) {
        Thread thread = new Thread(
                () -> {
                    try {
                        task.run();
                    } catch (IOException ended) {
                        // One of its sockets was closed.
                    }
                },
                "redialing-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        closed = true;
        try {
            listening.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
