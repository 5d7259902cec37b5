package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The topology of a Redis Cluster: one link to each master, and the slot table.
 *
 * <p>The table is read again when a server reports that it is wrong, when a link ends, and when a request is not
 * answered. While a master is missing, it is read repeatedly. The driver never reuses links: requests in flight at the
 * end of a link are not sent again. State is guarded by {@code this}; listeners and connections are called outside of
 * it.
 */
final class ClusterTopology implements Topology {

    /**
     * The first delay between readings, as a number of failed tries: some 40 ms. The table is read less often than
     * links are made.
     */
    private static final int FIRST_DELAY = 2;

    /**
     * The time between readings without a reason: a slot without traffic may have moved, and its waiters listen at the
     * former master.
     */
    private static final long ANYWAY_NANOS = 10_000_000_000L;

    /** The time limit of a node's answer at the opening. */
    private static final long OPEN_NANOS = 1_500_000_000L;

    /** A redirect. An answer of another form is not followed, since a proxy may have given it. */
    private static final Pattern ELSEWHERE = Pattern.compile("(MOVED|ASK) ([0-9]{1,5}) (.*):([0-9]{1,5})\\s*");

    private final Deployment where;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final TableReader reader;
    private final ClusterMembers members;
    private volatile @Nullable ClusterWakeUps pushes;
    private boolean reading;
    private boolean readAgain;
    private boolean looksAnyway;
    private int missed;
    private boolean closed;

    ClusterTopology(Deployment where, Driver driver, RedisErrors errors, LockRuntime runtime) {
        this.where = where;
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
        this.reader = new TableReader(driver, errors, runtime);
        this.members = new ClusterMembers(where, driver, errors, runtime, this::look);
    }

    @Override
    public CompletableFuture<Void> open() {
        return reader.first(where.servers(), members.table()).thenCompose(found -> {
            if (!found.isAny()) {
                throw new UnsafeStoreException(
                        where
                                + " is a Cluster whose slots no node serves; create it first (redis-cli --cluster create)",
                        null);
            }
            members.adopt(found);
            lookAnyway();
            return linked();
        });
    }

    /**
     * Connects to the masters. Completes when every master has answered, or some have and the time for the others is
     * over.
     */
    private CompletableFuture<Void> linked() {
        List<Connections> all = members.all();
        CompletableFuture<?>[] links = all.stream()
                .map(member -> member.open().handle((link, error) -> link))
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture<Void> answered = CompletableFuture.allOf(links);
        LockRuntime.Timer patience = runtime.schedule(OPEN_NANOS, () -> answered.complete(null));
        return answered.thenApply(done -> {
            patience.cancel();
            List<Connections> missing =
                    all.stream().filter(member -> member.current() == null).toList();
            // Include members whose first try is still under way, since it may hang.
            missing.forEach(Connections::keepTrying);
            if (missing.size() == all.size()) {
                throw all.stream()
                        .map(Connections::failure)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElseGet(() -> new StoreUnavailableException("no master of " + where + " answers", null));
            }
            if (!missing.isEmpty()) {
                // The node that gave the table may not know the successor of a missing master yet.
                look();
            }
            return null;
        });
    }

    @Override
    public void keepTrying() {
        lookAnyway();
        look();
    }

    /** Reads the table again; if a reading is under way, after it. */
    void look() {
        synchronized (this) {
            if (closed || reading) {
                readAgain = true;
                return;
            }
            reading = true;
        }
        CompletableFuture<SlotTable> read;
        try {
            read = reader.latest(members.live(), members.others(), members.table());
        } catch (RuntimeException | Error e) {
            // The next reading must not depend on this one.
            read = CompletableFuture.failedFuture(e);
        }
        read.whenComplete(this::looked);
    }

    private void looked(@Nullable SlotTable found, @Nullable Throwable error) {
        try {
            if (found != null) {
                members.failure(null);
                members.adopt(found).forEach(members::connect);
                ClusterWakeUps subscriptions = pushes;
                if (subscriptions != null) {
                    subscriptions.follow();
                }
            } else if (error != null && Failure.unwrapped(error) instanceof LockStoreException reason) {
                members.failure(reason);
            }
        } finally {
            // The next reading must not depend on the success of this step.
            lookAgain(found);
        }
    }

