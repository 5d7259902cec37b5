package io.leasehold.demo;

import java.io.IOException;
import java.time.Duration;

/** One of three Redlock nodes restarts without its memory, so that a second quorum becomes possible. */
final class RestartDemo {

    private static final Duration TTL = Duration.ofSeconds(3);

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        play.introduce(
                "Three Redis servers, no persistence; two of them make a lock. One that made it restarts.",
                "This time with Redlock AS PUBLISHED: a node that is back is trusted.",
                "Leasehold does not trust a node that may have forgotten, until all that it can have granted is over.");
        Nodes nodes = Nodes.start(play, 3);
        SecondQuorum quorums = new SecondQuorum(play, nodes);
        quorums.firstHoldsAtOneAndTwo(TTL);
        nodes.node(2).restartEmpty();
        play.line(Ink.RED, "node 2 is KILLED and RESTARTS empty: it has forgotten the lock of w1");
        quorums.thirdHasMemoryAgain();
        if (play.naive()) {
            quorums.bothHold();
        } else {
            playOurs(play);
        }
        return quorums.judge("restart", "a node without its memory had no vote, so there was no second quorum.");
    }

    private static void playOurs(Play play) throws DemoFailure, IOException, InterruptedException {
        play.acquire("w2", Duration.ZERO);
        play.askForLock("w2", Play.PATIENT);
        play.line(Ink.PLAIN, "w2 keeps waiting; w1 cannot renew at a quorum any more");
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
