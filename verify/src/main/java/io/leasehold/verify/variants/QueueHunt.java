package io.leasehold.verify.variants;

import io.leasehold.verify.queue.QueueKind;
import io.leasehold.verify.queue.QueueSimulator;
import java.util.function.IntFunction;

/** Runs seeds over the stores whose locks are queues until one fails; created in the class loader of a variant. */
public class QueueHunt implements IntFunction<String> {

    private final QueueKind kind;

    QueueHunt(QueueKind kind) {
        this.kind = kind;
    }

    /** Over etcd. */
    public static final class OfEtcd extends QueueHunt {
        /** Called by reflection. */
        public OfEtcd() {
            super(QueueKind.ETCD);
        }
    }

    /** Over etcd, with readers. */
    public static final class OfEtcdReaders extends QueueHunt {
        /** Called by reflection. */
        public OfEtcdReaders() {
            super(QueueKind.ETCD_READERS);
        }
    }

    /** Over ZooKeeper, with readers. */
    public static final class OfZooKeeperReaders extends QueueHunt {
        /** Called by reflection. */
        public OfZooKeeperReaders() {
            super(QueueKind.ZOOKEEPER_READERS);
        }
    }

    /** Over ZooKeeper. */
    public static final class OfZooKeeper extends QueueHunt {
        /** Called by reflection. */
        public OfZooKeeper() {
            super(QueueKind.ZOOKEEPER);
        }
    }

    /** The place of detection within this many seeds, or an empty text. */
    @Override
    public String apply(int runs) {
        for (long seed = 1; seed <= runs; seed++) {
            String problem = QueueSimulator.seeds(kind).problemOf(seed);
            if (!problem.isEmpty()) {
                return "simulator, seed " + seed + ": "
                        + (problem.length() > 110 ? problem.substring(0, 110) + "…" : problem);
            }
        }
        return "";
    }
}
