package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.PlainName;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * How locks and their queues are named in the key space.
 *
 * <p>{@code <prefix>/<name>/<id>} for each holder or waiter, the name {@linkplain PlainName plain}; the order of the queue is that of the
 * create revisions. The id is a digest of the owner token: it finds the key again and reveals nothing.
 */
final class Keys {

    /** The character after the slash: behind what begins with the one comes what begins with the other. */
    private static final byte AFTER_SLASH = '/' + 1;

    private final String prefix;

    Keys(String prefix) {
        this.prefix = prefix;
    }

    /** The queue of a lock: what all its keys begin with, and no key of another lock. */
    ByteSequence queue(LockName name) {
        return bytes(prefix + "/" + PlainName.of(name) + "/");
    }

    /** The key of an owner token in the queue of a lock. */
    ByteSequence of(LockName name, OwnerToken owner) {
        return bytes(prefix + "/" + PlainName.of(name) + "/" + owner.publicId());
    }

    /** The prefix of the keys of all queues. */
    ByteSequence all() {
        return bytes(prefix + "/");
    }

    /** The end of all keys: one behind them. */
    ByteSequence endOfAll() {
        return bytes(prefix + (char) AFTER_SLASH);
    }

    /** The key at which a list goes on after this one: the next lock, if the key belongs to one. */
    ByteSequence after(ByteSequence key) {
        byte[] bytes = key.getBytes(); // And not text: others may write what is none.
        int queues = all().size() - 1;
        int last = bytes.length - 1;
        while (last > queues && bytes[last] != '/') {
            last--;
        }
        if (last <= queues) {
            return key.concat(ByteSequence.from(new byte[1]));
        }
        byte[] next = Arrays.copyOf(bytes, last + 1);
        next[last] = AFTER_SLASH;
        return ByteSequence.from(next);
    }

    /** Holds the base of the fencing tokens. */
    ByteSequence tokens() {
        return bytes(prefix + "@tokens");
    }

    /** The lock of a queue's key, or empty if it is none of ours. */
    Optional<LockName> lockOf(ByteSequence key) {
        String text = key.toString(StandardCharsets.UTF_8);
        int last = text.lastIndexOf('/');
        return last > prefix.length() + 1
                ? PlainName.read(text.substring(prefix.length() + 1, last))
                : Optional.empty();
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }
}
