package io.leasehold.redis;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.util.function.UnaryOperator;

/**
 * A lock that saves work, and protects nothing: for jobs that may run twice and had better not, such as filling a cache or
 * sending a report.
 *
 * <p><b>Guarantee.</b> As long as the server forgets nothing and its clock does not jump, at most one holder is inside its
 * validity. There is no fencing token, so a holder that was paused past its end can do harm unnoticed; where that matters
 * use {@link io.leasehold.DistributedLock}. There is no queue: waiters ask again from time to time, and any of them may be
 * next. A request whose answer was lost may leave the lock held by nobody until its ttl has passed.
 *
 * <p>It is a plain {@code SET key value NX PX ttl} on the key that a {@code DistributedLock} of that name has, so the two exclude
 * each other, and every client that does the same. Stateless, for all threads; interruption and errors as in
 * {@link Acquirable}.
 */
public interface EfficiencyLock extends Acquirable<Hold> {

    /** The name. */
    LockName name();

    /** The options with which this object acquires. */
    LockOptions options();

    /** The same lock with other options. */
    EfficiencyLock with(UnaryOperator<LockOptions> change);
}
