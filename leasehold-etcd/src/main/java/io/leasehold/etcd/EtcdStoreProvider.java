package io.leasehold.etcd;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code etcd://[user:password@]host[:port],host…[/prefix][?option=value&…]}: locks in a cluster of etcd.
 *
 * <p>Without a prefix all keys begin with {@code leasehold}. Options: {@code tokenBase} (added to each create revision to make
 * a fencing token; default 0), {@code electionTimeout} (that of the cluster; default 1s), {@code tls}, {@code ca}, {@code cert},
 * {@code key}.
 */
public final class EtcdStoreProvider implements StoreProvider {

    /** For {@link java.util.ServiceLoader}. */
    public EtcdStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("etcd");
    }

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        EtcdUri cluster = EtcdUri.parse(uri);
        if (credentials != null) {
            cluster.withoutLogin();
        }
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return verified(made(uri, null, runtime), EtcdStore::verify, runtime);
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        return verified(made(uri, credentials, runtime), EtcdStore::verify, runtime);
    }

    @Override
    public LockStore openExisting(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        return verified(made(uri, credentials, runtime), EtcdStore::verifyExisting, runtime);
    }

    private static EtcdStore made(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        EtcdUri cluster = EtcdUri.parse(uri);
        return credentials == null
                ? new EtcdStore(cluster, runtime)
                : new EtcdStore(cluster.withoutLogin(), credentials, runtime);
    }

    private static LockStore verified(EtcdStore store, Consumer<EtcdStore> check, LockRuntime runtime) {
        try {
            check.accept(store);
            return new PermitsByLocks(store, runtime);
        } catch (RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }
}
