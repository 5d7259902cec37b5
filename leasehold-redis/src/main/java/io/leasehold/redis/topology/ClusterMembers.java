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
 * The nodes of a Cluster that we are connected to, and the table of who serves which slot.
 *
 * <p>A table of an earlier epoch counts only when no node that can be asked knows of the later one any more: the Cluster was
 * made anew. State is guarded by {@code this}; listeners and connections are called outside of it.
 */
final class ClusterMembers {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterMembers.class);

    /** How long a node that has no slots yet is kept after an ASK has led to it. */
    private static final long GUEST_NANOS = 60_000_000_000L;

    private final Deployment where;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Runnable onLost;
    private final Map<String, Connections> members = new HashMap<>();
    /** Nodes to which an ASK has led, and when last: they may have no slot yet. */
    private final Map<String, Long> guestsAtNanos = new HashMap<>();

    private final Succession succession = new Succession();
    private volatile SlotTable table = SlotTable.empty();
    private volatile @Nullable LockStoreException failure;
    private volatile Runnable onReconnected = () -> {};
    private boolean closed;

    /**
     * No member yet.
     *
     * @param onLost told of the end of each link
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

    /** Why the table could not be read the last time, or null. */
    @Nullable
    LockStoreException failure() {
        return failure;
    }

    void failure(@Nullable LockStoreException reason) {
        failure = reason;
    }

    /** Whether no node that answered last knew the epoch of the table in use: it has to be read again. */
    synchronized boolean isInDoubt() {
        return succession.isInDoubt();
    }

    void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    synchronized List<Connections> all() {
        return List.copyOf(members.values());
    }

    /** Takes over a table that was read, if it replaces ours; returns the masters that are new: they are not connected yet. */
    Set<String> adopt(SlotTable found) {
        return adopt(found, this::counts);
    }

    /** Believes a node that says who serves a slot, unless we know better; returns the master, if it is new. */
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

    /** Connections to the node at this address; nothing is connected yet. */
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

    /** The links that are alive. */
    List<Link> live() {
        return all().stream().map(Connections::current).filter(Objects::nonNull).toList();
    }

    /** The nodes that can be asked besides. */
    List<RedisUri> others() {
        return Stream.concat(table.everybody().stream().map(this::at), where.servers().stream())
                .toList();
    }

    /** Begins to connect to a master, in the background: the link is told of as one that can be used again. */
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
     * The links that are alive.
     *
     * @throws LockStoreException if there is none
     */
    List<Link> connected() {
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

    /** All masters, and those guests that answer: a guest may have locks of a slot that is being moved to it. */
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

    /** The link to a node; a guest is one that may only have begun to take over slots. */
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

    /** Whether the servers have sharded channels: Redis 7 and what came after it. */
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
