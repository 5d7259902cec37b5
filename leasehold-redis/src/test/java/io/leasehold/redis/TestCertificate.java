package io.leasehold.redis;

import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** A self-signed certificate for one host name, with its key. */
final class TestCertificate {

    static final char[] PASSWORD = "changeit".toCharArray();

    private final KeyStore keys;
    private final Path certificate;
    private final Path key;

    TestCertificate(Path directory, String host) throws Exception {
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
        keys = KeyStore.getInstance(store.toFile(), PASSWORD);
        certificate = directory.resolve(host + ".pem");
        key = directory.resolve(host + ".key");
        Files.writeString(
                certificate, pem("CERTIFICATE", keys.getCertificate("server").getEncoded()));
        Files.writeString(
                key, pem("PRIVATE KEY", keys.getKey("server", PASSWORD).getEncoded()));
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(output);
        }
    }

    private static String pem(String kind, byte[] content) {
        return "-----BEGIN " + kind + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
                + "\n-----END " + kind + "-----\n";
    }

    /** Adds a TLS port with this certificate to a server; {@link RedisServer#call} still uses the other port. */
    RedisServer.Builder served(RedisServer.Builder server, int port) {
        return server.config("tls-port " + port)
                .config("tls-cert-file " + certificate)
                .config("tls-key-file " + key)
                .config("tls-ca-cert-file " + certificate)
                .config("tls-auth-clients no");
    }

    KeyStore keys() {
        return keys;
    }

    Path certificate() {
        return certificate;
    }

    Path key() {
        return key;
    }
}
