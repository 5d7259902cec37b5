package io.leasehold.testkit.tck;

import io.leasehold.LockName;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A child JVM that runs {@link HolderMain}: holds one lock until it is told to release it, or is killed. */
final class HolderJvm implements AutoCloseable {

    private final Process process;
    private final BufferedReader output;
    private final Writer input;
    private final List<String> otherLines = new ArrayList<>();

    private HolderJvm(Process process) {
        this.process = process;
        this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        this.input = process.outputWriter(StandardCharsets.UTF_8);
    }

    /**
     * What the child holds.
     *
     * @param askedAtNanos the machine's monotonic clock before it asked
     * @param fencingToken its token
     */
    record Held(long askedAtNanos, long fencingToken) {}

    static HolderJvm start(String uri, LockName name, Duration ttl, boolean renew) throws IOException {
        String classPath = String.join(
                File.pathSeparator,
                Stream.of("java.class.path", "jdk.module.path")
                        .map(System::getProperty)
                        .filter(path -> path != null && !path.isEmpty())
                        .toList());
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath,
                HolderMain.class.getName(),
                name.text(),
                Long.toString(ttl.toMillis()),
                Boolean.toString(renew));
        // In the environment, where other users of the machine cannot read it.
        builder.environment().put(HolderMain.URI_VARIABLE, uri);
        return new HolderJvm(builder.redirectErrorStream(true).start());
    }

    long pid() {
        return process.pid();
    }

    /** Waits until the child holds the lock. */
    Held held() throws IOException {
        String words = line(HolderMain.HELD);
        int space = words.indexOf(' ');
        return new Held(Long.parseLong(words.substring(0, space)), Long.parseLong(words.substring(space + 1)));
    }

    /** Tells the child to release, and waits for the outcome. */
    String release() throws IOException {
        input.write("release\n");
        input.flush();
        return line(HolderMain.RELEASED);
    }

    /** Waits for a line with this first word, and returns the rest of it. */
    private String line(String first) throws IOException {
        for (@Nullable String line; (line = output.readLine()) != null; ) {
            if (Objects.requireNonNull(line).startsWith(first + " ")) {
                return line.substring(first.length() + 1);
            }
            otherLines.add(line);
        }
        throw new AssertionError("the child JVM ended before it said " + first + ":\n" + String.join("\n", otherLines));
    }

    /** Ends it as SIGKILL does. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() throws IOException, InterruptedException {
        kill();
        output.close();
        try {
            input.close();
        } catch (IOException e) {
            // The pipe to a killed process is broken: that is what closing is for.
            return;
        }
    }
}
