package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The keys of the locks that a client holds, at a server that reports changes to keys. Decides when to read which key,
 * and which hold to doubt. Pure: events and the time come in, actions go out.
 *
 * <p>A message says only that a key must be read, and a reading says only that a hold is in doubt. The server reports
 * one change after each reading. Therefore every key is read again after its message, even if this client itself has
 * renewed the hold. At most one reading is in flight, and the keys that change in the meantime share the next one:
 * however many messages arrive, a key costs at most one reading for each round trip.
 *
 * <p>A doubted hold is kept, since the engine may not have registered it yet, and is read again after a pause. If its
 * value is still missing, the hold is doubted again and the pause doubles: the store may extend a hold that a reading
 * at another server does not see.
 */
final class HeldKeys {

    /** An event. */
    sealed interface Event {}

    /**
     * The store has granted or extended this hold.
     *
     * @param isNew whether it was granted; an extension adds the hold only if the key has no other
     * @param untilAtNanos the time by which the server has dropped the hold, unless it is extended
     */
    record Held(String key, LockName name, OwnerToken owner, long untilAtNanos, boolean isNew) implements Event {}

    /** The hold is being released, or the store has answered that it is gone. */
    record Ended(String key, OwnerToken owner) implements Event {}

    /** The server reports changes from now on; earlier reports may have been lost. */
    record Began() implements Event {}

    /** The server reports no changes for now. */
    record Paused() implements Event {}

    /** The server reports that this key has changed; null if all keys may have changed. */
    record Changed(@Nullable String key) implements Event {}

    /** The values of a reading, in its order. */
    record Values(long reading, List<@Nullable String> values) implements Event {}

    /**
     * A reading has failed.
     *
     * @param isRefused whether an early retry is useless
     */
    record Unread(long reading, boolean isRefused) implements Event {}

    /** The pause after a failed reading is over. */
    record Again() implements Event {}

    /** The pause of a {@link Rest} is over. */
    record Rested() implements Event {}

    /** An action for the shell. */
    sealed interface Action {}

    /** Read these keys. */
    record Read(long reading, List<String> keys) implements Action {}

    /** Send {@link Again} after this time. */
    record Wait(long nanos) implements Action {}

    /** Send {@link Rested} after this time. */
    record Rest(long nanos) implements Action {}

    /** Report to the engine that these holds may be gone. */
    record Doubt(List<DoubtedHold> holds) implements Action {}

    static final int MAX_IN_ONE = 500;
    static final int MOST_DOUBLINGS = 5;
    private static final int MIN_SWEEP = 64;
    private static final long SECOND_NANOS = 1_000_000_000L;
    private static final long REFUSED_NANOS = 60 * SECOND_NANOS;

    /** A hold; no two are equal, so that a reading counts only for the hold for which it was made. */
    private static final class Hold {
        private final String key;
        private final LockName name;
        private final OwnerToken owner;
        private long untilAtNanos;
        /** The number of readings in a row that have not found it. */
        private int doubts;
        /** The time before which it is not read. */
        private long restedAtNanos;

        private Hold(Held held) {
            this.key = held.key();
            this.name = held.name();
            this.owner = held.owner();
            this.untilAtNanos = held.untilAtNanos();
        }

        private boolean isKept(@Nullable String value) {
            return value != null && value.startsWith(owner.hex() + ":");
        }

        private void rest(long nowNanos) {
            restedAtNanos = nowNanos + (SECOND_NANOS << Math.min(doubts, MOST_DOUBLINGS));
            doubts++;
        }
    }

    private final Map<String, Hold> holds = new HashMap<>();
    /** The keys that must be read, in the order of the events. */
    private final Set<String> unread = new LinkedHashSet<>();
    /** The doubted holds whose pause is not over. */
    private final Set<Hold> resting = new LinkedHashSet<>();
    /** Whether a {@link Rest} is scheduled: one serves all resting holds. */
    private boolean hasTimer;

    private long timerAtNanos;

    private boolean telling;
    private List<Hold> beingRead = List.of();
    private long readings;
    /** Whether a reading has failed and its pause is not over. */
    private boolean waiting;

    private long againAtNanos;

    private int sweepAt = MIN_SWEEP;

