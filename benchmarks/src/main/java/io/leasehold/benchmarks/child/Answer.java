package io.leasehold.benchmarks.child;

import io.leasehold.benchmarks.measure.Load;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of an order; only the part that was ordered is present.
 *
 * @param load the work of the threads
 * @param spans the individual holds
 * @param bytesPerLease the heap of a held lock
 * @param client the cost of a further client to its process
 * @param failure the reason for a failure, or null
 */
public record Answer(
        @Nullable Load load,
        List<Span> spans,
        double bytesPerLease,
        @Nullable ClientCost client,
        @Nullable String failure) {

    static Answer of(Load load) {
        return new Answer(load, List.of(), 0, null, null);
    }

    static Answer of(List<Span> spans) {
        return new Answer(null, spans, 0, null, null);
    }

    static Answer of(double bytesPerLease) {
        return new Answer(null, List.of(), bytesPerLease, null, null);
    }

    static Answer of(ClientCost client) {
        return new Answer(null, List.of(), 0, client, null);
    }

    static Answer failed(Exception reason) {
        return new Answer(null, List.of(), 0, null, reason.toString());
    }

    /** The cost of a client, for orders that measure it. */
    public ClientCost requireClient() {
        if (client == null) {
            throw new IllegalStateException("a child answered without the cost of a client: " + failure);
        }
        return client;
    }

    /** The work of the threads, for orders that have threads. */
    public Load requireLoad() {
        if (load == null) {
            throw new IllegalStateException("a child answered without a load: " + failure);
        }
        return load;
    }
}
