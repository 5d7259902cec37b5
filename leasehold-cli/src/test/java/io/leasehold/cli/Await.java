package io.leasehold.cli;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for an action of another process, for at most {@link StartedCli#PATIENCE}. */
public final class Await {

    private static final long POLL_MILLIS = 20;

    private Await() {}

    public static void until(Supplier<String> what, BooleanSupplier condition) {
        long startedAtNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - startedAtNanos > StartedCli.PATIENCE.toNanos()) {
                throw new AssertionError("in vain waited for: " + what.get());
            }
            pause();
        }
    }

    public static void until(String what, BooleanSupplier condition) {
        until(() -> what, condition);
    }

    private static void pause() {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
