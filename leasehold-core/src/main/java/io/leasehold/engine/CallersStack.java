package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces the frames of a failure from another thread with those of the calling thread, which show the call that
 * failed. A suppressed {@link MadeElsewhere} keeps the original frames.
 */
public final class CallersStack {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** Far more causes than any driver has; a limit is needed because causes can form a circle. */
    private static final int MAX_DEPTH = 20;

    private CallersStack() {}

    /** The original frames of a failure. */
    static final class MadeElsewhere extends Exception {

        private static final long serialVersionUID = 1L;

        MadeElsewhere(StackTraceElement[] frames) {
            super("the failure was made here, on another thread", null, false, true);
            setStackTrace(frames);
        }
    }

    /**
     * Returns the failure with the caller's frames. A failure that was created on this call path stays unchanged.
     *
     * <p>A store may report one failure to several callers, so each caller receives its own copy. A failure of a type
     * that cannot be copied gets the frames of its first caller, and keeps them.
     */
    public static <E extends Throwable> E given(E failure) {
        StackTraceElement[] made = failure.getStackTrace();
        StackTraceElement[] here = new Throwable().getStackTrace();
        if (endsWithCallersOf(here, made)) {
            return failure;
        }
        E copy = copyOf(failure);
        E shown = copy != null ? copy : failure;
        // Two callers may receive a failure that cannot be copied at the same moment.
        synchronized (shown) {
            boolean known = Arrays.stream(shown.getSuppressed()).anyMatch(MadeElsewhere.class::isInstance);
            if (made.length > 0 && !known) {
                shown.addSuppressed(new MadeElsewhere(made));
            }
            if (copy != null || !known) {
                // Without the frame of this method.
                shown.setStackTrace(Arrays.copyOfRange(here, Math.min(1, here.length), here.length));
            }
        }
        return shown;
    }

    /** Returns a copy without frames of a failure of a store, or null for any other type, including subtypes. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> @Nullable E copyOf(E failure) {
        if (!(failure instanceof LockStoreException original)) {
            return null;
        }
        LockStoreException copy = sameAs(original);
        if (copy == null) {
            return null;
        }
        for (Throwable suppressed : original.getSuppressed()) {
            copy.addSuppressed(suppressed);
        }
        return (E) copy;
    }

    /** Returns a new failure of the same class, with the same message, votes and cause. */
    private static @Nullable LockStoreException sameAs(LockStoreException original) {
        Class<?> type = original.getClass();
        String message = String.valueOf(original.getMessage());
        List<NodeVote> votes = original.votes();
        Throwable cause = original.getCause();
        if (type == StoreUnavailableException.class) {
            return new StoreUnavailableException(message, votes, cause);
        } else if (type == StoreAccessException.class) {
            return new StoreAccessException(message, votes, cause);
        } else if (type == UnsafeStoreException.class) {
            return new UnsafeStoreException(message, votes, cause);
        } else if (type == AmbiguousAcquireException.class) {
            return new AmbiguousAcquireException(message, votes, cause);
        }
        return type == LockStoreException.class ? new LockStoreException(message, votes, cause) : null;
    }

    /**
     * Returns the failure for a caller whose store cannot be reached, with its message and the caller's frames. If the
     * root cause is a network error, that error becomes the cause, in one line. The frames of drivers and of other
     * threads add nothing to the message, and are logged at debug. Any other cause, such as a failure of the
     * application's own credentials provider, is kept whole.
     */
    public static StoreUnavailableException brief(StoreUnavailableException failure) {
        LOG.debug("the store cannot be reached; in full:", failure);
        Throwable cause = failure.getCause();
        if (root(cause) instanceof IOException network) {
            network.setStackTrace(new StackTraceElement[0]);
            cause = network;
        }
        StoreUnavailableException brief =
                new StoreUnavailableException(String.valueOf(failure.getMessage()), failure.votes(), cause);
        for (Throwable closing : failure.getSuppressed()) {
            if (!(closing instanceof MadeElsewhere)) {
                brief.addSuppressed(closing);
            }
        }
        StackTraceElement[] here = new Throwable().getStackTrace();
        brief.setStackTrace(Arrays.copyOfRange(here, Math.min(1, here.length), here.length));
        return brief;
    }

    private static @Nullable Throwable root(@Nullable Throwable cause) {
        Throwable root = cause;
        for (int depth = 0; root != null && root.getCause() != null && depth < MAX_DEPTH; depth++) {
            root = root.getCause();
        }
        return root;
    }

    /** Whether a stack passes through the method that called here, with the same callers. */
    private static boolean endsWithCallersOf(StackTraceElement[] here, StackTraceElement[] made) {
        int callers = here.length - 2;
        int first = made.length - callers;
        return callers >= 0
                && first > 0
                && Arrays.equals(here, 2, here.length, made, first, made.length)
                && here[1].getClassName().equals(made[first - 1].getClassName())
                && here[1].getMethodName().equals(made[first - 1].getMethodName());
    }
}
