package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;

/**
 * How locks and their queues are named in the key space.
 *
 * <p>{@code <prefix>/<name>/<id>} for each holder or waiter, the name percent-escaped; the order of the queue is that of the
 * create revisions. The id is a digest of the owner token: it finds the key again and reveals nothing.
 */
final class Keys {

    private static final int ID_BYTES = 16;
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private final String prefix;

    Keys(String prefix) {
        this.prefix = prefix;
    }

    /** The queue of a lock: what all its keys begin with, and no key of another lock. */
    ByteSequence queue(LockName name) {
        return bytes(prefix + "/" + escaped(name) + "/");
    }

    /** The key of an owner token in the queue of a lock. */
    ByteSequence of(LockName name, OwnerToken owner) {
        return bytes(prefix + "/" + escaped(name) + "/" + idOf(owner));
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
        return last > prefix.length() + 1 ? unescaped(text.substring(prefix.length() + 1, last)) : Optional.empty();
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    /** The name of a lock as a part of a key. */
    static String escaped(LockName name) {
        byte[] bytes = name.text().getBytes(StandardCharsets.UTF_8);
        StringBuilder out = new StringBuilder(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            char c = (char) (bytes[i] & 0xff);
            if (isPlain(c)) {
                out.append(c);
            } else {
                out.append('%').append(HEX.toHexDigits(bytes[i]));
            }
        }
        return out.toString();
    }

    private static boolean isPlain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || "._-:".indexOf(c) >= 0;
    }

    /** The lock of a part of a key, or empty if no lock of ours is named so. */
    static Optional<LockName> unescaped(String part) {
        byte[] bytes = new byte[part.length()];
        int length = 0;
        for (int i = 0; i < part.length(); i++) {
            char c = part.charAt(i);
            if (c == '%' && i + 2 < part.length() && isHex(part.charAt(i + 1)) && isHex(part.charAt(i + 2))) {
                bytes[length++] = (byte) HexFormat.fromHexDigits(part, i + 1, i + 3);
                i += 2;
            } else if (c < 0x80) {
                bytes[length++] = (byte) c;
            } else {
                return Optional.empty();
            }
        }
        try {
            LockName name = LockName.exactly(new String(bytes, 0, length, StandardCharsets.UTF_8));
            return escaped(name).equals(part) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException notAName) {
            return Optional.empty();
        }
    }

    private static boolean isHex(char c) {
        return Character.digit(c, 16) >= 0 && c < 0x80;
    }

    /** What the key of this owner token is recognised by. */
    static String idOf(OwnerToken owner) {
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256").digest(owner.hex().getBytes(StandardCharsets.US_ASCII));
            String hex = HexFormat.of().formatHex(digest, 0, ID_BYTES);
            return hex.substring(0, 8) + "-" + hex.substring(8, 12) + "-" + hex.substring(12, 16) + "-"
                    + hex.substring(16, 20) + "-" + hex.substring(20);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
