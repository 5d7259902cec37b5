package io.leasehold.demo;

import io.leasehold.demo.actor.Scheme;
import io.leasehold.demo.history.HistoryVerdict.Promise;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** The primary grants a lock, dies before it has replicated it, and the replica takes its place. */
final class FailoverDemo {

    private static final Duration TTL = Duration.ofSeconds(8);

    /** Whether the histories prove that the promises were kept. */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException {
        play.introduce(
                "A Redis and its replica. The primary grants a lock, dies, and the replica takes its place.",
                "The counter is NAIVE: it accepts every write.",
                "The counter CHECKS the fencing token: it refuses one that is older than any it has seen.");
        RedisReplicated group = play.stage().startReplicated();
        RedisServer primary = group.primary();
        RedisServer replica = group.replicas().get(0);
        play.say(
                Ink.DIM,
                "Started: Redis " + primary.version() + ", primary on 127.0.0.1:" + primary.port() + ", replica on :"
                        + replica.port());
        play.cast("w1", "w2");
        play.begin("w1", "w2");
        play.enter("w1", Scheme.LEASEHOLD, TTL, !play.naive(), List.of(group.uri()));
        cutOff(replica);
        play.line(Ink.DIM, "the replica is cut off: it does not receive the writes of the primary");
        play.acquire("w1", Play.PATIENT);
        play.line(Ink.DIM, "the primary has acknowledged it; replication is asynchronous");
        play.read("w1");
        primary.kill();
        replica.call("REPLICAOF", "NO", "ONE");
        play.line(Ink.RED, "the primary is KILLED, and the replica becomes the primary: it knows of no lock");
        play.enter("w2", Scheme.LEASEHOLD, TTL, !play.naive(), List.of(replica.uri()));
        play.acquire("w2", Play.PATIENT);
        play.line(
                Ink.DIM, "the lease of w1 is " + (play.isValid("w1") ? "still valid, as far as w1 can know" : "over"));
        play.read("w2");
        play.write("w2");
        play.release("w2");
        if (play.write("w1")) {
            play.line(Ink.RED, "the work of w2 is lost");
        }
        play.line(
                Ink.PLAIN,
                "w1 can no longer renew, and learns of it when its own clock shows that the lease has ended");
        play.hearOfLoss("w1");
        boolean held = play.judge(
                Set.of(Promise.TOKENS, Promise.UPDATES, Promise.PROGRESS),
                "a replicated Redis promises no exclusion over a fail-over: locks.guarantees() says BEST_EFFORT",
                "w1",
                "w2");
        if (held) {
            play.say(
                    Ink.GREEN,
                    "HELD, as far as it was promised: two held, the token told them apart, no work was lost.");
            play.say(Ink.DIM, "Now see a resource that does not check: leasehold demo failover --naive");
        } else {
            play.say(
                    Ink.RED, "VIOLATED, as it must be: the lock was acknowledged and lost, and nothing else protects.");
            play.say(Ink.DIM, "With a resource that checks the token: leasehold demo failover");
        }
        return held;
    }

    /** Redirects it to an unused port, so that it stays a replica with its current data. */
    private static void cutOff(RedisServer replica) {
        replica.call("REPLICAOF", "127.0.0.1", "1");
    }
}
