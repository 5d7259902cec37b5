package io.leasehold.verify.run;

import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistoryEvent.Access;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The resource that the locks protect, with two counters for each lock. One registers the fencing token at first
 * contact and refuses smaller ones; the other accepts everything.
 */
final class GuardedCounters {

    private static final long MAX_DELAY_NANOS = 20_000_000;

    private final VirtualWorld world;
    private final List<HistoryEvent> history;
    private final Map<String, Counter> counters = new HashMap<>();

    GuardedCounters(VirtualWorld world, List<HistoryEvent> history) {
        this.world = world;
        this.history = history;
    }

    private static final class Counter {
        private long value;
        private long largestToken;
    }

    /** The answer to a client. */
    record Answer(boolean accepted, long checking, long naive) {}

    /** Reads both counters. */
    void read(VirtualRuntime client, String lock, long token, Consumer<Answer> then) {
        send(client, then, () -> {
            boolean accepted = access("checking/" + lock, Access.READ, token, 0);
            access("naive/" + lock, Access.READ, token, 0);
            return new Answer(accepted, counter("checking/" + lock).value, counter("naive/" + lock).value);
        });
    }

    /** Writes one more than the value that was read. */
    void write(VirtualRuntime client, String lock, long token, Answer seen, Consumer<Answer> then) {
        send(client, then, () -> {
            boolean accepted = access("checking/" + lock, Access.WRITE, token, seen.checking() + 1);
            access("naive/" + lock, Access.WRITE, token, seen.naive() + 1);
            return new Answer(accepted, seen.checking() + 1, seen.naive() + 1);
        });
    }

    private interface Visit {
        Answer make();
    }

    private void send(VirtualRuntime client, Consumer<Answer> then, Visit visit) {
        world.after(delay(), () -> {
            Answer answer = visit.make();
            world.after(delay(), () -> {
                if (!client.hasCrashed()) {
                    client.execute(() -> then.accept(answer));
                }
            });
        });
    }

    private Duration delay() {
        return Duration.ofNanos(50_000 + world.randomBelow(MAX_DELAY_NANOS));
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
                world.elapsedNanos(),
                "resource",
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
