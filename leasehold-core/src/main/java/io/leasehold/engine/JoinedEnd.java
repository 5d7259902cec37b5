package io.leasehold.engine;

import org.jspecify.annotations.Nullable;

/**
 * The one end of several leases that are one hold, for the listeners, which know of one attempt and of one hold. The
 * first lease that is lost, or whose release is not confirmed, tells of it; if there is none, the last release does.
 *
 * <p>Guarded by {@code this}, which protects only counting.
 */
final class JoinedEnd {

    private int left;
    private boolean told;

    JoinedEnd(int leases) {
        this.left = leases;
    }

    /**
     * Counts the end of one of the leases. Returns whether it is the one that the listeners learn of.
     *
     * @param isClean whether the lease was released, and the store has confirmed that
     */
    synchronized boolean isToldBy(boolean isClean) {
        left--;
        if (told || (isClean && left > 0)) {
            return false;
        }
        told = true;
        return true;
    }

    /**
     * The end of one of the leases. Until the listeners know of the hold, they do not learn of the end: the lease may
     * belong to an attempt that acquires too few.
     *
     * <p>{@code this} guards the fields; listeners are called without the guard.
     */
    static final class Part {
        private @Nullable JoinedEnd hold;
        private @Nullable Runnable early;

        /** Records that the listeners know of the hold, and tells them of an end that came before that. */
        void joined(JoinedEnd of) {
            Runnable end;
            synchronized (this) {
                hold = of;
                end = early;
                early = null;
            }
            if (end != null) {
                end.run();
            }
        }

        /** Tells of the end of a lease, unless it is a part and another lease of the hold does. */
        static void ended(@Nullable Part part, boolean isClean, Runnable telling) {
            if (part == null) {
                telling.run();
            } else {
                part.ended(isClean, telling);
            }
        }

        private void ended(boolean isClean, Runnable telling) {
            JoinedEnd known;
            synchronized (this) {
                known = hold;
                if (known == null) {
                    early = () -> ended(isClean, telling);
                    return;
                }
            }
            if (known.isToldBy(isClean)) {
                telling.run();
            }
        }
    }
}
