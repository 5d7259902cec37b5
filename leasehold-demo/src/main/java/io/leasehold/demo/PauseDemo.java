package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.history.HistoryVerdict;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** The holder is stopped beyond its lease, after it has checked it and before it writes. */
final class PauseDemo {

    private static final Duration TTL = Duration.ofSeconds(3);

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        play.introduce(
                "w1 holds the lock, checks it, and is stopped before it writes: a long collection, a suspended machine.",
                "The counter is NAIVE: it accepts every write. No lock can help it.",
                "The counter CHECKS the fencing token: it refuses one that is older than any it has seen.");
        RedisServer redis = play.stage().startRedis();
        play.say(Ink.DIM, "Started: Redis " + redis.version() + " on 127.0.0.1:" + redis.port());
        play.cast("w1", "w2");
        play.begin("w1", "w2");
        for (String name : List.of("w1", "w2")) {
            play.enter(name, Scheme.LEASEHOLD, TTL, !play.naive(), List.of(redis.uri()));
        }
        play.acquire("w1", Play.PATIENT);
        play.read("w1");
        play.line(
                Ink.PLAIN, "w1 checks its lease: " + (play.isValid("w1") ? "valid" : "over") + ". Now it would write");
        play.stop("w1", ": no renewal, and no message reaches it");
        play.askForLock("w2", Play.PATIENT);
        play.line(Ink.PLAIN, "w2 waits: the lease of w1 has to end first");
        play.hearOfLock("w2");
        play.read("w2");
        play.write("w2");
        play.release("w2");
        play.resume("w1", " WAKES (SIGCONT), does not know that it slept, and does what it was about to do");
        if (play.write("w1")) {
            play.line(Ink.RED, "the work of w2 is lost");
        }
        play.hearOfLoss("w1");
        play.release("w1");
        boolean held = play.judge(HistoryVerdict.ALL, "", "w1", "w2");
        if (held) {
            play.say(Ink.GREEN, "HELD: the lease ended before the next one began, and what came late was refused.");
            play.say(Ink.DIM, "Now see a resource that does not check: leasehold demo pause --naive");
        } else {
            play.say(Ink.RED, "VIOLATED, as it must be: a check of the lock before a pause is worth nothing after it.");
            play.say(Ink.DIM, "With a resource that checks the token: leasehold demo pause");
        }
        return held;
    }
}
