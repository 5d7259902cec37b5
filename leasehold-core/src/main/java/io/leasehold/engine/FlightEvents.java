package io.leasehold.engine;

import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.ClientRecord;
import java.time.Duration;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * The flight recorder events of locks: {@code io.leasehold.Wait}, {@code .Hold}, {@code .Renewal} and {@code .Loss}.
 * Names and fields are a contract. The field {@code lock} of permits is {@code permits} and their name; that of
 * readers is {@code readers} and the name of their lock.
 *
 * <p>While nothing is recorded, no event is created: {@link #waitBegun} and its like return null. The settings of the recording define
 * the thresholds, for example {@code io.leasehold.Wait#threshold=1 s}.
 */
@SuppressWarnings("UnusedVariable") // the recorder reads the fields of an event
final class FlightEvents {

    private FlightEvents() {}

    /**
     * Whether this JVM has or had a recording or stream. The first event of any class, even a disabled one, makes the
     * recorder read the descriptions of all events of the JVM. A short program need not wait for that, nor for the classes
     * of the events, which no class-data archive keeps: so each class creates its own events.
     */
    private static boolean mayBeRecorded() {
        return FlightRecorder.isInitialized();
    }

    /** Returns an event that begins now; null if it is not recorded. */
    static @Nullable Wait waitBegun() {
        return mayBeRecorded() ? Wait.begun() : null;
    }

    /** Returns an event that begins now; null if it is not recorded. */
    static @Nullable Hold holdBegun() {
        return mayBeRecorded() ? Hold.begun() : null;
    }

    /** Returns an event that begins now; null if it is not recorded. */
    static @Nullable Renewal renewalBegun() {
        return mayBeRecorded() ? Renewal.begun() : null;
    }

    private static <E extends Event> @Nullable E begun(E event) {
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    static void lost(LockName name, long fencingToken, LossCause cause, Duration held, String store) {
        if (mayBeRecorded()) {
            Loss.happened(name, fencingToken, cause, held, store);
        }
    }

    /** The time from the call to the outcome of one attempt. */
    @Name("io.leasehold.Wait")
    @Label("Lock Wait")
    @Description("From the call to the outcome of one attempt on a lock")
    @Category("Leasehold")
    @Threshold("10 ms")
    @StackTrace(false)
    static final class Wait extends Event {
        @Label("Lock")
        private @Nullable String lock;

        @Label("Outcome")
        private @Nullable String outcome;

        @Label("Store")
        private @Nullable String store;

        private static @Nullable Wait begun() {
            return FlightEvents.begun(new Wait());
        }

        void ended(LockName name, AttemptOutcome how, String where) {
            end();
            if (shouldCommit()) {
                lock = ClientRecord.listed(name);
                outcome = how.name();
                store = where;
                commit();
            }
        }
    }

    /** The time from the grant of one lease to its end. */
    @Name("io.leasehold.Hold")
    @Label("Lock Hold")
    @Description("From the grant of one lease to its end")
    @Category("Leasehold")
    @Threshold("10 ms")
    @StackTrace(false)
    static final class Hold extends Event {
        @Label("Lock")
        private @Nullable String lock;

        @Label("Fencing Token")
        private long fencingToken;

        @Label("End")
        @Description("RELEASED, ALREADY_LOST or UNCONFIRMED after a release, LOST before one")
        private @Nullable String end;

        private static @Nullable Hold begun() {
            return FlightEvents.begun(new Hold());
        }

        void ended(LockName name, long token, String how) {
            end();
            if (shouldCommit()) {
                lock = ClientRecord.listed(name);
                fencingToken = token;
                end = how;
                commit();
            }
        }
    }

    /** The time from the sending of one renewal to its answer. */
    @Name("io.leasehold.Renewal")
    @Label("Lease Renewal")
    @Description("From the sending of one renewal to its answer")
    @Category("Leasehold")
    @Threshold("20 ms")
    @StackTrace(false)
    static final class Renewal extends Event {
        @Label("Lock")
        private @Nullable String lock;

        @Label("Fencing Token")
        private long fencingToken;

        @Label("Outcome")
        private @Nullable String outcome;

        @Label("Headroom")
        @Description("The validity that was left when the answer came, before it counted")
        @Timespan(Timespan.NANOSECONDS)
        private long headroom;

        private static @Nullable Renewal begun() {
            return FlightEvents.begun(new Renewal());
        }

        void ended(LockName name, long token, RenewalOutcome how, Duration left) {
            end();
            if (shouldCommit()) {
                lock = ClientRecord.listed(name);
                fencingToken = token;
                outcome = how.name();
                headroom = left.toNanos();
                commit();
            }
        }
    }

    /** A lease ended before it was released. */
    @Name("io.leasehold.Loss")
    @Label("Lease Loss")
    @Description("A lease ended before it was released")
    @Category("Leasehold")
    @StackTrace(false)
    static final class Loss extends Event {
        @Label("Lock")
        private @Nullable String lock;

        @Label("Fencing Token")
        private long fencingToken;

        @Label("Cause")
        private @Nullable String lossCause;

        @Label("Held")
        @Timespan(Timespan.NANOSECONDS)
        private long held;

        @Label("Store")
        private @Nullable String store;

        private static void happened(LockName name, long fencingToken, LossCause cause, Duration held, String store) {
            Loss event = new Loss();
            if (event.isEnabled()) {
                event.lock = ClientRecord.listed(name);
                event.fencingToken = fencingToken;
                event.lossCause = cause.name();
                event.held = held.toNanos();
                event.store = store;
                event.commit();
            }
        }
    }
}
