package io.leasehold.redis.topology;

import io.leasehold.redis.wire.InfoText;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The masters of all slots, as one node of a Cluster sees them. Immutable.
 *
 * <p>Of two views, the one with the later epoch counts: a node on the wrong side of a network partition continues to
 * claim its slots. A view without slots does not count: a node that was just reset has such a view.
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

    /** The table before anything is known. */
    static SlotTable empty() {
        return new SlotTable(-1, new String[SLOTS], Set.of());
    }

    /**
     * Reads the view of a node.
     *
     * @param asked the host at which the node was reached, for entries in which the node does not know its own host
     * @param slots the answer to {@code CLUSTER SLOTS}
     * @param info the answer to {@code CLUSTER INFO}
     * @throws RuntimeException if the answers have another form
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

    /** The host that a node names, or the host at which the node was reached if it does not know its own. */
    static String host(String told, String asked) {
        return told.isEmpty() || told.equals("?") ? asked : told;
    }

    /** The address in the form of {@link RedisUri#address()}. */
    static String address(String host, int port) {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }

    /** Whether this view is not older than the other. */
    boolean isAsNewAs(SlotTable other) {
        return epoch >= other.epoch;
    }

    /** Whether this view counts, of these two. */
    boolean isPreferredTo(SlotTable other) {
        int served = served();
        int servedOther = other.served();
        if (served == 0 || servedOther == 0 || epoch == other.epoch) {
            return served > servedOther;
        }
        return epoch > other.epoch;
    }

    /** Whether the view has any slots. */
    boolean isAny() {
        return served() > 0;
    }

    /** The number of slots that have a master. */
    int served() {
        return (int) Arrays.stream(masters).filter(master -> master != null).count();
    }

    /** The master of a slot, or null if the slot has none. */
    @Nullable
    String masterOf(int slot) {
        return masters[slot];
    }

    /** This view with newer knowledge of one slot. */
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

    /** All known nodes. */
    Set<String> everybody() {
        Set<String> all = masters();
        all.addAll(replicas);
        return all;
    }
}
