package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The messages that scripts and operators publish to a client that waits for a lock or holds it:
 *
 * <pre>
 * wake &lt;attempt id&gt; &lt;server µs&gt; &lt;lock key&gt;
 * taken &lt;lock key&gt;
 * handed &lt;attempt id&gt; &lt;server µs&gt; &lt;first token&gt; &lt;last token&gt; &lt;lock key&gt;
 * handed@&lt;run id&gt; &lt;attempt id&gt; &lt;server µs&gt; &lt;first token&gt; &lt;last token&gt; &lt;lock key&gt;
 * handed@&lt;run id&gt;:&lt;slot&gt;,...&#47;&lt;count&gt; &lt;attempt id&gt; &lt;server µs&gt; &lt;first token&gt; &lt;last token&gt; &lt;key of permits&gt;
 * </pre>
 *
 * <p>Clients ignore unknown kinds and unreadable messages, so that later versions can send more.
 */
public final class Messages {

    private static final String HANDED_BY = "handed@";

    /**
     * The kind of a message that hands permits over, with the server, the slots, and the count that the record has. The
     * possessive quantifiers keep a long list from taking a frame of the stack for each slot.
     */
    private static final Pattern OF_SLOTS = Pattern.compile("handed@(\\w+):(\\d{1,4}+(?:,\\d{1,4}+)*+)/(\\d{1,4})");

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
     * messages of its primary, so this may be another server than the one that delivered the message. A text after the run
     * id that this version cannot read is taken for a part of it, so that the waiter asks.
     */
    public static Optional<Incarnation> writer(String message) {
        String kind = message.split(" ", 2)[0];
        Matcher ofSlots = OF_SLOTS.matcher(kind);
        if (ofSlots.matches()) {
            return Optional.of(new Incarnation(ofSlots.group(1)));
        }
        return kind.startsWith(HANDED_BY) && kind.length() > HANDED_BY.length()
                ? Optional.of(new Incarnation(kind.substring(HANDED_BY.length())))
                : Optional.empty();
    }

    /** The hand-over of a lock or of permits to a waiter, or empty if the message is of another kind. */
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
            HandOver handOver = new HandOver(counted(name, parts[0]), parts[1], tokens, Long.parseLong(parts[2]));
            return Optional.of(handOver.ofSlots(slots(parts[0])));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** The permits, with the count that the message names, if it names one that permits can have. */
    private static LockName counted(LockName name, String kind) {
        Matcher ofSlots = OF_SLOTS.matcher(kind);
        int count = ofSlots.matches() ? Integer.parseInt(ofSlots.group(3)) : 0;
        return name.isPermits() && count > 0 && count <= LockName.MAX_PERMITS ? name.asPermits(count) : name;
    }

    private static List<Integer> slots(String kind) {
        Matcher ofSlots = OF_SLOTS.matcher(kind);
        return ofSlots.matches()
                ? Stream.of(ofSlots.group(2).split(",", -1))
                        .map(Integer::valueOf)
                        .toList()
                : List.of();
    }
}
