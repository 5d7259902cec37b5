package io.leasehold.cli;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The program as a separate process, with its output. */
public final class StartedCli implements AutoCloseable {

    /** Far longer than any start takes on a busy machine. */
    public static final Duration PATIENCE = Duration.ofMinutes(3);

    /** What restores the default of signals that are ignored, if this system can do that. */
    static final List<String> SIGNALS_AS_USUAL =
            shell("env --default-signal true && echo yes").strip().equals("yes")
                    ? List.of("env", "--default-signal")
                    : List.of();

    /** A JVM for short runs. */
    static final List<String> JVM = List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx256m");

    private final Process process;
    private final Path out;
    private final Path err;

    private StartedCli(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    /** The settings with which a test starts the program. */
    public static final class Setup {
        private final Path directory;
        private final Map<String, String> environment = new HashMap<>();
        private List<String> before = List.of();
        private List<String> classPath = FastStart.options();
        private Path input = Path.of("/dev/null");

        public Setup(Path directory) {
            this.directory = directory;
        }

        public Setup with(String variable, String value) {
            environment.put(variable, value);
            return this;
        }

        Setup input(Path file) {
            input = file;
            return this;
        }

        /** Starts the program by these words, which run the following words as a command. */
        Setup by(List<String> words) {
            before = words;
            return this;
        }

        /** Starts the program of this class path instead of the current one. */
        Setup of(String otherClassPath) {
            classPath = List.of("-cp", otherClassPath);
            return this;
        }

        public StartedCli start(String... arguments) {
            List<String> command = new ArrayList<>(before);
            command.addAll(javaCommand(classPath));
            command.addAll(List.of(arguments));
            return startCommand(command);
        }

        /** A script that becomes the program. */
        StartedCli startScript(String script) {
            return startCommand(List.of(script));
        }

        private StartedCli startCommand(List<String> command) {
            try {
                Path out = Files.createTempFile(directory, "out", ".txt");
                Path err = Files.createTempFile(directory, "err", ".txt");
                ProcessBuilder builder = new ProcessBuilder(command)
                        .directory(directory.toFile())
                        .redirectInput(input.toFile())
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile());
                builder.environment().keySet().removeIf(name -> name.startsWith("LEASEHOLD"));
                builder.environment().put("HOME", directory.toString());
                builder.environment().putAll(environment);
                return new StartedCli(builder.start(), out, err);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Runs a verb that starts no command in this process: {@link Answer}. */
        Answer ask(String... arguments) {
            Map<String, String> settings = new HashMap<>(environment);
            settings.putIfAbsent("HOME", directory.toString());
            return Answer.of(settings, arguments);
        }

        /** Starts it and waits for its end. */
        public StartedCli run(String... arguments) {
            StartedCli started = start(arguments);
            started.exitCode();
            return started;
        }
    }

    /**
     * The command that starts the program, without a shell, so that the pid is the JVM's. If these tests were started
     * with ignored signals, as in the background of a script, the program would ignore them, too: {@code env} resets
     * that, if it can.
     */
    static List<String> javaCommand() {
        return javaCommand(FastStart.options());
    }

    private static List<String> javaCommand(List<String> classPath) {
        List<String> command = new ArrayList<>(SIGNALS_AS_USUAL);
        command.addAll(JVM);
        command.addAll(classPath);
        command.add("io.leasehold.cli.Main");
        return command;
    }

    public long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    public int exitCode() {
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("still running after " + PATIENCE + "; stderr: " + err());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
        return process.exitValue();
    }

    public String out() {
        return read(out);
    }

    public String err() {
        return read(err);
    }

    List<String> errLines() {
        return err().lines().toList();
    }

    /** The descendants of the started process with this word among their arguments, or as their title. */
    List<ProcessHandle> below(String word) {
        return process.descendants()
                .filter(below -> readAll("/proc/" + below.pid() + "/cmdline").contains(word))
                .toList();
    }

    private static String readAll(String file) {
        try {
            return Files.readString(Path.of(file), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            return "";
        }
    }

    /** Sends a signal to the program alone. */
    public void signal(String name) {
        shell("kill -s " + name + " " + pid());
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    static String shell(String script) {
        try {
            Process shell = new ProcessBuilder("/bin/sh", "-c", script)
                    .redirectErrorStream(true)
                    .start();
            shell.getOutputStream().close();
            String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            shell.waitFor();
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A script in the test's directory. */
    static String script(Path directory, String name, String body) {
        try {
            Path file = directory.resolve(name);
            Files.writeString(file, "#!/bin/sh\n" + body + "\n");
            File script = file.toFile();
            if (!script.setExecutable(true)) {
                throw new AssertionError("cannot make " + file + " executable");
            }
            return file.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A search path with all commands of that of this process, except this one. */
    public static String pathWithout(String command) {
        Path commands = Path.of(
                        "target",
                        "without-" + command + "-" + ProcessHandle.current().pid())
                .toAbsolutePath();
        shell("mkdir -p '" + commands + "'; IFS=:; for d in $PATH; do ln -s \"$d\"/* '" + commands
                + "' 2>/dev/null; done; rm -f '" + commands.resolve(command) + "'");
        return commands.toString();
    }

    static void write(OutputStream out, String text) {
        try {
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
