package io.leasehold.servers;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Wall clocks for server processes that can be moved: a small C library, compiled here, that is loaded before the C library of a
 * dynamically linked server.
 *
 * <pre>{@code
 * try (ClockShim shim = ClockShim.compile(); RedisServer server = RedisServer.builder().clock(shim.clock()).start()) {
 *   server.clock().step(Duration.ofHours(1));
 * }
 * }</pre>
 *
 * <p>Only the wall clock moves, as by an administrator or NTP; monotonic clocks do not change. The bundled server
 * binary is static and ignores what is preloaded: install one from the system's packages. Safe for use by any thread.
 */
public final class ClockShim implements AutoCloseable {

    private static final String SOURCE = "clock_shim.c";
    private static final List<String> COMPILERS = List.of("cc", "gcc", "clang");
    private static final long COMPILE_SECONDS = 60;

    private final Path directory;
    private final Path library;
    private int clocks;

    private ClockShim(Path directory, Path library) {
        this.directory = directory;
        this.library = library;
    }

    /**
     * Compiles the library into a temporary directory.
     *
     * @throws ServerUnavailableException if this machine has no C compiler, or is not one where libraries are preloaded
     */
    public static ClockShim compile() {
        if (!System.getProperty("os.name").equals("Linux")) {
            throw new ServerUnavailableException("clocks of servers can only be moved on Linux");
        }
        Path directory = null;
        try (InputStream source = ClockShim.class.getResourceAsStream(SOURCE)) {
            if (source == null) {
                throw new ServerException(SOURCE + " is missing from this artefact");
            }
            directory = Files.createTempDirectory("leasehold-clock-");
            Path text = directory.resolve(SOURCE);
            Files.copy(source, text);
            Path library = directory.resolve("clock_shim.so");
            compile(text, library);
            return new ClockShim(directory, library);
        } catch (IOException e) {
            delete(directory);
            throw new ServerException("cannot compile " + SOURCE + ": " + e.getMessage(), e);
        } catch (RuntimeException e) {
            delete(directory);
            throw e;
        }
    }

    private static void compile(Path source, Path library) throws IOException {
        for (String compiler : COMPILERS) {
            Process process;
            try {
                process = new ProcessBuilder(
                                compiler, "-O2", "-shared", "-fPIC", "-o", library.toString(), source.toString())
                        .redirectErrorStream(true)
                        .start();
            } catch (IOException noSuchCommand) {
                continue;
            }
            String complaint = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            try {
                if (!process.waitFor(COMPILE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                    process.destroyForcibly();
                    throw new ServerUnavailableException(compiler + " does not compile " + SOURCE + ":\n" + complaint);
                }
                return;
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
                throw new ServerException("interrupted while compiling " + SOURCE);
            }
        }
        throw new ServerUnavailableException(
                "no C compiler (" + COMPILERS + ") on the PATH, so no clock of a server can be moved: install gcc");
    }

    /** A clock for one server; it shows the real time until it is moved. */
    public synchronized ServerClock clock() {
        return ServerClock.create(library, directory.resolve("clock-" + ++clocks));
    }

    /** Deletes the library; servers that have loaded it are not affected, but cannot be restarted with it. */
    @Override
    public void close() {
        delete(directory);
    }

    private static void delete(@org.jspecify.annotations.Nullable Path directory) {
        if (directory == null) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory, new FileVisitOption[0])) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new ServerException("cannot delete '" + directory + "'", e);
        }
    }
}
