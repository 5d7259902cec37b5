package io.leasehold.cli.demo;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A {@link DemoWorker} in a JVM of its own, started as this one was. It ends with this process at the latest. */
final class WorkerProcess implements AutoCloseable {

    private static final int PATIENCE_SECONDS = 3;

    private final int number;
    private final Process process;

    private WorkerProcess(int number, Process process) {
        this.number = number;
        this.process = process;
    }

    static WorkerProcess start(int number, Path directory, @Nullable String store) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("-X") || argument.startsWith("-Dorg.sqlite"))
                .forEach(command::add);
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                "io.leasehold.cli.Main",
                "demo-worker",
                Integer.toString(number),
                directory.toString()));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(directory.resolve("worker-" + number + ".log").toFile());
        builder.environment().remove("LEASEHOLD_STORE");
        if (store != null) {
            builder.environment().put("LEASEHOLD_STORE", store);
        }
        return new WorkerProcess(number, builder.start());
    }

    int number() {
        return number;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** SIGKILL; returns when it is dead. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
    }

    /** Tells it to finish. */
    void tell() {
        try {
            process.getOutputStream().close();
        } catch (IOException gone) {
            // It has finished.
        }
    }

    @Override
    public void close() {
        tell();
        try {
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            process.destroyForcibly();
        }
    }
}
