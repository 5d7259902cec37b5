package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.history.HistoryVerdict;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Counters at the nodes of a quorum are not fencing tokens: failed attempts count, too, and not everywhere. */
final class TokensDemo {

    private static final Duration TTL = Duration.ofSeconds(5);
    private static final int FAILURES = 3;

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        Scheme scheme = play.naive() ? Scheme.REDLOCK_AS_PUBLISHED : Scheme.LEASEHOLD;
        Duration ttl = play.naive() ? Play.ENDLESS : TTL;
        play.introduce(
                "Five Redis servers; three of them make a lock and its fencing token. Which number is larger?",
                "This time each node counts with INCR, and the largest count is the token.",
                "Leasehold's token is a ballot: proposed by the client, granted by a node only above all it knows.");
        Nodes nodes = Nodes.start(play, 5);
        if (!play.naive()) {
            nodes.declareNew(TTL);
        }
        play.cast("w1", "w2");
        play.begin("w1", "w2");
        for (String name : List.of("w1", "w2")) {
            play.enter(name, scheme, ttl, true, nodes.uris(scheme, TTL));
        }
        fill(nodes, 3, 4, 5);
        play.line(Ink.DIM, "nodes 3, 4 and 5 are out of memory: no client can get the lock");
        for (int i = 0; i < FAILURES; i++) {
            play.acquire("w1", Duration.ZERO);
        }
        free(nodes, 3);
        play.line(Ink.DIM, "node 3 has memory again");
        play.acquire("w1", Play.PATIENT);
        play.line(Ink.DIM, "at nodes 1, 2 and 3");
        play.read("w1");
        play.write("w1");
        play.release("w1");
        free(nodes, 4, 5);
        fill(nodes, 1, 2);
        play.line(Ink.DIM, "now nodes 1 and 2 are out of memory, and 4 and 5 are back");
        play.acquire("w2", Play.PATIENT);
        play.line(Ink.DIM, "at nodes 3, 4 and 5");
        if (play.read("w2")) {
            play.write("w2");
        } else {
            play.line(Ink.RED, "w2 is the rightful holder; a stale w1 would be let in");
        }
        play.release("w2");
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2");
        if (held) {
            play.say(Ink.GREEN, "HELD: the later holder has the larger token, whichever nodes made the quorum.");
            play.say(Ink.DIM, "Now see counters: leasehold demo tokens --naive");
        } else {
            play.say(Ink.RED, "VIOLATED, as it must be: tokens went backwards. With ballots: leasehold demo tokens");
        }
        return held;
    }

    private static void fill(Nodes nodes, int... numbers) {
        for (int number : numbers) {
            nodes.fill(number);
        }
    }

    private static void free(Nodes nodes, int... numbers) {
        for (int number : numbers) {
            nodes.free(number);
        }
    }
}
