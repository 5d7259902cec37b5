package io.leasehold.testkit.process;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts child processes that cannot outlive this JVM, even when it is killed with SIGKILL or the child is frozen.
 *
 * <p>Next to each child runs a guardian: a shell that blocks reading a pipe whose only writer is this JVM, and kills the
 * child when the kernel closes that pipe. The child itself waits for a line on its standard input, which it gets only after
 * the guardian knows its pid, and leaves if this JVM dies before; then it becomes the command by {@code exec}. So there is
 * no moment at which it is unguarded. (Linux's parent-death signal would fire at the end of the <em>thread</em> that
 * forked.)
 */
final class ProcessGuard {
    private static final String WAIT_THEN_EXEC = "read -r go && exec \"$@\"";
    // Ctrl-C reaches the whole process group; the guardian has to survive it. A child that ended is reported by a line,
    // so
    // that a pid that may belong to another process by now is never killed.
    private static final String GUARD = """
            trap '' INT TERM HUP
            read -r pid || exit 0
            read -r ended || kill -KILL "$pid"
            """;

    private ProcessGuard() {}

    /** Starts the command of the builder, whose standard input must be a pipe. */
    static Process start(ProcessBuilder builder) throws IOException {
        Process guardian = new ProcessBuilder("/bin/sh", "-c", GUARD)
                .directory(new File("/"))
                .redirectOutput(Redirect.DISCARD)
                .redirectError(Redirect.DISCARD)
                .start();
        OutputStream lifeline = guardian.getOutputStream();
        try {
            List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", WAIT_THEN_EXEC, "sh"));
            command.addAll(builder.command());
            Process child = builder.command(command).start();
            writeLine(lifeline, Long.toString(child.pid()));
            writeLine(child.getOutputStream(), "go");
            var unused = child.onExit().thenRun(() -> dismiss(lifeline));
            return child;
        } catch (IOException | RuntimeException e) {
            // Ending the pipe without the second line makes the guardian kill whatever was started.
            lifeline.close();
            throw e;
        }
    }

    private static void writeLine(OutputStream out, String line) throws IOException {
        out.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    private static void dismiss(OutputStream lifeline) {
        try (lifeline) {
            writeLine(lifeline, "ended");
        } catch (IOException guardianIsGone) {
            // The guardian was killed; there is nothing left to guard.
        }
    }
}
