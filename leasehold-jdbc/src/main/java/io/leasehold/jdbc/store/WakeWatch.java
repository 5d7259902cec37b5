package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.ReadRules;
import io.leasehold.jdbc.lease.ReaderSet;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Wakes waiters when a retry may succeed, also after a release by another process: while there are waiters, it polls
 * the database every few milliseconds for changes, and only then reads the awaited rows.
 *
 * <p>The time between two polls is an eighth of the time since the last change, from 1 to 20 ms. So waking takes at
 * most about an eighth of the wait, and a long wait costs 50 cheap polls a second. Nothing runs while there are no
 * waiters.
 *
 * <p>With each poll it checks whether the holders still live: a process writes nothing when it dies.
 *
 * <p>Everything except the timer's callback and {@link #lookFailed} runs on the worker's thread, so no lock is needed.
 */
final class WakeWatch implements Waking {

    private static final long MIN_INTERVAL_NANOS = 1_000_000L;
    private static final long MAX_INTERVAL_NANOS = 20_000_000L;
    private static final int SHARE_OF_CALM = 8;

    /** The time between two polls doubles with each failure up to this, 0.64 s: opening a file may take seconds. */
    private static final int MAX_DOUBLINGS = 5;

    /** A waiter that was woken and has neither retried nor left is woken again after this time. */
    private static final long WAKE_AGAIN_NANOS = 50_000_000L;

    /** The number of rows that are read in one poll, so that renewals do not wait behind many waiters. */
    private static final int MAX_READS = 256;

    /** The number of holders that are checked in one poll. */
    private static final int MAX_DEATHS = 64;

    private final LockRuntime runtime;
    private final StoreClock clock;
    private final Lives lives;
    private final Runnable submitLook;
    private final Consumer<LockName> wake;

    private final Map<OwnerToken, Watch> watches = new HashMap<>();
    private final Map<LockName, Set<OwnerToken>> ownersByName = new HashMap<>();
    private final Set<OwnerToken> toRead = new LinkedHashSet<>();
    /** Holders that were checked since all were. */
    private final Set<String> askedAfter = new HashSet<>();

    private long lastChanges = Long.MIN_VALUE;
    private long lastChangeAtNanos;
    /** A poll is submitted, or its timer is armed: never two at a time. */
    private volatile boolean lookPending;

    private @Nullable LeaseTable lookedAt;
    private final AtomicInteger failures = new AtomicInteger();
    private volatile boolean closed;

    private static final class Watch {
        private final List<LockName> names;
        private final long untilAtNanos;
        private long lookAtNanos;
        private Set<String> holders = Set.of();

        Watch(List<LockName> names, long untilAtNanos, long lookAtNanos) {
            this.names = names;
            this.untilAtNanos = untilAtNanos;
            this.lookAtNanos = lookAtNanos;
        }
    }

    /**
     * Creates a watch.
     *
     * @param submitLook lets the worker call {@link #look} soon
     * @param wake wakes the waiters of a lock
     */
    WakeWatch(LockRuntime runtime, StoreClock clock, Lives lives, Runnable submitLook, Consumer<LockName> wake) {
        this.runtime = runtime;
        this.clock = clock;
        this.lives = lives;
        this.submitLook = submitLook;
        this.wake = wake;
    }

    @Override
    public boolean isReady() {
        return true;
    }

    @Override
    public void add(OwnerToken owner, List<LockName> names, long forNanos, long lookInNanos) {
        long nowNanos = runtime.nanoTime();
        forget(owner);
        if (watches.isEmpty()) {
            lastChangeAtNanos = nowNanos;
        }
        watches.put(owner, new Watch(names, nowNanos + forNanos, nowNanos + lookInNanos));
        names.forEach(name -> ownersByName
                .computeIfAbsent(name.asExclusive(), n -> new LinkedHashSet<>())
                .add(owner));
        // The first poll finds the holders.
        toRead.add(owner);
        lookAgainIn(MIN_INTERVAL_NANOS);
    }

    @Override
    public void forget(OwnerToken owner) {
        Watch watch = watches.remove(owner);
        toRead.remove(owner);
        if (watch != null) {
            for (LockName name : watch.names) {
                ownersByName.computeIfPresent(name.asExclusive(), (n, owners) -> {
                    owners.remove(owner);
                    return owners.isEmpty() ? null : owners;
                });
            }
        }
    }

    /** Lets the next poll read the row: the database reports only the changes of other connections. */
    @Override
    public void changed(LeaseRow before, LeaseTable table) {
        Set<OwnerToken> owners = ownersByName.get(before.name().asExclusive());
        if (owners != null) {
            toRead.addAll(owners);
            lastChangeAtNanos = runtime.nanoTime();
            // A poll is pending, unless it could not be armed.
            lookAgainIn(MIN_INTERVAL_NANOS);
        }
    }

    /**
     * Polls, wakes the waiters concerned, and repeats while there are waiters. If this throws, or cannot be called at
     * all, {@link #lookFailed} must be called.
     */
    void look(LeaseTable table) throws SQLException {
        long againInNanos = watches.isEmpty() ? MAX_INTERVAL_NANOS : lookNow(table);
        failures.set(0);
        lookPending = !watches.isEmpty();
        if (lookPending) {
            runtime.schedule(againInNanos, this::submit);
        }
    }

