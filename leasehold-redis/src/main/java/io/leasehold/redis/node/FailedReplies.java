package io.leasehold.redis.node;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.toolkit.Failure;

/** The answers of a node to requests that failed. */
final class FailedReplies {

    private FailedReplies() {}

    static NodeReply failed(Failure failure) {
        return new NodeReply.Failed(failure.kind(), failure.error());
    }

    /**
     * The answer to a release. One that is refused for a password or a right is repeated as well, unlike a request for a lock: it
     * may be accepted again, as when a user was made anew, long before the lock would end by itself.
     */
    static ReleaseReply releaseFailed(Failure failure) {
        FailureKind kind = failure.error() instanceof StoreAccessException && failure.kind() == FailureKind.PERMANENT
                ? FailureKind.NO_EFFECT
                : failure.kind();
        return new ReleaseReply.Failed(kind, failure.error());
    }

    /** Whether a release failed because its slot is being moved. */
    static boolean isOfMigration(ReleaseReply reply) {
        return reply instanceof ReleaseReply.Failed failed && isOfMigration(failed.error());
    }

    /** Whether a request failed because its slot is being moved. */
    static boolean isOfMigration(LockStoreException error) {
        return error.getCause() instanceof ServerRefusal refusal
                && RedisErrors.ofCommand(String.valueOf(refusal.getMessage())).startsWith("TRYAGAIN");
    }
}
