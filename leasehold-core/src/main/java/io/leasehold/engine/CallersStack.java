package io.leasehold.engine;

import java.util.Arrays;

/**
 * Replaces the frames of a failure from another thread by those of the calling thread, which show the call that failed. The
 * original frames are kept in a suppressed {@link MadeElsewhere}.
 */
public final class CallersStack {

    private CallersStack() {}

    /** The original frames of a failure. */
    static final class MadeElsewhere extends Exception {

        private static final long serialVersionUID = 1L;

        MadeElsewhere(StackTraceElement[] frames) {
            super("the failure was made here, on another thread", null, false, true);
            setStackTrace(frames);
        }
    }

    /** The same failure, with the caller's frames; one that was made on this call path is left unchanged. */
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
        // Without the frame of this method.
        failure.setStackTrace(Arrays.copyOfRange(here, Math.min(1, here.length), here.length));
        return failure;
    }

    /** Whether a stack passes through the method that called here, with the same callers. */
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
