package io.leasehold.engine;

import io.leasehold.LockListener;
import io.leasehold.spi.InlineThread;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notifies the listeners; an exception in one of them affects nothing else. */
final class Events {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final List<LockListener> listeners;

    Events(List<LockListener> listeners) {
        this.listeners = listeners;
    }

    /**
     * Notifies the listeners. A listener that checks a lease must not wait here: this may be the thread on which the
     * answer arrives.
     */
    void tell(Consumer<LockListener> event) {
        if (!listeners.isEmpty()) {
            InlineThread.run(() -> tellAll(event));
        }
    }

    private void tellAll(Consumer<LockListener> event) {
        for (LockListener listener : listeners) {
            try {
                event.accept(listener);
            } catch (RuntimeException | Error e) {
                // An Error is caught, too, such as a missing method of a metrics library: the attempt still has to be
                // finished.
                LOG.warn(
                        "lock listener {} failed; the lock is not affected",
                        listener.getClass().getName(),
                        e);
            }
        }
    }
}
