package io.leasehold.servers;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A {@code redis-server} or {@code valkey-server} executable and its version.
 *
 * <p>{@link #find()} decides which one is used: the path in the environment variable {@value #ENVIRONMENT} if it is set; else
 * the newest of {@code valkey-server} and {@code redis-server} on the PATH that is at least 6.2; else the newest of those that
 * were {@linkplain FetchedServers fetched}; else the static binary that comes as a Maven artefact.
 */
public final class RedisBinary {
    /** The environment variable whose value, a path, wins over every search. */
    public static final String ENVIRONMENT = "LEASEHOLD_REDIS_SERVER";

    private static final List<String> NAMES = List.of("valkey-server", "redis-server");
    private static final ServerVersion OLDEST = new ServerVersion(6, 2, 0);

    private final Path path;
    private final ServerVersion version;

    private RedisBinary(Path path, ServerVersion version) {
        this.path = path;
        this.version = version;
    }

    /**
     * Finds the server binary of this machine.
     *
     * @throws ServerUnavailableException if there is none, or if {@value #ENVIRONMENT} names something that is not one
     */
    public static RedisBinary find() {
        @Nullable String configured = System.getenv(ENVIRONMENT);
        if (configured != null && !configured.isBlank()) {
            return at(Path.of(configured));
        }
        return newest(onPath())
                .or(() -> newest(fetched()))
                .or(RedisBinary::bundled)
                .orElseThrow(() -> new ServerUnavailableException("no Redis server for " + System.getProperty("os.name")
                        + " " + System.getProperty("os.arch")
                        + ": install redis-server or valkey-server (at least " + OLDEST + ") on the PATH, or set "
                        + ENVIRONMENT + " to the path of one"));
    }

    /**
     * The binary at a path.
     *
     * @throws ServerUnavailableException if it is not an executable Redis or Valkey server of at least 6.2
     */
    public static RedisBinary at(Path path) {
        try {
            RedisBinary binary = ask(path)
                    .orElseThrow(() -> new ServerUnavailableException(
                            "'" + path + "' is not a Redis server: '--version' prints no version"));
            if (binary.version.compareTo(OLDEST) < 0) {
                throw new ServerUnavailableException(
                        "'" + path + "' is version " + binary.version + "; at least " + OLDEST + " is needed");
            }
            return binary;
        } catch (IOException e) {
            throw new ServerUnavailableException("'" + path + "' cannot be run as a Redis server: " + e.getMessage());
        }
    }

    /** The path of the binary. */
    public Path path() {
        return path;
    }

    /** The version that it reports. */
    public ServerVersion version() {
        return version;
    }

    @Override
    public String toString() {
        return path + " (" + version + ")";
    }

    private static Stream<Path> onPath() {
        @Nullable String searchPath = System.getenv("PATH");
        return Stream.of(searchPath == null ? new String[0] : searchPath.split(File.pathSeparator, -1))
                .filter(directory -> !directory.isEmpty())
                .flatMap(directory -> NAMES.stream().map(name -> Path.of(directory, name)))
                .filter(Files::isExecutable);
    }

    private static Stream<Path> fetched() {
        return NAMES.stream().flatMap(name -> FetchedServers.named(name).stream());
    }

    private static Optional<RedisBinary> newest(Stream<Path> candidates) {
        return candidates
                .flatMap(candidate -> {
                    try {
                        return ask(candidate).stream();
                    } catch (IOException notRunnableHere) {
                        // A binary for another platform does not end the search.
                        return Stream.empty();
                    }
                })
                .filter(binary -> binary.version.compareTo(OLDEST) >= 0)
                .max(Comparator.comparing(RedisBinary::version));
    }

    private static Optional<RedisBinary> bundled() {
        try {
            Optional<Path> extracted = BundledRedis.extract();
            return extracted.isEmpty() ? Optional.empty() : ask(extracted.get());
        } catch (IOException e) {
            throw new ServerUnavailableException("the bundled Redis server cannot be run: " + e.getMessage() + "; set "
                    + ENVIRONMENT + " to the path of a server");
        }
    }

    private static Optional<RedisBinary> ask(Path path) throws IOException {
        Process process = startPatiently(new ProcessBuilder(path.toString(), "--version").redirectErrorStream(true));
        process.getOutputStream().close();
        String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return ServerVersion.firstIn(answer).map(version -> new RedisBinary(path, version));
    }

    // A process forked by another thread while the binary was being written holds the file open for writing until it
    // execs; until then the system answers "text file busy".
    private static Process startPatiently(ProcessBuilder command) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return command.start();
            } catch (IOException e) {
                if (attempt == 50 || !String.valueOf(e.getMessage()).contains("error=26")) {
                    throw e;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(attempt));
            }
        }
    }
}
