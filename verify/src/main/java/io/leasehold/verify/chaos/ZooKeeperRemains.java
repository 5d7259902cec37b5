package io.leasehold.verify.chaos;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** The nodes of a chroot: nodes in queues end with their sessions, and the queues after them. */
final class ZooKeeperRemains implements Remains {

    private static final String CHROOT = "/chaos";
    private static final int PATIENCE_SECONDS = 30;

    private final int port;

    ZooKeeperRemains(int port) {
        this.port = port;
    }

    @Override
    public List<String> left() throws IOException, InterruptedException, KeeperException {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zooKeeper = new ZooKeeper("127.0.0.1:" + port, PATIENCE_SECONDS * 1_000, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        try {
            if (!connected.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("ZooKeeper does not answer within " + PATIENCE_SECONDS + " s");
            }
            List<String> left = new ArrayList<>();
            for (String lock : zooKeeper.getChildren(CHROOT, false)) {
                look(zooKeeper, CHROOT + "/" + lock, left);
            }
            return left;
        } finally {
            zooKeeper.close();
        }
    }

    /** ZooKeeper leaves a queue alone that never had a node: its creator was killed before it added one. */
    private static void look(ZooKeeper zooKeeper, String path, List<String> left)
            throws KeeperException, InterruptedException {
        if (path.endsWith("/@tokens")) {
            return;
        }
        try {
            Stat stat = new Stat();
            List<String> queue = zooKeeper.getChildren(path, false, stat);
            if (!queue.isEmpty()) {
                left.add("the nodes " + queue + " of " + path);
            } else if (stat.getCversion() > 0) {
                left.add("the empty queue " + path);
            }
        } catch (KeeperException.NoNodeException gone) {
            // The expected case.
        }
    }
}
