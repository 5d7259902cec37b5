package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.history.HistoryVerdict;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Five common hand-made locks, each made to fail, and Leasehold in the same situation. */
final class BrokenDemo {

    private static final Duration SHORT = Duration.ofMillis(1500);
    /** For a holder whose lease must be valid at its check, and end soon after. */
    private static final Duration MEDIUM = Duration.ofSeconds(4);

    private static final String[] NAMES = {"w1", "w2", "w3"};

    private record Outcome(Scheme scheme, String finding, boolean held, boolean oursHeld) {}

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        play.say(Ink.BOLD, "Five common hand-made locks on one Redis, and the moment at which each of them fails.");
        RedisServer server = play.stage().startRedis();
        play.say(Ink.DIM, "Started: Redis " + server.version() + " on 127.0.0.1:" + server.port());
        List<Outcome> outcomes = new ArrayList<>();
        for (Scheme scheme : List.of(
                Scheme.SETNX_THEN_EXPIRE,
                Scheme.GET_THEN_SET,
                Scheme.FIXED_VALUE,
                Scheme.DELETE_WITHOUT_COMPARE,
                Scheme.GET_THEN_DELETE)) {
            HistoryVerdict broken = act(play, server, scheme, scheme, MEDIUM);
            if (broken.held(HistoryVerdict.ALL)) {
                // The machine was so slow that the lock ended too early.
                broken = act(play, server, scheme, scheme, MEDIUM.multipliedBy(5));
            }
            boolean oursHeld = play.naive()
                    || act(play, server, scheme, Scheme.LEASEHOLD, SHORT).held(HistoryVerdict.ALL);
            outcomes.add(new Outcome(scheme, finding(broken), broken.held(HistoryVerdict.ALL), oursHeld));
        }
        return judge(play, outcomes);
    }

    private static boolean judge(Play play, List<Outcome> outcomes) throws DemoFailure {
        play.say(Ink.PLAIN, "");
        play.say(Ink.BOLD, "Verdict, from nothing but what the processes wrote to their files");
        for (Outcome outcome : outcomes) {
            String row = String.format(Locale.ROOT, "%-22s  ", outcome.scheme().words());
            play.say(outcome.held() ? Ink.YELLOW : Ink.RED, "  ✗   " + row + outcome.finding());
            if (!play.naive()) {
                play.say(
                        outcome.oursHeld() ? Ink.GREEN : Ink.RED,
                        "  " + (outcome.oursHeld() ? "✓   " : "✗   ")
                                + String.format(Locale.ROOT, "%-22s  ", "Leasehold, same place")
                                + (outcome.oursHeld() ? "held" : "VIOLATED"));
            }
        }
        play.say(Ink.PLAIN, "");
        for (Outcome outcome : outcomes) {
            if (outcome.held()) {
                throw new DemoFailure("the broken lock \"" + outcome.scheme().words()
                        + "\" did not fail as it was made to: this machine was too busy; try again");
            }
        }
        if (play.naive()) {
            play.say(
                    Ink.RED, "VIOLATED, all five, as expected. For a comparison with Leasehold: leasehold demo broken");
            return false;
        }
        boolean held = outcomes.stream().allMatch(Outcome::oursHeld);
        play.say(
                held ? Ink.GREEN : Ink.RED,
                held
                        ? "HELD: in each of the five situations Leasehold held where the other lock failed."
                        : "VIOLATED: Leasehold failed, too.");
        return held;
    }

    private static String finding(HistoryVerdict verdict) {
        List<String> found = new ArrayList<>();
        verdict.lockedOut().forEach(name -> found.add(name + " is locked out forever"));
        verdict.overlaps().stream().limit(1).forEach(found::add);
        if (verdict.lostUpdates() > 0) {
            found.add("lost updates: " + verdict.lostUpdates());
        }
        return found.isEmpty() ? "did not fail" : String.join("; ", found);
    }

    private static HistoryVerdict act(Play play, RedisServer server, Scheme scene, Scheme scheme, Duration medium)
            throws DemoFailure, IOException, InterruptedException {
        server.call("FLUSHALL");
        play.say(Ink.PLAIN, "");
        boolean ours = scheme == Scheme.LEASEHOLD;
        play.say(
                Ink.BOLD,
                ours ? "Leasehold, in the same place" : "A lock by hand: " + scheme.words() + " — " + moment(scene));
        play.cast(NAMES);
        play.begin(NAMES);
        for (String name : NAMES) {
            play.enter(name, scheme, ttl(name, scene, medium), false, List.of(server.uri()));
        }
        switch (scene) {
            case SETNX_THEN_EXPIRE -> deathBetweenTwoCommands(play, ours);
            case GET_THEN_SET -> twoWhoSeeNothing(play, ours);
            case FIXED_VALUE, DELETE_WITHOUT_COMPARE -> lateRelease(play);
            case GET_THEN_DELETE -> lateDelete(play);
            default -> throw new IllegalArgumentException("no scene for " + scene);
        }
        return play.verdict(NAMES);
    }

    /** Only the first must lose its lock by waiting. */
    private static Duration ttl(String name, Scheme scene, Duration medium) {
        if (scene == Scheme.SETNX_THEN_EXPIRE) {
            return SHORT;
        }
        if (scene == Scheme.GET_THEN_SET || !name.equals("w1")) {
            return Play.ENDLESS;
        }
        return scene == Scheme.GET_THEN_DELETE ? medium : SHORT;
    }

    private static String moment(Scheme scene) {
        return switch (scene) {
            case SETNX_THEN_EXPIRE -> "and a death between the two";
            case GET_THEN_SET -> "and two processes that see it free";
            case FIXED_VALUE -> "and a release that comes late";
            case DELETE_WITHOUT_COMPARE -> "and a release that comes late";
            case GET_THEN_DELETE -> "and a pause between the two";
            default -> "";
        };
    }

    private static void deathBetweenTwoCommands(Play play, boolean ours)
            throws DemoFailure, IOException, InterruptedException {
        if (ours) {
            // One command: nothing can happen in between. The nearest moment is right after it.
            play.acquire("w1", Play.PATIENT);
            play.kill("w1", " is KILLED right after its one command");
        } else {
            play.acquireHalf("w1");
            play.kill("w1", " is KILLED before EXPIRE");
        }
        // Leasehold's lock must become free in time; the other one is checked after that time.
        if (play.acquire("w2", ours ? Play.PATIENT : SHORT.multipliedBy(2))) {
            play.read("w2");
            play.write("w2");
            play.release("w2");
        } else {
            play.giveUp("w2");
        }
    }

    private static void twoWhoSeeNothing(Play play, boolean ours)
            throws DemoFailure, IOException, InterruptedException {
        if (ours) {
            play.acquire("w1", Play.PATIENT);
        } else {
            play.acquireHalf("w1");
        }
        boolean second = play.acquire("w2", Duration.ZERO);
        if (!ours) {
            play.goOn("w1");
            play.hearOfLock("w1");
        }
        play.read("w1");
        if (second) {
            play.read("w2");
            play.write("w2");
        }
        play.write("w1");
        play.release("w1");
        if (!second) {
            play.acquire("w2", Play.PATIENT);
            play.read("w2");
            play.write("w2");
        }
        play.release("w2");
    }

    private static void lateRelease(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w1", Play.PATIENT);
        play.stop("w1", " until its lock is over");
        play.acquire("w2", Play.PATIENT);
        play.read("w2");
        play.resume("w1", " WAKES, and releases what it believes is its lock");
        play.release("w1");
        third(play);
    }

    private static void lateDelete(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w1", Play.PATIENT);
        play.releaseHalf("w1");
        play.stop("w1", " until its lock is over");
        play.acquire("w2", Play.PATIENT);
        play.read("w2");
        play.resume("w1", " WAKES, and does the rest");
        play.goOn("w1");
        play.hearOfRelease("w1");
        third(play);
    }

    private static void third(Play play) throws DemoFailure, IOException, InterruptedException {
        boolean third = play.acquire("w3", Duration.ZERO);
        if (third) {
            play.read("w3");
            play.write("w3");
        }
        play.write("w2");
        play.release("w2");
        if (!third) {
            play.acquire("w3", Play.PATIENT);
            play.read("w3");
            play.write("w3");
        }
        play.release("w3");
    }
}
