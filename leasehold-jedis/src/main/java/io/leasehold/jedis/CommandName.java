package io.leasehold.jedis;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.commands.ProtocolCommand;

/** A command by its name, whether Jedis knows it or not. */
@SuppressWarnings("ArrayRecordComponent") // compared by none
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
