package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;
import java.util.HexFormat;

/**
 * The names of channels: {@code lock:wake:} and an id that the client has drawn. On a Cluster the scripts must see from the
 * name how to publish, so it begins with a slot's tag in braces ({@code SPUBLISH}), or ends with {@code ~} ({@code PUBLISH},
 * whose count tells nothing of the listeners at other nodes).
 */
final class Channels {

    private static final String PREFIX = "lock:wake:";

    private Channels() {}

    static String newId(LockRuntime runtime) {
        byte[] id = new byte[8];
        runtime.randomBytes(id);
        return HexFormat.of().formatHex(id);
    }

    /** Of a client at one master. */
    static String ofClient(LockRuntime runtime) {
        return PREFIX + newId(runtime);
    }

    /** Of a client, for the locks of one slot of a Cluster. */
    static String ofSlot(String tag, String id) {
        return PREFIX + "{" + tag + "}" + id;
    }

    /** Of a client at a Cluster without sharded channels. */
    static String ofCluster(String id) {
        return PREFIX + id + "~";
    }
}
