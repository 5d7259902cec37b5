package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The known states of holders, if the operating system can report them: the locks of dead processes are free at once.
 * Used only by the worker's thread, except for {@link #coverChildren} and {@link #close}, which comes after it.
 */
public interface Lives extends AutoCloseable {

    /** The known state of the process that holds. */
    enum State {
        /** The process is surely dead, and so are the processes that it started and holds for. */
        OVER,
        /** The process surely lives, on this machine and since the machine's last boot. */
        ALIVE,
        /** Nothing is known. */
        UNKNOWN
    }

    /** The byte that is appended to a life that covers children when all of them have ended. */
    byte CHILDREN_ENDED = 'e';

    /** No state is known: the holds of a dead process end with their ttl. */
    Lives UNKNOWN = new Lives() {};

    /** The life to which this store's holds are bound, or null if they are bound to none. */
    default @Nullable String own() {
        return null;
    }

    /**
     * Decouples later holds from the end of this process: they end when {@value #CHILDREN_ENDED} has been appended to
     * the file, or with their ttl. Any thread may call.
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

    /** Whether the process with this life is surely dead; false if that is not known. */
    default boolean isOver(String life) {
        return stateOf(life) == State.OVER;
    }

    /**
     * Forgets the lives of dead processes that hold no lock any more.
     *
     * @param named the lives of all holders
     */
    default void sweep(Set<String> named) {}

    /** Ends this store's own life without recording its end: holds stay until their ttl. */
    @Override
    default void close() {}

    /**
     * The row without parts that have ended by time or death.
     *
     * <p>A row that names another boot is not always one of an earlier boot: the managers of some containers give each
     * a boot id of its own. So its hold is over if its holder is dead, or if its times cannot be of this boot. While
     * the holder surely lives, the hold counts by the clock that all processes of one kernel share, whatever they call
     * the boot.
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