    private void lookAgain(@Nullable SlotTable found) {
        boolean missing = found == null
                || found.served() < SlotTable.SLOTS
                || members.isAnyMasterMissing()
                || members.isInDoubt();
        boolean again;
        int before;
        synchronized (this) {
            reading = false;
            again = readAgain || missing;
            readAgain = false;
            missed = missing ? missed + 1 : 0;
            before = missed;
            if (closed) {
                return;
            }
        }
        if (again) {
            runtime.schedule(Retry.delayNanos(FIRST_DELAY + before, runtime), this::look);
        }
    }

    /** Starts the regular readings; further calls do not start a second series. */
    private void lookAnyway() {
        synchronized (this) {
            if (closed || looksAnyway) {
                return;
            }
            looksAnyway = true;
        }
        runtime.schedule(ANYWAY_NANOS, () -> {
            synchronized (this) {
                looksAnyway = false;
            }
            lookAnyway();
            look();
        });
    }

    @Override
    public void onReconnected(Runnable listener) {
        members.onReconnected(listener);
    }

    @Override
    public @Nullable Link current(String key) {
        Connections member = members.serving(key);
        return member == null ? null : member.current();
    }

    @Override
    public @Nullable LockStoreException failure(String key) {
        Connections member = members.serving(key);
        if (member != null) {
            return member.failure();
        }
        LockStoreException reason = members.failure();
        return reason != null
                ? reason
                : new StoreUnavailableException(
                        "slot " + Slots.of(key) + " of " + where + " is served by no node", null);
    }

    @Override
    public List<Link> connected() {
        return members.connected();
    }

    @Override
    public List<Link> everywhere() {
        return members.everywhere();
    }

    @Override
    public String part(String key) {
        String master = members.masterOf(Slots.of(key));
        return master == null ? "" : master;
    }

    @Override
    public boolean isTogether(List<String> keys) {
        return keys.stream().mapToInt(Slots::of).distinct().count() <= 1;
    }

    @Override
    public String slotTag(String key) {
        return SlotTags.of(Slots.of(key));
    }

    @Override
    public List<String> slotTags() {
        return SlotTags.all();
    }

    @Override
    public @Nullable CompletableFuture<Detour> detour(String key, Link asked, String error) {
        Matcher elsewhere = ELSEWHERE.matcher(error);
        if (elsewhere.matches()) {
            boolean moved = elsewhere.group(1).equals("MOVED");
            int slot = Integer.parseInt(elsewhere.group(2));
            if (slot >= Slots.COUNT) {
                return null;
            }
            String target = SlotTable.address(
                    SlotTable.host(elsewhere.group(3), asked.address().host()), Integer.parseInt(elsewhere.group(4)));
            if (moved) {
                moved(slot, target);
            }
            return members.linkTo(target, !moved).thenApply(link -> new Detour(link, !moved));
        }
        if (error.startsWith("READONLY") || error.startsWith("CLUSTERDOWN") || error.startsWith("MASTERDOWN")) {
            look();
        }
        return null;
    }

    @Override
    public void takesNoWrites(Link asked) {
        look();
    }

    /** Adopts the master of a slot that a node has named, and reads the whole table to verify it. */
    private void moved(int slot, String master) {
        members.adopt(slot, master).forEach(members::connect);
        look();
    }

    /** The nodes of the Cluster. */
    ClusterMembers members() {
        return members;
    }

    @Override
    public void unanswered(Link link) {
        link.unanswered();
        look();
    }

    @Override
    public WakeUps wakeUps(WakeUps.Listener onMessage) {
        // Pass no origin: a slot moves between servers with other clocks, and broadcasts pass through all of them.
        ClusterWakeUps made = new ClusterWakeUps(members, this::look, driver, errors, runtime, onMessage::message);
        pushes = made;
        return made;
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        members.close();
        driver.close();
    }
}
