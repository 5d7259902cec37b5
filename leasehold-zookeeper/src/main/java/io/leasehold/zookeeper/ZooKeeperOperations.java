package io.leasehold.zookeeper;

import io.leasehold.admin.Finding;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.toolkit.TimedReplies;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Diagnoses an ensemble: the session timeout that it grants for a ttl, and its tick. */
final class ZooKeeperOperations implements StoreOperations {

    private static final long USUAL_TTL_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long LIMIT_NANOS = Duration.ofSeconds(10).toNanos();

    private final ZooKeeperUri uri;
    private final Sessions sessions;
    private final TimedReplies replies;

    ZooKeeperOperations(ZooKeeperUri uri, Sessions sessions, TimedReplies replies) {
        this.uri = uri;
        this.sessions = sessions;
        this.replies = replies;
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        return replies.orFail(
                "diagnosis", LIMIT_NANOS, () -> sessions.forTtl(USUAL_TTL_NANOS).thenApply(this::diagnose));
    }

    private List<Finding> diagnose(Session session) {
        long grantedMillis = session.timeoutNanos() / 1_000_000;
        return List.of(
                session(uri.toString(), session.askedMillis(), grantedMillis),
                tick(uri.toString(), grantedMillis, uri.tickTime().toMillis()));
    }

    static Finding session(String store, long askedMillis, long grantedMillis) {
        if (grantedMillis < askedMillis) {
            return Finding.warning(
                    "session",
                    store + " grants a session of " + grantedMillis + " ms where a ttl of 30 s needs " + askedMillis
                            + ": leases with such a ttl are refused",
                    "maxSessionTimeout=" + askedMillis + " in zoo.cfg of every member, or a shorter ttl");
        } else if (grantedMillis > askedMillis) {
            return Finding.warning(
                    "session",
                    store + " makes " + askedMillis + " ms a session of " + grantedMillis
                            + " ms: the locks of a dead process stay for longer than its ttl",
                    "minSessionTimeout=" + askedMillis + " in zoo.cfg of every member");
        }
        return Finding.good(
                "session", store + " grants the session that a ttl of 30 s needs: " + grantedMillis + " ms");
    }

    static Finding tick(String store, long timeoutMillis, long tickMillis) {
        if (tickMillis * 6 > timeoutMillis) {
            return Finding.warning(
                    "tick",
                    "a tick of " + tickMillis + " ms at " + store + " leaves little of a session of " + timeoutMillis
                            + " ms: what is sure is a third and a tick less",
                    "a longer ttl, or a shorter tickTime in zoo.cfg, told to us by ?tickTime=");
        }
        return Finding.good("tick", "sessions at " + store + " are long against its tick of " + tickMillis + " ms");
    }
}
