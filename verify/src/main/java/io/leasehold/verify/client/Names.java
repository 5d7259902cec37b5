package io.leasehold.verify.client;

import java.util.SplittableRandom;

/**
 * Which lock comes next: mostly one that all want; at times one of many that lie idle in between, so that what a store keeps of them
 * comes and goes; at times one that is never used again. Not for several threads.
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
     * Names for one process.
     *
     * @param cool how many lie idle in between; if there are none, all use the hot ones alone
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

    /** Whether there are more names than those that all want. */
    boolean areMany() {
        return cool > 0;
    }

    String once() {
        return "once-" + process + "-" + ++once;
    }

    String anyCool() {
        return cool(random.nextInt(cool));
    }

    /** One that many want. */
    public static String hot(int number) {
        return "lock-" + number;
    }

    /** One that lies idle most of the time. */
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
