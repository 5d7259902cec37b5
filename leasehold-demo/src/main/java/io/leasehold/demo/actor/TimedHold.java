package io.leasehold.demo.actor;

import java.time.Duration;

/** A hold without renewal and without callbacks: its holder has only a ttl and a clock. */
final class TimedHold implements ActorLock.Hold {

    private final long fencingToken;
    private final long validUntilNanos;
    private final Release release;

    /** The release of the hold. */
    interface Release {

        /** Releases it; returns the server's answer. */
        String now(Interlude between) throws InterruptedException;
    }

    TimedHold(long fencingToken, long validUntilNanos, Release release) {
        this.fencingToken = fencingToken;
        this.validUntilNanos = validUntilNanos;
        this.release = release;
    }

    @Override
    public long fencingToken() {
        return fencingToken;
    }

    @Override
    public long remainingNanos() {
        return Math.max(0, validUntilNanos - System.nanoTime());
    }

    @Override
    public boolean isValidFor(Duration duration) {
        return remainingNanos() > duration.toNanos();
    }

    @Override
    public void onLost(ActorLock.LossListener listener) {
        // It never reports a loss.
    }

    @Override
    public String release(Interlude between) throws InterruptedException {
        return release.now(between);
    }
}
