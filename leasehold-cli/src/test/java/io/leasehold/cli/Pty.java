package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A pseudo-terminal with a program, created by {@code script(1)}. */
final class Pty implements AutoCloseable {

    private final Process process;
    private final Path screen;

    /**
     * Starts a command of the shell, with these variables in addition to those of this process, and without those of
     * Leasehold.
     */
    Pty(Path directory, String command, Map<String, String> environment) throws IOException {
        screen = Files.createTempFile(directory, "screen", ".txt");
        // A shell that waits for the command would also be interrupted, and would return 130 in its place.
        ProcessBuilder builder = new ProcessBuilder("script", "-qefc", "exec " + command, "/dev/null")
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(screen.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("LEASEHOLD"));
        builder.environment().put("SHELL", "/bin/sh");
        builder.environment().putAll(environment);
        process = builder.start();
    }

    /** Skips the test if the system has no {@code script} of this kind. */
    static void needsScript() {
        assumeTrue(
                StartedCli.shell("script --version 2>&1").contains("util-linux"),
                "util-linux's script(1), which makes a pseudo-terminal, is not here: apt-get install bsdutils");
    }

    void type(String keys) {
        StartedCli.write(process.getOutputStream(), keys);
    }

    String screen() {
        return StartedCli.read(screen);
    }

    int exitCode() throws InterruptedException {
        assertThat(process.waitFor(StartedCli.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as(this::screen)
                .isTrue();
        return process.exitValue();
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }
}
