package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Redis Cluster: one link to each master, and the table of who serves which slot.
 *
 * <p>The table is read anew when a server says that it is wrong, when a link ends or a request is not answered, and, while a master
 * is missing, again and again. One of an earlier epoch counts only when no node that can be asked knows of the later one any more: the
 * Cluster was made anew. Links are never reused by the driver: what was in flight when one ended is not sent again. State is
 * guarded by {@code this}; listeners and connections are called outside of it.
 */
final class ClusterTopology implements Topology {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterTopology.class);

    /** The table is read less often than links are made: the first time again after some 40 ms. */
    private static final int FIRST_DELAY = 2;

    /** Also without a sign: a slot without traffic may have moved, and its waiters listen at the former place. */
    private static final long ANYWAY_NANOS = 10_000_000_000L;

    /** What a node with which nothing is wrong gets to answer at the start. */
    private static final long OPEN_NANOS = 1_500_000_000L;

    /** How long a node that has no slots yet is kept after an ASK has led to it. */
    private static final long GUEST_NANOS = 60_000_000_000L;

    private final Deployment where;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final TableReader reader;
    private final Map<String, Connections> members = new HashMap<>();
    /** Nodes to which an ASK has led, and when last: they may have no slot yet. */
    private final Map<String, Long> guestsAtNanos = new HashMap<>();

    private volatile SlotTable table = SlotTable.empty();
    private volatile @Nullable LockStoreException failure;
    private volatile Runnable onReconnected = () -> {};
    private volatile @Nullable ClusterWakeUps pushes;
    private final Succession succession = new Succession();

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
    }

    @Override
    public CompletableFuture<Void> open() {
        return reader.first(where.servers(), table).thenCompose(found -> {
            if (!found.isAny()) {
                throw new UnsafeStoreException(
                        where + " is a Cluster whose slots nobody serves; create it first (redis-cli --cluster create)",
                        null);
            }
            adopt(found, this::counts);
            lookAnyway();
            return linked();
        });
    }

    /** Done when every master has answered, or some have and the others have had their time. */
    private CompletableFuture<Void> linked() {
        List<Connections> all = membersNow();
        CompletableFuture<?>[] links = all.stream()
                .map(member -> member.open().handle((link, error) -> {
                    if (error != null) {
                        member.keepTrying();
                    }
                    return link;
                }))
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture<Void> answered = CompletableFuture.allOf(links);
        LockRuntime.Timer patience = runtime.schedule(OPEN_NANOS, () -> answered.complete(null));
        return answered.thenApply(done -> {
            patience.cancel();
            if (all.stream().noneMatch(member -> member.current() != null)) {
                throw all.stream()
                        .map(Connections::failure)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElseGet(() -> new StoreUnavailableException("no master of " + where + " answers", null));
            }
            if (all.stream().anyMatch(member -> member.current() == null)) {
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

    private synchronized List<Connections> membersNow() {
        return List.copyOf(members.values());
    }

    /** Takes over a table: makes links to new masters, ends those to former ones. Which masters are new. */
    private Set<String> adopt(SlotTable found, Predicate<SlotTable> counts) {
        List<Connections> retired = new ArrayList<>();
        Set<String> fresh = new java.util.HashSet<>();
        synchronized (this) {
            if (closed || !counts.test(found)) {
                return Set.of();
            }
            table = found;
            Set<String> masters = found.masters();
            long now = runtime.nanoTime();
            guestsAtNanos.values().removeIf(sinceAtNanos -> now - sinceAtNanos > GUEST_NANOS);
            members.entrySet().removeIf(member -> {
                if (masters.contains(member.getKey()) || guestsAtNanos.containsKey(member.getKey())) {
                    return false;
                }
                retired.add(member.getValue());
                return true;
            });
            for (String master : masters) {
                if (!members.containsKey(master)) {
                    members.put(master, member(master));
                    fresh.add(master);
                }
            }
        }
        retired.forEach(Connections::retire);
        return fresh;
    }

    /** Whether a table that was read replaces ours. The caller holds {@code this}. */
    private boolean counts(SlotTable found) {
        return switch (succession.of(table, found, runtime.nanoTime())) {
            case STAYS -> false;
            case IS_REPLACED -> true;
            case IS_FORGOTTEN -> {
                LOG.warn("{} was made anew: no node that answers knows its later epoch", where);
                yield true;
            }
        };
    }

    private Connections member(String address) {
        Connections made = new Connections(
                driver,
                Connections.Locator.fixed(at(address)),
                Expectation.CLUSTER_NODE,
                address + " of " + where,
                errors,
                runtime);
        made.onReconnected(() -> onReconnected.run());
        made.onLost(this::look);
        return made;
    }

    private RedisUri at(String address) {
        int colon = address.lastIndexOf(':');
        String host = address.substring(0, colon);
        return where.data()
                .at(
                        host.startsWith("[") ? host.substring(1, host.length() - 1) : host,
                        Integer.parseInt(address.substring(colon + 1)));
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
            read = reader.latest(live(), others(), table);
        } catch (RuntimeException e) {
            read = CompletableFuture.failedFuture(e);
        }
        read.whenComplete(this::looked);
    }

    private List<Link> live() {
        return membersNow().stream()
                .map(Connections::current)
                .filter(Objects::nonNull)
                .toList();
    }

    private List<RedisUri> others() {
        return Stream.concat(table.everybody().stream().map(this::at), where.servers().stream())
                .toList();
    }

    private void looked(@Nullable SlotTable found, @Nullable Throwable error) {
        try {
            if (found != null) {
                failure = null;
                adopt(found, this::counts).forEach(this::connect);
                ClusterWakeUps subscriptions = pushes;
                if (subscriptions != null) {
                    subscriptions.follow();
                }
            } else if (error != null && Failure.unwrapped(error) instanceof LockStoreException reason) {
                failure = reason;
            }
        } finally {
            // Whatever happens here, the next reading does not depend on it.
            lookAgain(found);
        }
    }

    private void lookAgain(@Nullable SlotTable found) {
        boolean missing = found == null || found.served() < SlotTable.SLOTS || isAnyMasterMissing();
        boolean again;
        int before;
        synchronized (this) {
            missing |= succession.isInDoubt();
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

    private void connect(String master) {
        Connections member;
        synchronized (this) {
            member = members.get(master);
        }
        if (member != null) {
            member.open().whenComplete((link, error) -> {
                if (error != null) {
                    member.keepTrying();
                } else {
                    LOG.info("connected to {}, a master of {}", master, where);
                    onReconnected.run();
                }
            });
        }
    }

    @Override
    public void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    @Override
    public @Nullable Link current(String key) {
        Connections member = memberFor(key);
        return member == null ? null : member.current();
    }

    private @Nullable Connections memberFor(String key) {
        String master = masterOf(Slots.of(key));
        if (master == null) {
            return null;
        }
        synchronized (this) {
            return members.get(master);
        }
    }

    /** The address of the master of a slot, or null. */
    @Nullable
    String masterOf(int slot) {
        return table.masterOf(slot);
    }

    @Override
    public List<Link> connected() {
        List<Link> live = live();
        if (live.isEmpty()) {
            throw errors.notConnected("ask any master", failure).error();
        }
        return live;
    }

    /** Any master whose link is alive, rather than a guest; fails if there is none. */
    RedisUri anyMaster() {
        Set<String> masters = table.masters();
        List<RedisUri> all = connected().stream().map(Link::address).toList();
        return all.stream()
                .filter(server -> masters.contains(server.address()))
                .findFirst()
                .orElse(all.get(0));
    }

    /** Whether a node belongs to the Cluster, as master or replica. */
    boolean isMember(RedisUri server) {
        return table.everybody().contains(server.address());
    }

    /** Where that is. */
    RedisUri uriOf(String address) {
        return at(address);
    }

    @Override
    public @Nullable LockStoreException failure(String key) {
        Connections member = memberFor(key);
        if (member != null) {
            return member.failure();
        }
        return failure != null
                ? failure
                : new StoreUnavailableException(
                        "slot " + Slots.of(key) + " of " + where + " is served by nobody", null);
    }

    /** All masters, and those guests that answer: a guest may have locks of a slot that is being moved to it. */
    @Override
    public List<Link> everywhere() {
        List<Link> links = new ArrayList<>();
        synchronized (this) {
            for (String master : table.masters()) {
                Connections member = members.get(master);
                Link link = member == null ? null : member.current();
                if (link == null) {
                    throw errors.notConnected("ask the master " + master, member == null ? failure : member.failure())
                            .error();
                }
                links.add(link);
            }
            members.values().stream()
                    .map(Connections::current)
                    .filter(link -> link != null && !links.contains(link))
                    .forEach(links::add);
        }
        return links;
    }

    private synchronized boolean isAnyMasterMissing() {
        return table.masters().stream()
                .map(members::get)
                .anyMatch(member -> member == null || member.current() == null);
    }

    @Override
    public String part(String key) {
        String master = masterOf(Slots.of(key));
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
        boolean moved = error.startsWith("MOVED ");
        if (moved || error.startsWith("ASK ")) {
            String[] parts = error.split(" ", 3);
            int colon = parts.length < 3 ? -1 : parts[2].lastIndexOf(':');
            if (colon < 0) {
                return null;
            }
            String target = SlotTable.address(
                    SlotTable.host(parts[2].substring(0, colon), asked.address().host()),
                    Integer.parseInt(parts[2].substring(colon + 1).strip()));
            if (moved) {
                moved(Integer.parseInt(parts[1]), target);
            }
            return linkTo(target, !moved).thenApply(link -> new Detour(link, !moved));
        }
        if (error.startsWith("READONLY") || error.startsWith("CLUSTERDOWN") || error.startsWith("MASTERDOWN")) {
            look();
        }
        return null;
    }

    /** A node says who serves a slot: believed at once; the whole table is read to be sure. */
    private void moved(int slot, String master) {
        Set<String> fresh = adopt(table.with(slot, master), told -> told.isAsNewAs(table));
        fresh.forEach(this::connect);
        look();
    }

    /** The link to a node; a guest is one that may only have begun to take over slots. */
    private CompletableFuture<Link> linkTo(String address, boolean guest) {
        Connections member;
        boolean fresh = false;
        synchronized (this) {
            if (guest) {
                guestsAtNanos.put(address, runtime.nanoTime());
            }
            member = members.get(address);
            if (member == null) {
                member = member(address);
                members.put(address, member);
                fresh = true;
            }
        }
        Link link = member.current();
        if (link != null) {
            return CompletableFuture.completedFuture(link);
        }
        if (fresh) {
            connect(address);
        }
        return member.next();
    }

    @Override
    public void unanswered(Link link) {
        link.unanswered();
        look();
    }

    @Override
    public WakeUps wakeUps(Consumer<String> onMessage) {
        ClusterWakeUps made = new ClusterWakeUps(this, driver, errors, runtime, onMessage);
        pushes = made;
        return made;
    }

    /** Whether the servers have sharded channels: Redis 7 and what came after it. */
    boolean hasShardedChannels() {
        for (Connections member : membersNow()) {
            Link link = member.current();
            if (link != null && !link.facts().isAtLeast(7, 0)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() {
        List<Connections> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(members.values());
        }
        all.forEach(Connections::close);
        driver.close();
    }
}
