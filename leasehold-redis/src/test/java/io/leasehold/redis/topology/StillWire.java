package io.leasehold.redis.topology;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Lettuce connection without a server: the test decides, on its own thread, when commands are written and what the
 * answers are.
 */
final class StillWire {

    /** All dispatched commands without an answer yet, in their order. */
    final List<RedisCommand<String, String, ?>> commands = new ArrayList<>();
    /** The connections that the code under test has closed. */
    final List<StatefulConnection<?, ?>> ended = new ArrayList<>();
    /** The exception that the next dispatch throws, or null. */
    @Nullable
    Throwable thrown;

    final StatefulRedisConnection<String, String> connection = connection();

    @SuppressWarnings("unchecked")
    private StatefulRedisConnection<String, String> connection() {
        return (StatefulRedisConnection<String, String>) Proxy.newProxyInstance(
                StillWire.class.getClassLoader(),
                new Class<?>[] {StatefulRedisConnection.class},
                (self, called, given) -> {
                    if (!called.getName().equals("dispatch")) {
                        throw new AssertionError(called.getName() + " was not expected");
                    }
                    Throwable now = thrown;
                    if (now != null) {
                        thrown = null;
                        throw now;
                    }
                    if (given[0] instanceof Collection<?> several) {
                        several.forEach(one -> commands.add((RedisCommand<String, String, ?>) one));
                    } else {
                        commands.add((RedisCommand<String, String, ?>) given[0]);
                    }
                    return given[0];
                });
    }

    /** The words of the command of this number, as they are written now. */
    List<String> words(int number) {
        ByteBuf bytes = Unpooled.buffer();
        commands.get(number).encode(bytes);
        String[] lines = bytes.toString(StandardCharsets.UTF_8).split("\r\n", -1);
        List<String> words = new ArrayList<>();
        for (int i = 2; i < lines.length; i += 2) {
            words.add(lines[i]);
        }
        return words;
    }

    /** Answers the first command with one number, or with an array of numbers and texts. */
    void answers(Object... items) {
        RedisCommand<String, String, ?> command = commands.remove(0);
        if (items.length == 1 && items[0] instanceof Long number) {
            command.getOutput().set(number);
        } else {
            command.getOutput().multi(items.length);
            for (Object item : Arrays.asList(items)) {
                if (item instanceof Long number) {
                    command.getOutput().set(number);
                } else {
                    command.getOutput().set(ByteBuffer.wrap(item.toString().getBytes(StandardCharsets.UTF_8)));
                }
                command.getOutput().complete(1);
            }
            command.getOutput().complete(0);
        }
        command.complete();
    }

    void fails(Throwable error) {
        commands.remove(0).completeExceptionally(error);
    }
}
