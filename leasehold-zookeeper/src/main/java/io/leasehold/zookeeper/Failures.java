package io.leasehold.zookeeper;

import io.leasehold.Durations;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.TimedReplies;
import java.time.Duration;
import org.apache.zookeeper.KeeperException;
import org.jspecify.annotations.Nullable;

/** Translates the driver's errors for the caller. */
final class Failures implements TimedReplies.Errors {

    private final String ensemble;
    private final long tokenBase;
    private final @Nullable String user;

    Failures(ZooKeeperUri uri) {
        this.ensemble = uri.toString();
        this.tokenBase = uri.tokens().value();
        this.user = uri.user();
    }

    /** The error code of the driver, or null if the error is not from the driver. */
    static KeeperException.@Nullable Code codeOf(@Nullable Throwable error) {
        return error != null && Failure.unwrapped(error) instanceof KeeperException failed ? failed.code() : null;
    }

    static boolean isMissing(@Nullable Throwable error) {
        return codeOf(error) == KeeperException.Code.NONODE;
    }

    @Override
    public Failure of(String what, Throwable error) {
        Throwable cause = Failure.unwrapped(error);
        if (cause instanceof LockStoreException known) {
            return new Failure(
                    known instanceof StoreUnavailableException ? FailureKind.NO_EFFECT : FailureKind.PERMANENT, known);
        }
        KeeperException.Code code = codeOf(cause);
        String at = what + " at " + ensemble;
        if (code == null) {
            return Failure.unavailable(FailureKind.UNKNOWN, at + " failed: " + cause, cause);
        }
        String path = cause instanceof KeeperException failed ? String.valueOf(failed.getPath()) : "";
        return switch (code) {
            case CONNECTIONLOSS, OPERATIONTIMEOUT, REQUESTTIMEOUT, SESSIONMOVED ->
                Failure.unavailable(FailureKind.UNKNOWN, at + " was not answered: the connection was lost", cause);
            case SESSIONEXPIRED ->
                Failure.unavailable(FailureKind.NO_EFFECT, at + " failed: the session is over", cause);
            case THROTTLEDOP ->
                Failure.unavailable(FailureKind.NO_EFFECT, at + " failed: the ensemble is overloaded", cause);
            case NOAUTH ->
                Failure.access(
                        at + " failed: " + who() + " lacks a right at " + path
                                + "; it needs create, delete and read there (cdr in setAcl)",
                        cause);
            case AUTHFAILED -> Failure.access(at + " failed: the credentials of " + who() + " were refused", cause);
            case INVALIDACL ->
                Failure.access(
                        at + " failed: the ensemble does not accept the digest credentials of " + who() + " for "
                                + path,
                        cause);
            case QUOTAEXCEEDED -> Failure.access(at + " failed: the quota of " + path + " is used up; raise it", cause);
            default -> Failure.unavailable(FailureKind.UNKNOWN, at + " failed: " + code + " for " + path, cause);
        };
    }

    @Override
    public LockStoreException late(String what, long limitNanos) {
        return new StoreUnavailableException(
                what + " at " + ensemble + " was not answered within " + limitNanos / 1_000_000
                        + " ms; check that a majority of its members is up and reachable",
                null);
    }

    /** The reason why the node at the head of its queue cannot become a lease, or null if it can. */
    @Nullable
    UnsafeStoreException refusal(LockName name, long token, long ttlNanos, long sessionNanos) {
        String lock = "lock \"" + name + "\" at " + ensemble;
        if (token >= TokenRange.LIMIT) {
            return new UnsafeStoreException(
                    lock + ": tokenBase " + tokenBase
                            + " and the zxid together reach 2^53, where fencing tokens end; use a smaller tokenBase",
                    null);
        }
        if (sessionNanos < ttlNanos) {
            return new UnsafeStoreException(
                    lock + ": the ttl of " + Durations.text(Duration.ofNanos(ttlNanos))
                            + " is longer than the session timeout of "
                            + Durations.text(Duration.ofNanos(sessionNanos))
                            + " that the ensemble granted; use a shorter ttl, or raise sessionTimeout in the URI and"
                            + " maxSessionTimeout at the members",
                    null);
        }
        return null;
    }

    private String who() {
        return user == null ? "the anonymous user" : "user \"" + user + "\"";
    }
}
