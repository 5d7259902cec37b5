package io.leasehold.redis.node;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.toolkit.Failure;

/** The replies of a node to failed requests. */
final class FailedReplies {

    private FailedReplies() {}

    static NodeReply failed(Failure failure) {
        return new NodeReply.Failed(failure.kind(), failure.error());
    }

    /**
     * The reply to a failed release. Unlike a request for a lock, a release is repeated even after a refusal for a
     * password or a right. The server may accept it again long before the lock would expire, for example if a user was
     * created again.
     */
    static ReleaseReply releaseFailed(Failure failure) {
        FailureKind kind = failure.error() instanceof StoreAccessException && failure.kind() == FailureKind.PERMANENT
                ? FailureKind.NO_EFFECT
                : failure.kind();
        return new ReleaseReply.Failed(kind, failure.error());
    }

    /** Whether a renewal failed because its slot is moving to another master. */
    static boolean isOfMigration(RenewReply.Item answer) {
        return answer instanceof RenewReply.Failed failed && isOfMigration(failed.error());
    }

    /** Whether a release failed because its slot is moving to another master. */
    static boolean isOfMigration(ReleaseReply reply) {
        return reply instanceof ReleaseReply.Failed failed && isOfMigration(failed.error());
    }

    /** Whether a request failed because its slot is moving to another master. */
    static boolean isOfMigration(LockStoreException error) {
        return error.getCause() instanceof ServerRefusal refusal
                && RedisErrors.ofCommand(String.valueOf(refusal.getMessage())).startsWith("TRYAGAIN");
    }
}
