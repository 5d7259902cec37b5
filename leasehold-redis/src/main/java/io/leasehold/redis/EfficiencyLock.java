package io.leasehold.redis;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.util.function.UnaryOperator;

/**
 * A lock that saves work but protects no data: for jobs that may run twice but should not, such as filling a cache or
 * sending a report.
 *
 * <p><b>Guarantee.</b> As long as the server loses no data and its clock does not jump, at most one holder is inside
 * its validity. The lock has no fencing token, so a holder that was paused past its end can do harm unnoticed. If that
 * matters, use {@link io.leasehold.DistributedLock}. The lock has no queue: waiters retry from time to time, and any of
 * them may be next. If the answer to a request is lost, the lock may stay taken without a holder until its ttl has
 * passed.
 *
 * <p>The lock is a plain {@code SET key value NX PX ttl} on the key of the {@code DistributedLock} with the same name.
 * Therefore the two exclude each other. They also exclude every other client that sets the key in the same way. The
 * object is stateless, and all threads may use it; interruption and errors are as in {@link Acquirable}.
 */
public interface EfficiencyLock extends Acquirable<Hold> {

    /** The name of the lock. */
    LockName name();

    /** The options with which this object acquires the lock. */
    LockOptions options();

    /** The same lock with other options. */
    EfficiencyLock with(UnaryOperator<LockOptions> change);
}
