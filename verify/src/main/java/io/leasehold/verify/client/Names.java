package io.leasehold.verify.client;

import java.util.SplittableRandom;

/**
 * Chooses the next lock: mostly a contended one, sometimes one of many idle ones, so that the store creates and deletes
 * its data, and sometimes one that is never used again. For one thread.
 */
public final class Names {

    private static final int HOT = 55;
    private static final int COOL = 30;

    private final String process;
    private final SplittableRandom random;
    private final int hot;
    private final int cool;
    private long once;

    /**
     * Creates the names for one process.
     *
     * @param cool the number of idle ones; without any, all clients use only the hot ones
     */
    Names(String process, SplittableRandom random, int hot, int cool) {
        this.process = process;
        this.random = random;
        this.hot = hot;
        this.cool = cool;
    }

    String next() {
        int draw = cool == 0 ? 0 : random.nextInt(100);
        if (draw < HOT) {
            return hot(random.nextInt(hot));
        }
        return draw < HOT + COOL ? anyCool() : once();
    }

    /** Whether there are more names than the contended ones. */
    boolean areMany() {
        return cool > 0;
    }

    String once() {
        return "once-" + process + "-" + ++once;
    }

    String anyCool() {
        return cool(random.nextInt(cool));
    }

    /** A contended name. */
    public static String hot(int number) {
        return "lock-" + number;
    }

    /** A name that is idle most of the time. */
    public static String cool(int number) {
        return "cool-" + number;
    }

    static boolean isOnce(String lock) {
        return lock.startsWith("once-");
    }

    static boolean isCool(String lock) {
        return lock.startsWith("cool-");
    }

    static boolean isHot(String lock) {
        return lock.startsWith("lock-");
    }
}
