package io.leasehold.redis.topology;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The wake-ups of one client at a Cluster.
 *
 * <p>Servers with sharded channels (Redis 7): the client has one connection to each master with waiters of this client.
 * Each connection has one channel per slot, since a script may only publish to a channel of the lock's own slot. The
 * client gives up a channel after {@value #IDLE_MINUTES} minutes without use, unless a waiter has a place that lasts
 * longer. If a slot moves, its channel moves too, and the client subscribes at the new master.
 *
 * <p>Older servers: the client has one connection to any master and one plain channel, which the Cluster broadcasts.
 *
 * <p>State is guarded by {@code this}; listeners are called outside of it.
 */
final class ClusterWakeUps implements WakeUps {

    private static final long IDLE_MINUTES = 10;
    private static final long IDLE_NANOS = IDLE_MINUTES * 60_000_000_000L;

    /**
     * The pause after a refusal: an operator does not grant a missing right within a second, and the pause keeps the
     * servers' ACL logs short.
     */
    private static final long REFUSED_NANOS = 60_000_000_000L;

    private final ClusterMembers members;
    private final Runnable look;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Consumer<String> onMessage;
    private final String id;
    private final Map<Integer, SlotChannel> slots = new HashMap<>();
    private final Map<String, NodePushes> nodes = new HashMap<>();
    private final Subscriptions plain;
    private volatile Runnable onResubscribed = () -> {};
    private boolean sweeping;
    private boolean closed;

    ClusterWakeUps(
            ClusterMembers members,
            Runnable look,
            Driver driver,
            RedisErrors errors,
            LockRuntime runtime,
            Consumer<String> onMessage) {
        this.members = members;
        this.look = look;
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
        this.onMessage = onMessage;
        this.id = Channels.newId(runtime);
        this.plain = new Subscriptions(
                driver, new AnyMaster(), Channels.ofCluster(id), "wake-ups", errors, runtime, onMessage::accept);
    }

    /** The channel of one slot. Guarded by the outer object. */
    private static final class SlotChannel {
        private final CompletableFuture<Boolean> firstTry = new CompletableFuture<>();
        private long keptUntilAtNanos;
        /** The address of the master that sends messages now, or null. */
        private @Nullable String liveAt;

        private boolean trying;
        /** Identifies the try that is scheduled, or null; no other one starts meanwhile. */
        private @Nullable Object scheduled;

        /** The address of the master that refused the last try, or null. */
        private @Nullable String refusedAt;

        private int failures;

        SlotChannel(long keptUntilAtNanos) {
            this.keptUntilAtNanos = keptUntilAtNanos;
        }

        void keepUntil(long atNanos) {
            keptUntilAtNanos = atNanos - keptUntilAtNanos > 0 ? atNanos : keptUntilAtNanos;
        }
    }

    private String nameOf(int slot) {
        return Channels.ofSlot(SlotTags.of(slot), id);
    }

    @Override
    public String channel(String lockKey) {
        return members.hasShardedChannels() ? nameOf(Slots.of(lockKey)) : Channels.ofCluster(id);
    }

    @Override
    public String channel(String lockKey, long placeNanos) {
        synchronized (this) {
            SlotChannel channel = slots.get(Slots.of(lockKey));
            if (channel != null) {
                channel.keepUntil(runtime.nanoTime() + placeNanos);
            }
        }
        return channel(lockKey);
    }

    @Override
    public void onResubscribed(Runnable listener) {
        onResubscribed = listener;
        plain.onResubscribed(listener);
    }

    @Override
    public boolean isLive(String lockKey) {
        if (!members.hasShardedChannels()) {
            return plain.isLive(lockKey);
        }
        int slot = Slots.of(lockKey);
        synchronized (this) {
            SlotChannel channel = slots.get(slot);
            if (channel == null) {
                return false;
            }
            channel.keepUntil(runtime.nanoTime() + IDLE_NANOS);
            String liveAt = channel.liveAt;
            return liveAt != null && liveAt.equals(members.masterOf(slot));
        }
    }

    @Override
    public CompletableFuture<Boolean> started(String lockKey) {
        if (!members.hasShardedChannels()) {
            return plain.started(lockKey);
        }
        int slot = Slots.of(lockKey);
        SlotChannel channel;
        synchronized (this) {
            if (closed) {
                return CompletableFuture.completedFuture(false);
            }
            long keptUntilAtNanos = runtime.nanoTime() + IDLE_NANOS;
            channel = slots.computeIfAbsent(slot, missing -> new SlotChannel(keptUntilAtNanos));
            channel.keepUntil(keptUntilAtNanos);
        }
        sweepLater();
        subscribe(slot);
        return channel.firstTry.isDone() ? CompletableFuture.completedFuture(isLive(lockKey)) : channel.firstTry.copy();
    }

    /** Locates any master, which is right as long as it belongs to the Cluster. */
    private final class AnyMaster implements Connections.Locator {
        @Override
        public CompletableFuture<RedisUri> locate() {
            try {
                return CompletableFuture.completedFuture(members.anyMaster());
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public boolean isStill(RedisUri server) {
            return members.isMember(server);
        }
    }

    /** Subscribes to the channel of a slot at its current master, unless that is done, under way or scheduled. */
    private void subscribe(int slot) {
        String master = members.masterOf(slot);
        NodePushes node;
        NodePushes fresh = null;
        synchronized (this) {
            SlotChannel channel = slots.get(slot);
            if (closed
                    || channel == null
                    || channel.trying
                    || channel.scheduled != null
                    || (master != null && master.equals(channel.liveAt))) {
                return;
            }
            node = master == null ? null : nodes.get(master);
            if (node == null && master != null) {
                node = pushesOf(master);
                nodes.put(master, node);
                fresh = node;
            }
            channel.trying = true;
        }
        if (fresh != null) {
            fresh.open();
        }
        if (node == null) {
            failed(slot, null, null);
            return;
        }
        NodePushes asked = node;
        asked.subscribe(nameOf(slot)).whenComplete((done, error) -> {
            if (error == null) {
                subscribed(slot, asked);
            } else {
                failed(slot, asked.address(), error);
            }
        });
    }

    private NodePushes pushesOf(String address) {
        return new NodePushes(driver, members.at(address), errors, runtime, onMessage, new NodePushes.Ends() {
            @Override
            public void unsubscribed(String channel) {
                ClusterWakeUps.this.unsubscribed(address, channel);
            }

            @Override
            public void lost(NodePushes all) {
                ClusterWakeUps.this.lost(address, all);
            }
        });
    }

    private void subscribed(int slot, NodePushes node) {
        String address = node.address();
        CompletableFuture<Boolean> firstTry = null;
        boolean gone;
        synchronized (this) {
            // The connection may have ended between the answer and this check, when the slot was not yet live there.
            gone = nodes.get(address) != node;
            SlotChannel channel = slots.get(slot);
            if (channel != null && !gone) {
                channel.trying = false;
                channel.failures = 0;
                channel.liveAt = address;
                firstTry = channel.firstTry;
            }
        }
        if (gone) {
            failed(slot, null, null);
            return;
        }
        // Outside of the monitor, since the callers that wait continue with their requests.
        if (firstTry != null && !firstTry.complete(true)) {
            onResubscribed.run();
        }
        if (!address.equals(members.masterOf(slot))) {
            subscribe(slot);
        }
    }

    /** Handles a failed subscription: retries later, once for all requests of the meantime. */
    private void failed(int slot, @Nullable String address, @Nullable Throwable error) {
        // A refusal by a node that is the master no more says nothing about the present one.
        boolean refused = error != null
                && errors.of(error, "subscribe to wake-ups").kind() == FailureKind.PERMANENT
                && (address == null || address.equals(members.masterOf(slot)));
        Object next = new Object();
        SlotChannel channel;
        int before;
        synchronized (this) {
            channel = slots.get(slot);
            if (channel == null || closed) {
                return;
            }
            channel.trying = false;
            before = channel.scheduled != null ? -1 : channel.failures++;
            if (before >= 0) {
                channel.scheduled = next;
                channel.refusedAt = refused ? address : null;
            }
        }
        channel.firstTry.complete(false);
        if (before < 0) {
            return;
        }
        if (!refused) {
            look.run();
        }
        runtime.schedule(refused ? REFUSED_NANOS : Retry.delayNanos(before, runtime), () -> again(slot, next));
    }

    private void again(int slot, Object scheduled) {
        synchronized (this) {
            SlotChannel channel = slots.get(slot);
            // Otherwise the slot has another channel by now, or its master has changed.
            if (channel == null || channel.scheduled != scheduled) {
                return;
            }
            channel.scheduled = null;
        }
        subscribe(slot);
    }

    /** Handles the end of a subscription by the server: another node serves the slot. */
    private void unsubscribed(String address, String name) {
        List<Integer> affected;
        synchronized (this) {
            affected = noLongerLive(address, slot -> nameOf(slot).equals(name));
        }
        affected.forEach(slot -> failed(slot, null, null));
    }

    private void lost(String address, NodePushes all) {
        List<Integer> affected;
        synchronized (this) {
            // Otherwise a new connection has taken its place, and the slots are live there.
            affected = nodes.remove(address, all) ? noLongerLive(address, any -> true) : List.of();
        }
        affected.forEach(slot -> failed(slot, null, null));
    }

    /** Marks slots as not live and returns them. The caller holds the monitor. */
    private List<Integer> noLongerLive(String address, IntPredicate which) {
        List<Integer> affected = new ArrayList<>();
        slots.forEach((slot, channel) -> {
            if (address.equals(channel.liveAt) && which.test(slot)) {
                channel.liveAt = null;
                affected.add(slot);
            }
        });
        return affected;
    }

    /** Subscribes at the current masters of the slots, after the slot table was read. */
    void follow() {
        plain.leaveUnlessStillThere();
        List<Integer> moved = new ArrayList<>();
        synchronized (this) {
            slots.forEach((slot, channel) -> {
                String master = members.masterOf(slot);
                boolean wasRefusedElsewhere = channel.refusedAt != null && !channel.refusedAt.equals(master);
                if (wasRefusedElsewhere) {
                    channel.scheduled = null;
                    channel.refusedAt = null;
                }
                if (wasRefusedElsewhere || (channel.liveAt != null && !channel.liveAt.equals(master))) {
                    moved.add(slot);
                }
            });
        }
        moved.forEach(this::subscribe);
    }

    private void sweepLater() {
        synchronized (this) {
            if (sweeping || closed) {
                return;
            }
            sweeping = true;
        }
        runtime.schedule(IDLE_NANOS, this::sweep);
    }

    private void sweep() {
        Map<String, List<String>> idle = new HashMap<>();
        List<NodePushes> unused = new ArrayList<>();
        boolean more;
        synchronized (this) {
            sweeping = false;
            long now = runtime.nanoTime();
            slots.entrySet().removeIf(entry -> {
                SlotChannel channel = entry.getValue();
                // One that waits for its next try goes, too: it has no waiter, and that try finds nothing to do.
                if (channel.trying || channel.keptUntilAtNanos - now > 0) {
                    return false;
                }
                if (channel.liveAt != null) {
                    idle.computeIfAbsent(channel.liveAt, ignored -> new ArrayList<>())
                            .add(nameOf(entry.getKey()));
                }
                return true;
            });
            nodes.forEach((address, node) -> {
                if (slots.values().stream().noneMatch(slot -> slot.trying || address.equals(slot.liveAt))) {
                    unused.add(node);
                }
            });
            more = !slots.isEmpty();
        }
        unused.forEach(NodePushes::close);
        idle.forEach((address, names) -> {
            NodePushes node;
            synchronized (this) {
                node = nodes.get(address);
            }
            if (node != null) {
                node.unsubscribe(names);
            }
        });
        if (more) {
            sweepLater();
        }
    }

    /** Makes no more subscriptions; the driver closes the connections. */
    @Override
    public void close() {
        List<SlotChannel> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(slots.values());
            slots.clear();
        }
        all.forEach(channel -> channel.firstTry.complete(false));
        plain.close();
    }
}
