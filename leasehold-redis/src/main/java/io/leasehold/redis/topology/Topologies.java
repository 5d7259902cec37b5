package io.leasehold.redis.topology;

import io.leasehold.CredentialsProvider;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.CredentialsDesk;

/** Creates the topology of a deployment. */
public final class Topologies {

    private Topologies() {}

    /** Creates the topology of a deployment. The topology closes the driver; nothing is connected yet. */
    public static Topology of(Deployment where, Driver driver, RedisErrors errors, LockRuntime runtime) {
        CredentialsProvider credentials = where.credentials();
        if (credentials != null) {
            driver.logInWith(new CredentialsDesk(credentials, where.toString(), runtime));
        }
        return switch (where.kind()) {
            case SINGLE, REPLICATED, SENTINEL -> new MasterTopology(where, driver, errors, runtime);
            case CLUSTER -> new ClusterTopology(where, driver, errors, runtime);
        };
    }
}
