package io.leasehold.verify.client;

import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.ReentrantLockView;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistorySink;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The lock through its {@code java.util.concurrent} view, entered twice, for the reentrant models. */
final class ReentrantHeld implements Contender.Held {

    private static final Logger LOG = LoggerFactory.getLogger(ReentrantHeld.class);

    /** The view does not report its remaining validity, only whether this span is left. */
    private static final Duration SPAN = Duration.ofMillis(100);

    private final ReentrantLockView view;
    private final String lock;
    private final String process;
    private final HistorySink sink;
    private final long token;

    private ReentrantHeld(ReentrantLockView view, String lock, String process, HistorySink sink, long token) {
        this.view = view;
        this.lock = lock;
        this.process = process;
        this.sink = sink;
        this.token = token;
    }

    /** Records that this thread has locked the view; returns null if it is already lost. */
    static @Nullable ReentrantHeld entered(ReentrantLockView view, String lock, String process, HistorySink sink) {
        try {
            ReentrantHeld held = new ReentrantHeld(view, lock, process, sink, view.fencingToken());
            long at = System.nanoTime();
            view.ensureValidFor(SPAN);
            sink.add(new HistoryEvent.Acquired(at, process, lock, held.token, at + SPAN.toNanos()));
            // The lock is entered at some moment of the call: after the call this process may be paused until another
            // holds the lock.
            long enteringAt = System.nanoTime();
            view.lockInterruptibly();
            sink.add(new HistoryEvent.Nested(enteringAt, process, lock, view.fencingToken(), view.getHoldCount()));
            return held;
        } catch (LeaseLostException | LeaseAtRiskException e) {
            unlock(view);
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            unlock(view);
            return null;
        }
    }

    private static void unlock(ReentrantLockView view) {
        while (view.getHoldCount() > 0) {
            try {
                view.unlock();
            } catch (IllegalMonitorStateException e) {
                LOG.debug("it was lost meanwhile", e);
            }
        }
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public boolean stillHolds() {
        long at = System.nanoTime();
        try {
            view.ensureValidFor(SPAN);
        } catch (LeaseLostException | LeaseAtRiskException e) {
            return false;
        }
        sink.add(new HistoryEvent.Extended(at, process, lock, token, at + SPAN.toNanos()));
        return true;
    }

    @Override
    public void release() {
        if (view.getHoldCount() > 1) {
            try {
                view.unlock();
                sink.add(new HistoryEvent.Nested(System.nanoTime(), process, lock, token, view.getHoldCount()));
            } catch (IllegalMonitorStateException e) {
                LOG.debug("it was lost meanwhile", e);
            }
        }
        sink.add(new HistoryEvent.Ended(System.nanoTime(), process, lock, token, "left"));
        unlock(view);
    }
}
