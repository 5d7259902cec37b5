package io.leasehold.zookeeper;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.util.Set;
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
        ZooKeeperUri ensemble = ZooKeeperUri.parse(uri);
        Driver driver = new Driver(ensemble);
        ZooKeeperStore store = new ZooKeeperStore(ensemble, runtime, driver);
        try {
            driver.requireFiles();
            store.verify(driver::requireTls);
            return new PermitsByLocks(store, runtime);
        } catch (RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }
}
