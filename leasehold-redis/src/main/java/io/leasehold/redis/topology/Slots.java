package io.leasehold.redis.topology;

import java.nio.charset.StandardCharsets;

/**
 * The slot of a key of a Cluster: the CRC-16 (XMODEM) of its hash tag, or of the whole key without one. Keys are sent
 * as UTF-8.
 */
final class Slots {

    static final int COUNT = 16_384;

    private static final int POLYNOMIAL = 0x1021;
    private static final int[] TABLE = table();

    private Slots() {}

    private static int[] table() {
        int[] table = new int[256];
        for (int i = 0; i < table.length; i++) {
            int crc = i << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) == 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
            }
            table[i] = crc & 0xFFFF;
        }
        return table;
    }

    static int of(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        int from = 0;
        int to = bytes.length;
        int open = indexOf(bytes, '{', 0);
        if (open >= 0) {
            int close = indexOf(bytes, '}', open + 1);
            // Empty braces are not a tag.
            if (close > open + 1) {
                from = open + 1;
                to = close;
            }
        }
        int crc = 0;
        for (int i = from; i < to; i++) {
            crc = ((crc << 8) ^ TABLE[((crc >>> 8) ^ bytes[i]) & 0xFF]) & 0xFFFF;
        }
        return crc % COUNT;
    }

    private static int indexOf(byte[] bytes, char wanted, int from) {
        for (int i = from; i < bytes.length; i++) {
            if (bytes[i] == wanted) {
                return i;
            }
        }
        return -1;
    }
}
