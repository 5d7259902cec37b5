package io.leasehold.verify.chaos;

import io.leasehold.testkit.process.Signal;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server program with the processes that it starts for its connections: paused, continued and killed together. Ends
 * with this JVM at the latest, however that ends.
 */
final class ServerTree implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ServerTree.class);
    private static final Duration END_PATIENCE = Duration.ofSeconds(60);

    /** Reads a pipe whose only writer is this JVM; an end without a line means that this JVM has ended. */
    private static final String GUARD = """
            trap '' INT TERM HUP
            PATH=/usr/bin:/bin
            read -r ended && exit 0
            children=
            for stat in /proc/[0-9]*/stat; do
              read -r pid name state parent rest 2>/dev/null <"$stat" && [ "$parent" = "$1" ] && children="$children $pid"
            done
            kill -KILL "$1" $children
            """;

    private final Process root;
    private final Process guardian;
    private final Path log;

    private ServerTree(Process root, Process guardian, Path log) {
        this.root = root;
        this.guardian = guardian;
        this.log = log;
    }

    static ServerTree start(Path log, List<String> command) {
        try {
            Process root = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .redirectInput(new File("/dev/null"))
                    .start();
            Process guardian = new ProcessBuilder("/bin/sh", "-c", GUARD, "sh", Long.toString(root.pid()))
                    .directory(new File("/"))
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new ServerTree(root, guardian, log);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + command.get(0), e);
        }
    }

    boolean isAlive() {
        return root.isAlive();
    }

    /** The end of its log. */
    String log() {
        try {
            List<String> lines = Files.readAllLines(log, StandardCharsets.UTF_8);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
        } catch (IOException e) {
            return "(no log: " + e.getMessage() + ")";
        }
    }

    /** SIGSTOP: the root first, so that it starts no more processes. */
    void freeze() throws InterruptedException {
        Signal.STOP.sendTo(root.pid());
        for (long child : children()) {
            send(Signal.STOP, child);
        }
    }

    /** SIGCONT. */
    void thaw() throws InterruptedException {
        for (long child : children()) {
            send(Signal.CONT, child);
        }
        send(Signal.CONT, root.pid());
    }

    /** SIGKILL, like a failing machine; returns when all processes are gone. */
    void kill() throws InterruptedException {
        if (root.isAlive()) {
            freeze();
            List<ProcessHandle> all =
                    new ArrayList<>(root.toHandle().descendants().toList());
            all.add(root.toHandle());
            all.forEach(ProcessHandle::destroyForcibly);
            for (ProcessHandle process : all) {
                awaitEnd(process);
            }
        }
        dismissGuardian();
    }

    private static void awaitEnd(ProcessHandle process) throws InterruptedException {
        long start = System.nanoTime();
        while (process.isAlive()) {
            if (System.nanoTime() - start > END_PATIENCE.toNanos()) {
                throw new IllegalStateException("process " + process.pid() + " did not end after SIGKILL");
            }
            TimeUnit.MILLISECONDS.sleep(2);
        }
    }

    private List<Long> children() {
        return root.toHandle().descendants().map(ProcessHandle::pid).toList();
    }

    /** Tolerates a process that is ending by itself. */
    private static void send(Signal signal, long pid) throws InterruptedException {
        try {
            signal.sendTo(pid);
        } catch (IllegalStateException e) {
            LOG.debug("process {} has ended", pid, e);
        }
    }

    private void dismissGuardian() throws InterruptedException {
        try (OutputStream lifeline = guardian.getOutputStream()) {
            lifeline.write('\n');
        } catch (IOException e) {
            LOG.debug("the guardian has ended", e);
        }
        guardian.waitFor();
    }

    @Override
    public void close() {
        try {
            kill();
        } catch (InterruptedException e) {
            root.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
