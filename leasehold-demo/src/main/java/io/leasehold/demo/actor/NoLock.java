package io.leasehold.demo.actor;

import java.time.Duration;

/** Lets everybody in. */
final class NoLock implements ActorLock {

    @Override
    public Answer acquire(Duration patience, Interlude between) {
        return new Granted(new Nothing());
    }

    @Override
    public void close() {
        // There is nothing to close.
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
            // Nobody tells.
        }

        @Override
        public String release(Interlude between) {
            return "nothing to release";
        }
    }
}
