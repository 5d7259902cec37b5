package io.leasehold.demo;

import java.io.IOException;
import java.util.Map;

/** Whether standard output is a terminal that shows colours. */
final class Colours {

    private Colours() {}

    /** Asks the shell, which knows on every system and every JDK; {@code NO_COLOR} and a dumb terminal are respected. */
    static boolean wanted(Map<String, String> environment) throws InterruptedException {
        if (!environment.getOrDefault("NO_COLOR", "").isEmpty()
                || environment.getOrDefault("TERM", "dumb").equals("dumb")) {
            return false;
        }
        try {
            Process test = new ProcessBuilder("/bin/sh", "-c", "test -t 1")
                    .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return test.waitFor() == 0;
        } catch (IOException noShell) {
            return false;
        }
    }
}
