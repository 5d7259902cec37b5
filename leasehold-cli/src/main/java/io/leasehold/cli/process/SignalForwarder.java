package io.leasehold.cli.process;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Catches the signals for the command and passes each to the current receiver; those that arrive without a receiver are kept for the next one.
 * One at a time: a receiver is replaced when it has finished, and so can end the process without its successor having begun.
 *
 * <p>A signal that was ignored when this process started (as by {@code nohup}) stays ignored, for the command, too.
 */
public final class SignalForwarder {

    /** Held while a receiver is called. */
    private final Object turn = new Object();

    private final Deque<Kept> kept = new ArrayDeque<>();
    private @Nullable Receiver responsible;
    private @Nullable ForwardedSignal first;

    private record Kept(ForwardedSignal signal, long atNanos) {}

    /** Receives signals together with the times at which they came. */
    public interface Receiver {

        /** Receives a signal that came at this time of the monotonic clock. */
        void receive(ForwardedSignal signal, long atNanos);
    }

    /** Creates a forwarder that catches nothing; see {@link #install}. */
    SignalForwarder() {}

    /** Creates a forwarder that catches signals; it has no receiver yet. */
    public static SignalForwarder install() {
        SignalForwarder forwarder = new SignalForwarder();
        for (ForwardedSignal signal : ForwardedSignal.values()) {
            JvmSignals.handle(signal.name(), () -> forwarder.received(signal));
        }
        return forwarder;
    }

    /** The number of the signal on this system. */
    public static int number(ForwardedSignal signal) {
        return JvmSignals.number(signal.name());
    }

    /** The signal has arrived. */
    void received(ForwardedSignal signal) {
        long atNanos = System.nanoTime();
        // Record it at once, even while an earlier one is being received.
        synchronized (this) {
            if (first == null) {
                first = signal;
            }
        }
        synchronized (turn) {
            Receiver receiver = responsible;
            if (receiver == null) {
                kept.addLast(new Kept(signal, atNanos));
            } else {
                receiver.receive(signal, atNanos);
            }
        }
    }

    /** Sets the receiver when the former one has finished, and passes it the kept signals; null keeps later ones. */
    public void handTo(@Nullable Consumer<ForwardedSignal> receiver) {
        synchronized (turn) {
            responsible = null;
            if (receiver != null) {
                Receiver timeless = (signal, atNanos) -> receiver.accept(signal);
                handTo(timeless, timeless);
            }
        }
    }

    /** The same with another receiver for the kept signals. */
    public void handTo(Receiver receiver, Receiver late) {
        synchronized (turn) {
            responsible = receiver;
            passKept(late);
        }
    }

    private void passKept(Receiver late) {
        List<Kept> missed = List.copyOf(kept);
        kept.clear();
        missed.forEach(one -> late.receive(one.signal(), one.atNanos()));
    }

    /** The first signal that arrived, or null. */
    public synchronized @Nullable ForwardedSignal first() {
        return first;
    }
}
