package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A server program of this machine that runs for a test, and ends with the test and with this JVM. */
final class ServerProcess implements AutoCloseable {

    private static final Duration START_PATIENCE = Duration.ofMinutes(2);

    private final Process process;
    private final Process guardian;
    private final Path log;

    private ServerProcess(Process process, Process guardian, Path log) {
        this.process = process;
        this.guardian = guardian;
        this.log = log;
    }

    /** The path of the program; without it the test is skipped visibly. */
    static Path find(String program, String debianPackage) {
        List<String> folders =
                new ArrayList<>(List.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1)));
        folders.addAll(List.of("/usr/sbin", "/usr/local/sbin"));
        return folders.stream()
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(() -> abort("no " + program + " on the PATH: install it (Debian: " + debianPackage + ")"));
    }

    static ServerProcess start(Path log, List<String> command) throws IOException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .redirectInput(new File("/dev/null"))
                .start();
        // Its standard input closes when this JVM ends, in any way.
        Process guardian = new ProcessBuilder(
                        "/bin/sh", "-c", "trap '' INT TERM HUP; read -r ended || kill -KILL " + process.pid())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new ServerProcess(process, guardian, log);
    }

    /** Opens connections. */
    interface Connecting {
        Connection connect() throws SQLException;
    }

    void awaitConnection(Connecting connecting) throws IOException {
        long startAtNanos = System.nanoTime();
        while (true) {
            try {
                connecting.connect().close();
                return;
            } catch (SQLException notYet) {
                assertThat(process.isAlive() && System.nanoTime() - startAtNanos < START_PATIENCE.toNanos())
                        .as("the server answers; last: %s; log:%n%s", notYet, Files.readString(log))
                        .isTrue();
                LockSupport.parkNanos(20_000_000);
            }
        }
    }

    /** Sends SIGTERM, and SIGKILL if necessary. */
    void stop() {
        process.destroy();
        end();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        end();
    }

    private void end() {
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
            guardian.getOutputStream().write('\n');
            guardian.getOutputStream().close();
            guardian.waitFor();
        } catch (IOException e) {
            guardian.destroyForcibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
