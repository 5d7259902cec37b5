package io.leasehold.testkit.virtual;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a world; one of them runs at a time. A waiting strand runs the events of the world itself, so that the
 * turn is handed over only if another strand continues, or the owner has a reason to check its condition.
 */
final class Strands {

    private static final Executor CARRIERS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "virtual-world");
        thread.setDaemon(true);
        return thread;
    });

    private final VirtualWorld world;
    private final Thread owner = Thread.currentThread();
    private final Set<Strand> begun = new LinkedHashSet<>();
    /** Whose turn it is; null for the owner. */
    private volatile @Nullable Strand turn;

    /** Whether the owner, which waits for a condition, would continue with the next event. */
    private BooleanSupplier ownerGoesOn = () -> false;

    private @Nullable Throwable failure;
    private boolean ending;

    Strands(VirtualWorld world) {
        this.world = world;
    }

    Thread owner() {
        return owner;
    }

    boolean areEnding() {
        return ending;
    }

    boolean isTurnOf(Thread thread) {
        Strand now = turn;
        return thread == (now == null ? owner : now.carrier);
    }

    /** Runs events while the condition holds, which is asked before each. */
    void runWhile(BooleanSupplier goesOn) {
        refuseInsideAnEvent();
        BooleanSupplier outer = ownerGoesOn;
        ownerGoesOn = goesOn;
        try {
            while (goesOn.getAsBoolean()) {
                world.step();
            }
        } finally {
            ownerGoesOn = outer;
        }
    }

    private void refuseInsideAnEvent() {
        if (turn != null) {
            throw new IllegalStateException(
                    "an event of a world whose processes have threads must not wait; let a thread do so");
        }
    }

    /** The event that starts a strand, or ends its wait. */
    void goOn(Strand strand) {
        strand.woken = true;
        if (turn != strand) {
            handTo(strand);
        }
    }

    /**
     * Waits, if it is called on a strand.
     *
     * @return whether it was
     * @throws InterruptedException if the world ends
     */
    boolean awaitOnStrand(ProcessState process, CompletableFuture<?> future) throws InterruptedException {
        Strand strand = turn;
        if (ending) {
            if (!future.isDone()) {
                throw new InterruptedException("the virtual world has ended");
            }
            return true;
        } else if (strand == null) {
            return false;
        } else if (strand.waits) {
            refuseInsideAnEvent();
        } else if (!future.isDone() || process.isFrozen(world.elapsedNanos())) {
            strand.woken = false;
            strand.waits = true;
            future.whenComplete((result, error) -> wake(strand));
            letTheWorldGoOn(strand);
            strand.waits = false;
            if (ending && !future.isDone()) {
                throw new InterruptedException("the virtual world has ended");
            }
        }
        return true;
    }

    private void wake(Strand strand) {
        if (!ending) {
            world.enqueue(WorldEvent.Kind.CALLBACK, strand.process, world.elapsedNanos(), 0, () -> goOn(strand));
        }
    }

    private void letTheWorldGoOn(Strand strand) {
        while (!strand.woken) {
            boolean goesOn = false;
            try {
                goesOn = !ending && ownerGoesOn.getAsBoolean();
                if (goesOn) {
                    world.step();
                }
            } catch (RuntimeException | Error e) {
                failure = e;
                goesOn = false;
            }
            if (!goesOn && !strand.woken) {
                handTo(null);
            }
        }
    }

    /** Returns when it is this thread's turn again. */
    private void handTo(@Nullable Strand next) {
        Strand mine = turn;
        turn = next;
        if (next == null) {
            LockSupport.unpark(owner);
        } else if (next.carrier == null) {
            begun.add(next);
            CARRIERS.execute(() -> run(next));
        } else {
            LockSupport.unpark(next.carrier);
        }
        while (turn != mine) {
            LockSupport.park(this);
        }
        Throwable failed = failure;
        if (mine == null && failed != null) {
            failure = null;
            throw new IllegalStateException("a thread of the virtual world failed: " + failed, failed);
        }
    }

    private void run(Strand strand) {
        strand.carrier = Thread.currentThread();
        try {
            strand.task.run();
        } catch (RuntimeException | Error e) {
            if (!ending && !strand.process.hasCrashed()) {
                failure = e;
            }
        } finally {
            // The carrier is used again.
            Thread.interrupted();
            begun.remove(strand);
            turn = null;
            LockSupport.unpark(owner);
        }
    }

    void end(Runnable closing) {
        refuseInsideAnEvent();
        ending = true;
        closing.run();
        List<Strand> left = new ArrayList<>(begun);
        for (Strand strand : left) {
            if (begun.contains(strand)) {
                strand.woken = true;
                handTo(strand);
            }
        }
    }
}
