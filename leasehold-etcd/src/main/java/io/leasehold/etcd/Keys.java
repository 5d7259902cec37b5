package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.PlainName;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * The names of locks and their queues in the key space.
 *
 * <p>Each holder or waiter has the key {@code <prefix>/<name>/<id>}, with the name {@linkplain PlainName plain}. The
 * order of the queue is that of the create revisions. The id is a digest of the owner token: it identifies the key and
 * reveals nothing.
 */
final class Keys {

    /**
     * The character after the slash: the keys that begin with the one come after the keys that begin with the other.
     */
    private static final byte AFTER_SLASH = '/' + 1;

    private final String prefix;

    Keys(String prefix) {
        this.prefix = prefix;
    }

    /** The queue of a lock: the prefix of all its keys, and of no key of another lock. */
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

    /** The end of all keys: the first key after them. */
    ByteSequence endOfAll() {
        return bytes(prefix + (char) AFTER_SLASH);
    }

    /** The key at which a list continues after this one: the next lock, if this key belongs to a lock. */
    ByteSequence after(ByteSequence key) {
        byte[] bytes = key.getBytes(); // Not text: another program may write a key that is not text.
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

    /** The key with the base of the fencing tokens. */
    ByteSequence tokens() {
        return bytes(prefix + "@tokens");
    }

    /** The lock to whose queue the key belongs, or empty if it belongs to none. */
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
