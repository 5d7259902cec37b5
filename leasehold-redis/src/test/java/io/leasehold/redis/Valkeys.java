package io.leasehold.redis;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.FetchedServers;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.ServerUnavailableException;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The Valkey servers of this machine: the one in LEASEHOLD_VALKEY_SERVER, else those on the PATH and the downloaded
 * ones.
 */
public final class Valkeys {

    private Valkeys() {}

    /** The servers of at least this version; without one the test is visibly skipped. */
    public static List<RedisBinary> atLeast(int major, int minor) {
        List<RedisBinary> found = paths().filter(Files::isExecutable)
                .flatMap(Valkeys::binary)
                .filter(binary -> binary.version().isAtLeast(major, minor))
                .toList();
        return found.isEmpty()
                ? abort("no Valkey " + major + "." + minor + " or newer here: leasehold-servers/newer-servers get "
                        + (major < 9 ? "trixie" : "sid") + " valkey-server, or name one in LEASEHOLD_VALKEY_SERVER")
                : found;
    }

    private static Stream<Path> paths() {
        String configured = System.getenv("LEASEHOLD_VALKEY_SERVER");
        if (configured != null && !configured.isBlank()) {
            return Stream.of(Path.of(configured));
        }
        return Stream.concat(
                Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                        .filter(directory -> !directory.isEmpty())
                        .map(directory -> Path.of(directory, "valkey-server")),
                FetchedServers.named("valkey-server").stream());
    }

    private static Stream<RedisBinary> binary(Path path) {
        try {
            return Stream.of(RedisBinary.at(path));
        } catch (ServerUnavailableException e) {
            return Stream.empty();
        }
    }
}