    /** Processes an event and returns the actions, in this order. */
    List<Action> on(Event event, long nowNanos) {
        List<Action> actions = new ArrayList<>(1);
        // The pause ends at its time, even if its event could not be scheduled.
        waiting &= nowNanos - againAtNanos < 0;
        if (hasTimer && nowNanos - timerAtNanos >= SECOND_NANOS) {
            rested(nowNanos, actions);
        }
        if (event instanceof Held held) {
            held(held, nowNanos);
        } else if (event instanceof Ended ended) {
            Hold hold = holds.get(ended.key());
            if (hold != null && hold.owner.equals(ended.owner())) {
                forget(hold);
            }
        } else if (event instanceof Changed changed) {
            changed(changed.key());
        } else if (event instanceof Values read) {
            values(read, nowNanos, actions);
        } else if (event instanceof Unread nothing) {
            failed(nothing, nowNanos, actions);
        } else if (event instanceof Again) {
            waiting = false;
        } else if (event instanceof Rested) {
            rested(nowNanos, actions);
        } else {
            // A reading in flight belongs to a connection that has ended: its answer no longer counts.
            readings++;
            beingRead = List.of();
            telling = event instanceof Began;
            waiting = false;
            unread.clear();
            resting.clear();
            changed(null);
        }
        readNext(actions);
        return actions;
    }

    private void held(Held held, long nowNanos) {
        Hold known = holds.get(held.key());
        if (known != null && known.owner.equals(held.owner())) {
            known.untilAtNanos = held.untilAtNanos();
        } else if (held.isNew() || (known == null && telling)) {
            sweep(nowNanos);
            if (known != null) {
                resting.remove(known);
            }
            holds.put(held.key(), new Hold(held));
            unread.add(held.key());
        }
    }

    /**
     * Drops the holds that no server keeps any more: while the server reports nothing, a hold that was left to expire
     * is not removed in any other way.
     */
    private void sweep(long nowNanos) {
        if (holds.size() >= sweepAt) {
            List.copyOf(holds.values()).stream()
                    .filter(hold -> hold.untilAtNanos - nowNanos < 0)
                    .forEach(this::forget);
            sweepAt = Math.max(MIN_SWEEP, 2 * holds.size());
        }
    }

    private void changed(@Nullable String key) {
        if (key == null) {
            unread.addAll(holds.keySet());
            resting.forEach(hold -> unread.remove(hold.key));
        } else if (holds.containsKey(key) && !resting.contains(holds.get(key))) {
            unread.add(key);
        }
    }

    private void values(Values read, long nowNanos, List<Action> actions) {
        if (read.reading() != readings || beingRead.isEmpty()) {
            return;
        }
        List<Hold> asked = beingRead;
        List<DoubtedHold> doubted = new ArrayList<>(0);
        beingRead = List.of();
        for (int i = 0; i < asked.size(); i++) {
            Hold hold = asked.get(i);
            boolean isStill = holds.get(hold.key) == hold;
            if (isStill && hold.isKept(i < read.values().size() ? read.values().get(i) : null)) {
                hold.doubts = 0;
            } else if (isStill) {
                doubted.add(new DoubtedHold(hold.owner, hold.name));
                hold.rest(nowNanos);
                resting.add(hold);
                unread.remove(hold.key);
            }
        }
        if (!doubted.isEmpty()) {
            actions.add(new Doubt(doubted));
            restLater(nowNanos, actions);
        }
    }

    private void restLater(long nowNanos, List<Action> actions) {
        if (!hasTimer && !resting.isEmpty()) {
            hasTimer = true;
            timerAtNanos = nowNanos + SECOND_NANOS;
            actions.add(new Rest(SECOND_NANOS));
        }
    }

    /** Ends the pauses that are over; runs once a second. */
    private void rested(long nowNanos, List<Action> actions) {
        hasTimer = false;
        for (Hold hold : List.copyOf(resting)) {
            if (hold.untilAtNanos - nowNanos <= 0) {
                forget(hold);
            } else if (hold.restedAtNanos - nowNanos <= 0) {
                resting.remove(hold);
                unread.add(hold.key);
            }
        }
        restLater(nowNanos, actions);
    }

    private void failed(Unread nothing, long nowNanos, List<Action> actions) {
        if (nothing.reading() != readings || beingRead.isEmpty()) {
            return;
        }
        beingRead.stream().map(hold -> hold.key).filter(holds::containsKey).forEach(unread::add);
        beingRead = List.of();
        waiting = true;
        long pause = nothing.isRefused() ? REFUSED_NANOS : SECOND_NANOS;
        againAtNanos = nowNanos + pause;
        actions.add(new Wait(pause));
    }

    private void forget(Hold hold) {
        holds.remove(hold.key);
        unread.remove(hold.key);
        resting.remove(hold);
    }

    private void readNext(List<Action> actions) {
        if (!telling || waiting || !beingRead.isEmpty() || unread.isEmpty()) {
            return;
        }
        List<Hold> next = new ArrayList<>();
        var keys = unread.iterator();
        while (keys.hasNext() && next.size() < MAX_IN_ONE) {
            Hold hold = holds.get(keys.next());
            keys.remove();
            if (hold != null) {
                next.add(hold);
            }
        }
        beingRead = next;
        actions.add(new Read(++readings, next.stream().map(hold -> hold.key).toList()));
    }
}
