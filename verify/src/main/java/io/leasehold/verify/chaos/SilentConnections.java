package io.leasehold.verify.chaos;

import io.leasehold.simulator.history.Violation;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * After the other faults, all connections fall silent at once and stay silent, while new ones reach the server: each
 * client must notice, and continue.
 */
final class SilentConnections {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A reply from before may be processed this much later. */
    private static final Duration LATE = Duration.ofSeconds(1);

    private SilentConnections() {}

    static List<Violation> check(List<ClientSlot> clients) throws InterruptedException {
        List<ClientSlot> waiting = new ArrayList<>();
        for (ClientSlot client : clients) {
            client.proxies().forEach(TcpProxy::halfOpenForClients);
            if (!client.proxies().isEmpty()) {
                waiting.add(client);
            }
        }
        long start = System.nanoTime();
        while (!waiting.isEmpty() && System.nanoTime() - start < PATIENCE.toNanos()) {
            TimeUnit.MILLISECONDS.sleep(500);
            waiting.removeIf(client -> client.hasAcquiredSince(start + LATE.toNanos()));
        }
        List<Violation> violations = new ArrayList<>();
        for (ClientSlot client : waiting) {
            violations.add(new Violation(
                    "client " + client.number(),
                    "liveness: acquires nothing for " + PATIENCE
                            + " after its connections fell silent, though new ones lead to the store"));
        }
        clients.forEach(client -> client.proxies().forEach(TcpProxy::heal));
        return violations;
    }
}
