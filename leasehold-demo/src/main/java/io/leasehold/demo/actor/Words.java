package io.leasehold.demo.actor;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/**
 * What an actor is told, a line a step, and what it answers to each. When nobody is left to tell it anything it ends at
 * once. Safe for use by any thread.
 */
public final class Words {

    /** Answer: it can be told. */
    public static final String READY = "ready";
    /** Step: a new {@link Act} begins. */
    public static final String ACT = "act";
    /** Step: ask for the lock, with this patience in milliseconds. */
    public static final String ACQUIRE = "acquire";
    /** Step: at the next place between two steps of the lock, wait to be told {@link #GO}. */
    public static final String ARM = "arm";
    /** Answer: it waits there. */
    public static final String BETWEEN = "between";
    /** Step: go on from there. */
    public static final String GO = "go";
    /** Step: read the number. */
    public static final String READ = "read";
    /** Step: is so much validity left, in milliseconds? */
    public static final String CHECK = "check";
    /** Step: write one more than what was read. */
    public static final String WRITE = "write";
    /** Step: give the lock back. */
    public static final String RELEASE = "release";
    /** Step: wait until it is told of the loss. */
    public static final String HEAR = "hear";
    /** Step: note that nobody will ever free the lock. */
    public static final String GIVE_UP = "give-up";
    /** Step: acquire, read, check, write, release, so many times. */
    public static final String WORK = "work";
    /** Step: end. */
    public static final String LEAVE = "leave";
    /** Answer to that. */
    public static final String LEFT = "left";

    /** Answer: it has the lock, with this token. */
    public static final String ACQUIRED = "acquired";
    /** Answer: it has not, for this reason. */
    public static final String DENIED = "denied";
    /** Answer: so it is, in words. */
    public static final String YES = "yes";
    /** Answer: so it is not, in words. */
    public static final String NO = "no";

    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    private final Consumer<String> out;

    private Words(Consumer<String> out) {
        this.out = out;
    }

    /** Follows the stream on a thread of its own, and answers there. */
    static Words follow(InputStream input, Consumer<String> out) {
        Words words = new Words(out);
        Thread thread = new Thread(() -> words.read(input), "demo-words");
        thread.setDaemon(true);
        thread.start();
        return words;
    }

    private void read(InputStream input) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(input, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                heard.add(line);
            }
        } catch (IOException gone) {
            // As if it had ended.
        }
        Runtime.getRuntime().halt(0);
    }

    String next() throws InterruptedException {
        return heard.take();
    }

    void say(String line) {
        out.accept(line);
    }
}
