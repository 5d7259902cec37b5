package io.leasehold.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The readers of one process that share one hold. The hold ends when the last of them leaves. A reader that was abandoned
 * does not keep it alive: once no other is left, the hold is no longer renewed. Pure.
 *
 * @param <S> the type of the readers
 */
final class ReadShares<S> {

    /** The effect of the departure of a reader on the hold. */
    enum Departure {
        /** The reader had left before. */
        GONE,
        /** Others continue with the hold. */
        OTHERS_REMAIN,
        /** Only readers that were abandoned remain: the hold is no longer renewed. */
        ABANDONED_REMAIN,
        /** It was the last: the hold is released. */
        LAST
    }

    private final Set<S> live = new LinkedHashSet<>(2);
    private final Set<S> abandoned = new LinkedHashSet<>(1);
    /** The readers that will certainly be added. */
    private int expected;
    /** Whether no further reader may be added. */
    private boolean closed;

    /** Announces readers that will be added: until then, the hold does not end. */
    void expect(int more) {
        expected += more;
    }

    /** Adds a reader that was announced, even if the hold was lost meanwhile. */
    void addExpected(S reader) {
        expected--;
        live.add(reader);
    }

    /** Records that a reader which was announced does not come. */
    Departure expectedNoMore() {
        expected--;
        return rest();
    }

    /** Adds another reader, unless the hold has ended or is ending. */
    boolean add(S reader) {
        if (closed || (live.isEmpty() && expected == 0)) {
            return false;
        }
        live.add(reader);
        return true;
    }

    /** Whether the holder of this share has been abandoned just now. */
    boolean abandon(S reader) {
        return live.remove(reader) && abandoned.add(reader);
    }

    /** Whether every reader that is left was abandoned. */
    boolean isAbandoned() {
        return live.isEmpty() && expected == 0 && !abandoned.isEmpty();
    }

    Departure left(S reader) {
        return live.remove(reader) || abandoned.remove(reader) ? rest() : Departure.GONE;
    }

    private Departure rest() {
        if (!live.isEmpty() || expected > 0) {
            return Departure.OTHERS_REMAIN;
        }
        closed = true;
        return abandoned.isEmpty() ? Departure.LAST : Departure.ABANDONED_REMAIN;
    }

    /** Ends the hold for later readers. The caller notifies those that have it; they leave as always. */
    void close() {
        closed = true;
    }

    /** Returns the readers that have not been abandoned, the oldest first. */
    List<S> live() {
        return List.copyOf(live);
    }

    /** Returns all readers that have not left. */
    List<S> all() {
        List<S> all = new ArrayList<>(live);
        all.addAll(abandoned);
        return all;
    }
}
