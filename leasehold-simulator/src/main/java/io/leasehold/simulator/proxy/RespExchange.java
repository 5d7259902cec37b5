package io.leasehold.simulator.proxy;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Follows the requests and replies of one connection, so that a scheduled loss hits exactly the intended message, even
 * if requests are pipelined.
 *
 * <p>The n-th reply answers the n-th request; RESP3 pushes are not replies. If that rule does not hold (another
 * protocol, subscriptions over RESP2), the connection is no longer followed and no loss happens on it. Pure; one
 * thread.
 */
final class RespExchange {
    private static final byte[] NOTHING = {};

    private final List<ScheduledLoss> scheduled;
    private boolean followed = true;
    private boolean resp3;
    private boolean subscribed;
    private byte[] requestRest = NOTHING;
    private byte[] replyRest = NOTHING;
    private long requests;
    private long replies;
    private @Nullable ScheduledLoss pending;
    private long pendingReply;

    /** The list is shared by all connections of the proxy; a loss that has found its request is removed. */
    RespExchange(List<ScheduledLoss> scheduled) {
        this.scheduled = scheduled;
    }

    /** The loss that is due on this connection. */
    @Nullable
    ScheduledLoss pending() {
        return pending;
    }

    /** Whether messages arrive over RESP2 by now. */
    boolean isSubscribed() {
        return subscribed;
    }

    /**
     * The number of bytes of the chunk that may go to the server; fewer than all mean that {@link #pending()} happens
     * there.
     */
    int requestBytesThatPass(byte[] chunk) {
        if (!followed) {
            return chunk.length;
        }
        byte[] bytes = join(requestRest, chunk);
        int start = 0;
        while (start < bytes.length) {
            int end = RespFrame.requestEnd(bytes, start);
            if (end == RespFrame.INCOMPLETE) {
                break;
            }
            if (end == RespFrame.MALFORMED) {
                giveUp();
                return chunk.length;
            }
            if (losesRequest(new String(bytes, start, end - start, StandardCharsets.ISO_8859_1))) {
                return Math.max(0, start - requestRest.length);
            }
            start = end;
        }
        requestRest = followed ? Arrays.copyOfRange(bytes, start, bytes.length) : NOTHING;
        return chunk.length;
    }

    /**
     * The number of bytes of the chunk that may go to the client; fewer than all mean that {@link #pending()} happens
     * there.
     */
    int replyBytesThatPass(byte[] chunk) {
        if (!followed) {
            return chunk.length;
        }
        byte[] bytes = join(replyRest, chunk);
        int start = 0;
        while (start < bytes.length) {
            boolean push = bytes[start] == '>';
            // The rest of an earlier chunk begins inside a reply that was already identified as another one.
            if (!push && pending != null && replies == pendingReply) {
                return Math.max(0, start - replyRest.length);
            }
            int end = RespFrame.end(bytes, start);
            if (end == RespFrame.INCOMPLETE) {
                break;
            }
            if (end == RespFrame.MALFORMED) {
                giveUp();
                return chunk.length;
            }
            if (!push) {
                replies++;
            }
            start = end;
        }
        replyRest = Arrays.copyOfRange(bytes, start, bytes.length);
        return chunk.length;
    }

    private boolean losesRequest(String request) {
        long index = requests;
        if (expectsReply(request)) {
            requests++;
        }
        if (!followed || pending != null) {
            return false;
        }
        for (ScheduledLoss loss : scheduled) {
            if (loss.kind() != ScheduledLoss.Kind.PUSH && loss.matches(request)) {
                scheduled.remove(loss);
                pending = loss;
                pendingReply = index;
                return loss.kind() == ScheduledLoss.Kind.REQUEST_THEN_RESET;
            }
        }
        return false;
    }

    private boolean expectsReply(String request) {
        String upper = request.substring(0, Math.min(64, request.length())).toUpperCase(Locale.ROOT);
        if (upper.contains("\r\nHELLO\r\n")) {
            resp3 = upper.contains("\r\n3\r\n");
        } else if (upper.contains("SUBSCRIBE\r\n")) {
            if (!resp3) {
                subscribed = true;
                giveUp();
            }
            return false;
        }
        return true;
    }

    private void giveUp() {
        followed = false;
        requestRest = NOTHING;
        replyRest = NOTHING;
    }

    private static byte[] join(byte[] first, byte[] second) {
        if (first.length == 0) {
            return second;
        }
        byte[] joined = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, joined, first.length, second.length);
        return joined;
    }
}
