package io.leasehold.cli;

import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TypedArguments;
import io.leasehold.cli.process.TypedWords;
import java.util.List;
import java.util.stream.Stream;

/**
 * A second entry point, for the launcher: performs the usual kinds of {@code run} one after the other, so that a JVM started with
 * {@code -XX:DumpLoadedClassList} lists what each of them needs.
 */
final class Rehearsal {

    /** They differ in how they wait. The second and third find a store that is in use. */
    private static final List<List<String>> RUNS = List.of(
            List.of("run", "rehearsal"),
            List.of("run", "--wait=10s", "rehearsal"),
            List.of("run", "-q", "-n", "rehearsal"));

    private Rehearsal() {}

    /** Performs them at the store of the environment; exits with the highest of their exit codes. */
    public static void main(String[] none) {
        Terminal terminal = Terminal.standard();
        int code = 0;
        for (List<String> run : RUNS) {
            String[] words = Stream.concat(run.stream(), Stream.of("--", "/bin/sh", "-c", ":"))
                    .toArray(String[]::new);
            code = Math.max(
                    code,
                    Main.run(
                            words,
                            new Invocation(
                                    terminal,
                                    TypedArguments.environment(System.getenv()),
                                    TypedWords.ofTexts(List.of(words)))));
        }
        System.exit(code);
    }
}
