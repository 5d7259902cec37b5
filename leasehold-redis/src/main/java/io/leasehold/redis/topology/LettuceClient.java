package io.leasehold.redis.topology;

import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.protocol.PushHandler;
import io.lettuce.core.pubsub.PubSubEndpoint;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnectionImpl;
import io.lettuce.core.pubsub.api.sync.RedisPubSubCommands;
import io.lettuce.core.resource.ClientResources;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A Lettuce client that knows the two ends of its connections, which Lettuce does not report. Its connections have no
 * blocking commands: Leasehold uses none, and Lettuce would create them for each connection through a proxy of more than a
 * thousand methods.
 */
final class LettuceClient extends RedisClient {

    LettuceClient(ClientResources resources) {
        super(resources, new RedisURI());
    }

    @Override
    public <K, V> StatefulRedisConnectionImpl<K, V> newStatefulRedisConnection(
            RedisChannelWriter writer, PushHandler pushes, RedisCodec<K, V> codec, Duration timeout) {
        return new Connection<>(writer, pushes, codec, timeout);
    }

    @Override
    public <K, V> StatefulRedisPubSubConnectionImpl<K, V> newStatefulRedisPubSubConnection(
            PubSubEndpoint<K, V> endpoint, RedisChannelWriter writer, RedisCodec<K, V> codec, Duration timeout) {
        return new PushConnection<>(endpoint, writer, codec, timeout);
    }

    private static final class Connection<K, V> extends StatefulRedisConnectionImpl<K, V> {

        Connection(RedisChannelWriter writer, PushHandler pushes, RedisCodec<K, V> codec, Duration timeout) {
            super(writer, pushes, codec, timeout);
        }

        @Override
        public @Nullable RedisCommands<K, V> newRedisSyncCommandsImpl() {
            return null;
        }
    }

    private static final class PushConnection<K, V> extends StatefulRedisPubSubConnectionImpl<K, V> {

        PushConnection(
                PubSubEndpoint<K, V> endpoint, RedisChannelWriter writer, RedisCodec<K, V> codec, Duration timeout) {
            super(endpoint, writer, codec, timeout);
        }

        @Override
        public @Nullable RedisPubSubCommands<K, V> newRedisSyncCommandsImpl() {
            return null;
        }
    }

    /** Whether one of its open connections has these two ends, as this side sees them. */
    boolean isConnected(InetSocketAddress local, InetSocketAddress remote) {
        for (Channel channel : channels) {
            if (channel.isActive() && local.equals(channel.localAddress()) && remote.equals(channel.remoteAddress())) {
                return true;
            }
        }
        return false;
    }
}
