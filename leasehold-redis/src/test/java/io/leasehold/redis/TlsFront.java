package io.leasehold.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;

/** TLS in front of a plain server, since the bundled one has none: a certificate of its own, for one host name. */
final class TlsFront implements AutoCloseable {

    private static final char[] PASSWORD = "changeit".toCharArray();

    private final SSLServerSocket socket;
    private final int target;
    private final Path certificate;

    TlsFront(Path directory, String host, int target) throws Exception {
        this.target = target;
        Path store = directory.resolve(host + ".p12");
        run(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "EC",
                "-dname",
                "CN=" + host,
                "-ext",
                "SAN=" + (host.matches("[0-9.]+") ? "IP:" : "DNS:") + host,
                "-ext",
                "BC=ca:true",
                "-keystore",
                store.toString(),
                "-storepass",
                new String(PASSWORD)));
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD);
        this.certificate = directory.resolve(host + ".pem");
        Files.writeString(certificate, pem(keys.getCertificate("server")));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        this.socket = (SSLServerSocket)
                context.getServerSocketFactory().createServerSocket(0, 10, InetAddress.getLoopbackAddress());
        daemon(this::accept);
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(output);
        }
    }

    private static String pem(Certificate certificate) throws Exception {
        return "-----BEGIN CERTIFICATE-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(certificate.getEncoded())
                + "\n-----END CERTIFICATE-----\n";
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
            // That is how it ends.
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
            // One side has gone; the other is closed with it.
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
