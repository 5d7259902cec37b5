package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/** Something that is going to happen. The order of all events is total, so that a run can be repeated. */
final class WorldEvent implements LockRuntime.Timer {

    /** The kind of an event; a part of the trace. */
    enum Kind {
        TIMER,
        CALLBACK,
        MESSAGE,
        SCRIPT
    }

    /** When it runs; then when it was due before a freeze put it off; then by lot; then by number. */
    static final Comparator<WorldEvent> ORDER = WorldEvent::compare;

    private static int compare(WorldEvent a, WorldEvent b) {
        int order = Long.compare(a.runAtNanos, b.runAtNanos);
        if (order == 0) {
            order = Long.compare(a.dueAtNanos, b.dueAtNanos);
        }
        if (order == 0) {
            order = Integer.compare(a.lot, b.lot);
        }
        return order == 0 ? Long.compare(a.number, b.number) : order;
    }

    final Kind kind;
    final @Nullable ProcessState process;
    final long number;
    final int lot;
    final long dueAtNanos;
    final long localDueAtNanos;
    final Runnable task;
    long runAtNanos;
    private boolean over;

    WorldEvent(
            Kind kind,
            @Nullable ProcessState process,
            long number,
            int lot,
            long dueAtNanos,
            long localDueAtNanos,
            Runnable task) {
        this.kind = kind;
        this.process = process;
        this.number = number;
        this.lot = lot;
        this.dueAtNanos = dueAtNanos;
        this.runAtNanos = dueAtNanos;
        this.localDueAtNanos = localDueAtNanos;
        this.task = task;
    }

    @Override
    public void cancel() {
        over = true;
    }

    /** Marks it as run or dropped: cancelling has no effect any more. */
    void finish() {
        over = true;
    }

    boolean isOver() {
        return over;
    }
}
