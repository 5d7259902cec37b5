package io.leasehold.memory;

import io.leasehold.spi.StoreSignals;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The clients of an {@link InMemoryNode}, which receive its signals. Safe for use by any thread. */
final class NodeListeners {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final List<StoreSignals> listeners = new CopyOnWriteArrayList<>();

    void add(StoreSignals signals) {
        listeners.add(signals);
    }

    void remove(StoreSignals signals) {
        listeners.remove(signals);
    }

    /** Sends the signals; a failing client affects neither the client that caused the signal nor the others. */
    void send(List<Consumer<StoreSignals>> signals) {
        for (Consumer<StoreSignals> signal : signals) {
            for (StoreSignals listener : listeners) {
                try {
                    signal.accept(listener);
                } catch (RuntimeException | Error e) {
                    LOG.error("a client of the in-memory lock node failed while it processed a signal", e);
                }
            }
        }
    }
}
