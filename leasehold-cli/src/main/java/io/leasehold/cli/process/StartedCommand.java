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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A started command, and the process above it that adopts orphans, if there is one. That process reports the command's pid and
 * exit code in its title, since its standard streams are the command's.
 */
final class StartedCommand {

    private static final Pattern TITLE = Pattern.compile("leasehold-reaper (\\d+) (?:runs|exit (\\d+))\\.");
    private static final long POLL_MILLIS = 20;

    private final Process process;
    /** Remains the id of the command and its group after the command has ended and its handle is gone. */
    private final long pid;

    private final @Nullable ProcessHandle root;
    private final boolean adopted;
    private final boolean ownGroup;
    private final ProcessTable table;

    private StartedCommand(Process process, long pid, boolean adopted, boolean ownGroup, ProcessTable table) {
        this.process = process;
        this.table = table;
        this.pid = pid;
        this.root = adopted ? ProcessHandle.of(pid).orElse(null) : process.toHandle();
        this.adopted = adopted;
        this.ownGroup = ownGroup;
    }

    /**
     * Starts it.
     *
     * @param ownSession whether it leads its own session and group
     */
    static StartedCommand start(
            Enclosure enclosure,
            ExactStart starts,
            SessionStarter sessions,
            boolean ownSession,
            TypedWords words,
            RunMark mark,
            Map<String, @Nullable String> environment,
            ProcessTable table)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder().inheritIO();
        Map<String, @Nullable String> changes = new HashMap<>(environment);
        mark.addTo(builder.environment().get(RunMark.VARIABLE), changes);
        if (enclosure instanceof Enclosure.Adopted) {
            starts.below(builder, ownSession, changes, words);
            Process adopter = builder.start();
            return new StartedCommand(adopter, childOf(adopter), true, ownSession, table);
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
        return new StartedCommand(process, process.pid(), false, ownSession, table);
    }

    private static List<String> values(Map<String, @Nullable String> changes) {
        return changes.values().stream()
                .filter(Objects::nonNull)
                .map(String::valueOf)
                .toList();
    }

    /**
     * Starts the command in this control group, which this process enters for that. If this process cannot leave it
     * again, it is spared when the group is ended.
     */
    private static Process startIn(ControlGroup group, ProcessBuilder builder) throws IOException {
        group.enter();
        try {
            return builder.start();
        } finally {
            try {
                group.leave();
            } catch (IOException stays) {
                // ControlGroup excludes this process from its lists and kills.
            }
        }
    }

    /** The command below the adopting process; the latter itself if it has ended already, and with it the command. */
    private static long childOf(Process adopter) {
        while (adopter.isAlive()) {
            Matcher title = title(adopter);
            if (title.lookingAt()) {
                return Long.parseLong(title.group(1));
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
        return adopter.pid();
    }

    private static Matcher title(Process adopter) {
        String text = "";
        try {
            Path file = Path.of("/proc", Long.toString(adopter.pid()), "cmdline");
            text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            // Its exit code reports it in this case.
        }
        return TITLE.matcher(text);
    }

    /** The id of the command itself. */
    long pid() {
        return pid;
    }

    /**
     * Whether the command itself has not ended. As a child of this process it is collected at its end. After the end of
     * the adopting process it is a child of process 1, which may collect nothing, like an application in a container:
     * then a handle reports it as alive, and the process table does not.
     */
    boolean isAlive() {
        return keepsId() && (!adopted || isInTable());
    }

    private boolean isInTable() {
        try {
            return table.row(pid).isPresent();
        } catch (IOException noTable) {
            return true;
        }
    }

    /** Whether the id is the command's: it lives, or has ended and was not collected, so that no other process can have it. */
    boolean keepsId() {
        return root != null && root.isAlive();
    }

    /** The command itself with its descendants. */
    Stream<ProcessHandle> family() {
        return root == null ? Stream.empty() : Stream.concat(Stream.of(root), root.descendants());
    }

    /** The process that adopts orphans, or null. */
    @Nullable
    ProcessHandle adopter() {
        return adopted ? process.toHandle() : null;
    }

    /** Whether the command leads its own process group. */
    boolean ownGroup() {
        return ownGroup;
    }

    /** Whether the adopting process ended before the command, so that orphans escape. */
    boolean isAdopterGone() {
        return adopted && !process.isAlive() && isAlive();
    }

    /** Waits for the end of the command or of the adopting process; returns the exit code, or 128 + n after signal n. */
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
        // Do not wait by its handle, which waits until the command is collected.
        while (isAdopterGone()) {
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
        return process.exitValue();
    }

    /** Registers an action for the end of the adopting process, on a separate thread. */
    void onAdopterEnd(Runnable action) {
        if (adopted) {
            process.onExit().thenRun(action);
        }
    }

    /** Ends the adopting process. */
    void close() {
        if (adopted) {
            process.destroyForcibly();
        }
    }
}
