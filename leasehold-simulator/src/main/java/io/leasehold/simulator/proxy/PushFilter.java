package io.leasehold.simulator.proxy;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Removes single messages from the data that a server sends on a subscribed RESP2 connection, like a relay that loses
 * them: the connection itself stays intact. Pure; one thread.
 */
final class PushFilter {
    private final List<ScheduledLoss> scheduled;
    private byte[] rest = {};

    /** The list is shared by all connections of the proxy; a loss that has found its message is removed. */
    PushFilter(List<ScheduledLoss> scheduled) {
        this.scheduled = scheduled;
    }

    /**
     * The part of the chunk, and of the bytes held back before, that may be forwarded: complete values that are not to
     * be lost.
     */
    byte[] passing(byte[] chunk) {
        byte[] bytes = Arrays.copyOf(rest, rest.length + chunk.length);
        System.arraycopy(chunk, 0, bytes, rest.length, chunk.length);
        ByteArrayOutputStream passing = new ByteArrayOutputStream(bytes.length);
        int start = 0;
        while (start < bytes.length) {
            int end = RespFrame.end(bytes, start);
            if (end == RespFrame.INCOMPLETE) {
                break;
            }
            if (end == RespFrame.MALFORMED) {
                end = bytes.length;
            }
            ScheduledLoss loss = lossOf(new String(bytes, start, end - start, StandardCharsets.ISO_8859_1));
            if (loss == null) {
                passing.write(bytes, start, end - start);
            } else {
                scheduled.remove(loss);
                loss.markHappened();
            }
            start = end;
        }
        rest = Arrays.copyOfRange(bytes, start, bytes.length);
        return passing.toByteArray();
    }

    private @Nullable ScheduledLoss lossOf(String message) {
        for (ScheduledLoss loss : scheduled) {
            if (loss.kind() == ScheduledLoss.Kind.PUSH && loss.matches(message)) {
                return loss;
            }
        }
        return null;
    }
}
