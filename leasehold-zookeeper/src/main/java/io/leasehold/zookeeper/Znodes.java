package io.leasehold.zookeeper;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The names of locks and their queues in the tree. Pure functions.
 *
 * <p>A lock is the node {@code <chroot>/<name>}, with the name {@linkplain io.leasehold.spi.toolkit.PlainName plain}.
 * Below it, each holder or waiter has one ephemeral sequential node: {@code _c_<id>-lock-<sequence>}. Curator's recipes
 * use the same names, so an {@code InterProcessMutex} on the same path waits in the same queue. The id is a digest of
 * the owner token: it identifies the node and reveals nothing.
 */
final class Znodes {

    /** The node with the base of the fencing tokens; no lock has this name. */
    static final String TOKENS = "@tokens";

    private static final String PREFIX = "_c_";
    private static final String MARK = "-lock-";
    private static final int MIN_DIGITS = 10;

    private Znodes() {}

    /** The name to which ZooKeeper appends the sequence. */
    static String prefixFor(String id) {
        return PREFIX + id + MARK;
    }

    static boolean belongsTo(String node, String id) {
        return node.startsWith(prefixFor(id));
    }

    /**
     * The queue: its nodes in the order of arrival. Other nodes are left out.
     *
     * <p>Sequences are compared by difference, because the counter of a lock overflows after long enough use.
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
        boolean plausible = mark >= 0 && node.length() - from >= MIN_DIGITS && node.length() - from <= MIN_DIGITS + 1;
        return plausible && node.substring(from).matches("-?[0-9]+") ? from : -1;
    }

    private static int sequence(String node) {
        return (int) Long.parseLong(node.substring(sequenceAt(node)));
    }
}
