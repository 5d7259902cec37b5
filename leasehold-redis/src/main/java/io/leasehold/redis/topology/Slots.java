package io.leasehold.redis.topology;

import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;

/** The slot of a key of a Cluster. The driver's own reckoning of a text follows the charset of the JVM; keys are sent as UTF-8. */
final class Slots {

    static final int COUNT = SlotHash.SLOT_COUNT;

    private Slots() {}

    static int of(String key) {
        return SlotHash.getSlot(key.getBytes(StandardCharsets.UTF_8));
    }
}
