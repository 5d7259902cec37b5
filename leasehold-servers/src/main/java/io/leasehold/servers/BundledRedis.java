package io.leasehold.servers;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Optional;

/**
 * The static {@code redis-server} that the artefact {@code com.github.lansheng228:embedded-redis} carries as a resource.
 *
 * <p>It is copied once per user into {@code $XDG_CACHE_HOME/leasehold} (default {@code ~/.cache/leasehold}). Any number of
 * JVMs may do so at once: each writes a file of its own and moves it into place atomically, so a reader sees either nothing
 * or the whole binary.
 */
final class BundledRedis {
    private static final String VERSION = "7.0.9";

    private BundledRedis() {}

    /** The extracted binary, or empty when none is bundled for this platform. */
    static Optional<Path> extract() throws IOException {
        String name = "redis-server-" + VERSION + "-" + os() + "-" + architecture();
        URL resource = BundledRedis.class.getClassLoader().getResource(name);
        if (resource == null) {
            return Optional.empty();
        }
        URLConnection connection = resource.openConnection();
        connection.setUseCaches(false);
        try (InputStream in = connection.getInputStream()) {
            return Optional.of(install(in, connection.getContentLengthLong(), name));
        }
    }

    private static Path install(InputStream in, long size, String name) throws IOException {
        Path directory = cacheDirectory();
        Path binary = directory.resolve(name);
        // A file of the right length was moved here whole by an earlier run; anything else is replaced.
        if (Files.isExecutable(binary) && Files.size(binary) == size) {
            return binary;
        }
        Path copy = Files.createTempFile(directory, name, ".part");
        try {
            Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
            Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString("rwx------"));
            Files.move(copy, binary, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(copy);
        }
        return binary;
    }

    private static Path cacheDirectory() throws IOException {
        try {
            return Files.createDirectories(FetchedServers.cache());
        } catch (IOException unwritableHome) {
            // Build machines run without a home; a private directory costs one copy per JVM.
            Path directory = Files.createTempDirectory("leasehold-servers");
            directory.toFile().deleteOnExit();
            return directory;
        }
    }

    private static String os() {
        String name = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        return name.startsWith("mac") ? "darwin" : name;
    }

    private static String architecture() {
        String name = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return switch (name) {
            case "x86_64" -> "amd64";
            case "aarch64" -> "arm64";
            default -> name;
        };
    }
}
