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
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Redis Cluster: one link to each master, and the table of who serves which slot.
 *
 * <p>The table is read anew when a server says that it is wrong, when a link ends or a request is not answered, and, while a master
 * is missing, again and again. Links are never reused by the driver: what was in flight when one ended is not sent again. State is
 * guarded by {@code this}; listeners and connections are called outside of it.
 */
final class ClusterTopology implements Topology {

    /** The table is read less often than links are made: the first time again after some 40 ms. */
    private static final int FIRST_DELAY = 2;

    /** Also without a sign: a slot without traffic may have moved, and its waiters listen at the former place. */
    private static final long ANYWAY_NANOS = 10_000_000_000L;

    /** The time that a healthy node gets to answer at the start. */
    private static final long OPEN_NANOS = 1_500_000_000L;

    /** A redirect; an answer of another form leads nowhere, since a proxy may have given it. */
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

    /** Done when every master has answered, or some have and the others have had their time. */
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
            // Also those whose first try is still under way, since it may hang.
            missing.forEach(Connections::keepTrying);
            if (missing.size() == all.size()) {
                throw all.stream()
                        .map(Connections::failure)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElseGet(() -> new StoreUnavailableException("no master of " + where + " answers", null));
            }
            if (!missing.isEmpty()) {
                // The node that told us may not have heard of its successor yet.
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

    /** Reads the table once more; if that is going on, after it. */
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
            // The next look does not depend on this one.
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
            // Whatever happens here, the next reading does not depend on it.
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

    /** One line of looks, however often it is begun. */
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

    /** Believes a node that says who serves a slot, at once, and reads the whole table to be sure. */
    private void moved(int slot, String master) {
        members.adopt(slot, master).forEach(members::connect);
        look();
    }

    /** Its nodes. */
    ClusterMembers members() {
        return members;
    }

    @Override
    public void unanswered(Link link) {
        link.unanswered();
        look();
    }

    @Override
    public WakeUps wakeUps(Consumer<String> onMessage) {
        ClusterWakeUps made = new ClusterWakeUps(members, this::look, driver, errors, runtime, onMessage);
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
