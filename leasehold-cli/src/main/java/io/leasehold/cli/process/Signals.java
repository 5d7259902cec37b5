package io.leasehold.cli.process;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Sends signals by name, through the shell's own {@code kill}: the JDK can send only TERM and KILL. */
final class Signals {

    private static final String SCRIPT =
            "name=$1; shift; for target; do kill -s \"$name\" -- \"$target\"; done 2>/dev/null";
    private static final int PATIENCE_SECONDS = 5;

    /** Sends the signal to each target, a pid or a negative process group; those that have ended are ignored. */
    void send(String name, List<Long> targets) throws IOException {
        if (targets.isEmpty()) {
            return;
        }
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", SCRIPT, "sh", name));
        targets.forEach(target -> command.add(Long.toString(target)));
        Process kill = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.PIPE)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        kill.getOutputStream().close();
        try {
            if (!kill.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                kill.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
