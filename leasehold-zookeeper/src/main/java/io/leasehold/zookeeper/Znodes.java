package io.leasehold.zookeeper;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * How locks and their queues are named in the tree. Pure.
 *
 * <p>A lock is the node {@code <chroot>/<name>}, its name percent-escaped; below it stands one ephemeral sequential node
 * for each holder or waiter: {@code _c_<id>-lock-<sequence>}, as Curator's recipes name them, so that an
 * {@code InterProcessMutex} on the same path stands in the same queue. The id is a digest of the owner token: it finds
 * the node again and reveals nothing.
 */
final class Znodes {

    /** Holds the base of the fencing tokens; no lock is named so, since '@' is always escaped. */
    static final String TOKENS = "@tokens";

    private static final String PREFIX = "_c_";
    private static final String MARK = "-lock-";
    private static final int ID_BYTES = 16;
    private static final int LEAST_DIGITS = 10;
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private Znodes() {}

    /** The name of a lock as a node name. */
    static String escaped(LockName name) {
        byte[] bytes = name.text().getBytes(StandardCharsets.UTF_8);
        StringBuilder out = new StringBuilder(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            char c = (char) (bytes[i] & 0xff);
            boolean dotFirst = c == '.' && i == 0;
            if (isPlain(c) && !dotFirst) {
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

    /** The lock of a node name, or empty if no lock of ours is named so. */
    static Optional<LockName> unescaped(String node) {
        byte[] bytes = new byte[node.length()];
        int length = 0;
        for (int i = 0; i < node.length(); i++) {
            char c = node.charAt(i);
            if (c == '%' && i + 2 < node.length() && isHex(node.charAt(i + 1)) && isHex(node.charAt(i + 2))) {
                bytes[length++] = (byte) HexFormat.fromHexDigits(node, i + 1, i + 3);
                i += 2;
            } else if (c < 0x80) {
                bytes[length++] = (byte) c;
            } else {
                return Optional.empty();
            }
        }
        try {
            LockName name = LockName.exactly(new String(bytes, 0, length, StandardCharsets.UTF_8));
            return escaped(name).equals(node) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException notAName) {
            return Optional.empty();
        }
    }

    private static boolean isHex(char c) {
        return Character.digit(c, 16) >= 0 && c < 0x80;
    }

    /** What the nodes of this owner token are recognised by. */
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

    /** What ZooKeeper appends the sequence to. */
    static String prefixFor(String id) {
        return PREFIX + id + MARK;
    }

    static boolean belongsTo(String node, String id) {
        return node.startsWith(prefixFor(id));
    }

    /**
     * The queue: the nodes that stand in it, first come first. Other nodes are left out.
     *
     * <p>Sequences are compared by difference, since the counter of a lock that is used for long enough overflows.
     */
    static List<String> inOrder(List<String> children) {
        List<String> queue = new ArrayList<>(children.size());
        for (String child : children) {
            if (sequenceAt(child) >= 0) {
                queue.add(child);
            }
        }
        queue.sort(Comparator.comparing(Znodes::sequence, (a, b) -> Integer.compare(a - b, 0)));
        return queue;
    }

    private static int sequenceAt(String node) {
        int mark = node.lastIndexOf(MARK);
        int from = mark + MARK.length();
        boolean plausible =
                mark >= 0 && node.length() - from >= LEAST_DIGITS && node.length() - from <= LEAST_DIGITS + 1;
        return plausible && node.substring(from).matches("-?[0-9]+") ? from : -1;
    }

    private static int sequence(String node) {
        return (int) Long.parseLong(node.substring(sequenceAt(node)));
    }
}
