package io.leasehold.redis;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisBinary;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;

/** Programs from the resources of test dependencies; if none fits this machine, the test is visibly skipped. */
public final class BundledBinaries {

    private static final Path DIRECTORY = Path.of("target", "binaries");

    private BundledBinaries() {}

    /** A {@code redis-cli}. */
    public static Path redisCli() {
        return extracted("redis-cli", List.of("redis-cli-7.0.9-" + platform()));
    }

    /** The oldest server that is supported. */
    public static RedisBinary oldestServer() {
        return RedisBinary.at(extracted(
                "Redis 6.2", List.of("redis-server-6.2.6-v5-" + platform(), "redis-server-6.2.7-" + platform())));
    }

    /**
     * A server that speaks TLS itself, as the bundled ones do not: that in {@code LEASEHOLD_TLS_REDIS_SERVER}, or Debian's, which
     * the package redis-tools brings under another name.
     */
    public static RedisBinary serverWithTls() {
        return withTls("redis-server-tls");
    }

    /** The same, called by the name that makes it a Sentinel. */
    public static RedisBinary sentinelWithTls() {
        return withTls("redis-sentinel-tls");
    }

    private static RedisBinary withTls(String name) {
        String configured = System.getenv("LEASEHOLD_TLS_REDIS_SERVER");
        Path debian = Path.of("/usr/bin/redis-check-rdb");
        Path program = configured != null && !configured.isBlank() ? Path.of(configured) : debian;
        if (!Files.isExecutable(program)) {
            return abort(
                    "no Redis server with TLS here: install redis-tools (Debian), or set LEASEHOLD_TLS_REDIS_SERVER");
        }
        try {
            Path link = Files.createDirectories(DIRECTORY).resolve(name).toAbsolutePath();
            try {
                // The behaviour of the program depends on its file name.
                Files.createSymbolicLink(link, program.toRealPath());
            } catch (FileAlreadyExistsException e) {
                // made earlier, or by a concurrent test class
            }
            return RedisBinary.at(link);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String platform() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return (os.startsWith("mac") ? "darwin" : os) + "-" + (arch.equals("aarch64") ? "arm64" : "amd64");
    }

    private static Path extracted(String what, List<String> resources) {
        for (String resource : resources) {
            try (InputStream in = BundledBinaries.class.getClassLoader().getResourceAsStream(resource)) {
                if (in != null) {
                    return install(in, resource);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return abort("no " + what + " is bundled for " + platform());
    }

    private static Path install(InputStream in, String name) throws IOException {
        Path binary = Files.createDirectories(DIRECTORY).resolve(name).toAbsolutePath();
        if (Files.isExecutable(binary)) {
            return binary;
        }
        Path copy = Files.createTempFile(DIRECTORY, name, ".part");
        Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
        Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString("rwx------"));
        Files.move(copy, binary, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        return binary;
    }
}
