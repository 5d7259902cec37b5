package io.leasehold.demo;

import io.leasehold.demo.actor.Act;
import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.actor.Words;
import io.leasehold.demo.history.Histories;
import io.leasehold.demo.history.HistoryVerdict;
import io.leasehold.demo.history.HistoryVerdict.Promise;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Directs actors step by step, and shows the results. The verdict comes from the histories alone. For one thread.
 */
final class Play {

    /** The lock's key in Redis. */
    static final String KEY = "lock:{demo:counter}";

    /** For a step that succeeds even on a slow machine. */
    static final Duration PATIENT = Duration.ofSeconds(60);

    /** Long enough that no lease ends by itself within the demonstration. */
    static final Duration ENDLESS = Duration.ofMinutes(10);

    private static final long POLL_MILLIS = 20;

    private final Stage stage;
    private final Look look;
    private final boolean naive;
    private final Duration beat;
    private final Map<String, Actor> actors = new LinkedHashMap<>();
    private Timeline timeline;
    private boolean begun;
    private @Nullable Path directory;

    /** The presentation. */
    interface Look {

        /** A timeline for these actors. */
        Timeline timeline(List<String> names);
    }

    Play(Stage stage, Look look, boolean naive, Duration beat) {
        this.stage = stage;
        this.look = look;
        this.naive = naive;
        this.beat = beat;
        this.timeline = look.timeline(List.of());
    }

    Stage stage() {
        return stage;
    }

    /** Whether it is played without protection. */
    boolean naive() {
        return naive;
    }

    /** Shows the hazard, and the two ways to play it: Leasehold's or the naive one. */
    void introduce(String what, String naively, String ours) {
        say(Ink.BOLD, what);
        say(naive() ? Ink.YELLOW : Ink.PLAIN, naive() ? naively : ours);
    }

    /** Shows a line above the timeline. */
    void say(Ink ink, String text) {
        timeline.text(ink, text);
    }

    /** Starts these actors unless they run; a killed one is started again. */
    void cast(String... names) throws DemoFailure, IOException, InterruptedException {
        List<Actor> started = new ArrayList<>();
        for (String name : names) {
            if (!actors.containsKey(name)) {
                Actor actor = stage.startActor(name);
                actors.put(name, actor);
                started.add(actor);
            }
        }
        for (Actor actor : started) {
            requireAnswer(actor, actor.answer(), Words.READY);
        }
        if (!started.isEmpty()) {
            StringBuilder pids = new StringBuilder("Processes:");
            started.forEach(actor ->
                    pids.append(' ').append(actor.name()).append(" = pid ").append(actor.pid()));
            timeline.text(Ink.DIM, pids.toString());
        }
    }

    /** Begins a new act, with its own counter and histories. */
    void begin(String... names) throws IOException {
        directory = stage.newDirectory();
        timeline = look.timeline(List.of(names));
        begun = false;
    }

    /** Gives an actor its part in this act. */
    void enter(String name, Scheme scheme, Duration ttl, boolean checking, List<String> uris)
            throws DemoFailure, IOException, InterruptedException {
        if (directory == null) {
            throw new IllegalStateException("no act has begun");
        }
        Act act = new Act(directory, scheme, ttl, checking, uris);
        requireAnswer(actor(name), actor(name).ask(Words.ACT + " " + act.words()), Words.YES);
    }

    Actor actor(String name) {
        Actor actor = actors.get(name);
        if (actor == null) {
            throw new IllegalArgumentException("no actor is called " + name);
        }
        return actor;
    }

    private static void requireAnswer(Actor actor, String answer, String expected) throws DemoFailure {
        if (!answer.startsWith(expected)) {
            throw new DemoFailure("process " + actor.name() + " answered \"" + answer + "\" instead of " + expected);
        }
    }

    /** Shows a line of the timeline, and waits for a moment. */
    void line(Ink ink, String text) throws InterruptedException {
        if (!begun) {
            timeline.begin(System.nanoTime());
            begun = true;
        }
        timeline.line(System.nanoTime(), ink, text);
        Thread.sleep(beat.toMillis());
    }

    /** Requests the lock; returns whether it was granted. */
    boolean acquire(String name, Duration patience) throws DemoFailure, IOException, InterruptedException {
        askForLock(name, patience);
        return hearOfLock(name);
    }

    /** Requests the lock, and leaves the answer to {@link #hearOfLock}. */
    void askForLock(String name, Duration patience) {
        timeline.waits(name);
        actor(name).tell(Words.ACQUIRE + " " + patience.toMillis());
    }

    /** Whether the requested lock was granted. */
    boolean hearOfLock(String name) throws DemoFailure, IOException, InterruptedException {
        String answer = actor(name).answer();
        if (answer.startsWith(Words.DENIED)) {
            timeline.leaves(name);
            line(Ink.PLAIN, name + " does not get the lock: " + rest(answer));
            return false;
        }
        requireAnswer(actor(name), answer, Words.ACQUIRED);
        boolean company = timeline.holders() > 0;
        timeline.holds(name);
        String token = rest(answer).equals("0") ? "" : ", token " + rest(answer);
        line(company ? Ink.RED : Ink.GREEN, name + " holds the lock" + token);
        return true;
    }

    /** Requests the lock, and pauses between the two steps of that. */
    void acquireHalf(String name) throws DemoFailure, IOException, InterruptedException {
        askHalf(name, Words.ACQUIRE + " 0");
        timeline.waits(name);
    }

