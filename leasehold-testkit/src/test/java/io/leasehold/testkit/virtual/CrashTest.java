package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a crashed process performs no action, whatever method a test calls: its holds stay until their ttl. */
@Tag("quick")
final class CrashTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final LockName NAME = LockName.exactly("the-lock");

    private final VirtualWorld world = VirtualWorld.seeded(3);
    private final VirtualRuntime host = world.process("node");
    private final InMemoryNode node = new InMemoryNode(host);
    private final VirtualRuntime process = world.process("crashing");

    private LockClient client(VirtualRuntime at, boolean behindLinks) {
        LockNode way = behindLinks ? new FaultyNode(node, at, host) : node;
        return Leasehold.builder()
                .store(new SingleNodeStore(way, at))
                .runtime(at)
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect();
    }

    private void staysHeldAfter(boolean behindLinks, Consumer<Lease> lastAct) throws InterruptedException {
        Lease lease = client(process, behindLinks).named(NAME).acquire();
        process.crash();
        lastAct.accept(lease);
        world.runFor(TTL.minusMillis(10));
        assertThat(node.admin().describe(NAME).join())
                .as("held for the whole ttl")
                .isPresent();
        world.runFor(Duration.ofMillis(20));
        assertThat(node.admin().describe(NAME).join()).as("and no longer").isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closesNothing(boolean behindLinks) throws InterruptedException {
        staysHeldAfter(behindLinks, Lease::close);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void releasesNothing(boolean behindLinks) throws InterruptedException {
        staysHeldAfter(
                behindLinks,
                lease -> assertThatThrownBy(lease::releaseAsync)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("crashed"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void renewsNothing(boolean behindLinks) throws InterruptedException {
        staysHeldAfter(
                behindLinks,
                lease -> assertThatThrownBy(lease::renew)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("crashed"));
    }

    @Test
    void acquiresNothing() {
        LockClient locks = client(process, false);
        process.crash();
        assertThatThrownBy(() -> locks.named(NAME).acquireAsync()).hasMessageContaining("crashed");
        assertThat(node.admin().describe(NAME).join()).isEmpty();
    }

    /** A node that notifies a dead waiter of its turn continues with the present request. */
    @Test
    void aDeadWaiterDoesNotDisturbTheOneThatReleases() throws InterruptedException {
        Lease held = client(world.process("holder"), false).named(NAME).acquire();
        CompletableFuture<Lease> waiting = client(process, false).named(NAME).acquireAsync();
        world.runFor(Duration.ofMillis(100));
        process.crash();
        held.release();
        assertThat(waiting).isNotDone();
        VirtualRuntime third = world.process("third");
        CompletableFuture<Lease> next = client(third, false).named(NAME).acquireAsync();
        world.runUntil(next::isDone, TTL.multipliedBy(2));
        assertThat(next).as("a dead waiter costs its claim").isCompleted();
    }
}
