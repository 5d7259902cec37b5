package io.leasehold.demo;

import io.leasehold.demo.actor.Words;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A process that performs one step at a time and answers each. It can be stopped between any two, and killed; if this process
 * ends while it is stopped, it is killed. For one thread.
 */
final class Actor {

    /** Far longer than any step on a busy machine, including its patience. */
    private static final Duration PATIENCE = Duration.ofSeconds(150);

    private static final long POLL_MILLIS = 100;

    /**
     * Kills the stopped process when its input ends, unless a line arrives first; it ignores the keyboard's signals.
     */
    private static final String GUARD = "trap '' INT TERM HUP; kill -STOP \"$1\" && echo stopped;"
            + " read -r go && kill -CONT \"$1\" || kill -KILL \"$1\"";

    private final WorkerProcess process;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
    private @Nullable Process guard;

    Actor(WorkerProcess process) {
        this.process = process;
        Thread thread = new Thread(this::listen, "demo-answers-" + process.name());
        thread.setDaemon(true);
        thread.start();
    }

    private void listen() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.answers(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                answers.add(line);
            }
        } catch (IOException gone) {
            // The method that waits for the answer judges whether it may be gone.
        }
    }

    String name() {
        return process.name();
    }

    long pid() {
        return process.pid();
    }

    /** Sends a step; the answer follows. */
    void tell(String step) {
        process.tell(step);
    }

    /** The answer to the last step. */
    String answer() throws DemoFailure, IOException, InterruptedException {
        long sinceNanos = System.nanoTime();
        while (true) {
            String answer = answers.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
            if (answer != null) {
                return answer;
            }
            process.requireAlive();
            if (System.nanoTime() - sinceNanos > PATIENCE.toNanos()) {
                throw new DemoFailure("process " + name() + " did not answer for " + PATIENCE.toSeconds() + " s");
            }
        }
    }

    /** Whether the answer has arrived. */
    boolean hasAnswered() {
        return !answers.isEmpty();
    }

    /** Sends a step and waits for the answer. */
    String ask(String step) throws DemoFailure, IOException, InterruptedException {
        tell(step);
        return answer();
    }

    /** SIGSTOP: the process pauses, and does not notice. */
    void stop() throws DemoFailure, IOException {
        Process stopper = new ProcessBuilder("/bin/sh", "-c", GUARD, "sh", Long.toString(pid()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        guard = stopper;
        BufferedReader said = stopper.inputReader(StandardCharsets.US_ASCII);
        if (!"stopped".equals(said.readLine())) {
            throw new DemoFailure("process " + name() + " cannot be stopped");
        }
    }

    /** SIGCONT: the process continues without noticing the pause. */
    void resume() throws IOException, InterruptedException {
        Process stopper = guard;
        if (stopper == null) {
            throw new IllegalStateException(name() + " was not stopped");
        }
        guard = null;
        try (OutputStream lifeline = stopper.getOutputStream()) {
            lifeline.write('\n');
        }
        stopper.waitFor();
    }

    /** SIGKILL. */
    void kill() throws InterruptedException {
        process.kill();
    }

    /** Lets it end in order. */
    void leave() throws DemoFailure, IOException, InterruptedException {
        if (!process.isKilled()) {
            ask(Words.LEAVE);
            process.awaitEnd(PATIENCE.toSeconds());
        }
    }
}
