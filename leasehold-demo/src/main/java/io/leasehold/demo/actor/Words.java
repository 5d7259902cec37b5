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
 * The protocol of an actor: one line per step, and one answer to each. It ends at once when its input ends. Safe for
 * use by any thread.
 */
public final class Words {

    /** Answer: it is ready. */
    public static final String READY = "ready";
    /** Step: begin a new {@link Act}. */
    public static final String ACT = "act";
    /** Step: request the lock, with this patience in milliseconds. */
    public static final String ACQUIRE = "acquire";
    /** Step: at the next point between two steps of the lock, wait for {@link #GO}. */
    public static final String ARM = "arm";
    /** Answer: it waits at that point. */
    public static final String BETWEEN = "between";
    /** Step: continue from there. */
    public static final String GO = "go";
    /** Step: read the number. */
    public static final String READ = "read";
    /** Step: check that this validity is left, in milliseconds. */
    public static final String CHECK = "check";
    /** Step: write the number that was read plus one. */
    public static final String WRITE = "write";
    /** Step: release the lock. */
    public static final String RELEASE = "release";
    /** Step: wait for the notification of the loss. */
    public static final String HEAR = "hear";
    /** Step: record that the lock will never be free. */
    public static final String GIVE_UP = "give-up";
    /** Step: acquire, read, check, write, release, this number of times. */
    public static final String WORK = "work";
    /** Step: end. */
    public static final String LEAVE = "leave";
    /** Answer: it ends. */
    public static final String LEFT = "left";

    /** Answer: it has the lock, with this token. */
    public static final String ACQUIRED = "acquired";
    /** Answer: it does not have the lock, for this reason. */
    public static final String DENIED = "denied";
    /** Answer: yes, with details. */
    public static final String YES = "yes";
    /** Answer: no, with details. */
    public static final String NO = "no";

    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    private final Consumer<String> out;

    private Words(Consumer<String> out) {
        this.out = out;
    }

    /** Follows the stream on a separate thread, and answers there. */
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
            // Treated like its end.
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
