package io.leasehold.redis.wire;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.toolkit.Failure;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads the replies of the scripts.
 *
 * <p>A reply that no script gives causes an {@link IllegalArgumentException} or another unchecked exception.
 */
public final class ReplyDecoder {

    private static final List<Object> DELETED = List.of(1L);

    private final RedisErrors errors;

    /** Creates a decoder for the replies of one node. */
    public ReplyDecoder(RedisErrors errors) {
        this.errors = errors;
    }

    /** Reads a reply of {@code acquire.lua}, {@code resume.lua} or {@code member_acquire.lua}. */
    public NodeReply acquire(List<?> reply, Incarnation incarnation, Object what) {
        heed(reply);
        String kind = text(reply, 0);
        if (isTime(kind)) {
            long micros = Long.parseLong(kind) * 1_000_000 + number(reply, 1);
            return reply.size() == 2
                    ? new NodeReply.Yes(incarnation, micros)
                    : new NodeReply.Held(heldByAnother(reply.get(2)), false, incarnation, micros);
        }
        Failure failure = sideKey(reply, what);
        if (failure != null) {
            return new NodeReply.Failed(failure.kind(), failure.error());
        }
        long nowMicros = number(reply, 1);
        return switch (kind) {
            case "yes" -> new NodeReply.Yes(incarnation, nowMicros);
            case "stale" -> new NodeReply.Stale(number(reply, 2), incarnation, nowMicros);
            case "refused" -> refused(number(reply, 2), incarnation, nowMicros);
            case "unborn" -> new NodeReply.Unborn(text(reply, 2), incarnation, nowMicros);
            case "other" -> new NodeReply.OtherSet(text(reply, 2), incarnation, nowMicros);
            case "young" -> young(number(reply, 2), incarnation, nowMicros);
            case "not-ours" -> new NodeReply.Held(heldBy(reply), false, incarnation, nowMicros);
            case "held", "queued" -> new NodeReply.Held(heldBy(reply), kind.equals("queued"), incarnation, nowMicros);
            default -> throw unknown(kind);
        };
    }

    /** The problem with a side key, or null if the reply reports none. */
    private @Nullable Failure sideKey(List<?> reply, Object what) {
        return switch (text(reply, 0)) {
            case "broken" -> errors.broken(what.toString(), text(reply, 2), text(reply, 3));
            case "version" -> errors.otherVersion(what.toString(), text(reply, 2), text(reply, 3), text(reply, 4));
            default -> null;
        };
    }

    /**
     * Whether a reply begins with the server's time: a script that has only "yes" to say replies with it, or with it and
     * the holder.
     */
    private static boolean isTime(String kind) {
        char first = kind.isEmpty() ? ' ' : kind.charAt(0);
        return first >= '0' && first <= '9';
    }

    private static NodeReply refused(long limit, Incarnation incarnation, long nowMicros) {
        return new NodeReply.Refused(
                "the proposed fencing token is beyond " + limit
                        + ", the most that the node accepts now (its clock is at " + nowMicros + ")",
                10_000_000L,
                incarnation,
                nowMicros);
    }

    private static NodeReply young(long leftMicros, Incarnation incarnation, long nowMicros) {
        return new NodeReply.Quarantined(leftMicros * 1_000, incarnation, nowMicros);
    }

    /** The holder in a short answer of a member: a value from its fencing token on, and its ttl in ms. */
    private static @Nullable Holder heldByAnother(Object item) {
        List<?> held = (List<?>) item;
        return LockValue.holder("lock", text(held, 0), (Long) held.get(1));
    }

    private static @Nullable Holder heldBy(List<?> reply) {
        String state = text(reply, 2);
        return state.equals("ahead") || state.equals("free")
                ? null
                : LockValue.holder(state, text(reply, 3), number(reply, 4));
    }

    /** Reads a reply of {@code release.lua} or {@code member_release.lua}, or the 1 of a script for the common case. */
    public ReleaseReply release(List<?> reply) {
        if (reply.equals(DELETED)) {
            return new ReleaseReply.Released();
        }
        heed(reply);
        String kind = text(reply, 0);
        return switch (kind) {
            case "released" ->
                new ReleaseReply.Released(
                        List.of(), reply.size() > 1 && text(reply, 1).equals("woken"));
            case "not-ours" -> new ReleaseReply.NotOurs();
            case "clamped" ->
                new ReleaseReply.Failed(
                        FailureKind.UNKNOWN,
                        new StoreUnavailableException(
                                "the fence could be raised only to " + number(reply, 1) + "; it is raised again",
                                null));
            default -> throw unknown(kind);
        };
    }

    /** Reads a reply of {@code name_successor.lua}. */
    public SuccessorReply successor(List<?> reply, Object what) {
        Failure failure = sideKey(reply, what);
        if (failure != null) {
            return new SuccessorReply.Failed(failure.kind(), failure.error());
        }
        String kind = text(reply, 0);
        return switch (kind) {
            case "first" -> new SuccessorReply.First();
            case "not-waiting" -> new SuccessorReply.NotWaiting();
            case "not-ours" -> new SuccessorReply.NotOurs();
            default -> throw unknown(kind);
        };
    }

