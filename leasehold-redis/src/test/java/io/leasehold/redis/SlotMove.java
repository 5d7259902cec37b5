package io.leasehold.redis;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;

/** A move of one slot from its master to another one, step by step, as redis-cli does it. */
record SlotMove(int slot, RedisServer from, RedisServer to) {

    /** A move of the slot of a key away from its first master. */
    static SlotMove of(RedisCluster cluster, String key) {
        int slot = Integer.parseInt(cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", key));
        RedisServer from = cluster.masterOf(slot);
        return new SlotMove(
                slot,
                from,
                cluster.nodes().get(0) == from
                        ? cluster.nodes().get(1)
                        : cluster.nodes().get(0));
    }

    void begin() {
        to.call("CLUSTER", "SETSLOT", "" + slot, "IMPORTING", from.call("CLUSTER", "MYID"));
        from.call("CLUSTER", "SETSLOT", "" + slot, "MIGRATING", to.call("CLUSTER", "MYID"));
    }

    void carry(int most) {
        from.call("CLUSTER", "GETKEYSINSLOT", "" + slot, "" + most)
                .lines()
                .filter(key -> !key.isEmpty())
                .forEach(key -> from.call("MIGRATE", "127.0.0.1", "" + to.port(), key, "0", "10000"));
    }

    void end() {
        carry(1_000);
        to.call("CLUSTER", "SETSLOT", "" + slot, "NODE", to.call("CLUSTER", "MYID"));
        from.call("CLUSTER", "SETSLOT", "" + slot, "NODE", to.call("CLUSTER", "MYID"));
    }

    /** Moves the slot back, so that the next test finds the original slots. */
    void undo() {
        SlotMove back = new SlotMove(slot, to, from);
        back.begin();
        back.end();
    }
}
