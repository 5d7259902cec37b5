package io.leasehold.verify.sql;

import org.jspecify.annotations.Nullable;

/**
 * A row of the lease table.
 *
 * @param id of this row among all that ever had its name
 * @param bornAt the count of commits before it
 */
record Row(
        long id,
        long bornAt,
        String name,
        String origin,
        @Nullable String owner,
        @Nullable String holder,
        long expiresAt,
        long ttl,
        long token,
        @Nullable String waiter,
        long waitingSince,
        long freedAt,
        long fence) {

    /** Its columns, in the order of the dialects. */
    @Nullable
    Object[] columns() {
        return new @Nullable Object[] {
            name, origin, owner, holder, expiresAt, ttl, token, waiter, waitingSince, freedAt, fence
        };
    }

    boolean isHeldAt(long micros) {
        return owner != null && expiresAt > micros * 1000;
    }

    Row committedAfter(long commits) {
        return new Row(
                id, commits, name, origin, owner, holder, expiresAt, ttl, token, waiter, waitingSince, freedAt, fence);
    }
}
