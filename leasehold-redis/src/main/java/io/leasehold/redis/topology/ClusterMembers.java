package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connected nodes of a Cluster, and the slot table.
 *
 * <p>A table of an earlier epoch counts only if no reachable node knows the later epoch any more: the Cluster was
 * created anew. State is guarded by {@code this}; listeners and connections are called outside of it.
 */
final class ClusterMembers {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterMembers.class);

    /** The time for which a node without slots is kept after an ASK has led to it. */
    private static final long GUEST_NANOS = 60_000_000_000L;

    private final Deployment where;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Runnable onLost;
    private final Map<String, Connections> members = new HashMap<>();
    /** The nodes to which an ASK has led, with the time of the last one. They may have no slot yet. */
    private final Map<String, Long> guestsAtNanos = new HashMap<>();

    private final Succession succession = new Succession();
    private volatile SlotTable table = SlotTable.empty();
    private volatile @Nullable LockStoreException failure;
    private volatile Runnable onReconnected = () -> {};
    private boolean closed;

    /**
     * Creates the object without members.
     *
     * @param onLost called at the end of each link
     */
    ClusterMembers(Deployment where, Driver driver, RedisErrors errors, LockRuntime runtime, Runnable onLost) {
        this.where = where;
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
        this.onLost = onLost;
    }

    /** The table in use. */
    SlotTable table() {
        return table;
    }

    /** The reason why the last reading of the table failed, or null. */
    @Nullable
    LockStoreException failure() {
        return failure;
    }

    void failure(@Nullable LockStoreException reason) {
        failure = reason;
    }

    /** Whether no node of the last reading knew the epoch of the table in use, so that it must be read again. */
    synchronized boolean isInDoubt() {
        return succession.isInDoubt();
    }

    void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    synchronized List<Connections> all() {
        return List.copyOf(members.values());
    }

    /** Adopts a table if it replaces the one in use. Returns the new masters, which are not connected yet. */
    Set<String> adopt(SlotTable found) {
        return adopt(found, this::counts);
    }

    /**
     * Adopts the master of a slot that a node has named, unless this client has newer knowledge. Returns the master if
     * it is new.
     */
    Set<String> adopt(int slot, String master) {
        return adopt(table.with(slot, master), told -> told.isAsNewAs(table));
    }

    private Set<String> adopt(SlotTable found, Predicate<SlotTable> counts) {
        List<Connections> retired = new ArrayList<>();
        Set<String> fresh = new HashSet<>();
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

    /** Whether a table replaces the one in use. The caller holds the monitor. */
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

    /** Creates the connections to the node at this address; nothing is connected yet. */
    private Connections member(String address) {
        Connections made = new Connections(
                driver,
                Connections.Locator.fixed(at(address)),
                Expectation.CLUSTER_NODE,
                address + " of " + where,
                errors,
                runtime);
        made.onReconnected(() -> onReconnected.run());
        made.onLost(onLost);
        return made;
    }

    /** The node at an address. */
    RedisUri at(String address) {
        int colon = address.lastIndexOf(':');
        String host = address.substring(0, colon);
        return where.data()
                .at(
                        host.startsWith("[") ? host.substring(1, host.length() - 1) : host,
                        Integer.parseInt(address.substring(colon + 1)));
    }

    /** The live links. */
    List<Link> live() {
        return all().stream().map(Connections::current).filter(Objects::nonNull).toList();
    }

    /** All known nodes, linked or not. */
    List<RedisUri> others() {
        return Stream.concat(table.everybody().stream().map(this::at), where.servers().stream())
                .toList();
    }

    /** Starts to connect to a master in the background. The link is then reported like a reconnected one. */
    void connect(String master) {
        Connections member;
        synchronized (this) {
            member = members.get(master);
        }
        if (member != null) {
            member.begin();
        }
    }

    /** The connections to the master of a key, or null. */
    @Nullable
    Connections serving(String key) {
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

    /**
     * The live links.
     *
     * @throws LockStoreException if no link is live
     */
    List<Link> connected() {
        List<Link> live = live();
        if (live.isEmpty()) {
            throw errors.notConnected("ask any master", failure).error();
        }
        return live;
    }

    /** Any node with a live link, preferably a master and not a guest; fails if no link is live. */
    RedisUri anyMaster() {
        Set<String> masters = table.masters();
        List<RedisUri> all = connected().stream().map(Link::address).toList();
        return all.stream()
                .filter(server -> masters.contains(server.address()))
                .findFirst()
                .orElse(all.get(0));
    }

    /** Whether a node belongs to the Cluster as a master or replica. */
    boolean isMember(RedisUri server) {
        return table.everybody().contains(server.address());
    }

    /**
     * The links to all masters and to the guests with a live link: a guest may have locks of a slot that is moving to
     * it.
     */
    List<Link> everywhere() {
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

    synchronized boolean isAnyMasterMissing() {
        return table.masters().stream()
                .map(members::get)
                .anyMatch(member -> member == null || member.current() == null);
    }

    /** The link to a node. A guest is a node that may only have started to take over slots. */
    CompletableFuture<Link> linkTo(String address, boolean guest) {
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

    /** Whether the servers have sharded channels: Redis 7 and newer. */
    boolean hasShardedChannels() {
        for (Connections member : all()) {
            Link link = member.current();
            if (link != null && !link.facts().isAtLeast(7, 0)) {
                return false;
            }
        }
        return true;
    }

    /** Makes no more links. */
    void close() {
        List<Connections> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(members.values());
        }
        all.forEach(Connections::close);
    }
}
