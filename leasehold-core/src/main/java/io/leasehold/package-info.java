/**
 * The API: distributed locks as leases.
 *
 * <p>Every lock across processes is a lease: it ends by itself, whatever the holder believes. This
 * package therefore hands out {@link io.leasehold.Lease leases} that know how long they are really
 * valid (counted from before the request was sent, less {@linkplain io.leasehold.LockOptions drift}),
 * that renew themselves until closed, that say when and why they ended, and that carry a fencing
 * token which the guarded resource can check.
 *
 * <p>Start at {@link io.leasehold.Leasehold#connect(String)}.
 */
@NullMarked
package io.leasehold;

import org.jspecify.annotations.NullMarked;
