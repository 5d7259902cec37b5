package io.leasehold.cli.demo;

import io.leasehold.cli.demo.actor.Scheme;
import io.leasehold.cli.demo.history.HistoryVerdict;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** One of three Redlock nodes restarts without its memory, and makes a second quorum possible. */
final class RestartDemo implements Scenario {

    private static final Duration TTL = Duration.ofSeconds(3);

    @Override
    public String name() {
        return "restart";
    }

    @Override
    public String summary() {
        return "a Redlock node restarts and forgets what it granted";
    }

    @Override
    public boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        Scheme scheme = play.naive() ? Scheme.REDLOCK_AS_PUBLISHED : Scheme.LEASEHOLD;
        // The published one renews nothing: its lock is to outlive the demonstration, however slow the machine.
        Duration ttl = play.naive() ? Play.ENDLESS : TTL;
        play.say(Ink.BOLD, "Three Redis servers, no persistence; two of them make a lock. One that made it restarts.");
        play.say(
                play.naive() ? Ink.YELLOW : Ink.PLAIN,
                play.naive()
                        ? "This time with Redlock AS PUBLISHED: a node that is back is believed."
                        : "Leasehold does not believe a node that may have forgotten, until all it can have granted is over.");
        Nodes nodes = Nodes.start(play, 3);
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
        nodes.node(2).restartEmpty();
        play.line(Ink.RED, "node 2 is KILLED and RESTARTS empty: it has forgotten the lock of w1");
        nodes.free(3);
        play.line(Ink.DIM, "node 3 has memory again");
        if (play.naive()) {
            playPublished(play);
        } else {
            playOurs(play);
        }
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2");
        if (held) {
            play.say(Ink.GREEN, "HELD: a node without its memory had no vote, so there was no second quorum.");
            play.say(Ink.DIM, "Now see the protocol as it was published: leasehold demo restart --naive");
        } else {
            play.say(
                    Ink.RED,
                    "VIOLATED, as it must be: nodes 2 and 3 made a second quorum. With Leasehold:"
                            + " leasehold demo restart");
        }
        return held;
    }

    private static void playPublished(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w2", Play.PATIENT);
        play.line(Ink.RED, "at nodes 2 and 3, while w1 holds the lock");
        play.read("w2");
        play.write("w2");
        play.line(Ink.PLAIN, "w1 looks at its clock: its lock is " + (play.isValid("w1") ? "valid" : "over"));
        if (play.write("w1")) {
            play.line(Ink.RED, "the work of w2 is lost");
        }
        play.release("w2");
        play.release("w1");
    }

    private static void playOurs(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w2", Duration.ZERO);
        play.askForLock("w2", Play.PATIENT);
        play.line(Ink.PLAIN, "w2 goes on waiting; w1 cannot renew at a quorum any more");
        play.hearOfLoss("w1");
        if (!play.isValid("w1")) {
            play.line(Ink.PLAIN, "w1 stops, and writes nothing");
        }
        play.hearOfLock("w2");
        play.read("w2");
        play.write("w2");
        play.release("w2");
    }
}
