package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs the work of {@code holdWhile}. Submission never blocks the caller, which may be the thread of all replies. */
interface Workers {

    /** Runs the work, or passes on the reason why no thread is available. */
    void execute(Runnable work, Consumer<? super Throwable> refused);

    /** Returns the threads of the user's executor, or, if that is null, those of the runtime. */
    static Workers of(LockRuntime runtime, @Nullable Executor given) {
        if (given == null) {
            return (work, refused) -> submit(runtime::executeWork, work, refused);
        }
        // The user's executor may run the work on the submitting thread, or wait for capacity.
        return (work, refused) -> Futures.execute(runtime, () -> submit(given, work, refused));
    }

    private static void submit(Executor executor, Runnable work, Consumer<? super Throwable> refused) {
        try {
            executor.execute(work);
        } catch (RuntimeException | Error e) {
            refused.accept(e);
        }
    }
}
