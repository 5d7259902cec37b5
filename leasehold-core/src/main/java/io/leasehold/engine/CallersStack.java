package io.leasehold.engine;

import java.util.Arrays;

/**
 * Gives a failure that another thread has made the frames of the thread that is told of it: they say which call failed. Where
 * it was made stays beside it, as a suppressed {@link MadeElsewhere}.
 */
public final class CallersStack {

    private CallersStack() {}

    /** The frames with which a failure came. */
    static final class MadeElsewhere extends Exception {

        private static final long serialVersionUID = 1L;

        MadeElsewhere(StackTraceElement[] frames) {
            super("the failure was made here, on another thread", null, false, true);
            setStackTrace(frames);
        }
    }

    /** The same failure, with the caller's frames; one that was made on this very way is left as it is. */
    public static <E extends Throwable> E given(E failure) {
        StackTraceElement[] made = failure.getStackTrace();
        StackTraceElement[] here = new Throwable().getStackTrace();
        if (endsWithCallersOf(here, made)) {
            return failure;
        }
        boolean known = Arrays.stream(failure.getSuppressed()).anyMatch(MadeElsewhere.class::isInstance);
        if (made.length > 0 && !known) {
            failure.addSuppressed(new MadeElsewhere(made));
        }
        // Without this method's own frame.
        failure.setStackTrace(Arrays.copyOfRange(here, Math.min(1, here.length), here.length));
        return failure;
    }

    /** Whether a stack goes through the method that called here, called by the same frames. */
    private static boolean endsWithCallersOf(StackTraceElement[] here, StackTraceElement[] made) {
        int callers = here.length - 2;
        if (callers < 0 || made.length <= callers) {
            return false;
        }
        for (int i = 1; i <= callers; i++) {
            if (!here[here.length - i].equals(made[made.length - i])) {
                return false;
            }
        }
        StackTraceElement caller = here[1];
        StackTraceElement same = made[made.length - callers - 1];
        return caller.getClassName().equals(same.getClassName())
                && caller.getMethodName().equals(same.getMethodName());
    }
}
