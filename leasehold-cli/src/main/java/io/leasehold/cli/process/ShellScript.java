package io.leasehold.cli.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts the scripts in the resources of this package. */
final class ShellScript {

    private ShellScript() {}

    /**
     * Starts a script in a process that belongs to Leasehold and not to the command: without the mark of this run or an
     * outer one, by which it would be ended with the command, and without a password in a store's URI.
     *
     * @param name the name in process lists; the text of the script travels in the environment to keep that list
     *     readable
     */
    static Process start(SessionStarter sessions, String resource, String name, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", "eval \"$script\"", name));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(sessions.inOwnSession(command))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .directory(Path.of("/").toFile());
        builder.environment().keySet().removeIf(variable -> variable.startsWith("LEASEHOLD_"));
        builder.environment().put("script", read(resource));
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
