package io.leasehold.redis.topology;

import java.util.Arrays;
import java.util.List;

/** For each slot of a Cluster, the first of the texts 0, 1, 2, … that has this slot. Part of the wire format. */
final class SlotTags {

    private static final List<String> TAGS = find();

    private SlotTags() {}

    private static List<String> find() {
        String[] tags = new String[SlotTable.SLOTS];
        int missing = tags.length;
        for (int i = 0; missing > 0; i++) {
            String text = Integer.toString(i);
            int slot = Slots.of(text);
            if (tags[slot] == null) {
                tags[slot] = text;
                missing--;
            }
        }
        return List.copyOf(Arrays.asList(tags));
    }

    static String of(int slot) {
        return TAGS.get(slot);
    }

    static List<String> all() {
        return TAGS;
    }
}
