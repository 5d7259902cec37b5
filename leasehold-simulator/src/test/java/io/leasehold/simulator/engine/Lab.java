package io.leasehold.simulator.engine;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/** A virtual world with one node, and clients that reach it over links of their own. */
final class Lab {

    static final Duration TTL = Duration.ofSeconds(10);
    static final Duration LATENCY = Duration.ofMillis(1);
    static final String LOCK = "the-lock";

    final VirtualWorld world;
    final VirtualRuntime host;
    final InMemoryNode node;

    Lab(long seed) {
        world = VirtualWorld.seeded(seed);
        host = world.process("node");
        node = new InMemoryNode(host);
    }

    /** One client process. */
    final class Client {
        final VirtualRuntime process;
        final FaultyNode link;
        final LockClient locks;

        Client(String name, UnaryOperator<LockOptions> change, LockListener listener) {
            process = world.process(name);
            link = new FaultyNode(node, process, host);
            link.faults(LinkFaults.none().delay(LATENCY, LATENCY));
            locks = Leasehold.builder()
                    .store(new SingleNodeStore(link, process))
                    .runtime(process)
                    .label(name)
                    .listener(listener)
                    .defaults(change.apply(LockOptions.defaults()
                            .ttl(TTL)
                            .retry(Backoff.jittered(Duration.ofMillis(10), Duration.ofMillis(50)))))
                    .connect();
        }

        Lease acquire() throws InterruptedException {
            return locks.named(LOCK).acquire();
        }

        CompletableFuture<Attempt<Lease>> attempt(Duration maxWait) {
            return locks.named(LOCK).attemptAsync(maxWait);
        }
    }

    Client client(String name) {
        return client(name, options -> options);
    }

    Client client(String name, UnaryOperator<LockOptions> change) {
        return new Client(name, change, new LockListener() {});
    }

    Client client(String name, UnaryOperator<LockOptions> change, LockListener listener) {
        return new Client(name, change, listener);
    }

    /** Whether the node keeps the lock for any holder. */
    boolean isHeld() {
        return node.admin().describe(io.leasehold.LockName.exactly(LOCK)).join().isPresent();
    }
}
