package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Opens sets of independent Redis servers: {@code redlock:?node=<percent-encoded URI>&node=…&maxTtl=30s}. */
public final class RedlockStoreProvider implements StoreProvider {

    /** Creates a provider, for {@link java.util.ServiceLoader}. */
    public RedlockStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("redlock");
    }

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        parsed(uri, credentials);
    }

    private static Redlock parsed(StoreUri uri, @Nullable CredentialsProvider credentials) {
        Redlock set = Redlock.parse(uri);
        return credentials == null ? set : set.credentials(credentials);
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        try {
            return parsed(uri, null).open(runtime);
        } catch (NoClassDefFoundError e) {
            throw RedisStoreProvider.withoutLettuce("redlock:", e);
        }
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        try {
            return parsed(uri, credentials).open(runtime);
        } catch (NoClassDefFoundError e) {
            throw RedisStoreProvider.withoutLettuce("redlock:", e);
        }
    }
}
