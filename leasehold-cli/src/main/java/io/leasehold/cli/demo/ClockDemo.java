package io.leasehold.cli.demo;

import io.leasehold.cli.demo.actor.Scheme;
import io.leasehold.cli.demo.history.HistoryVerdict;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** The clock of one of three Redlock nodes jumps, and its keys end early. */
final class ClockDemo implements Scenario {

    /** Renewed every third of it; a machine that stalls for as long loses the lease, and the verdict still holds. */
    private static final Duration TTL = Duration.ofSeconds(6);

    private static final Duration JUMP = Duration.ofHours(1);

    @Override
    public String name() {
        return "clock";
    }

    @Override
    public String summary() {
        return "the clock of a Redlock node jumps, and its keys end early";
    }

    @Override
    public boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        Scheme scheme = play.naive() ? Scheme.REDLOCK_AS_PUBLISHED : Scheme.LEASEHOLD;
        Duration ttl = play.naive() ? Play.ENDLESS : TTL;
        play.say(Ink.BOLD, "Three Redis servers; two of them make a lock. The clock of one jumps forwards by an hour.");
        play.say(
                play.naive() ? Ink.YELLOW : Ink.PLAIN,
                play.naive()
                        ? "This time with Redlock AS PUBLISHED: a lock that was made by two nodes stays at two."
                        : "Leasehold gives a node whose clock has jumped no vote, and brings the lock to every node that lacks it.");
        Nodes nodes = Nodes.startWithClocks(play, 3);
        if (!play.naive()) {
            nodes.declareNew(TTL);
        }
        play.cast("w1", "w2");
        play.begin("w1", "w2");
        for (String name : List.of("w1", "w2")) {
            play.enter(name, scheme, ttl, false, nodes.uris(scheme, TTL));
        }
        nodes.fill(3);
        play.line(Ink.DIM, "node 3 is out of memory and grants nothing");
        play.acquire("w1", Play.PATIENT);
        play.line(Ink.DIM, "at nodes 1 and 2: two of three are a quorum");
        play.read("w1");
        nodes.free(3);
        play.line(Ink.DIM, "node 3 has memory again");
        if (!play.naive() && !nodes.haveClocks()) {
            // The node's own clock does not show this jump, so nobody can notice it: one node more has to have the
            // lock.
            play.await("the lock of w1 at node 3", () -> nodes.hasLock(3) || !play.isValid("w1"));
            play.line(Ink.PLAIN, "w1 renews, and brings the lock to node 3");
        }
        nodes.jump(2, JUMP);
        play.await("the end of the lock at node 2", () -> !nodes.hasLock(2));
        play.line(Ink.RED, "the clock of node 2 JUMPS by an hour: the lock of w1 is gone there");
        if (play.naive()) {
            playPublished(play);
        } else {
            playOurs(play);
        }
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2");
        if (held) {
            play.say(Ink.GREEN, "HELD: the node whose clock jumped made no second quorum.");
            play.say(Ink.DIM, "Now see the protocol as it was published: leasehold demo clock --naive");
        } else {
            play.say(
                    Ink.RED,
                    "VIOLATED, as it must be: nodes 2 and 3 made a second quorum. With Leasehold:"
                            + " leasehold demo clock");
        }
        return held;
    }

    private static void playPublished(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w2", Play.PATIENT);
        play.line(Ink.RED, "at nodes 2 and 3, while w1 holds the lock");
        play.read("w2");
        play.write("w2");
        if (play.write("w1")) {
            play.line(Ink.RED, "the work of w2 is lost");
        }
        play.release("w2");
        play.release("w1");
    }

    private static void playOurs(Play play) throws DemoFailure, IOException, InterruptedException {
        boolean second = play.acquire("w2", Duration.ZERO);
        if (play.isValid("w1")) {
            play.line(Ink.PLAIN, "w1 checks its lease: valid");
            play.write("w1");
        }
        play.release("w1");
        if (!second) {
            play.acquire("w2", Play.PATIENT);
        }
        play.read("w2");
        play.write("w2");
        play.release("w2");
    }
}
