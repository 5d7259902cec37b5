package io.leasehold.redis;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** One of the two subjects that {@link NodeDifferentialTest} compares, with its messages to waiters. */
final class DifferentialSubject implements AutoCloseable {
    final LockNode node;
    final Map<String, HandOver> handed = new ConcurrentHashMap<>();
    String nonce = "none yet";

    DifferentialSubject(LockNode node) {
        this.node = node;
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void handedOver(HandOver handOver) {
                handed.put(handOver.attemptId(), handOver);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
    }

    long micros() {
        NodeReply reply = NodeBench.answer(node.probe(NodeDifferentialTest.TIMEOUT_NANOS));
        return ((NodeReply.Answered) reply).serverMicros();
    }

    @Override
    public void close() {
        node.close();
    }
}
