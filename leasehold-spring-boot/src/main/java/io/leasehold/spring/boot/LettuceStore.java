package io.leasehold.spring.boot;

import io.leasehold.Leasehold;
import io.leasehold.redis.RedisStore;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.StringUtils;

/** Keeps locks in the application's Redis, through the client of its connection factory. */
final class LettuceStore {

    /** The field of the factory with its configuration, of whatever kind. */
    private static final String CONFIGURATION = "configuration";

    private LettuceStore() {}

    static void nameTo(Leasehold.Builder builder, ListableBeanFactory beans) {
        LettuceConnectionFactory factory = beans.getBean(LettuceConnectionFactory.class);
        if (!(configuration(factory) instanceof RedisStandaloneConfiguration server)
                || !(factory.getRequiredNativeClient() instanceof RedisClient client)) {
            throw new NoLockStoreException(
                    "The LettuceConnectionFactory is not configured for a single server with host and port: locks cannot share"
                            + " one for Sentinel, Cluster, static master and replicas, or a Unix socket",
                    "Set leasehold.uri to redis-sentinel://…, redis-cluster://…, or the redis://… of the master",
                    null);
        }
        RedisStore store = RedisStore.over(client, uri(factory, server));
        builder.store(store::open);
    }

    /**
     * The configuration of the factory. Its accessor for a single server returns an unused {@code localhost:6379} if the
     * configuration is of another kind, and it has none for static master and replicas.
     */
    private static @Nullable Object configuration(LettuceConnectionFactory factory) {
        Object target = AopProxyUtils.getSingletonTarget(factory);
        DirectFieldAccessor fields = new DirectFieldAccessor(target == null ? factory : target);
        return fields.isReadableProperty(CONFIGURATION) ? fields.getPropertyValue(CONFIGURATION) : null;
    }

    /** The URI that the factory uses for its own connections, with the same login and the same checks of TLS. */
    static RedisURI uri(LettuceConnectionFactory factory, RedisStandaloneConfiguration server) {
        LettuceClientConfiguration settings = factory.getClientConfiguration();
        RedisURI.Builder uri = RedisURI.builder()
                .withHost(server.getHostName())
                .withPort(server.getPort())
                .withDatabase(server.getDatabase())
                .withSsl(settings.isUseSsl())
                .withVerifyPeer(settings.getVerifyMode())
                .withStartTls(settings.isStartTls());
        String user = server.getUsername();
        Optional<char[]> password = server.getPassword().toOptional();
        if (user != null && StringUtils.hasText(user)) {
            uri.withAuthentication(user, password.orElseGet(() -> new char[0]));
        } else {
            // An empty user name, as of an unset placeholder, means none.
            password.ifPresent(uri::withPassword);
        }
        settings.getRedisCredentialsProviderFactory()
                .ifPresent(provider -> uri.withAuthentication(provider.createCredentialsProvider(server)));
        return uri.build();
    }

    /** Keeps the field readable in a native image. */
    static final class Hints implements RuntimeHintsRegistrar {

        Hints() {}

        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
            hints.reflection()
                    .registerTypeIfPresent(
                            loader,
                            "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
                            type -> type.withField(CONFIGURATION));
        }
    }
}
