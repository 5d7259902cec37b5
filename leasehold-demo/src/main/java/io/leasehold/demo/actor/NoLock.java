package io.leasehold.demo.actor;

import java.time.Duration;

/** Grants every request. */
final class NoLock implements ActorLock {

    @Override
    public Answer acquire(Duration patience, Interlude between) {
        return new Granted(new Nothing());
    }

    @Override
    public void close() {
        // Nothing to close.
    }

    private static final class Nothing implements Hold {

        @Override
        public long fencingToken() {
            return 0;
        }

        @Override
        public long remainingNanos() {
            return 0;
        }

        @Override
        public boolean isValidFor(Duration duration) {
            return true;
        }

        @Override
        public void onLost(LossListener listener) {
            // It never reports a loss.
        }

        @Override
        public String release(Interlude between) {
            return "nothing to release";
        }
    }
}
