package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One wait for a lock, as an observation: where the application traces, a span <code>wait_for lock order:{}</code>.
 *
 * <p>The template and the outcome are of few values; the name and the token are not.
 */
final class WaitObservation {

    static final String NAME = "leasehold.acquire";

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private static final WaitObservation NONE = new WaitObservation(Observation.NOOP);

    private final Observation observation;

    private WaitObservation(Observation observation) {
        this.observation = observation;
    }

    /** @param parent of a subscription; else it is that of the thread */
    static WaitObservation start(ObservationRegistry registry, List<LockName> names, @Nullable Observation parent) {
        if (registry.isNoop()) {
            return NONE;
        }
        String template = names.get(0).template();
        String shown = template == null ? "_exact" : template;
        try {
            Observation observation = Observation.createNotStarted(NAME, registry)
                    .contextualName("wait_for lock " + shown)
                    .lowCardinalityKeyValue("lock", shown)
                    .highCardinalityKeyValue(
                            "lock.name", names.size() == 1 ? names.get(0).text() : names.toString());
            if (parent != null) {
                observation.parentObservation(parent);
            }
            return new WaitObservation(observation.start());
        } catch (RuntimeException | Error e) {
            failedItself(e);
            return NONE;
        }
    }

    /** Begins to ask for the lock; where that is refused at once, nothing else ends the wait. */
    <T> CompletableFuture<T> asking(Supplier<CompletableFuture<T>> ask) {
        try {
            return ask.get();
        } catch (RuntimeException | Error e) {
            failed(e);
            throw e;
        }
    }

    void ended(Attempt<? extends Hold> attempt) {
        if (observation.isNoop()) {
            return;
        }
        Hold hold = attempt.orElseNull();
        if (hold instanceof Lease lease) {
            observation.highCardinalityKeyValue("lock.token", Long.toString(lease.fencingToken()));
        }
        ended(hold == null ? "busy" : "acquired");
    }

    void busy() {
        ended("busy");
    }

    void failed(Throwable error) {
        try {
            observation.error(error);
        } catch (RuntimeException | Error e) {
            failedItself(e);
        }
        ended(error instanceof InterruptedException ? "interrupted" : "error");
    }

    private void ended(String outcome) {
        try {
            observation.lowCardinalityKeyValue("outcome", outcome).stop();
        } catch (RuntimeException | Error e) {
            failedItself(e);
        }
    }

    /** A handler of the application's: neither a lock that is held by now nor who waits for one may depend on it. */
    private static void failedItself(Throwable e) {
        LOG.warn("an observation of a wait for a lock failed; the wait goes on", e);
    }
}
