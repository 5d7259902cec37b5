package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Opens stores in Redis or Valkey: {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://}, {@code
 * redis-cluster://} and, with TLS, the same schemes with {@code rediss}.
 */
public final class RedisStoreProvider implements StoreProvider {

    /** Creates a provider, for {@link java.util.ServiceLoader}. */
    public RedisStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Deployment.schemes();
    }

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        at(uri, credentials);
    }

    private static RedisStore at(StoreUri uri, @Nullable CredentialsProvider credentials) {
        RedisStore store = RedisStore.at(uri);
        return credentials == null ? store : store.credentials(credentials);
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        try {
            return at(uri, null).open(runtime);
        } catch (NoClassDefFoundError e) {
            throw withoutLettuce("redis://", e);
        }
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        try {
            return at(uri, credentials).open(runtime);
        } catch (NoClassDefFoundError e) {
            throw withoutLettuce("redis://", e);
        }
    }

    /** Creates the failure for a missing client library, with the remedy. */
    static LockStoreException withoutLettuce(String scheme, NoClassDefFoundError missing) {
        if (!String.valueOf(missing.getMessage()).contains("lettuce")) {
            throw missing;
        }
        return new LockStoreException(
                "a store URI that begins with " + scheme
                        + " needs Lettuce: add io.lettuce:lettuce-core; or, for redis URIs, open it"
                        + " over Jedis with JedisStore.at(uri) of leasehold-jedis",
                missing);
    }
}
