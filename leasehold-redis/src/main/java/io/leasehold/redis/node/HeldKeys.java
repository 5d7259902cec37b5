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
 * The keys of a client's holds at a server that reports changes to keys. Decides which keys to read when, and which
 * holds to doubt. Pure: events and the time come in, actions go out.
 *
 * <p>A message only causes a reading of its key, and a reading only puts a hold in doubt. The server sends one message
 * per reading of a key, so every key is read again after its message, even after a renewal by this client. At most one
 * reading is under way, and later messages share the next one. Thus, however many messages arrive, a key costs at most
 * one reading per round trip.
 */
final class HeldKeys {

    /** An event. */
    sealed interface Event {}

    /**
     * The store has granted or extended this hold.
     *
     * @param isNew whether it was granted; an extension adds the hold only if no hold has this key
     * @param untilAtNanos the time by which the server has dropped it unless it is extended
     */
    record Held(String key, LockName name, OwnerToken owner, long untilAtNanos, boolean isNew) implements Event {}

    /** The client is releasing the hold, or the store has answered that it is gone. */
    record Ended(String key, OwnerToken owner) implements Event {}

    /** The server reports changes from now on; earlier reports may have been lost. */
    record Began() implements Event {}

    /** The server reports nothing for now. */
    record Paused() implements Event {}

    /** The server reports that this key has changed; null if all keys may have changed. */
    record Changed(@Nullable String key) implements Event {}

    /** The values of a reading, in its order. */
    record Values(long reading, List<@Nullable String> values) implements Event {}

    /** A reading has failed. */
    record Unread(long reading) implements Event {}

    /** The pause after a failed reading is over. */
    record Again() implements Event {}

    /** An action for the shell. */
    sealed interface Action {}

    /** Read these keys. */
    record Read(long reading, List<String> keys) implements Action {}

    /** Send {@link Again} after a while. */
    record Wait() implements Action {}

    /** Tell the engine that these holds may be gone. */
    record Doubt(List<DoubtedHold> holds) implements Action {}

    static final int MAX_IN_ONE = 500;
    private static final int MIN_SWEEP = 64;

    /** A hold. No two holds are equal, so that a reading counts only for the hold for which it was made. */
    private static final class Hold {
        private final String key;
        private final LockName name;
        private final OwnerToken owner;
        private long untilAtNanos;

        private Hold(Held held) {
            this.key = held.key();
            this.name = held.name();
            this.owner = held.owner();
            this.untilAtNanos = held.untilAtNanos();
        }

        private boolean isKept(@Nullable String value) {
            return value != null && value.startsWith(owner.hex() + ":");
        }
    }

    private final Map<String, Hold> holds = new HashMap<>();
    /** The keys to read, in the order of their messages. */
    private final Set<String> unread = new LinkedHashSet<>();

    private boolean telling;
    private List<Hold> beingRead = List.of();
    private long readings;
    /** Whether the pause after a failed reading is not over. */
    private boolean waiting;

    private int sweepAt = MIN_SWEEP;

    /** Processes an event and returns the actions, in this order. */
    List<Action> on(Event event, long nowNanos) {
        List<Action> actions = new ArrayList<>(1);
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
            values(read, actions);
        } else if (event instanceof Unread nothing) {
            failed(nothing.reading(), actions);
        } else if (event instanceof Again) {
            waiting = false;
        } else {
            // A reading under way belongs to a connection that has ended, so its answer no longer counts.
            readings++;
            beingRead = List.of();
            telling = event instanceof Began;
            waiting = false;
            unread.clear();
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
            holds.put(held.key(), new Hold(held));
            unread.add(held.key());
        }
    }

    /**
     * Drops holds that no server keeps any more: while the server reports nothing, an expired hold has no other end
     * here.
     */
    private void sweep(long nowNanos) {
        if (holds.size() >= sweepAt) {
            holds.values().removeIf(hold -> hold.untilAtNanos - nowNanos < 0);
            unread.retainAll(holds.keySet());
            sweepAt = Math.max(MIN_SWEEP, 2 * holds.size());
        }
    }

    private void changed(@Nullable String key) {
        if (key == null) {
            unread.addAll(holds.keySet());
        } else if (holds.containsKey(key)) {
            unread.add(key);
        }
    }

    private void values(Values read, List<Action> actions) {
        if (read.reading() != readings || beingRead.isEmpty()) {
            return;
        }
        List<Hold> asked = beingRead;
        List<DoubtedHold> doubted = new ArrayList<>(0);
        beingRead = List.of();
        for (int i = 0; i < asked.size(); i++) {
            Hold hold = asked.get(i);
            boolean isStill = holds.get(hold.key) == hold;
            if (isStill && !hold.isKept(i < read.values().size() ? read.values().get(i) : null)) {
                // If the store extends the hold after all, it is added again.
                forget(hold);
                doubted.add(new DoubtedHold(hold.owner, hold.name));
            }
        }
        if (!doubted.isEmpty()) {
            actions.add(new Doubt(doubted));
        }
    }

    private void failed(long reading, List<Action> actions) {
        if (reading != readings || beingRead.isEmpty()) {
            return;
        }
        beingRead.stream().map(hold -> hold.key).filter(holds::containsKey).forEach(unread::add);
        beingRead = List.of();
        waiting = true;
        actions.add(new Wait());
    }

    private void forget(Hold hold) {
        holds.remove(hold.key);
        unread.remove(hold.key);
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
