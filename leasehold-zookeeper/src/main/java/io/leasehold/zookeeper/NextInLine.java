package io.leasehold.zookeeper;

import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge of a waiter that an event has made its node the first in its queue: the awaited node was the only one
 * before its own, and its deletion was reported while its own node was there.
 *
 * <p>Safe for use by any thread.
 */
final class NextInLine {

    /** The node that had only the awaited node before it. */
    private OwnNode.@Nullable Made second;
    /** The node that is first in the queue, according to an event. */
    private OwnNode.@Nullable Made first;

    /** Notes the node that has only the awaited node before it, or null if it is another one. */
    synchronized void isSecond(OwnNode.@Nullable Made own) {
        second = own;
    }

    /** Notes an event of the awaited node; {@code node} watches the own one. */
    void heard(Watcher.Event.EventType event, @Nullable OwnNode node) {
        OwnNode.Made own;
        synchronized (this) {
            own = second;
            second = null;
        }
        boolean isFirst = event == Watcher.Event.EventType.NodeDeleted
                && own != null
                && node != null
                && node.isOf(own)
                && node.isThere();
        synchronized (this) {
            first = isFirst ? own : null;
        }
    }

    synchronized boolean isFirst(OwnNode.Made own) {
        return own.equals(first);
    }
}
