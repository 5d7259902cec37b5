package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A command that was started, and the process above it that adopts orphans, if there is one. That process tells by its title
 * which pid the command has and how it ended, since its standard streams are the command's.
 */
final class StartedCommand {

    private static final Pattern TITLE = Pattern.compile("leasehold-reaper (\\d+) (?:runs|exit (\\d+))\\.");
    private static final long POLL_MILLIS = 20;

    private final Process process;
    private final ProcessHandle root;
    private final boolean adopted;
    private final boolean ownGroup;

    private StartedCommand(Process process, ProcessHandle root, boolean adopted, boolean ownGroup) {
        this.process = process;
        this.root = root;
        this.adopted = adopted;
        this.ownGroup = ownGroup;
    }

    /**
     * Starts it.
     *
     * @param ownSession whether it is to lead a session and group of its own
     */
    static StartedCommand start(
            Enclosure enclosure,
            ExactStart starts,
            SessionStarter sessions,
            boolean ownSession,
            TypedWords words,
            RunMark mark,
            Map<String, @Nullable String> environment)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder().inheritIO();
        Map<String, @Nullable String> changes = new HashMap<>(environment);
        mark.addTo(builder.environment().get(RunMark.VARIABLE), changes);
        if (enclosure instanceof Enclosure.Adopted) {
            starts.below(builder, ownSession, changes, words);
            Process adopter = builder.start();
            return new StartedCommand(adopter, childOf(adopter), true, ownSession);
        }
        if (words.areSpelledByThisJvm() && TypedWords.ofTexts(values(changes)).areSpelledByThisJvm()) {
            builder.command(words.texts());
            changes.forEach((name, value) -> {
                if (value == null) {
                    builder.environment().remove(name);
                } else {
                    builder.environment().put(name, value);
                }
            });
        } else {
            starts.plain(builder, changes, words);
        }
        if (ownSession) {
            builder.command(sessions.inOwnSession(builder.command()));
        }
        Process process =
                enclosure instanceof Enclosure.Group enclosed ? startIn(enclosed.group(), builder) : builder.start();
        return new StartedCommand(process, process.toHandle(), false, ownSession);
    }

    private static List<String> values(Map<String, @Nullable String> changes) {
        return changes.values().stream()
                .filter(Objects::nonNull)
                .map(String::valueOf)
                .toList();
    }

    /** It begins where we are at that moment. Should we not come back, we are spared when the group is ended. */
    private static Process startIn(ControlGroup group, ProcessBuilder builder) throws IOException {
        group.enter();
        try {
            return builder.start();
        } finally {
            try {
                group.leave();
            } catch (IOException stays) {
                // ControlGroup leaves this process out wherever it looks or kills.
            }
        }
    }

    /** The command below the process that adopts; that process itself if it has ended already, and so has the command. */
    private static ProcessHandle childOf(Process adopter) {
        while (adopter.isAlive()) {
            Matcher title = title(adopter);
            if (title.lookingAt()) {
                return ProcessHandle.of(Long.parseLong(title.group(1))).orElse(adopter.toHandle());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
        return adopter.toHandle();
    }

    private static Matcher title(Process adopter) {
        String text = "";
        try {
            Path file = Path.of("/proc", Long.toString(adopter.pid()), "cmdline");
            text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            // Then its exit code says it.
        }
        return TITLE.matcher(text);
    }

    /** The command itself. */
    ProcessHandle root() {
        return root;
    }

    /** The process that adopts what loses its parent, or null. */
    @Nullable
    ProcessHandle adopter() {
        return adopted ? process.toHandle() : null;
    }

    /** Whether the command leads a process group of its own. */
    boolean ownGroup() {
        return ownGroup;
    }

    /** Whether the process that adopts was ended before the command: orphans get lost now. */
    boolean isDeserted() {
        return adopted && !process.isAlive() && root.isAlive();
    }

    /** Waits for the command's end, or for the end of the process that adopts; returns the exit code, or 128 + n after signal n. */
    int await() throws InterruptedException {
        if (!adopted) {
            return process.waitFor();
        }
        while (!process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
            Matcher title = title(process);
            if (title.lookingAt() && title.group(2) != null) {
                return Integer.parseInt(title.group(2));
            }
        }
        if (isDeserted()) {
            root.onExit().join();
        }
        return process.exitValue();
    }

    /** What to do when the process that adopts ends, on a thread of its own. */
    void onDesertion(Runnable action) {
        if (adopted) {
            process.onExit().thenRun(action);
        }
    }

    /** Nothing is to be adopted any more. */
    void close() {
        if (adopted) {
            process.destroyForcibly();
        }
    }
}
