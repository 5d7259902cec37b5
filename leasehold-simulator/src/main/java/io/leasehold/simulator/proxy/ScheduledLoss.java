package io.leasehold.simulator.proxy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The loss of one request, reply or push that a proxy was instructed to cause, and whether it has happened.
 *
 * <p>Safe for use by any thread.
 */
public final class ScheduledLoss {
    /** The part that is lost, and the fate of the connection. */
    enum Kind {
        REQUEST_THEN_RESET,
        REPLY_THEN_RESET,
        REPLY_THEN_SILENCE,
        PUSH
    }

    private final Kind kind;
    private final Predicate<String> wanted;
    private final CountDownLatch happened = new CountDownLatch(1);

    ScheduledLoss(Kind kind, Predicate<String> wanted) {
        this.kind = kind;
        this.wanted = wanted;
    }

    Kind kind() {
        return kind;
    }

    boolean matches(String message) {
        return wanted.test(message);
    }

    void markHappened() {
        happened.countDown();
    }

    /** Whether the message has been withheld. */
    public boolean happened() {
        return happened.getCount() == 0;
    }

    /**
     * Waits until the message has been withheld.
     *
     * @throws IllegalStateException if that does not happen in time: the fault under test has not taken place
     */
    public void await(Duration patience) throws InterruptedException {
        if (!happened.await(patience.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new IllegalStateException("no matching message passed the proxy within " + patience);
        }
    }
}
