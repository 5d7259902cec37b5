package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import org.jspecify.annotations.Nullable;

/** Converts refusals of a Sentinel to typed errors. */
final class SentinelErrors {

    /** The rights that Leasehold needs at a Sentinel, to paste after {@code ACL SETUSER name}. */
    static final String RIGHTS = "&+switch-master +sentinel|get-master-addr-by-name +sentinel|master +sentinel|masters"
            + " +subscribe +ping";

    private SentinelErrors() {}

    static LockStoreException of(RedisUri sentinel, String words, Throwable thrown) {
        String text = RedisErrors.withoutArguments(words);
        @Nullable Throwable cause = RedisErrors.causeOf(words, thrown);
        String who = "Sentinel " + sentinel.address();
        if (text.startsWith("NOAUTH")) {
            return new StoreAccessException(
                    who + " requires a password: add sentinelUser=…&sentinelPassword=… to the store URI (those before"
                            + " the hosts are for the data servers)",
                    cause);
        }
        if (text.startsWith("WRONGPASS")
                || text.contains("invalid password")
                || text.contains("without any password")) {
            return new StoreAccessException(
                    who + " does not accept sentinelUser and sentinelPassword of the store URI: " + text, cause);
        }
        if (text.startsWith("NOPERM")) {
            return new StoreAccessException(
                    who + " denies this user permission to query the master: " + text + ". An administrator can grant"
                            + " the missing right on the Sentinel: ACL SETUSER <user> " + RIGHTS,
                    cause);
        }
        if (text.contains("unknown command")) {
            return new UnsafeStoreException(
                    sentinel.address() + " is no Sentinel; name a single server as redis://" + sentinel.address(),
                    cause);
        }
        return new StoreUnavailableException(who + " cannot name the master: " + text, cause);
    }
}