    /** Releases the lock, and pauses between the two steps of that, or before the only one. */
    void releaseHalf(String name) throws DemoFailure, IOException, InterruptedException {
        askHalf(name, Words.RELEASE);
    }

    private void askHalf(String name, String step) throws DemoFailure, IOException, InterruptedException {
        Actor actor = actor(name);
        requireAnswer(actor, actor.ask(Words.ARM), Words.YES);
        String answer = actor.ask(step);
        requireAnswer(actor, answer, Words.BETWEEN);
        line(Ink.YELLOW, name + " is held up right after " + rest(answer));
    }

    /** Continues the paused actor; its answer is that of the whole step. */
    void goOn(String name) {
        actor(name).tell(Words.GO);
    }

    /** Reads the number; returns whether the counter accepted the read. */
    boolean read(String name) throws DemoFailure, IOException, InterruptedException {
        String answer = actor(name).ask(Words.READ);
        if (answer.startsWith(Words.YES)) {
            line(Ink.PLAIN, name + " reads " + rest(answer));
            return true;
        }
        line(Ink.YELLOW, name + " may not even read: " + refusal(answer));
        return false;
    }

    /** Writes one more than it has read; returns whether the counter accepted the write. */
    boolean write(String name) throws DemoFailure, IOException, InterruptedException {
        String answer = actor(name).ask(Words.WRITE);
        if (answer.startsWith(Words.YES)) {
            line(Ink.PLAIN, name + " writes " + rest(answer));
            return true;
        }
        line(Ink.YELLOW, name + " wants to write, and " + refusal(answer));
        return false;
    }

    private static String refusal(String answer) {
        requireNo(answer);
        return "the counter refuses its stale token";
    }

    private static void requireNo(String answer) {
        if (!answer.startsWith(Words.NO)) {
            throw new IllegalStateException("answered \"" + answer + "\"");
        }
    }

    /** Whether the holder may rely on its lock now, by its own check. */
    boolean isValid(String name) throws DemoFailure, IOException, InterruptedException {
        return actor(name).ask(Words.CHECK + " 1").startsWith(Words.YES);
    }

    /** Releases the lock. */
    void release(String name) throws DemoFailure, IOException, InterruptedException {
        actor(name).tell(Words.RELEASE);
        hearOfRelease(name);
    }

    /** Shows the outcome of a release. */
    void hearOfRelease(String name) throws DemoFailure, IOException, InterruptedException {
        String answer = actor(name).answer();
        requireAnswer(actor(name), answer, Words.YES);
        timeline.leaves(name);
        line(Ink.PLAIN, name + " releases: " + rest(answer));
    }

    /** Waits until the holder is notified of the end of its lease, and shows that. */
    void hearOfLoss(String name) throws DemoFailure, IOException, InterruptedException {
        String answer = actor(name).ask(Words.HEAR);
        requireAnswer(actor(name), answer, Words.YES);
        timeline.leaves(name);
        line(Ink.YELLOW, name + " learns that its lease has ended: " + rest(answer));
    }

    /** Stops it. */
    void stop(String name, String reason) throws DemoFailure, IOException, InterruptedException {
        actor(name).stop();
        timeline.sleeps(name);
        line(Ink.RED, name + " is STOPPED (SIGSTOP)" + reason);
    }

    /** Continues it. */
    void resume(String name, String text) throws IOException, InterruptedException {
        actor(name).resume();
        timeline.leaves(name);
        line(Ink.YELLOW, name + text);
    }

    /** Kills it; {@link #cast} restarts it. */
    void kill(String name, String text) throws InterruptedException {
        actor(name).kill();
        actors.remove(name);
        timeline.dies(name);
        line(Ink.RED, name + text);
    }

    /** Records that it gives up a lock that will never be free. */
    void giveUp(String name) throws DemoFailure, IOException, InterruptedException {
        requireAnswer(actor(name), actor(name).ask(Words.GIVE_UP), Words.YES);
        timeline.leaves(name);
        line(Ink.RED, name + " gives up: the lock has no holder, and will never be free");
    }

    /** The condition to wait for. */
    interface Condition {
        boolean holds() throws DemoFailure, IOException, InterruptedException;
    }

    /** Waits until the condition holds. */
    void await(String what, Condition condition) throws DemoFailure, IOException, InterruptedException {
        long sinceNanos = System.nanoTime();
        while (!condition.holds()) {
            if (System.nanoTime() - sinceNanos > PATIENT.toNanos()) {
                throw new DemoFailure("waited in vain for " + what + ", for " + PATIENT.toSeconds() + " s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** The verdict on the files of this act. */
    HistoryVerdict verdict(String... names) throws IOException {
        if (directory == null) {
            throw new IllegalStateException("no act has begun");
        }
        return Histories.judge(directory, List.of(names));
    }

    /** Judges the files of this act and shows the verdict; returns whether these promises were kept. */
    boolean judge(Set<Promise> promises, String whyNotAll, String... names) throws IOException {
        HistoryVerdict verdict = verdict(names);
        new VerdictView(timeline).show(verdict, promises, whyNotAll, names.length);
        return verdict.held(promises);
    }

    private static String rest(String answer) {
        int blank = answer.indexOf(' ');
        return blank < 0 ? "" : answer.substring(blank + 1);
    }
}
