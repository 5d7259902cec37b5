package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;

/**
 * Opens stores in Redis or Valkey: {@code redis://}, {@code redis-replicated://}, {@code redis-sentinel://}, {@code
 * redis-cluster://} and, over TLS, the same with {@code rediss}.
 */
public final class RedisStoreProvider implements StoreProvider {

    /** For {@link java.util.ServiceLoader}. */
    public RedisStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Deployment.schemes();
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return RedisStore.at(uri).open(runtime);
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        return RedisStore.at(uri).credentials(credentials).open(runtime);
    }
}
