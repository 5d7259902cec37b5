package io.leasehold.demo;

import io.leasehold.demo.actor.ActorCommand;
import io.leasehold.demo.history.HistoryFile;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A worker: another process of this program, started with the same Java and options. */
final class WorkerProcess {

    private final String name;
    private final HistoryFile history;
    private final Path errors;
    private final Process process;
    private boolean killed;

    private WorkerProcess(String name, Path directory, Path errors, Process process) {
        this.name = name;
        this.history = new HistoryFile(directory, name);
        this.errors = errors;
        this.process = process;
    }

    /**
     * Starts it.
     *
     * @param storeUri the store of its lock; unused without one
     */
    static WorkerProcess start(String name, Path directory, String storeUri, DemoSettings settings) throws IOException {
        List<String> command = new ArrayList<>(List.of("--store", storeUri, "demo-worker"));
        command.addAll(List.of("--name", name, "--directory", directory.toString()));
        command.addAll(List.of("--ttl", settings.ttl().toMillis() + "ms"));
        command.addAll(List.of("--pause", settings.pause().toMillis() + "ms"));
        command.addAll(List.of("--increments", Integer.toString(settings.incrementsPerTurn())));
        if (!settings.withLock()) {
            command.add("--without-lock");
        }
        return start(name, directory, command, ProcessBuilder.Redirect.DISCARD);
    }

    /** Starts a process that receives each step, and answers on its standard output. */
    static WorkerProcess startActor(String name, Path directory) throws IOException {
        return start(name, directory, List.of(ActorCommand.NAME, "--name", name), ProcessBuilder.Redirect.PIPE);
    }

    private static WorkerProcess start(
            String name, Path directory, List<String> arguments, ProcessBuilder.Redirect output) throws IOException {
        List<String> command = thisProgram();
        command.addAll(arguments);
        Path errors = directory.resolve(name + ".errors");
        Process process = new ProcessBuilder(command)
                .redirectOutput(output)
                .redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile()))
                .start();
        return new WorkerProcess(name, directory, errors, process);
    }

    private static List<String> thisProgram() {
        String java = ProcessHandle.current()
                .info()
                .command()
                .orElseGet(() ->
                        Path.of(System.getProperty("java.home"), "bin", "java").toString());
        List<String> command = new ArrayList<>();
        command.add(java);
        for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            // Two processes cannot use one debugger port.
            if (!option.startsWith("-agentlib:") && !option.startsWith("-Xrunjdwp")) {
                command.add(option);
            }
        }
        command.addAll(List.of("-cp", absolute(System.getProperty("java.class.path")), "io.leasehold.cli.Main"));
        return command;
    }

    private static String absolute(String classPath) {
        List<String> entries = new ArrayList<>();
        for (String entry : classPath.split(File.pathSeparator, -1)) {
            entries.add(Path.of(entry).toAbsolutePath().toString());
        }
        return String.join(File.pathSeparator, entries);
    }

    String name() {
        return name;
    }

    long pid() {
        return process.pid();
    }

    HistoryFile history() {
        return history;
    }

    /** Sends one of the words of {@link WorkerControl}; does nothing if the process is gone. */
    void tell(String word) {
        try {
            process.getOutputStream().write((word + "\n").getBytes(StandardCharsets.US_ASCII));
            process.getOutputStream().flush();
        } catch (IOException gone) {
            // requireAlive() judges whether it may be gone.
        }
    }

    /** Its answers, if it is an actor. */
    InputStream answers() {
        return process.getInputStream();
    }

    /** SIGKILL: it cannot react, not even release the lock. */
    void kill() throws InterruptedException {
        killed = true;
        process.destroyForcibly().waitFor();
    }

    boolean isKilled() {
        return killed;
    }

    /** Throws if it ended by itself. */
    void requireAlive() throws DemoFailure, IOException {
        if (!killed && !process.isAlive()) {
            throw new DemoFailure(
                    "process " + name + " ended by itself with exit code " + process.exitValue() + ": " + reason());
        }
    }

    /** Waits for it to end in order. */
    void awaitEnd(long patienceSeconds) throws DemoFailure, IOException, InterruptedException {
        if (!process.waitFor(patienceSeconds, TimeUnit.SECONDS)) {
            throw new DemoFailure("process " + name + " did not end within " + patienceSeconds + " s");
        }
        if (!killed && process.exitValue() != 0) {
            requireAlive();
        }
    }

    private String reason() throws IOException {
        List<String> said = Files.readAllLines(errors, StandardCharsets.UTF_8);
        return said.stream()
                .filter(line -> line.startsWith("leasehold: "))
                .map(line -> line.substring("leasehold: ".length()))
                .findFirst()
                .orElse(said.isEmpty() ? "it did not say why" : said.get(said.size() - 1));
    }

    /** Kills it at once. */
    void end() {
        process.destroyForcibly();
    }

    /** Waits until it is gone after {@link #end()}; an interrupt is preserved for the caller. */
    void awaitGone() {
        process.onExit().join();
    }
}
