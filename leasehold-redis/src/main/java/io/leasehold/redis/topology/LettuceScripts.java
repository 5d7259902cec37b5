package io.leasehold.redis.topology;

import io.leasehold.redis.wire.LuaScript;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;

/** Writes the call of a script by its digest as bytes. Lettuce makes several objects for each argument; this makes none. */
final class LettuceScripts {

    private static final int BEFORE_KEYS = 3;

    private LettuceScripts() {}

    /** Writes all that precedes the keys; as many keys and then arguments follow. */
    static void begin(ByteBuf out, LuaScript script, int keys, int arguments) {
        count(out, '*', BEFORE_KEYS + keys + arguments);
        word(out, "EVALSHA");
        word(out, script.sha1());
        count(out, '$', digits(keys));
        decimal(out, keys);
        newLine(out);
    }

    /** Writes keys or arguments. */
    static void add(ByteBuf out, String[] words) {
        for (String word : words) {
            word(out, word);
        }
    }

    private static void word(ByteBuf out, String word) {
        int bytes = ByteBufUtil.utf8Bytes(word);
        count(out, '$', bytes);
        if (bytes == word.length()) {
            ByteBufUtil.writeAscii(out, word);
        } else {
            ByteBufUtil.writeUtf8(out, word);
        }
        newLine(out);
    }

    private static void count(ByteBuf out, char kind, int number) {
        out.writeByte(kind);
        decimal(out, number);
        newLine(out);
    }

    private static int digits(int number) {
        return number < 10 ? 1 : 1 + digits(number / 10);
    }

    private static void decimal(ByteBuf out, int number) {
        if (number >= 10) {
            decimal(out, number / 10);
        }
        out.writeByte('0' + number % 10);
    }

    private static void newLine(ByteBuf out) {
        out.writeByte('\r').writeByte('\n');
    }
}
