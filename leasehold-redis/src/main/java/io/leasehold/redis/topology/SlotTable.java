package io.leasehold.redis.topology;

import io.leasehold.redis.wire.InfoText;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which master serves which slot, as one node of a Cluster sees it. Immutable.
 *
 * <p>Of two views the one of the later epoch counts: a node on the wrong side of a split goes on claiming its slots. One without any
 * slot is none: that is what a node sees that was just reset.
 */
final class SlotTable {

    static final int SLOTS = Slots.COUNT;

    private final long epoch;
    private final @Nullable String[] masters;
    private final Set<String> replicas;

    private SlotTable(long epoch, @Nullable String[] masters, Set<String> replicas) {
        this.epoch = epoch;
        this.masters = masters;
        this.replicas = replicas;
    }

    /** Before anything is known. */
    static SlotTable empty() {
        return new SlotTable(-1, new String[SLOTS], Set.of());
    }

    /**
     * Reads what a node says.
     *
     * @param asked the host under which the node was reached, for what it does not know of itself
     * @param slots the answer to {@code CLUSTER SLOTS}
     * @param info the answer to {@code CLUSTER INFO}
     * @throws RuntimeException if they are no such answers
     */
    static SlotTable parse(String asked, List<?> slots, String info) {
        String epoch = InfoText.fields(info).getOrDefault("cluster_current_epoch", "0");
        @Nullable String[] masters = new String[SLOTS];
        Set<String> replicas = new LinkedHashSet<>();
        for (Object item : slots) {
            List<?> range = (List<?>) item;
            int from = ((Long) range.get(0)).intValue();
            int to = ((Long) range.get(1)).intValue();
            Arrays.fill(masters, from, to + 1, address(asked, (List<?>) range.get(2)));
            range.stream().skip(3).map(node -> address(asked, (List<?>) node)).forEach(replicas::add);
        }
        return new SlotTable(Long.parseLong(epoch), masters, replicas);
    }

    private static String address(String asked, List<?> node) {
        Object host = node.get(0);
        return address(host(host == null ? "" : host.toString(), asked), ((Long) node.get(1)).intValue());
    }

    /** The host that a node names; where it does not know it, the host under which that node was reached. */
    static String host(String told, String asked) {
        return told.isEmpty() || told.equals("?") ? asked : told;
    }

    /** As {@link RedisUri#address()} writes it. */
    static String address(String host, int port) {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }

    /** Whether this view is not older than the other. */
    boolean isAsNewAs(SlotTable other) {
        return epoch >= other.epoch;
    }

    /** Whether of these two views this one counts. */
    boolean isPreferredTo(SlotTable other) {
        int served = served();
        int servedOther = other.served();
        if (served == 0 || servedOther == 0 || epoch == other.epoch) {
            return served > servedOther;
        }
        return epoch > other.epoch;
    }

    /** Whether it is any node's view but that of one which knows of no slots. */
    boolean isAny() {
        return served() > 0;
    }

    /** The slots that have a master. */
    int served() {
        return (int) Arrays.stream(masters).filter(master -> master != null).count();
    }

    /** The master of a slot, or null if the slot has none. */
    @Nullable
    String masterOf(int slot) {
        return masters[slot];
    }

    /** This view, but for one slot of which something newer was heard. */
    SlotTable with(int slot, String master) {
        @Nullable String[] changed = masters.clone();
        changed[slot] = master;
        return new SlotTable(epoch, changed, replicas);
    }

    /** All masters that have slots. */
    Set<String> masters() {
        Set<String> all = new LinkedHashSet<>();
        for (String master : masters) {
            if (master != null) {
                all.add(master);
            }
        }
        return all;
    }

    /** All nodes that could be asked. */
    Set<String> everybody() {
        Set<String> all = masters();
        all.addAll(replicas);
        return all;
    }
}
