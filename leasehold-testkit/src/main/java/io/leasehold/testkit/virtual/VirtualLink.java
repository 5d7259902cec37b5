package io.leasehold.testkit.virtual;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One direction of a connection: accepts messages at one end, and delivers them late, twice, in another order or never
 * to a process at the other end.
 *
 * <p>The counters show which faults occurred, so that a test can require them.
 */
public final class VirtualLink {

    private static final long DUPLICATE_SPREAD = 4;

    private final VirtualWorld world;
    private final VirtualRuntime destination;
    private final List<Runnable> stalled = new ArrayList<>();
    private LinkFaults faults = LinkFaults.none();
    private boolean cut;
    private boolean stalling;
    private long lastArrivalNanos = -1;
    private long sent;
    private long lost;
    private long duplicated;
    private long reordered;

    /** Creates a perfect link to a process. */
    public VirtualLink(VirtualRuntime destination) {
        this.world = destination.world();
        this.destination = Objects.requireNonNull(destination, "destination");
    }

    /** Sets the faults of messages that are sent from now on. */
    public void faults(LinkFaults faults) {
        this.faults = Objects.requireNonNull(faults, "faults");
    }

    /** Drops all later messages, like a firewall. */
    public void cut() {
        cut = true;
        world.note("link to " + destination.name() + " cut");
    }

    /** Lets messages pass again. */
    public void heal() {
        cut = false;
        world.note("link to " + destination.name() + " healed");
    }

    /** Holds back all later messages, until {@link #resume}. */
    public void stall() {
        stalling = true;
        world.note("link to " + destination.name() + " stalled");
    }

    /** Sends the messages that were held back, in order. */
    public void resume() {
        stalling = false;
        world.note("link to " + destination.name() + " resumed");
        List<Runnable> waiting = new ArrayList<>(stalled);
        stalled.clear();
        waiting.forEach(this::pass);
    }

    LinkFaults faults() {
        return faults;
    }

    /** The number of messages that are held back. */
    public int heldBack() {
        return stalled.size();
    }

    /** Sends a message: the task runs at the other end when it arrives. */
    public void send(Runnable arrival) {
        sent++;
        if (cut || world.chance(faults.loss())) {
            lost++;
            world.note("message to " + destination.name() + " lost");
        } else if (stalling) {
            stalled.add(arrival);
        } else {
            pass(arrival);
        }
    }

    private void pass(Runnable arrival) {
        long delay = drawDelay();
        if (world.chance(faults.reordering())) {
            reordered++;
            destination.deliver(delay + extraDelay(), arrival);
        } else {
            long arrivalNanos = Math.max(world.elapsedNanos() + delay, lastArrivalNanos + 1);
            lastArrivalNanos = arrivalNanos;
            destination.deliver(arrivalNanos - world.elapsedNanos(), arrival);
        }
        if (world.chance(faults.duplication())) {
            duplicated++;
            destination.deliver(delay + extraDelay(), arrival);
        }
    }

    private long drawDelay() {
        long spread = faults.mostDelayNanos() - faults.leastDelayNanos();
        return faults.leastDelayNanos() + (spread == 0 ? 0 : world.randomBelow(spread + 1));
    }

    private long extraDelay() {
        return 1 + world.randomBelow(DUPLICATE_SPREAD * Math.max(1, faults.mostDelayNanos()));
    }

    /** Messages sent. */
    public long sent() {
        return sent;
    }

    /** Messages lost. */
    public long lost() {
        return lost;
    }

    /** Messages that arrived twice. */
    public long duplicated() {
        return duplicated;
    }

    /** Messages that left the order. */
    public long reordered() {
        return reordered;
    }
}
