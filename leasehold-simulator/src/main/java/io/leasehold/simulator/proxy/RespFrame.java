package io.leasehold.simulator.proxy;

/** Finds the ends of RESP2 and RESP3 values in a byte array, regardless of their meaning. */
final class RespFrame {
    /** The value continues beyond the available bytes. */
    static final int INCOMPLETE = -1;
    /** The bytes are not RESP. */
    static final int MALFORMED = -2;

    private RespFrame() {}

    /** The index after the value that starts at {@code from}, or {@link #INCOMPLETE} or {@link #MALFORMED}. */
    static int end(byte[] bytes, int from) {
        int lineEnd = lineEnd(bytes, from);
        if (lineEnd < 0) {
            return INCOMPLETE;
        }
        return switch (bytes[from]) {
            case '+', '-', ':', '_', '#', ',', '(' -> lineEnd;
            case '$', '=', '!' -> bulkEnd(bytes, lineEnd, number(bytes, from + 1, lineEnd));
            case '*', '~', '>' -> valuesEnd(bytes, lineEnd, number(bytes, from + 1, lineEnd));
            case '%' -> valuesEnd(bytes, lineEnd, 2 * number(bytes, from + 1, lineEnd));
            // An attribute belongs to the value that follows it.
            case '|' -> valuesEnd(bytes, lineEnd, 2 * number(bytes, from + 1, lineEnd) + 1);
            default -> MALFORMED;
        };
    }

    /** As {@link #end}, but also accepts the inline form {@code PING\r\n} of a request. */
    static int requestEnd(byte[] bytes, int from) {
        if (bytes[from] == '*') {
            return end(bytes, from);
        }
        if (bytes[from] < ' ') {
            return MALFORMED;
        }
        int lineEnd = lineEnd(bytes, from);
        return lineEnd < 0 ? INCOMPLETE : lineEnd;
    }

    private static int bulkEnd(byte[] bytes, int start, long length) {
        if (length < -1) {
            return MALFORMED;
        }
        long end = length < 0 ? start : start + length + 2;
        return end > bytes.length ? INCOMPLETE : (int) end;
    }

    private static int valuesEnd(byte[] bytes, int start, long count) {
        if (count < -2) {
            return MALFORMED;
        }
        int end = start;
        for (long i = 0; i < count; i++) {
            if (end >= bytes.length) {
                return INCOMPLETE;
            }
            end = end(bytes, end);
            if (end < 0) {
                return end;
            }
        }
        return end;
    }

    private static int lineEnd(byte[] bytes, int from) {
        for (int i = from; i < bytes.length; i++) {
            if (bytes[i] == '\n') {
                return i + 1;
            }
        }
        return INCOMPLETE;
    }

    private static long number(byte[] bytes, int from, int lineEnd) {
        boolean negative = bytes[from] == '-';
        long value = 0;
        for (int i = negative ? from + 1 : from; i < lineEnd - 2; i++) {
            if (bytes[i] < '0' || bytes[i] > '9' || value > Integer.MAX_VALUE) {
                return Integer.MIN_VALUE;
            }
            value = value * 10 + (bytes[i] - '0');
        }
        return negative ? -value : value;
    }
}
