package io.leasehold.simulator;

import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistoryEvent.Access;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualLink;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The resource that the locks protect, with two counters for each lock. One registers the fencing token at first
 * contact, reads included, and refuses smaller ones; the other accepts everything.
 */
final class SimulatedResource {

    private final VirtualRuntime host;
    private final List<HistoryEvent> history;
    private final Map<String, Counter> counters = new HashMap<>();

    SimulatedResource(VirtualRuntime host, List<HistoryEvent> history) {
        this.host = host;
        this.history = history;
    }

    private static final class Counter {
        private long value;
        private long largestToken;
    }

    /**
     * The answer to a client.
     *
     * @param accepted whether the checking counter accepted the token
     */
    record Answer(boolean accepted, long checking, long naive) {}

    /** The connection of one client. */
    final class Connection {
        private final VirtualLink requests = new VirtualLink(host);
        private final VirtualLink replies;

        Connection(VirtualRuntime client) {
            this.replies = new VirtualLink(client);
            LinkFaults slow = LinkFaults.none().delay(Duration.ofNanos(50_000), Duration.ofMillis(20));
            requests.faults(slow);
            replies.faults(slow);
        }

        void read(String lock, long token, Consumer<Answer> then) {
            requests.send(() -> {
                Answer answer = new Answer(
                        access("checking/" + lock, Access.READ, token, 0),
                        counter("checking/" + lock).value,
                        counter("naive/" + lock).value);
                access("naive/" + lock, Access.READ, token, 0);
                replies.send(() -> then.accept(answer));
            });
        }

        /** Writes one more than the value that was read. */
        void write(String lock, long token, Answer seen, Consumer<Answer> then) {
            requests.send(() -> {
                boolean accepted = access("checking/" + lock, Access.WRITE, token, seen.checking() + 1);
                access("naive/" + lock, Access.WRITE, token, seen.naive() + 1);
                Answer answer = new Answer(accepted, seen.checking() + 1, seen.naive() + 1);
                replies.send(() -> then.accept(answer));
            });
        }
    }

    private Counter counter(String name) {
        return counters.computeIfAbsent(name, n -> new Counter());
    }

    private boolean access(String name, Access access, long token, long value) {
        Counter counter = counter(name);
        boolean accepted = name.startsWith("naive/") || token >= counter.largestToken;
        if (accepted) {
            counter.largestToken = token;
        }
        history.add(new HistoryEvent.Accessed(
                host.world().elapsedNanos(),
                host.name(),
                name,
                access,
                token,
                access == Access.READ ? counter.value : value,
                accepted));
        if (accepted && access == Access.WRITE) {
            counter.value = value;
        }
        return accepted;
    }
}
