package io.leasehold.cli.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts the scripts that lie beside this class as resources. */
final class ShellScript {

    private ShellScript() {}

    /** The command that runs a script; the name is what a process list shows. */
    static List<String> command(String resource, String name, String... arguments) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", read(resource), name));
        command.addAll(List.of(arguments));
        return command;
    }

    /**
     * A process that belongs to us and not to the command: without this run's mark or an outer run's, by which it would be
     * ended with the command, and without a password in a store's URI.
     */
    static Process start(List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .directory(Path.of("/").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("LEASEHOLD_"));
        return builder.start();
    }

    private static String read(String resource) {
        try (InputStream in = ShellScript.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("the resource " + resource + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
