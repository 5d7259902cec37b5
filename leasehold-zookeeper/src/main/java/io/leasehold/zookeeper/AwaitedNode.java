package io.leasehold.zookeeper;

import io.leasehold.spi.toolkit.QueuePlace;
import java.util.function.Consumer;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The node before that of a waiter, and only that: its end wakes one waiter, not all of them.
 *
 * <p>Safe for use by any thread.
 */
final class AwaitedNode {

    private final QueuePlace<?> place;
    private final Consumer<Watcher.Event.EventType> woken;
    private final Consumer<Watcher.Event.EventType> onEvent = this::hasChanged;
    private @Nullable String path;

    /**
     * Awaits nothing yet.
     *
     * @param woken hears what has happened when the place that waits is to ask again
     */
    AwaitedNode(QueuePlace<?> place, Consumer<Watcher.Event.EventType> woken) {
        this.place = place;
        this.woken = woken;
    }

    /** Hears of this node instead of another; its caller reads it with a watch next. */
    void await(Session in, String next) {
        forget(in); // Asked again before its event came: one event calls back once.
        synchronized (this) {
            path = next;
        }
        place.await();
        in.onEvent(next, onEvent);
    }

    private void hasChanged(Watcher.Event.EventType event) {
        synchronized (this) {
            path = null;
        }
        if (place.awaitedIsOver()) {
            woken.accept(event);
        }
    }

    /** Awaits nothing any more. */
    void forget(Session in) {
        String before;
        synchronized (this) {
            before = path;
            path = null;
        }
        place.awaitNothing();
        if (before != null) {
            in.forget(before, onEvent);
        }
    }
}
