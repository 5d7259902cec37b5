package io.leasehold.zookeeper;

import io.leasehold.Durations;
import io.leasehold.admin.Finding;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.toolkit.TimedReplies;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Diagnoses an ensemble: the session timeout that it grants for a ttl, and its tick. */
final class ZooKeeperOperations implements StoreOperations {

    private static final Duration USUAL_TTL = Duration.ofSeconds(30);
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
                "diagnosis",
                LIMIT_NANOS,
                () -> sessions.forTtl(USUAL_TTL.toNanos()).thenApply(this::diagnose));
    }

    private List<Finding> diagnose(Session session) {
        long grantedMillis = session.timeoutNanos() / 1_000_000;
        return List.of(
                session(
                        uri.toString(),
                        session.askedMillis(),
                        grantedMillis,
                        Duration.ofNanos(session.unsureNanos(USUAL_TTL.toNanos()))),
                tick(uri.toString(), grantedMillis, uri.tickTime().toMillis()));
    }

    /**
     * Grades the timeout of a session that was opened for the usual ttl.
     *
     * @param unsure the part of that ttl by which the validity of its leases is shorter
     */
    static Finding session(String store, long askedMillis, long grantedMillis, Duration unsure) {
        String ttl = "a ttl of " + Durations.text(USUAL_TTL);
        if (grantedMillis < USUAL_TTL.toMillis()) {
            return Finding.warning(
                    "session",
                    store + " grants a session of " + grantedMillis + " ms: leases with " + ttl + " are refused",
                    grantedMillis < askedMillis
                            ? "maxSessionTimeout=" + askedMillis + " in zoo.cfg of every member, or a shorter ttl"
                            : "no sessionTimeout in the store URI, or a shorter ttl");
        } else if (grantedMillis > askedMillis) {
            return Finding.warning(
                    "session",
                    store + " makes " + askedMillis + " ms a session of " + grantedMillis
                            + " ms: the locks of a dead process stay for longer than its ttl",
                    "minSessionTimeout=" + askedMillis + " in zoo.cfg of every member");
        }
        String granted = store + " grants a session of " + grantedMillis + " ms"
                + (grantedMillis < askedMillis ? " where " + askedMillis + " ms were requested" : "");
        return Finding.good(
                "session",
                unsure.isZero()
                        ? granted + ": enough for " + ttl
                        : granted + ": leases with " + ttl + " are valid for " + Durations.text(unsure) + " less");
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
