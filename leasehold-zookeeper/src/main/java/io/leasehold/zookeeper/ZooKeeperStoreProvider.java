package io.leasehold.zookeeper;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code zk://[user:password@]host[:port],host…[/chroot][?option=value&…]}: locks in an ensemble of Apache ZooKeeper.
 *
 * <p>Without a chroot the locks are below {@code /leasehold}. Options: {@code tokenBase} (added to each zxid to make a
 * fencing token; default 0), {@code sessionTimeout} (default: derived from the ttl of the lock), {@code tickTime} (that of the
 * ensemble; default 2s), {@code tls}, {@code ca}, {@code caPassword}, {@code identity}, {@code identityPassword}.
 */
public final class ZooKeeperStoreProvider implements StoreProvider {

    /** For {@link java.util.ServiceLoader}. */
    public ZooKeeperStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("zk");
    }

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        if (credentials != null) {
            throw StoreProvider.withoutLogin(uri);
        }
        ZooKeeperUri.parse(uri);
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return opened(uri, runtime, ZooKeeperStore::verify);
    }

    @Override
    public LockStore openExisting(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        // The ensemble takes no credentials from a provider: that method has the refusal.
        return credentials == null
                ? opened(uri, runtime, ZooKeeperStore::verifyExisting)
                : open(uri, credentials, runtime);
    }

    private static LockStore opened(StoreUri uri, LockRuntime runtime, BiConsumer<ZooKeeperStore, Runnable> check) {
        ZooKeeperUri ensemble = ZooKeeperUri.parse(uri);
        Driver driver = new Driver(ensemble);
        ZooKeeperStore store = new ZooKeeperStore(ensemble, runtime, driver);
        try {
            driver.requireFiles();
            check.accept(store, driver::requireTls);
            return new PermitsByLocks(store, runtime);
        } catch (RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }
}
