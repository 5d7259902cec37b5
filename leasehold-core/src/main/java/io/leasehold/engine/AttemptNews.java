package io.leasehold.engine;

import io.leasehold.LockListener;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The news of one attempt for the listeners and the flight recorder: that it has begun, and once how it has ended. Only
 * the thread that delivers the outcome calls {@link #ended}.
 */
final class AttemptNews {

    private final LockName name;
    private final EngineContext context;
    private final long startAtNanos;
    private final FlightEvents.@Nullable Wait recording;
    private boolean told;

    /** Tells that the attempt has begun. */
    AttemptNews(LockName name, EngineContext context, long startAtNanos) {
        this.name = name;
        this.context = context;
        this.startAtNanos = startAtNanos;
        this.recording = FlightEvents.waitBegun();
        context.events().tell(l -> l.attemptBegan(new LockListener.AttemptBegan(name)));
    }

    void ended(AttemptOutcome outcome) {
        if (told) {
            return;
        }
        told = true;
        Futures.guarded("the news of an attempt", () -> {
            Duration waited = Duration.ofNanos(context.runtime().nanoTime() - startAtNanos);
            if (recording != null) {
                recording.ended(name, outcome, context.store().description());
            }
            context.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(name, outcome, waited)));
        });
    }
}
