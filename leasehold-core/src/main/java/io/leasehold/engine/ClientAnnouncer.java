package io.leasehold.engine;

import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Announces the client at the store while one of its grants is older than a second: it writes one record for the
 * client, with all holds, every few seconds. Grants that end within a second are never announced, however many follow
 * each other: they cost one read of a flag each, and one look at the table of holds a second.
 *
 * <p>Nothing depends on the announcement: a failure is not reported, and the next announcement follows.
 */
final class ClientAnnouncer {

    private static final long FIRST_NANOS = 1_000_000_000L;
    private static final long EVERY_NANOS = ClientRecord.INTERVAL.toNanos();
    private static final long KEEP_NANOS = ClientRecord.KEPT.toNanos();

    private final LockRuntime runtime;
    private final TimerQueue timeline;
    private final LockStore store;
    private final HoldTable holds;
    private final String holderId;
    private final Instant since;
    private final AtomicBoolean telling = new AtomicBoolean();

    ClientAnnouncer(LockRuntime runtime, TimerQueue timeline, LockStore store, HoldTable holds, String holderId) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.store = store;
        this.holds = holds;
        this.holderId = holderId;
        this.since = Instant.ofEpochMilli(runtime.wallMillis());
        // A store that keeps no records receives none. One that is not open yet does not know: it is asked again.
        telling.set(!store.operations().keepsClientRecords());
    }

    /** Announces the client until it holds nothing. */
    void watch() {
        if (!telling.get() && telling.compareAndSet(false, true)) {
            again(FIRST_NANOS);
        }
    }

    private void again(long afterNanos) {
        try {
            timeline.schedule(afterNanos, this::tell);
        } catch (RuntimeException | Error e) {
            // The next hold starts the announcements again.
            telling.set(false);
            throw e;
        }
    }

    private void tell() {
        List<HoldTable.Held> held;
        boolean keeps;
        try {
            // A store may learn it when it opens, and again with each connection.
            keeps = store.operations().keepsClientRecords();
            held = holds.all();
        } catch (RuntimeException | Error e) {
            again(EVERY_NANOS);
            throw e;
        }
        if (!held.isEmpty()) {
            boolean anyLasts = held.stream().anyMatch(hold -> hold.ageNanos() >= FIRST_NANOS);
            if (anyLasts && keeps) {
                Futures.ask(() -> store.operations().announce(record(held), KEEP_NANOS));
            }
            again(anyLasts ? EVERY_NANOS : FIRST_NANOS);
            return;
        }
        telling.set(false);
        if (!holds.isEmpty()) {
            watch();
        }
    }

    private ClientRecord record(List<HoldTable.Held> held) {
        String[] parts = holderId.split("/", 4);
        return new ClientRecord(
                holderId,
                parts[0],
                Long.parseLong(parts[1]),
                parts.length > 3 ? parts[3] : "",
                since,
                held.stream()
                        .flatMap(hold -> hold.asClientHolds().stream())
                        .sorted(Comparator.comparing(ClientRecord.ClientHold::since))
                        .limit(ClientRecord.MAX_HOLDS)
                        .toList(),
                Instant.ofEpochMilli(runtime.wallMillis()));
    }
}
