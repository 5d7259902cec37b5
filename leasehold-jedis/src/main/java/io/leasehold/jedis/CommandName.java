package io.leasehold.jedis;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.commands.ProtocolCommand;

/** A command by its name, whether or not Jedis knows it. */
@SuppressWarnings("ArrayRecordComponent") // never compared
record CommandName(String word, byte[] bytes) implements ProtocolCommand {

    CommandName(String word) {
        this(word, word.getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public byte[] getRaw() {
        return bytes;
    }

    @Override
    public String toString() {
        return word;
    }
}
