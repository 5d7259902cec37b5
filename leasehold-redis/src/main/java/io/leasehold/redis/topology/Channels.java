package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;
import java.util.HexFormat;

/**
 * The names of channels: {@code lock:wake:} and a random id of the client. On a Cluster the name tells the scripts how
 * to publish. With {@code SPUBLISH}, the tag of a slot in braces precedes the id. With {@code PUBLISH}, the name ends
 * with {@code ~}; its count says nothing of listeners at other nodes.
 *
 * <p>Elsewhere, the name ends with {@code !}: the scripts then say in a hand-over which server wrote it. Scripts of
 * older clients do not know that, and publish the message without the server.
 */
final class Channels {

    private static final String PREFIX = "lock:wake:";
    private static final String NAMES_WRITER = "!";

    private Channels() {}

    static String newId(LockRuntime runtime) {
        byte[] id = new byte[8];
        runtime.randomBytes(id);
        return HexFormat.of().formatHex(id);
    }

    /** The channel of a client at one master. */
    static String ofClient(LockRuntime runtime) {
        return PREFIX + newId(runtime) + NAMES_WRITER;
    }

    /** Whether messages on this channel can say which server wrote them. */
    static boolean namesWriter(String channel) {
        return channel.endsWith(NAMES_WRITER);
    }

    /** The channel of a client for the locks of one slot of a Cluster. */
    static String ofSlot(String tag, String id) {
        return PREFIX + "{" + tag + "}" + id;
    }

    /** The channel of a client at a Cluster without sharded channels. */
    static String ofCluster(String id) {
        return PREFIX + id + "~";
    }
}
