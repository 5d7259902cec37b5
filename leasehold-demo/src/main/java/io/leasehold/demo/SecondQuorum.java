package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.history.HistoryVerdict;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * The common part of two demonstrations: w1 holds a lock at nodes 1 and 2 of three, node 2 loses it in the
 * demonstration's way, and nodes 2 and 3 might form a second quorum for w2.
 */
final class SecondQuorum {

    private final Play play;
    private final Nodes nodes;

    /** @param nodes three freshly started nodes */
    SecondQuorum(Play play, Nodes nodes) {
        this.play = play;
        this.nodes = nodes;
    }

    /** @param ttl of Leasehold's lock; the published one is not renewed, and must outlive the demonstration */
    void firstHoldsAtOneAndTwo(Duration ttl) throws DemoFailure, IOException, InterruptedException {
        Scheme scheme = play.naive() ? Scheme.REDLOCK_AS_PUBLISHED : Scheme.LEASEHOLD;
        if (!play.naive()) {
            nodes.declareNew(ttl);
        }
        play.cast("w1", "w2");
        play.begin("w1", "w2");
        for (String name : List.of("w1", "w2")) {
            play.enter(name, scheme, play.naive() ? Play.ENDLESS : ttl, false, nodes.uris(scheme, ttl));
        }
        nodes.fill(3);
        play.line(Ink.DIM, "node 3 is out of memory and grants nothing");
        play.acquire("w1", Play.PATIENT);
        play.line(Ink.DIM, "at nodes 1 and 2: two of three are a quorum");
        play.read("w1");
    }

    void thirdHasMemoryAgain() throws DemoFailure, IOException, InterruptedException {
        nodes.free(3);
        play.line(Ink.DIM, "node 3 has memory again");
    }

    /** Plays the published protocol, now that node 2 has lost the lock. */
    void bothHold() throws DemoFailure, IOException, InterruptedException {
        play.acquire("w2", Play.PATIENT);
        play.line(Ink.RED, "at nodes 2 and 3, while w1 holds the lock");
        play.read("w2");
        play.write("w2");
        play.line(Ink.PLAIN, "w1 checks its clock: its lock is " + (play.isValid("w1") ? "valid" : "over"));
        if (play.write("w1")) {
            play.line(Ink.RED, "the work of w2 is lost");
        }
        play.release("w2");
        play.release("w1");
    }

    /** @param why the explanation in case the promise was kept */
    boolean judge(String demo, String why) throws DemoFailure, IOException, InterruptedException {
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2");
        if (held) {
            play.say(Ink.GREEN, "HELD: " + why);
            play.say(Ink.DIM, "Now see the protocol as it was published: leasehold demo " + demo + " --naive");
        } else {
            play.say(
                    Ink.RED,
                    "VIOLATED, as it must be: nodes 2 and 3 made a second quorum. With Leasehold: leasehold demo "
                            + demo);
        }
        return held;
    }
}
