package io.leasehold.verify.sql;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A row of the lease table.
 *
 * @param id the number of this row among all that had its name
 * @param bornAt the number of earlier commits
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

    /** Creates a row from a statement; its columns begin with the origin at this parameter. */
    static Row of(long id, String name, @Nullable Object[] p, int from) {
        return new Row(
                id,
                0,
                name,
                text(p, from),
                (String) p[from + 1],
                (String) p[from + 2],
                number(p, from + 3),
                number(p, from + 4),
                number(p, from + 5),
                (String) p[from + 6],
                number(p, from + 7),
                number(p, from + 8),
                number(p, from + 9));
    }

    /** The row with all its columns from these parameters. */
    Row updated(@Nullable Object[] p) {
        return of(id, name, p, 0).committedAfter(bornAt);
    }

    /** The row with a waiter. */
    Row noted(@Nullable Object[] p) {
        return new Row(
                id,
                bornAt,
                name,
                origin,
                owner,
                holder,
                expiresAt,
                ttl,
                token,
                (String) p[0],
                number(p, 1),
                freedAt,
                number(p, 2));
    }

    /** The row with another end. */
    Row extended(long until, long newTtl) {
        return new Row(
                id, bornAt, name, origin, owner, holder, until, newTtl, token, waiter, waitingSince, freedAt, fence);
    }

    /** The text parameter at this index. */
    static String text(@Nullable Object[] params, int at) {
        return (String) Objects.requireNonNull(params[at]);
    }

    /** The number parameter at this index. */
    static long number(@Nullable Object[] params, int at) {
        return ((Number) Objects.requireNonNull(params[at])).longValue();
    }

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