    /** Reads the rows that may have changed; returns when to poll again. */
    private long lookNow(LeaseTable table) throws SQLException {
        StoreTime now = clock.read(table);
        long changes = table.changes();
        // Each connection has its own count, and rows that an earlier poll failed to read must still be read.
        if (changes != lastChanges || table != lookedAt || failures.get() > 0) {
            lookedAt = table;
            lastChanges = changes;
            lastChangeAtNanos = now.readAtNanos();
            toRead.addAll(watches.keySet());
        }
        noticeDeaths();
        long dueInNanos = dropLapsedAndFindDue(now.readAtNanos());
        readRows(table, now);
        long calmNanos = now.readAtNanos() - lastChangeAtNanos;
        long interval = Math.min(MAX_INTERVAL_NANOS, Math.min(calmNanos / SHARE_OF_CALM, dueInNanos));
        return toRead.isEmpty() ? Math.max(MIN_INTERVAL_NANOS, interval) : MIN_INTERVAL_NANOS;
    }

    /**
     * Handles the failure of a submitted poll, or the lack of a connection for it: the poll stays pending. Any thread
     * may call.
     */
    void lookFailed() {
        int doublings = Math.min(MAX_DOUBLINGS, failures.getAndIncrement());
        if (closed) {
            return;
        }
        try {
            runtime.schedule(MAX_INTERVAL_NANOS << doublings, this::submit);
        } catch (RuntimeException | Error e) {
            // The next waiter, or the next change, starts it.
            lookPending = false;
            throw e;
        }
    }

    private void submit() {
        try {
            submitLook.run();
        } catch (RuntimeException | Error e) {
            lookFailed();
            throw e;
        }
    }

    @Override
    public void close() {
        // The timers end with the runtime, and the worker accepts no more polls.
        closed = true;
    }

    /** Checks a part of the holders, and the others in the next polls: each has its turn. */
    private void noticeDeaths() {
        Set<String> holders = new HashSet<>();
        watches.values().forEach(watch -> holders.addAll(watch.holders));
        askedAfter.retainAll(holders);
        if (askedAfter.size() == holders.size()) {
            askedAfter.clear();
        }
        Set<String> over = new HashSet<>();
        int left = MAX_DEATHS;
        for (String life : holders) {
            if (left > 0 && askedAfter.add(life)) {
                left--;
                if (lives.isOver(life)) {
                    over.add(life);
                }
            }
        }
        watches.forEach((owner, watch) -> {
            if (!Collections.disjoint(watch.holders, over)) {
                toRead.add(owner);
            }
        });
    }

    private long dropLapsedAndFindDue(long nowNanos) {
        long dueInNanos = Long.MAX_VALUE;
        List<OwnerToken> lapsed = new ArrayList<>();
        for (Map.Entry<OwnerToken, Watch> entry : watches.entrySet()) {
            Watch watch = entry.getValue();
            long inNanos = watch.lookAtNanos - nowNanos;
            if (watch.untilAtNanos - nowNanos <= 0) {
                lapsed.add(entry.getKey());
            } else if (inNanos <= 0) {
                toRead.add(entry.getKey());
            } else {
                dueInNanos = Math.min(dueInNanos, inNanos);
            }
        }
        lapsed.forEach(this::forget);
        return dueInNanos;
    }

    private void readRows(LeaseTable table, StoreTime now) throws SQLException {
        int reads = 0;
        List<LockName> awake = new ArrayList<>();
        Iterator<OwnerToken> owners = toRead.iterator();
        while (owners.hasNext() && reads < MAX_READS) {
            OwnerToken owner = owners.next();
            owners.remove();
            Watch watch = watches.get(owner);
            if (watch == null) {
                continue;
            }
            long lookInNanos = WAKE_AGAIN_NANOS;
            boolean worthIt = true;
            watch.holders = new HashSet<>();
            for (LockName name : watch.names) {
                reads++;
                LeaseRow row = read(name, table, now, watch.holders);
                boolean isWorthIt = name.isRead()
                        ? ReadRules.isWorthAsking(row, owner, now)
                        : LeaseRules.isWorthAsking(row, owner, now);
                if (!isWorthIt) {
                    worthIt = false;
                    lookInNanos = Math.max(MIN_INTERVAL_NANOS, inNanos(name, row, now));
                }
            }
            watch.lookAtNanos = now.readAtNanos() + lookInNanos;
            if (worthIt) {
                awake.addAll(watch.names);
            }
        }
        awake.forEach(wake);
    }

    /**
     * Reads the current row of a lock.
     *
     * @param holders receives the lives of its holders
     */
    private @Nullable LeaseRow read(LockName name, LeaseTable table, StoreTime now, Set<String> holders)
            throws SQLException {
        LeaseRow stored = table.read(name);
        if (stored == null) {
            return null;
        }
        LeaseRow row = lives.asOf(stored, now);
        Collection<LeaseRow.Held> all = row.held() == null ? List.of() : List.of(row.held());
        if (row.isRead()) {
            ReaderSet readers =
                    new ReadTable(table, name).read(stored, row, now, lives).current();
            all = readers.held().values();
            row = readers.in(row, now);
        }
        for (LeaseRow.Held held : all) {
            if (held.life() != null) {
                holders.add(held.life());
            }
        }
        return row;
    }

    /** The time until a row that is held, or kept for another waiter, becomes free by itself. */
    private static long inNanos(LockName name, @Nullable LeaseRow row, StoreTime now) {
        LeaseRow.Held held = row == null ? null : row.held();
        if (row != null && row.isRead() && name.isRead()) {
            return row.freedAtNanos() - now.nanos();
        }
        return held == null ? LeaseRules.CLAIM.toNanos() : held.expiresAtNanos() - now.nanos();
    }

    private void lookAgainIn(long nanos) {
        if (!lookPending && !watches.isEmpty()) {
            runtime.schedule(nanos, this::submit);
            lookPending = true;
        }
    }
}
