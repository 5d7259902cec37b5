package io.leasehold.testkit.process;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A main class in a separate JVM with this JVM's class path, which a test controls by lines and can freeze and kill.
 *
 * <p>The child ends with {@link #close()}, and at the latest with this JVM, even if this JVM is killed or the child is
 * frozen. Its output is read continuously, so it never blocks on printing.
 *
 * <p>Safe for use by any thread. Waiting methods are interruptible. If the awaited event does not happen, they throw
 * {@link ChildFailedException} with the tail of the child's output. Needs a POSIX system: {@link
 * Signal#areSupported()}.
 */
public final class ChildJvm implements AutoCloseable {
    private static final int TAIL_LINES = 40;
    private static final int OUTPUT_PATIENCE_SECONDS = 2;
    private static final Duration END_PATIENCE = Duration.ofSeconds(30);

    private final String name;
    private final Process process;
    private final OutputLines out;
    private final OutputLines err;

    private ChildJvm(String name, Process process) {
        this.name = name;
        this.process = process;
        this.out = OutputLines.of(process.inputReader(StandardCharsets.UTF_8), name + "-stdout");
        this.err = OutputLines.of(process.errorReader(StandardCharsets.UTF_8), name + "-stderr");
    }

    /** Configures a child that runs {@code main(String[])} of the class. */
    public static Builder of(Class<?> mainClass) {
        return new Builder(mainClass);
    }

    /** Its process id. */
    public long pid() {
        return process.pid();
    }

    /** Whether the process lives; a frozen one does. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Waits for the next line on standard output that matches; earlier lines are skipped permanently.
     *
     * @throws ChildFailedException if the child ends, or the time passes, without such a line
     */
    public String awaitLine(Predicate<String> wanted, Duration patience) throws InterruptedException {
        return awaitLine(wanted, patience, "a line that matches");
    }

    /** Waits for the next line on standard output with this prefix; see {@link #awaitLine(Predicate, Duration)}. */
    public String awaitLine(String prefix, Duration patience) throws InterruptedException {
        return awaitLine(line -> line.startsWith(prefix), patience, "'" + prefix + "…'");
    }

    /** All lines of standard output so far. */
    public List<String> lines() {
        return out.all();
    }

    /** All lines of standard error so far. */
    public List<String> errorLines() {
        return err.all();
    }

    /**
     * Writes a line to the child's standard input.
     *
     * @throws ChildFailedException if the child has ended
     */
    public void send(String line) {
        try {
            process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw failure("does not take input any more: " + e.getMessage());
        }
    }

    /** Ends the child's standard input. */
    public void closeInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            throw failure("does not take input any more: " + e.getMessage());
        }
    }

    /**
     * Sends SIGSTOP: the child does nothing until {@link #thaw()}. If {@code /proc} exists, waits until every thread
     * has stopped.
     */
    public void freeze() throws InterruptedException {
        Signal.STOP.sendTo(pid());
        long startNanos = System.nanoTime();
        while (!isFrozen()) {
            if (System.nanoTime() - startNanos > END_PATIENCE.toNanos()) {
                throw failure("does not stand still after SIGSTOP");
            }
            Thread.sleep(1);
        }
    }

    /** Sends SIGCONT: a frozen child resumes. */
    public void thaw() throws InterruptedException {
        Signal.CONT.sendTo(pid());
    }

    /** Sends SIGTERM: the child runs its shutdown hooks and ends. Does not wait; see {@link #waitFor}. */
    public void terminate() {
        process.toHandle().destroy();
    }

    /** Sends SIGKILL, even to a frozen child; returns when the process is gone. */
    public void kill() throws InterruptedException {
        // The handle's method, since that of the process would throw away output that was not read yet.
        process.toHandle().destroyForcibly();
        waitFor(END_PATIENCE);
    }

    /**
     * Waits for the end of the child.
     *
     * @return its exit code, or 128 + n if signal n ended it
     * @throws ChildFailedException if it still runs after this time
     */
    public int waitFor(Duration patience) throws InterruptedException {
        if (!process.waitFor(patience.toNanos(), TimeUnit.NANOSECONDS)) {
            throw failure("did not end within " + patience);
        }
        awaitOutput();
        return process.exitValue();
    }

    /** Kills the child; may be called more than once. */
    @Override
    public void close() {
        process.destroyForcibly();
        boolean interrupted = false;
        while (process.isAlive()) {
            try {
                process.waitFor();
            } catch (InterruptedException e) {
                // SIGKILL cannot be refused, so the wait is short; nothing may be left behind because of an interrupt.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return name + " (pid " + pid() + ")";
    }

    private boolean isFrozen() {
        Path tasks = Path.of("/proc", Long.toString(pid()), "task");
        if (!Files.isDirectory(tasks)) {
            return true;
        }
        try (Stream<Path> threads = Files.list(tasks)) {
            for (Path thread : threads.toList()) {
                String stat = Files.readString(thread.resolve("stat"));
                // The state follows the name, which stands in parentheses and may hold anything.
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
            return true;
        } catch (IOException aThreadEnded) {
            return !isAlive();
        }
    }

    private String awaitLine(Predicate<String> wanted, Duration patience, String description)
            throws InterruptedException {
        Optional<String> line = out.await(wanted, patience.toNanos());
        if (line.isPresent()) {
            return line.get();
        }
        // A child that closed its output is about to end, and its last words are the reason.
        if (out.hasEnded() && process.waitFor(OUTPUT_PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            awaitOutput();
        }
        throw failure("did not print " + description + " within " + patience);
    }

    // The child's remaining output; a grandchild that inherited the pipes may keep them open forever.
    private void awaitOutput() throws InterruptedException {
        out.awaitEnd(OUTPUT_PATIENCE_SECONDS, TimeUnit.SECONDS);
        err.awaitEnd(OUTPUT_PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private ChildFailedException failure(String what) {
        String state = process.isAlive() ? "still runs" : "ended with exit code " + process.exitValue();
        return new ChildFailedException(
                this + " " + what + "; it " + state + "\n--- its output:\n" + out.tail(TAIL_LINES)
                        + "\n--- its errors:\n" + err.tail(TAIL_LINES),
                null);
    }

    /** The configuration of a child; the JVM options favour a quick start over throughput and can be overridden. */
    public static final class Builder {
        private final Class<?> mainClass;
        private final List<String> jvmArguments =
                new ArrayList<>(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
        private final List<String> arguments = new ArrayList<>();
        private final Map<String, String> environment = new LinkedHashMap<>();
        private Path javaHome = Path.of(System.getProperty("java.home"));
        private @Nullable Path directory;

        private Builder(Class<?> mainClass) {
            this.mainClass = mainClass;
        }

        /** A system property of the child; it inherits none. */
        public Builder property(String key, String value) {
            return jvmArgument("-D" + key + "=" + value);
        }

        /** An option of the {@code java} command, for example {@code -Xmx64m}. */
        public Builder jvmArgument(String argument) {
            jvmArguments.add(argument);
            return this;
        }

        /** Arguments of the main method. */
        public Builder arguments(String... more) {
            arguments.addAll(List.of(more));
            return this;
        }

        /** A variable of the child's environment, which is otherwise this JVM's. */
        public Builder environment(String variable, String value) {
            environment.put(variable, value);
            return this;
        }

        /** The JDK to run, instead of the one that runs this. */
        public Builder javaHome(Path home) {
            javaHome = home;
            return this;
        }

        /** The working directory. */
        public Builder directory(Path newDirectory) {
            directory = newDirectory;
            return this;
        }

        /**
         * Starts the child; {@link ChildJvm#awaitLine} waits until it is as far as the test needs.
         *
         * @throws ChildFailedException if the process cannot be started
         */
        public ChildJvm start() {
            List<String> command = new ArrayList<>();
            command.add(javaHome.resolve("bin").resolve("java").toString());
            command.addAll(jvmArguments);
            command.add("-cp");
            command.add(classPath());
            command.add(mainClass.getName());
            command.addAll(arguments);
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().putAll(environment);
            if (directory != null) {
                builder.directory(directory.toFile());
            }
            try {
                return new ChildJvm(mainClass.getSimpleName(), ProcessGuard.start(builder));
            } catch (IOException e) {
                throw new ChildFailedException("cannot start " + mainClass.getName() + ": " + e.getMessage(), e);
            }
        }

        // The child knows no modules: what this JVM has on its module path is put on the class path, and the folder of
        // the
        // main class too, since test classes patched into a module are on neither.
        private String classPath() {
            Set<String> entries = new LinkedHashSet<>();
            folderOf(mainClass, entries);
            for (String property : List.of("java.class.path", "jdk.module.path")) {
                String path = System.getProperty(property, "");
                if (!path.isEmpty()) {
                    entries.addAll(List.of(path.split(File.pathSeparator, -1)));
                }
            }
            return String.join(File.pathSeparator, entries);
        }

        private static void folderOf(Class<?> type, Set<String> entries) {
            String resource = type.getName().replace('.', '/') + ".class";
            URL url = type.getResource("/" + resource);
            if (url == null || !url.getProtocol().equals("file")) {
                return;
            }
            try {
                String file = Path.of(url.toURI()).toString();
                entries.add(file.substring(0, file.length() - resource.length()));
            } catch (URISyntaxException e) {
                throw new IllegalStateException("'" + url + "' is no path", e);
            }
        }
    }
}
