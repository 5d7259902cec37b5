package io.leasehold.verify.queue;

import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualLink;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The connection of one client to the cluster and back. Anything may happen between two of its calls. */
public final class QueueWire {

    /** After this time a driver treats a silent connection as broken. */
    private static final long SILENCE_NANOS = Duration.ofSeconds(13).toNanos();

    private static final Duration AGAIN = Duration.ofMillis(500);

    private final QueueRun run;
    private final VirtualRuntime process;
    private final VirtualLink requests;
    private final VirtualLink replies;
    private boolean closed;

    QueueWire(QueueRun run, VirtualRuntime process) {
        this.run = run;
        this.process = process;
        this.requests = new VirtualLink(run.host());
        this.replies = new VirtualLink(process);
    }

    /** The client's process. */
    public VirtualRuntime process() {
        return process;
    }

    VirtualLink requests() {
        return requests;
    }

    VirtualLink replies() {
        return replies;
    }

    void faults(LinkFaults faults) {
        requests.faults(faults);
        replies.faults(faults);
    }

    /**
     * Makes a call.
     *
     * @param work the cluster's work when the call arrives
     * @param lost the driver's exception if the call is not answered
     */
    public <T> CompletableFuture<T> call(Callable<T> work, Supplier<? extends Throwable> lost) {
        return call(work, lost, Duration.ZERO);
    }

    /**
     * Makes a call.
     *
     * @param latest how much later than subsequent calls it may be carried out if its connection broke
     */
    public <T> CompletableFuture<T> call(Callable<T> work, Supplier<? extends Throwable> lost, Duration latest) {
        CompletableFuture<T> reply = new CompletableFuture<>();
        if (process.hasCrashed()) {
            return reply;
        }
        LockRuntime.Timer silence = process.schedule(SILENCE_NANOS, () -> reply.completeExceptionally(lost.get()));
        reply.whenComplete((value, error) -> silence.cancel());
        mayPause(QueueFault.PAUSE_BEFORE_CALL, () -> {
            if (run.drawsReset(QueueFault.RESET_BEFORE_CALL)) {
                process.execute(() -> reply.completeExceptionally(lost.get()));
                mayFallAsleep(latest);
                return;
            }
            boolean breaks = run.drawsReset(QueueFault.RESET_BEFORE_REPLY);
            if (breaks) {
                process.execute(() -> reply.completeExceptionally(lost.get()));
                mayFallAsleep(latest);
            }
            Runnable sending = () -> requests.send(() -> carryOut(work, reply, breaks));
            if (breaks && !latest.isZero() && run.world().chance(0.5)) {
                run.world().after(Duration.ofNanos(run.world().randomBelow(latest.toNanos())), sending);
            } else {
                sending.run();
            }
        });
        return reply;
    }

    /** A machine that falls asleep breaks connections: half of the broken calls that may come late have that cause. */
    private void mayFallAsleep(Duration latest) {
        if (!latest.isZero() && run.world().chance(0.5)) {
            run.saw(QueueFault.CLIENT_SUSPEND);
            Duration span = Duration.ofNanos(150_000_000L + run.world().randomBelow(latest.toNanos()));
            // Not before the calling code has ended: nothing runs on a sleeping machine.
            run.world().after(Duration.ofNanos(1), () -> process.suspend(span));
        }
    }

    private <T> void carryOut(Callable<T> work, CompletableFuture<T> reply, boolean breaks) {
        Runnable told;
        try {
            T value = work.call();
            told = () -> reply.complete(value);
        } catch (Exception e) {
            told = () -> reply.completeExceptionally(e);
        }
        Runnable arrival = told;
        if (!breaks) {
            replies.send(() -> mayPause(QueueFault.PAUSE_AFTER_REPLY, arrival));
        }
    }

    private void mayPause(QueueFault point, Runnable then) {
        long nanos = run.pauseNanos(point);
        if (nanos > 0) {
            process.freeze(Duration.ofNanos(nanos));
            process.execute(then);
        } else {
            then.run();
        }
    }

    /** Sends repeatedly until the request arrives, like a driver that restores watches over a new connection. */
    public void ask(Runnable work) {
        repeat(requests, new Once(work));
    }

    /** Sends an event, which may be late, and does not arrive before a broken connection is restored. */
    public void tell(Runnable event) {
        Once once = new Once(event);
        if (run.drawsReset(QueueFault.LATE_EVENT)) {
            run.world().after(Duration.ofNanos(run.world().randomBelow(2_000_000_000L)), () -> repeat(replies, once));
        } else {
            repeat(replies, once);
        }
    }

    private void repeat(VirtualLink link, Once once) {
        if (closed || process.hasCrashed() || once.done) {
            return;
        }
        link.send(once);
        run.world().after(AGAIN, () -> repeat(link, once));
    }

    private static final class Once implements Runnable {
        private final Runnable work;
        private boolean done;

        Once(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            if (!done) {
                done = true;
                work.run();
            }
        }
    }

    /** Closes the client: it sends nothing more. */
    public void close() {
        closed = true;
    }

    /** Whether nothing can arrive from it any more. */
    public boolean isOver() {
        return closed || process.hasCrashed();
    }
}
