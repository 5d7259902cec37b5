package io.leasehold.demo;

import java.io.IOException;
import java.time.Duration;

/** The clock of one of three Redlock nodes jumps, and its keys end early. */
final class ClockDemo {

    /** Renewed every third of it; a machine that stalls this long loses the lease, and the verdict still holds. */
    private static final Duration TTL = Duration.ofSeconds(6);

    private static final Duration JUMP = Duration.ofHours(1);

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        play.introduce(
                "Three Redis servers; two of them make a lock. The clock of one jumps forwards by an hour.",
                "This time with Redlock AS PUBLISHED: a lock that was made by two nodes stays at two.",
                "Leasehold gives a node whose clock has jumped no vote, and brings the lock to every node that lacks it.");
        Nodes nodes = Nodes.startWithClocks(play, 3);
        SecondQuorum quorums = new SecondQuorum(play, nodes);
        quorums.firstHoldsAtOneAndTwo(TTL);
        quorums.thirdHasMemoryAgain();
        if (!play.naive()) {
            play.await("the lock of w1 at node 3", () -> nodes.hasLock(3) || !play.isValid("w1"));
            play.line(Ink.PLAIN, "w1 renews, and brings the lock to node 3");
        }
        nodes.jump(2, JUMP);
        play.await("the end of the lock at node 2", () -> !nodes.hasLock(2));
        play.line(Ink.RED, "the clock of node 2 JUMPS by an hour: the lock of w1 is gone there");
        if (play.naive()) {
            quorums.bothHold();
        } else {
            playOurs(play);
        }
        return quorums.judge("clock", "the node whose clock jumped made no second quorum.");
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
