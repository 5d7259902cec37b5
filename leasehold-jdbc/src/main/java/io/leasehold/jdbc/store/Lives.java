package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which holders are dead, where the operating system can tell: their locks are free at once. Used by the worker's thread
 * alone, but for {@link #coverChildren} and for {@link #close}, which comes after it.
 */
public interface Lives extends AutoCloseable {

    /** The known state of the process that holds. */
    enum State {
        /** It is surely dead, and so is what it started and holds for. */
        OVER,
        /** It surely lives, on this machine and since the machine's last boot. */
        ALIVE,
        /** Nothing is known. */
        UNKNOWN
    }

    /** The byte that is appended to a life that covers children when none of them is left. */
    byte CHILDREN_ENDED = 'e';

    /** No state is known: the holds of a dead process end with their ttl. */
    Lives UNKNOWN = new Lives() {};

    /** The life to which this store's holds are bound, or null if they are bound to none. */
    default @Nullable String own() {
        return null;
    }

    /**
     * Makes holds from now on end not with this process, but when {@value #CHILDREN_ENDED} has been appended to the
     * file, or with its ttl. Any thread may call.
     *
     * @return the file, or empty if holds end with their ttl anyway
     */
    default Optional<Path> coverChildren() {
        return Optional.empty();
    }

    /** The known state of the process with this life. */
    default State stateOf(String life) {
        return State.UNKNOWN;
    }

    /** Whether the process with this life is surely dead; false where that is not known. */
    default boolean isOver(String life) {
        return stateOf(life) == State.OVER;
    }

    /**
     * Forgets the lives of dead processes that hold nothing any more.
     *
     * @param named the lives of all holders
     */
    default void sweep(Set<String> named) {}

    /** Ends the own life without telling others that it is over: holds stay until their ttl. */
    @Override
    default void close() {}

    /**
     * The row without what time or death has ended.
     *
     * <p>A row that names another boot is not always one of an earlier boot: the managers of some containers give each a boot
     * id of its own. So its hold is over if its holder is dead, or if its times cannot be of this boot; while the holder
     * surely lives it counts by the clock that all processes of one kernel share, whatever they call the boot.
     */
    default LeaseRow asOf(LeaseRow stored, StoreTime now) {
        LeaseRow.Held held = stored.held();
        if (held == null || stored.origin().equals(now.origin())) {
            LeaseRow row = LeaseRules.asOf(stored, now);
            String life = row.held() == null ? null : row.held().life();
            return life != null && isOver(life) ? row.freedAt(now.nanos()) : row;
        }
        State holder = held.life() == null ? State.UNKNOWN : stateOf(held.life());
        boolean isOfThisBoot =
                holder == State.ALIVE || (holder == State.UNKNOWN && LeaseRules.mayBeOfThisBoot(stored, now));
        return LeaseRules.asOf(isOfThisBoot ? stored.countedFrom(now.origin()) : stored, now);
    }
}
