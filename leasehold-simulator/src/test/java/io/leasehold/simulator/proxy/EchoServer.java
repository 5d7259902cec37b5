package io.leasehold.simulator.proxy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Returns every byte, and reports the bytes received and the end of each connection. */
final class EchoServer implements AutoCloseable {
    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final BlockingQueue<String> ends = new LinkedBlockingQueue<>();

    EchoServer() throws IOException {
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        daemon(this::serve);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    String received() {
        synchronized (received) {
            return received.toString(StandardCharsets.US_ASCII);
        }
    }

    /** {@code end} or {@code reset} for the next connection that ended, or {@code none} if none did in time. */
    String nextEnd(long millis) throws InterruptedException {
        String end = ends.poll(millis, TimeUnit.MILLISECONDS);
        return end == null ? "none" : end;
    }

    List<Socket> sockets() {
        return new ArrayList<>(sockets);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    private void serve() {
        try {
            while (true) {
                Socket socket = listener.accept();
                sockets.add(socket);
                daemon(() -> echo(socket));
            }
        } catch (IOException closed) {
            // The test is over.
        }
    }

    private void echo(Socket socket) {
        byte[] buffer = new byte[8192];
        try (socket;
                InputStream in = socket.getInputStream();
                OutputStream out = socket.getOutputStream()) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                synchronized (received) {
                    received.write(buffer, 0, n);
                }
                out.write(buffer, 0, n);
            }
            ends.add("end");
        } catch (IOException e) {
            ends.add("reset");
        }
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work, "echo");
        thread.setDaemon(true);
        thread.start();
    }
}
