package io.leasehold.cli.process;

import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Catches signals through {@code sun.misc.Signal}, the only way in the JDK. */
final class JvmSignals {

    private JvmSignals() {}

    /**
     * Runs the action, on a separate thread, at each arrival of the signal; a signal that was ignored when this process
     * started stays ignored. Does nothing for a signal that the JVM keeps or this system does not have.
     */
    static void handle(String name, Runnable action) {
        try {
            Signal signal = new Signal(name);
            SignalHandler before = Signal.handle(signal, received -> action.run());
            if (SignalHandler.SIG_IGN.equals(before)) {
                Signal.handle(signal, before);
            }
        } catch (IllegalArgumentException notHere) {
            // The JVM keeps it, or this system does not have it.
        }
    }

    /** Restores the system's default action for this signal while the work runs. */
    static void leaveToTheSystem(String name, Runnable work) {
        Signal signal = new Signal(name);
        SignalHandler before = Signal.handle(signal, SignalHandler.SIG_DFL);
        try {
            work.run();
        } finally {
            Signal.handle(signal, before);
        }
    }

    /** The signal's number on this system. */
    static int number(String name) {
        return new Signal(name).getNumber();
    }
}
