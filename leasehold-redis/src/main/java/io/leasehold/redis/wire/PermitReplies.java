package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.PermitCountException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.PermitsStatus.HeldPermit;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.toolkit.Failure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Reads the replies of the scripts for permits. As {@link ReplyDecoder}, which reads the replies that are the same for
 * locks.
 */
public final class PermitReplies {

    private final ReplyDecoder decoder;
    private final RedisErrors errors;
    private final String node;

    /**
     * Creates a decoder for the replies of one node.
     *
     * @param node the node, for messages
     */
    public PermitReplies(ReplyDecoder decoder, RedisErrors errors, String node) {
        this.decoder = decoder;
        this.errors = errors;
        this.node = node;
    }

    /** Reads a reply of {@code permits_acquire.lua}. */
    public NodeReply acquire(List<?> reply, Incarnation incarnation, LockName permits, Object what) {
        return switch (text(reply, 0)) {
            case "yes" -> {
                decoder.heed(reply);
                yield new NodeReply.Yes(incarnation, Long.parseLong(text(reply, 1)), slots(reply));
            }
            case "count" -> refused(new PermitCountException(permits, node, permits.permitCount(), number(reply, 2)));
            case "lock" -> refused(nameOfALock(what));
            default -> decoder.acquire(reply, incarnation, what);
        };
    }

    /** The slots, up to the text that an error was met besides. */
    private static List<Integer> slots(List<?> reply) {
        List<Integer> slots = new ArrayList<>();
        for (int i = 2; i < reply.size() && !text(reply, i).equals("besides"); i++) {
            slots.add(number(reply, i));
        }
        return slots;
    }

    private LockStoreException nameOfALock(Object what) {
        return new LockStoreException(
                node + " cannot " + what + ": the name is that of an exclusive lock, which is held or was used"
                        + " less than a minute or so ago. Give the permits another name",
                null);
    }

    private static NodeReply refused(LockStoreException error) {
        return new NodeReply.Failed(FailureKind.PERMANENT, error);
    }

    /** Reads a reply of {@code permits_release.lua} or {@code permits_release_key.lua}. */
    public ReleaseReply release(List<?> reply, Object what) {
        if (text(reply, 0).equals("broken")) {
            Failure failure = errors.broken(what.toString(), text(reply, 2), text(reply, 3));
            return new ReleaseReply.Failed(failure.kind(), failure.error());
        }
        return decoder.release(reply);
    }

    /**
     * Reads a reply of {@code permits_inspect.lua}.
     *
     * @throws LockStoreException if the key is not a record of permits
     */
    public Optional<PermitsStatus> inspect(List<?> reply, LockName permits, Object what) {
        if (isFirst(reply, "none", what)) {
            return Optional.empty();
        }
        List<HeldPermit> held = new ArrayList<>();
        for (int i = 3; i < reply.size(); i += 3) {
            long leftMillis = Long.parseLong(text(reply, i + 2));
            held.add(new HeldPermit(number(reply, i), LockValue.holder("lock", text(reply, i + 1), leftMillis)));
        }
        held.sort(Comparator.comparingInt(HeldPermit::slot));
        return Optional.of(new PermitsStatus(permits, number(reply, 1), Long.parseLong(text(reply, 2)), held));
    }

    /** As {@link #inspect}, for a list: empty also if the key is not a record of permits. */
    public Optional<PermitsStatus> listed(List<?> reply, LockName permits, Object what) {
        return text(reply, 0).equals("broken") ? Optional.empty() : inspect(reply, permits, what);
    }

    /**
     * Reads a reply of {@code permits_change.lua}.
     *
     * @throws LockStoreException if the key is not a record of permits, or the name is in use as that of a lock
     */
    public boolean change(List<?> reply, Object what) {
        if (text(reply, 0).equals("lock")) {
            throw nameOfALock(what);
        }
        return isFirst(reply, "changed", what);
    }

    /**
     * Reads a reply of {@code permits_force_release.lua}: the holder that has lost its permit, if there was one.
     *
     * @throws LockStoreException if the key is not a record of permits
     */
    public Optional<String> forceRelease(List<?> reply, Object what) {
        return isFirst(reply, "removed", what) ? Optional.of(text(reply, 1)) : Optional.empty();
    }

    private boolean isFirst(List<?> reply, String kind, Object what) {
        if (text(reply, 0).equals("broken")) {
            throw errors.broken(what.toString(), text(reply, 2), text(reply, 3)).error();
        }
        decoder.heed(reply);
        return text(reply, 0).equals(kind);
    }

    private static String text(List<?> reply, int index) {
        if (reply.get(index) instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException("item " + index + " of an answer is no text");
    }

    private static int number(List<?> reply, int index) {
        return Integer.parseInt(text(reply, index));
    }
}
