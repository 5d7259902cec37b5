package io.leasehold.redis.topology;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;

/** A Lettuce client that knows the two ends of its connections, which Lettuce does not report. */
final class LettuceClient extends RedisClient {

    LettuceClient(ClientResources resources) {
        super(resources, new RedisURI());
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
