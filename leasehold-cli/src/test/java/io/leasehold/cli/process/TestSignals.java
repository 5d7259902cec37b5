package io.leasehold.cli.process;

/** Signals for tests of other packages, which the test process does not receive. */
public final class TestSignals {

    private TestSignals() {}

    /** A forwarder that catches no signal of this process. */
    public static SignalForwarder forwarder() {
        return new SignalForwarder();
    }

    /** Lets the forwarder receive a signal whose receiver was too late for it. */
    public static void receiveTooLate(SignalForwarder signals, ForwardedSignal signal) {
        signals.received(signal);
        signals.handTo(late -> {});
    }

    /** Lets the forwarder receive a signal. */
    public static void receive(SignalForwarder signals, ForwardedSignal signal) {
        signals.received(signal);
    }
}
