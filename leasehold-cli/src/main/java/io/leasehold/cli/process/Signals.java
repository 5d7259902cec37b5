package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Sends signals by name, through the shell's own {@code kill}: the JDK can send only TERM and KILL. */
final class Signals {

    /** No signal: only asks whether one could be sent. */
    static final String NONE = "0";

    private static final String SCRIPT =
            "name=$1; shift; for target; do kill -s \"$name\" -- \"$target\" 2>/dev/null || echo \"$target\"; done";
    private static final int PATIENCE_SECONDS = 5;

    /**
     * Sends the signal to each target, a pid or a negative process group.
     *
     * @return the targets to which it could not be sent: they have ended, or run as another user
     */
    List<Long> send(String name, List<Long> targets) throws IOException {
        if (targets.isEmpty()) {
            return List.of();
        }
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", SCRIPT, "sh", name));
        targets.forEach(target -> command.add(Long.toString(target)));
        Process kill = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.PIPE)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        kill.getOutputStream().close();
        try {
            if (!kill.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                kill.destroyForcibly();
                return List.of();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
        String refused = new String(kill.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        return refused.lines().map(Long::valueOf).toList();
    }
}
