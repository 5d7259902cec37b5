package io.leasehold.quorum;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * The exports and releases of one owner token: its session is forgotten after the last of them. If a node was given up, the
 * caller may end the owner token again. That must name the highest ballot again, so the session is kept for a while.
 *
 * <p>{@link #follow} is called within the serial steps of the session.
 */
final class OwnerEnds {

    private final LockRuntime runtime;
    private final SerialExecutor serial;
    private final Runnable forget;
    /** The number of ends that have begun. */
    private long begun;

    OwnerEnds(LockRuntime runtime, SerialExecutor serial, Runnable forget) {
        this.runtime = runtime;
        this.serial = serial;
        this.forget = forget;
    }

    /** Forgets the session once this end is over, unless a later one begins before. */
    void follow(CompletableFuture<Void> over, BooleanSupplier isGivenUpAtANode, long keptNanos) {
        long mine = ++begun;
        over.thenRun(() -> {
            if (isGivenUpAtANode.getAsBoolean()) {
                runtime.schedule(keptNanos, () -> forgetAfter(mine));
            } else {
                forgetAfter(mine);
            }
        });
    }

    private void forgetAfter(long end) {
        serial.run(() -> {
            if (end == begun) {
                forget.run();
            }
        });
    }
}
