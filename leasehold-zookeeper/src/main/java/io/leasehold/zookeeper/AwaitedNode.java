package io.leasehold.zookeeper;

import io.leasehold.spi.toolkit.QueuePlace;
import java.util.function.Consumer;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The node directly before a waiter's own. A waiter watches only that node, so its removal wakes one waiter, not all of
 * them.
 *
 * <p>Safe for use by any thread.
 */
final class AwaitedNode {

    private final QueuePlace<?> place;
    private final Consumer<Watcher.Event.EventType> woken;
    private final Consumer<Watcher.Event.EventType> onEvent = this::hasChanged;
    private @Nullable String path;

    /**
     * Creates it with nothing awaited.
     *
     * @param woken receives the event when the waiting place must ask again
     */
    AwaitedNode(QueuePlace<?> place, Consumer<Watcher.Event.EventType> woken) {
        this.place = place;
        this.woken = woken;
    }

    /** Awaits this node instead of the previous one; the caller reads it with a watch next. */
    void await(Session in, String next) {
        forget(in); // A waiter that asks again before its event keeps one callback.
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

    /** Stops awaiting. */
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
