package io.leasehold.cli.process;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * Prepares a {@link GuardedCommand} on a thread of its own, while its caller connects to the store: each takes about half of a
 * start. For one caller.
 */
public final class Preparation implements AutoCloseable {

    private final FutureTask<GuardedCommand> task;

    private Preparation(FutureTask<GuardedCommand> task) {
        this.task = task;
    }

    /** Begins. */
    public static Preparation begin(GuardedCommand.Settings settings, CommandLookup lookup) {
        FutureTask<GuardedCommand> task = new FutureTask<>(() -> GuardedCommand.prepare(settings, lookup));
        Thread thread = new Thread(task, "leasehold-prepare");
        thread.setDaemon(true);
        thread.start();
        return new Preparation(task);
    }

    /**
     * Waits for the command.
     *
     * @throws IOException as {@link GuardedCommand#prepare}
     */
    public GuardedCommand await() throws IOException, InterruptedException {
        try {
            return task.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException noProcess) {
                throw noProcess;
            }
            throw new IllegalStateException("cannot prepare the command: " + e.getCause(), e.getCause());
        }
    }

    /** Closes the command, as soon as it is prepared. */
    @Override
    public void close() {
        GuardedCommand command = prepared();
        if (command != null) {
            command.close();
        }
    }

    /** The command; null if there is none, which the caller has learned, or does not need to know after another failure. */
    private @Nullable GuardedCommand prepared() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException none) {
                    return null;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
