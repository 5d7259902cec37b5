package io.leasehold.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The server programs fetched by {@code leasehold-servers/newer-servers get SUITE}.
 *
 * <p>They are in {@code $XDG_CACHE_HOME/leasehold/servers/SUITE/bin} (default {@code ~/.cache}), separate from the
 * system, and start through the loader and with the libraries of their own suite.
 */
public final class FetchedServers {
    private FetchedServers() {}

    /** The paths of a fetched program, one for each suite that has it, in the order of the suites' names. */
    public static List<Path> named(String program) {
        Path root = cache().resolve("servers");
        if (!Files.isDirectory(root)) {
            return List.of();
        }
        try (Stream<Path> suites = Files.list(root)) {
            return suites.map(suite -> suite.resolve("bin").resolve(program))
                    .filter(Files::isExecutable)
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list '" + root + "'", e);
        }
    }

    /** The folder of this project in the user's cache; it may not exist. */
    static Path cache() {
        @Nullable String configured = System.getenv("XDG_CACHE_HOME");
        Path base = configured == null || configured.isBlank()
                ? Path.of(System.getProperty("user.home"), ".cache")
                : Path.of(configured);
        return base.resolve("leasehold");
    }
}
