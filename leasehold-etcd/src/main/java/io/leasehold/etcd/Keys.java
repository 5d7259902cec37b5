package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PlainName;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * How locks and their queues are named in the key space.
 *
 * <p>{@code <prefix>/<name>/<id>} for each holder or waiter, the name {@linkplain PlainName plain}; the order of the queue is that of the
 * create revisions. The id is a digest of the owner token: it finds the key again and reveals nothing.
 */
final class Keys {

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

    /** What the keys of all queues begin with. */
    ByteSequence all() {
        return bytes(prefix + "/");
    }

    /** Holds the base of the fencing tokens. */
    ByteSequence tokens() {
        return bytes(prefix + "@tokens");
    }

    /** Written with every release, so that a key that was given back differs from one that was lost. */
    ByteSequence released() {
        return bytes(prefix + "@released");
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
