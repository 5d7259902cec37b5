package io.leasehold.cli;

import io.leasehold.cli.output.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * What the program says to a verb that starts no command, run in this process: a start of a JVM takes a second of a
 * processor.
 *
 * @param exitCode its exit code
 * @param out its standard output
 * @param err its standard error
 */
record Answer(int exitCode, String out, String err) {

    /** Runs the program in this process, with these variables as its whole environment. */
    static Answer of(Map<String, String> environment, String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Terminal terminal = new Terminal(
                new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
        int code = Main.run(arguments, new Invocation(terminal, environment));
        return new Answer(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }
}
