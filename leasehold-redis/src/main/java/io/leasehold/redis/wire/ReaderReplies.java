package io.leasehold.redis.wire;

import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.toolkit.Failure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads the replies of the scripts for readers. As {@link ReplyDecoder}, which reads the replies that are the same for
 * locks.
 */
public final class ReaderReplies {

    private final ReplyDecoder decoder;
    private final RedisErrors errors;

    /** Creates a decoder for the replies of one node. */
    public ReaderReplies(ReplyDecoder decoder, RedisErrors errors) {
        this.decoder = decoder;
        this.errors = errors;
    }

    /** Reads a reply of {@code read_release.lua}, {@code read_release_key.lua} or {@code member_read_release.lua}. */
    public ReleaseReply release(List<?> reply, Object what) {
        if (reply.get(0).equals("broken")) {
            Failure failure = broken(reply, what);
            return new ReleaseReply.Failed(failure.kind(), failure.error());
        }
        return decoder.release(reply);
    }

    /**
     * Reads a reply of {@code read_inspect.lua}.
     *
     * @throws LockStoreException if another program wrote the key
     */
    public List<Holder> inspect(List<?> reply, Object what) {
        refuseBroken(reply, what);
        List<Holder> readers = new ArrayList<>();
        for (int i = 1; i < reply.size(); i += 2) {
            readers.add(LockValue.holder("lock", text(reply, i), Long.parseLong(text(reply, i + 1))));
        }
        return readers;
    }

    /**
     * Reads a reply of {@code read_force_release.lua}: the holders that are readers no more.
     *
     * @throws LockStoreException if another program wrote a key
     */
    public Optional<List<String>> forceRelease(List<?> reply, Object what) {
        refuseBroken(reply, what);
        decoder.heed(reply);
        if (reply.get(0).equals("none")) {
            return Optional.empty();
        }
        int end = reply.size() > 2 && reply.get(reply.size() - 2).equals("besides") ? reply.size() - 2 : reply.size();
        List<String> removed = new ArrayList<>();
        for (int i = 1; i < end; i++) {
            removed.add(text(reply, i));
        }
        return Optional.of(removed);
    }

    private void refuseBroken(List<?> reply, Object what) {
        if (reply.get(0).equals("broken")) {
            throw broken(reply, what).error();
        }
    }

    private Failure broken(List<?> reply, Object what) {
        return errors.broken(what.toString(), text(reply, 2), text(reply, 3));
    }

    private static String text(List<?> reply, int index) {
        if (reply.get(index) instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException("item " + index + " of an answer is no text");
    }
}
