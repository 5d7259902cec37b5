package io.leasehold.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;

/** TLS in front of a plain server, since the bundled server has none, with its own certificate for one host name. */
final class TlsFront implements AutoCloseable {

    private final SSLServerSocket socket;
    private final int target;
    private final Path certificate;

    TlsFront(Path directory, String host, int target) throws Exception {
        this.target = target;
        TestCertificate own = new TestCertificate(directory, host);
        this.certificate = own.certificate();
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(own.keys(), TestCertificate.PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        this.socket = (SSLServerSocket)
                context.getServerSocketFactory().createServerSocket(0, 10, InetAddress.getLoopbackAddress());
        daemon(this::accept);
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
            byte[] buffer = new byte[8_192];
            for (int n; (n = in.read(buffer)) >= 0; ) {
                out.write(buffer, 0, n);
                out.flush();
            }
        } catch (IOException ended) {
            // One side has closed; the other is closed, too.
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "tls-front");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return socket.getLocalPort();
    }

    Path certificate() {
        return certificate;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
