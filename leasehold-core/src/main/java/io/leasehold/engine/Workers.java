package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Where the work of {@code holdWhile} runs. Handing it over costs the caller, which may be the thread of all replies, no wait. */
interface Workers {

    /** Runs the work, or tells why there is no thread for it. */
    void execute(Runnable work, Consumer<? super Throwable> refused);

    /** Those of the user's executor, or, if that is null, the runtime's own threads. */
    static Workers of(LockRuntime runtime, @Nullable Executor given) {
        if (given == null) {
            return (work, refused) -> submit(runtime::executeWork, work, refused);
        }
        // An executor of the user's may run the work where it is submitted, or wait for room.
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
