package io.leasehold.simulator.proxy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** The requests of other threads to a proxy's loop. Any thread may use it. */
final class LoopTasks {
    private final List<Task<?>> waiting = new ArrayList<>();
    private boolean over;

    /** A request of another thread, which receives the result only when its effect has reached the sockets. */
    static final class Task<T> {
        private final Supplier<T> action;
        private final CompletableFuture<T> result = new CompletableFuture<>();
        private Runnable completion = () -> {};

        Task(Supplier<T> action) {
            this.action = action;
        }

        void run() {
            try {
                T value = action.get();
                completion = () -> result.complete(value);
            } catch (RuntimeException | Error e) {
                completion = () -> result.completeExceptionally(e);
            }
        }

        void tell() {
            completion.run();
        }

        private T result() {
            try {
                return result.join();
            } catch (CompletionException e) {
                throw e.getCause() instanceof RuntimeException cause ? cause : e;
            }
        }
    }

    /** Lets the loop run this, and waits until its effect on sockets has reached the kernel. */
    <T> T call(Supplier<T> action, Runnable wakeUp) {
        Task<T> task = new Task<>(action);
        synchronized (waiting) {
            if (over) {
                // The loop has ended, and only the caller uses its state.
                task.run();
                task.tell();
            } else {
                waiting.add(task);
            }
        }
        wakeUp.run();
        return task.result();
    }

    /** Takes the pending requests. */
    List<Task<?>> take() {
        synchronized (waiting) {
            List<Task<?>> taken = List.copyOf(waiting);
            waiting.clear();
            return taken;
        }
    }

    /** Ends the queue with the loop: remaining tasks run here, and later tasks run on the calling thread. */
    void end() {
        List<Task<?>> left;
        synchronized (waiting) {
            over = true;
            left = take();
        }
        left.forEach(Task::run);
        left.forEach(Task::tell);
    }
}
