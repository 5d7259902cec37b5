package io.leasehold.zookeeper;

import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import java.util.function.Consumer;
import org.apache.zookeeper.Watcher;

/**
 * Watches the node of a holder, or of the next in line, in the session that created it. Reports the removal of the
 * node, and its cause.
 *
 * <p>Safe for use by any thread.
 */
final class OwnNode {

    private static final long NONE = -1;
    /** The longest time for which a lost holder is not notified because its cause is still unknown. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    /**
     * A node of this client.
     *
     * @param path its full path
     * @param czxid the zxid of its creation
     */
    record Made(String path, long czxid) {}

    private final LockRuntime runtime;
    private final Session session;
    private final Made node;
    private final QueuePlace<Made> place;
    private final Consumer<LossCause> taken;
    private final Consumer<Watcher.Event.EventType> onEvent = this::hasChanged;
    /**
     * Whether an event of the node is still to come, or a read that may have set the watch is unanswered; guarded by
     * this.
     */
    private boolean watched;
    /** The connection over which the watch was set, or {@link #NONE}; guarded by this. */
    private long watchedOver = NONE;
    /** Whether its removal was reported; guarded by this. */
    private boolean gone;

    /**
     * Creates it without a watch.
     *
     * @param taken receives the cause of the removal, once, if the place held with the node until then
     */
    OwnNode(LockRuntime runtime, Session session, Made node, QueuePlace<Made> place, Consumer<LossCause> taken) {
        this.runtime = runtime;
        this.session = session;
        this.node = node;
        this.place = place;
        this.taken = taken;
    }

    /**
     * Watches for a release by force, unless it already does. The caller does not wait for it, because a renewal also
     * detects that the node is gone. If the watch could not be set, the next call sets it.
     */
    void watch() {
        synchronized (this) {
            if (watched) {
                return;
            }
            watched = true;
        }
        long connection = session.connections();
        session.onEvent(node.path(), onEvent);
        session.read(node.path(), true).whenComplete((found, error) -> {
            if (error == null) {
                isWatchedOver(connection);
                return;
            }
            session.forget(node.path(), onEvent);
            endWatch(Failures.isMissing(error));
            if (Failures.isMissing(error)) {
                isGone(LossCause.FORCE_RELEASED);
            }
        });
    }

    private synchronized void isWatchedOver(long connection) {
        if (watched) {
            watchedOver = connection;
        }
    }

    /**
     * Whether the node was still there at the event that is being reported. A member reports events in their order, as
     * long as the connection lasts.
     */
    synchronized boolean isThere() {
        return !gone && watchedOver == session.connections();
    }

    synchronized boolean isGone() {
        return gone;
    }

    boolean isOf(Made one) {
        return node.equals(one);
    }

    /** Notes that the place holds with the node from now on. A removal that was reported before is passed on, too. */
    void begin() {
        boolean isGone;
        synchronized (this) {
            isGone = gone;
        }
        if (isGone) {
            askWhy();
        } else {
            watch();
        }
    }

    private void hasChanged(Watcher.Event.EventType event) {
        // Before the check whether it holds: a turn that begins now checks afterwards.
        endWatch(event == Watcher.Event.EventType.NodeDeleted);
        if (!place.isHeldWith(node)) {
            return;
        }
        if (event == Watcher.Event.EventType.NodeDeleted) {
            askWhy();
        } else {
            watch(); // Another client wrote to it, which used up the watch.
        }
    }

    /**
     * Reads the cause. The end of a session deletes its nodes before it is reported, so only an answer tells the two
     * causes apart.
     */
    private void askWhy() {
        TimeLimit.within(
                        runtime,
                        CAUSE_NANOS,
                        () -> session.read(node.path(), false).thenApply(found -> LossCause.FORCE_RELEASED),
                        error -> Failures.isMissing(error) ? LossCause.FORCE_RELEASED : LossCause.SESSION_LOST,
                        () -> LossCause.SESSION_LOST)
                .thenAccept(this::isGone);
    }

    private void isGone(LossCause cause) {
        if (place.taken(node)) {
            taken.accept(cause);
        }
    }

    private synchronized void endWatch(boolean forGood) {
        watched = false;
        watchedOver = NONE;
        gone |= forGood;
    }
}
