package io.leasehold.spi.method;

import io.leasehold.LockName;

/**
 * The kind of lock that a method takes: the exclusive lock, the lock as one of its readers, or one of its permits.
 *
 * @param reads whether it is one of the readers
 * @param permits the number of permits of the name; 0 for a lock
 */
public record LockKind(boolean reads, int permits) {

    /** The exclusive lock. */
    public static final LockKind EXCLUSIVE = new LockKind(false, 0);

    /** The lock, as one of its readers. */
    public static final LockKind READ = new LockKind(true, 0);

    /** Refuses a reader of permits, and a negative number of them. */
    public LockKind {
        if (permits < 0 || (reads && permits > 0)) {
            throw new IllegalArgumentException("a lock with readers has no permits, and their number is not negative");
        }
    }

    /** One of this many permits. */
    public static LockKind ofPermits(int count) {
        return new LockKind(false, count);
    }

    /** Whether it is the exclusive lock, of which a method may take several together. */
    public boolean isExclusive() {
        return equals(EXCLUSIVE);
    }

    /** Whether it is a permit. */
    public boolean isPermit() {
        return permits > 0;
    }

    /** The name as that of this kind. */
    public LockName of(LockName name) {
        if (isPermit()) {
            return name.asPermits(permits);
        }
        return reads ? name.asRead() : name;
    }

    /** The kind for messages, such as {@code one of 5 permits}. */
    @Override
    public String toString() {
        if (isPermit()) {
            return "one of " + permits + " permits";
        }
        return reads ? "a lock for reading" : "an exclusive lock";
    }
}
