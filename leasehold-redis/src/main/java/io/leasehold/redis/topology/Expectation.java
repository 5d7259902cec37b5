package io.leasehold.redis.topology;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import org.jspecify.annotations.Nullable;

/** The role that a server must have in a deployment; the messages name the URI that would fit. */
enum Expectation {
    /** A single server, or the named master of a replicated group. */
    SERVER,
    /** A master that Sentinels have named. */
    NAMED_MASTER,
    /** A node of a Cluster. */
    CLUSTER_NODE;

    /** Throws if the server can never fit, or does not fit now. */
    void refuseUnfit(RedisUri server, ServerFacts facts) {
        if (facts.mode().equals("sentinel")) {
            throw new UnsafeStoreException(
                    server + " is a Sentinel, which keeps no keys; name it as redis-sentinel://" + server.address()
                            + "/NAME-OF-THE-MASTER",
                    null);
        }
        boolean member = facts.mode().equals("cluster");
        if (this != CLUSTER_NODE && member) {
            throw new UnsafeStoreException(
                    server + " is a member of a Redis Cluster, of which it knows only a part of the keys; name it as"
                            + " redis-cluster://" + server.address(),
                    null);
        }
        if (this == CLUSTER_NODE && !member) {
            throw new UnsafeStoreException(
                    server + " is not a node of a Cluster (cluster-enabled no); name it as redis://" + server.address(),
                    null);
        }
        if (!facts.isRecentEnough()) {
            throw new UnsafeStoreException(
                    server + " runs Redis " + facts.version() + "; Leasehold needs 6.2 or newer", null);
        }
        if (this == NAMED_MASTER && facts.replica()) {
            // The server was demoted, or is not promoted yet; the Sentinels will agree.
            throw new StoreUnavailableException(
                    server + " is a replica now, though Sentinels still name it as the master", null);
        }
    }

    /** The reason why the store cannot open with this server, or null. */
    @Nullable
    String refusalOfRole(RedisUri server, ServerFacts facts) {
        if (this == SERVER && facts.replica()) {
            return server + " is a replica, which takes no writes; name its primary"
                    + (facts.primary() == null ? "" : ", " + facts.primary());
        }
        return null;
    }
}
