package io.leasehold.zookeeper;

import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.TimeLimit;
import java.time.Duration;
import java.util.function.Consumer;
import org.apache.zookeeper.Watcher;

/**
 * Watches the node of a holder or of the next one, in the session that it was made in, and tells that it was taken away, and why.
 *
 * <p>Safe for use by any thread.
 */
final class OwnNode {

    private static final long NONE = -1;
    /** How long a lost holder may be left without its cause. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    /**
     * A node of ours.
     *
     * @param path its whole path
     * @param czxid when it was made
     */
    record Made(String path, long czxid) {}

    private final LockRuntime runtime;
    private final Session session;
    private final Made node;
    private final QueuePlace<Made> place;
    private final Consumer<LossCause> taken;
    private final Consumer<Watcher.Event.EventType> onEvent = this::hasChanged;
    /** Whether an event of the node will come, or a read that may have set the watch is not answered; guarded by this. */
    private boolean watched;
    /** The connection over which the watch was set, or none; guarded by this. */
    private long watchedOver = NONE;
    /** Whether its removal was heard of; guarded by this. */
    private boolean gone;

    /**
     * Watches nothing yet.
     *
     * @param taken hears why the node was taken away, once, if the place held with it until then
     */
    OwnNode(LockRuntime runtime, Session session, Made node, QueuePlace<Made> place, Consumer<LossCause> taken) {
        this.runtime = runtime;
        this.session = session;
        this.node = node;
        this.place = place;
        this.taken = taken;
    }

    /**
     * Watches for a release by force, unless it does. Not waited for: the node's absence is found at the renewal as well. A
     * watch that could not be set is set by the next call.
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
     * Whether the node was still there when the event came that is being told: a member tells what happened in its order, as
     * long as the connection lasts.
     */
    synchronized boolean isThere() {
        return !gone && watchedOver == session.connections();
    }

    boolean isOf(Made one) {
        return node.equals(one);
    }

    /** The place holds with it from now on: also what was heard before is told. */
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
        // Before it is asked whether it holds: a turn that begins now looks afterwards.
        endWatch(event == Watcher.Event.EventType.NodeDeleted);
        if (!place.isHeldWith(node)) {
            return;
        }
        if (event == Watcher.Event.EventType.NodeDeleted) {
            askWhy();
        } else {
            watch(); // A stranger wrote to it, which used up the watch.
        }
    }

    /** The end of a session deletes its nodes before it is told, so only an answer tells the one from the other. */
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
