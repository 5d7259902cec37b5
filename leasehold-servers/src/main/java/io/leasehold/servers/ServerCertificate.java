package io.leasehold.servers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/**
 * A certificate for one host name, signed by itself, with its key: for servers of tests. Made by the JDK's keytool.
 *
 * @param store both in a PKCS12 file, opened by {@link #PASSWORD}
 * @param certificate the certificate in PEM: clients that trust it use it as the authority
 * @param key the key in PEM, PKCS8, without a password
 */
public record ServerCertificate(Path store, Path certificate, Path key) {

    /** Opens {@link #store}. */
    public static final String PASSWORD = "changeit";

    private static final String ALIAS = "server";

    /**
     * Makes one, with its files in this directory.
     *
     * @param host a name or an IPv4 address
     * @throws ServerException if keytool fails
     */
    public static ServerCertificate create(Path directory, String host) {
        Path store = directory.resolve(host + ".p12");
        try {
            run(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair",
                    "-alias",
                    ALIAS,
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=" + host,
                    "-ext",
                    "SAN=" + (host.matches("[0-9.]+") ? "IP:" : "DNS:") + host,
                    "-ext",
                    "BC=ca:true",
                    "-storetype",
                    "PKCS12",
                    "-keystore",
                    store.toString(),
                    "-storepass",
                    PASSWORD));
            KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
            Path certificate = directory.resolve(host + ".pem");
            Path key = directory.resolve(host + ".key");
            Files.writeString(
                    certificate, pem("CERTIFICATE", keys.getCertificate(ALIAS).getEncoded()));
            Files.writeString(
                    key,
                    pem(
                            "PRIVATE KEY",
                            keys.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded()));
            return new ServerCertificate(store, certificate, key);
        } catch (IOException | GeneralSecurityException e) {
            throw new ServerException("cannot make a certificate for " + host, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServerException("interrupted while making a certificate for " + host, e);
        }
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(output);
        }
    }

    private static String pem(String what, byte[] content) {
        return "-----BEGIN " + what + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
                + "\n-----END " + what + "-----\n";
    }
}