    /** Reads a reply of {@code export.lua}. */
    public ExportReply export(List<?> reply, Object what) {
        Failure failure = sideKey(reply, what);
        if (failure != null) {
            return new ExportReply.Failed(failure.kind(), failure.error());
        }
        String kind = text(reply, 0);
        return switch (kind) {
            case "exported" -> new ExportReply.Exported();
            case "not-ours" -> new ExportReply.NotOurs();
            default -> throw unknown(kind);
        };
    }

    /** Reads a reply of {@code member_birth.lua}. */
    public NodeReply birth(List<?> reply, Incarnation incarnation) {
        String kind = text(reply, 0);
        long nowMicros = number(reply, 1);
        return switch (kind) {
            case "born" -> new NodeReply.Stale(0, incarnation, nowMicros);
            case "refused" ->
                new NodeReply.Refused(
                        "is another life by now, or was told its birth already", 0, incarnation, nowMicros);
            default -> throw unknown(kind);
        };
    }

    /** Reads a reply of {@code renew.lua}, in the order of its keys; only exceptions are named there. */
    public List<RenewReply.Item> renew(List<?> reply, List<RenewBatch.Item> asked, long sentAtNanos) {
        List<RenewReply.Item> items =
                new ArrayList<>(Collections.nCopies(asked.size(), new RenewReply.Renewed(sentAtNanos)));
        int exceptions = reply.size() / 2;
        if (reply.size() != 1 + 2 * exceptions || integer(reply, 0) + exceptions != asked.size()) {
            throw new IllegalArgumentException(
                    "an answer of " + reply.size() + " elements to " + asked.size() + " renewals");
        }
        for (int i = 1; i < reply.size(); i += 2) {
            int index = Math.toIntExact(integer(reply, i)) - 1;
            RenewReply.Item before = items.set(
                    index, unrenewed(reply.get(i + 1), asked.get(index).name()));
            if (!(before instanceof RenewReply.Renewed)) {
                throw new IllegalArgumentException("lock " + (index + 1) + " is named twice");
            }
        }
        return items;
    }

    private RenewReply.Item unrenewed(Object answer, LockName name) {
        return Long.valueOf(0).equals(answer)
                ? new RenewReply.NotOurs()
                : new RenewReply.Failed(errors.answered(
                                String.valueOf(answer),
                                "renew " + (name.isPermits() ? "permits" : name.isRead() ? "read lock" : "lock") + " \""
                                        + name + "\"")
                        .error());
    }

    /** Reads a reply of {@code inspect.lua}. */
    public Optional<HeldLock> inspect(List<?> reply, LockName name) {
        String kind = text(reply, 0);
        return switch (kind) {
            case "free" -> Optional.empty();
            case "held" ->
                Optional.of(new HeldLock(name, LockValue.holder(text(reply, 1), text(reply, 2), number(reply, 3))));
            default -> throw unknown(kind);
        };
    }

    /**
     * Reads a reply of {@code waiters.lua}.
     *
     * @throws LockStoreException if the key is not a queue, or is a queue of another version
     */
    public List<QueuedWaiter> waiters(List<?> reply, String what) {
        Failure failure = sideKey(reply, what);
        if (failure != null) {
            throw failure.error();
        }
        long nowMicros = number(reply, 0);
        List<QueuedWaiter> waiters = new ArrayList<>(reply.size() / 2);
        for (int i = 1; i < reply.size(); i += 2) {
            long waitedMicros = Math.max(0, nowMicros - number(reply, i));
            waiters.add(new QueuedWaiter(
                    LockValue.shown(text(reply, i + 1)), Duration.of(waitedMicros, ChronoUnit.MICROS)));
        }
        return waiters;
    }

    /** The outcome of {@code force_release.lua}: a hold that it removed, no such hold, or readers. */
    public enum Taken {
        /** The hold is gone. */
        REMOVED,
        /** There was no such hold. */
        NONE,
        /** Readers hold the lock, and nothing was removed. */
        READERS
    }

    /**
     * Reads a reply of {@code force_release.lua}.
     *
     * @throws LockStoreException if the key is not a lock
     */
    public Taken forceRelease(List<?> reply, LockName name) {
        heed(reply);
        String kind = text(reply, 0);
        return switch (kind) {
            case "removed" -> Taken.REMOVED;
            case "none" -> Taken.NONE;
            case "readers" -> Taken.READERS;
            case "foreign" -> throw errors.notALock(name, text(reply, 1));
            default -> throw unknown(kind);
        };
    }

    /** Warns of an operation that the server refused although the request itself succeeded. */
    void heed(List<?> reply) {
        int last = reply.size() - 1;
        if (last > 1 && "besides".equals(reply.get(last - 1))) {
            errors.warnOnce(text(reply, last), "serve the waiters of a lock");
        }
    }

    private static IllegalArgumentException unknown(String kind) {
        return new IllegalArgumentException("unknown answer \"" + kind + "\"");
    }

    private static String text(List<?> reply, int index) {
        Object item = reply.get(index);
        if (item instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException("item " + index + " of an answer is no text");
    }

    private static long number(List<?> reply, int index) {
        return Long.parseLong(text(reply, index));
    }

    private static long integer(List<?> reply, int index) {
        if (reply.get(index) instanceof Long number) {
            return number;
        }
        throw new IllegalArgumentException("item " + index + " of an answer is no integer");
    }
}
