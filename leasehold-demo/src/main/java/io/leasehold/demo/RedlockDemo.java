package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.actor.Words;
import io.leasehold.demo.history.HistoryVerdict;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Two of five nodes freeze, and the users of the lock do not notice. */
final class RedlockDemo {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final int TURNS = 5;
    private static final List<String> NAMES = List.of("w1", "w2", "w3");

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        Scheme scheme = play.naive() ? Scheme.NONE : Scheme.LEASEHOLD;
        play.say(
                Ink.BOLD,
                "Five Redis servers; three of them make a lock. Two are frozen while three processes use it.");
        if (play.naive()) {
            play.say(Ink.YELLOW, "This time WITHOUT the lock: all processes come in at once.");
        }
        Nodes nodes = Nodes.start(play, 5);
        if (!play.naive()) {
            nodes.declareNew(TTL);
        }
        play.cast("w1", "w2", "w3");
        play.begin("w1", "w2", "w3");
        for (String name : NAMES) {
            play.enter(name, scheme, TTL, false, nodes.uris(scheme, TTL));
        }
        if (play.naive()) {
            playWithoutLock(play);
        } else {
            work(play, NAMES, 1, "all five answer");
            round(play, "all five answer");
            nodes.node(4).freeze();
            nodes.node(5).freeze();
            play.line(Ink.RED, "nodes 4 and 5 are FROZEN (SIGSTOP): they accept connections and answer nothing");
            round(play, "two of five are frozen");
            nodes.node(4).thaw();
            nodes.node(5).thaw();
            play.line(Ink.GREEN, "nodes 4 and 5 go on, and find all that they missed");
            round(play, "all five answer again");
        }
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2", "w3");
        if (held) {
            play.say(Ink.GREEN, "HELD: three of five went on as if nothing had happened.");
            play.say(Ink.DIM, "Now see it without: leasehold demo redlock --without-lock");
        } else {
            play.say(Ink.RED, "VIOLATED, as it must be without a lock. With it: leasehold demo redlock");
        }
        return held;
    }

    private static void round(Play play, String state) throws DemoFailure, IOException, InterruptedException {
        long alone = work(play, NAMES.subList(0, 1), TURNS, state);
        long together = work(play, NAMES, TURNS, state);
        play.line(
                Ink.PLAIN,
                state + ": w1 alone got the lock within " + alone + " ms each time; all three at once, "
                        + NAMES.size() * TURNS + " turns, within " + together + " ms");
    }

    /** Lets these perform this number of turns concurrently; returns the slowest wait, in milliseconds. */
    private static long work(Play play, List<String> names, int turns, String state)
            throws DemoFailure, IOException, InterruptedException {
        for (String name : names) {
            play.actor(name).tell(Words.WORK + " " + turns);
        }
        long slowest = 0;
        for (String name : names) {
            String answer = play.actor(name).answer();
            if (!answer.startsWith(Words.YES)) {
                throw new DemoFailure("process " + name + " could not do its turns while " + state + ": " + answer);
            }
            slowest = Math.max(slowest, Long.parseLong(answer.substring(Words.YES.length() + 1)));
        }
        return slowest;
    }

    private static void playWithoutLock(Play play) throws DemoFailure, IOException, InterruptedException {
        for (String name : NAMES) {
            play.acquire(name, Duration.ZERO);
        }
        for (String name : NAMES) {
            play.read(name);
        }
        for (String name : NAMES) {
            play.write(name);
        }
        for (String name : NAMES) {
            play.release(name);
        }
    }
}
