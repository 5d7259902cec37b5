package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.util.Optional;

/**
 * The messages that scripts and operators publish to a client that waits for a lock or holds it:
 *
 * <pre>
 * wake &lt;attempt id&gt; &lt;server µs&gt; &lt;lock key&gt;
 * taken &lt;lock key&gt;
 * handed &lt;attempt id&gt; &lt;server µs&gt; &lt;first token&gt; &lt;last token&gt; &lt;lock key&gt;
 * handed@&lt;run id&gt; &lt;attempt id&gt; &lt;server µs&gt; &lt;first token&gt; &lt;last token&gt; &lt;lock key&gt;
 * </pre>
 *
 * <p>Clients ignore unknown kinds and unreadable messages, so that later versions can send more.
 */
public final class Messages {

    private static final String HANDED_BY = "handed@";

    private Messages() {}

    /** The lock that a waiter should request again, or empty if the message is of another kind. */
    public static Optional<LockName> wakeUp(String message, KeyLayout layout) {
        String[] parts = message.split(" ", 4);
        if (parts.length < 4 || !parts[0].equals("wake")) {
            return Optional.empty();
        }
        return Optional.ofNullable(layout.holdOf(parts[3]));
    }

    /** The message for a lock that an operator has removed. */
    public static String taken(LockName name, KeyLayout layout) {
        return "taken " + layout.named(name);
    }

    /** The lock that an operator has removed, or empty if the message is of another kind. */
    public static Optional<LockName> takenAway(String message, KeyLayout layout) {
        return message.startsWith("taken ")
                ? Optional.ofNullable(layout.holdOf(message.substring("taken ".length())))
                : Optional.empty();
    }

    /**
     * The server that executed the script of a hand-over, or empty if the message does not name it. A replica delivers
     * messages of its primary, so this may be another server than the one that delivered the message.
     */
    public static Optional<Incarnation> writer(String message) {
        String kind = message.split(" ", 2)[0];
        return kind.startsWith(HANDED_BY) && kind.length() > HANDED_BY.length()
                ? Optional.of(new Incarnation(kind.substring(HANDED_BY.length())))
                : Optional.empty();
    }

    /** The hand-over of a lock to a waiter, or empty if the message is of another kind. */
    public static Optional<HandOver> handOver(String message, KeyLayout layout) {
        String[] parts = message.split(" ", 6);
        if (parts.length < 6 || !(parts[0].equals("handed") || parts[0].startsWith(HANDED_BY))) {
            return Optional.empty();
        }
        LockName name = layout.holdOf(parts[5]);
        if (name == null) {
            return Optional.empty();
        }
        try {
            TokenRange tokens = new TokenRange(Long.parseLong(parts[3]), Long.parseLong(parts[4]));
            return Optional.of(new HandOver(name, parts[1], tokens, Long.parseLong(parts[2])));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
