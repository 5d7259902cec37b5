package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import io.leasehold.redis.RedisStore;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Keeps locks in the application's Redis, through the client of its connection factory. */
final class LettuceStore {

    private LettuceStore() {}

    static void nameTo(Leasehold.Builder builder, ListableBeanFactory beans) {
        LettuceConnectionFactory factory = beans.getBean(LettuceConnectionFactory.class);
        if (!(factory.getRequiredNativeClient() instanceof RedisClient client)
                || factory.isRedisSentinelAware()
                || factory.isClusterAware()) {
            throw new NoLockStoreException(
                    "The LettuceConnectionFactory is configured for Sentinel or Cluster, which locks cannot share",
                    "Set leasehold.uri to redis-sentinel://… or redis-cluster://…",
                    null);
        }
        RedisStore store = RedisStore.over(client, uri(factory));
        builder.store(store::open);
    }

    private static RedisURI uri(LettuceConnectionFactory factory) {
        RedisStandaloneConfiguration server = factory.getStandaloneConfiguration();
        RedisURI.Builder uri = RedisURI.builder()
                .withHost(server.getHostName())
                .withPort(server.getPort())
                .withDatabase(server.getDatabase())
                .withSsl(factory.isUseSsl());
        String user = server.getUsername();
        server.getPassword().toOptional().ifPresent(password -> {
            if (user == null) {
                uri.withPassword(password);
            } else {
                uri.withAuthentication(user, password);
            }
        });
        return uri.build();
    }
}
