package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.ReentrantLockView;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests that a lock that is released too early stays taken until its minimum time has passed, whatever happens to its
 * holder.
 */
@Tag("quick")
final class AtLeastTest {

    private static final LockName NAME = LockName.exactly("report");
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final VirtualWorld world = VirtualWorld.seeded(7);
    private final VirtualRuntime server = world.process("server");
    private final InMemoryNode node = new InMemoryNode(server);
    private final VirtualRuntime mine = world.process("mine");
    private final VirtualRuntime theirs = world.process("theirs");
    private final LockClient other = client(theirs, o -> o);

    private LockClient client(VirtualRuntime runtime, UnaryOperator<LockOptions> options) {
        return Leasehold.builder()
                .store(new SingleNodeStore(new FaultyNode(node, runtime, server), runtime))
                .runtime(runtime)
                .defaults(options.apply(LockOptions.defaults()))
                .connect();
    }

    private boolean isFree() throws InterruptedException {
        Lease lease = other.named(NAME).tryAcquire(Duration.ZERO);
        if (lease != null) {
            lease.close();
        }
        return lease != null;
    }

    @Test
    void itOutlastsTheReleaseAndManyRenewals() throws InterruptedException {
        LockClient client = client(mine, o -> o.ttl(Duration.ofSeconds(10)).atLeast(MINUTE));
        Lease lease = client.named(NAME).acquire();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.KEPT);
        assertThat(lease.release()).as("again").isEqualTo(ReleaseOutcome.KEPT);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.whenEnded().toCompletableFuture().getNow(null))
                .isEqualTo(new HoldEnd.Released(ReleaseOutcome.KEPT));
        world.runFor(Duration.ofSeconds(59));
        assertThat(isFree()).isFalse();
        assertThat(client.named(NAME).tryAcquire(Duration.ZERO))
                .as("for its own client, too")
                .isNull();
        world.runFor(Duration.ofSeconds(2));
        assertThat(isFree()).isTrue();
    }

    @Test
    void aLaterReleaseIsAReleaseLikeAnyOther() throws InterruptedException {
        LockClient client = client(mine, o -> o.atLeast(MINUTE));
        Lease lease = client.named(NAME).acquire();
        world.runFor(MINUTE.plusSeconds(1));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(isFree()).isTrue();
    }

    @Test
    void waitersOfTheSameClientWaitUntilThen() throws InterruptedException {
        LockClient client = client(mine, o -> o.ttl(Duration.ofSeconds(10)).atLeast(MINUTE));
        Lease first = client.named(NAME).acquire();
        CompletableFuture<Lease> next = client.named(NAME).acquireAsync();
        first.close();
        world.runFor(Duration.ofSeconds(59));
        assertThat(next).isNotDone();
        world.runFor(Duration.ofSeconds(10));
        assertThat(next).isDone();
    }

    @Test
    void itSurvivesTheProcessByItsTtl() throws InterruptedException {
        LockClient client = client(mine, o -> o.ttl(MINUTE.multipliedBy(2)).atLeast(MINUTE));
        client.named(NAME).acquire().close();
        mine.crash();
        world.runFor(Duration.ofSeconds(59));
        assertThat(isFree()).isFalse();
        world.runFor(MINUTE.plusSeconds(10));
        assertThat(isFree()).isTrue();
    }

    @Test
    void itSurvivesTheCloseOfItsClient() throws InterruptedException {
        LockClient client = client(mine, o -> o.ttl(MINUTE.multipliedBy(2)).atLeast(MINUTE));
        client.named(NAME).acquire().close();
        client.close();
        world.runFor(Duration.ofSeconds(50));
        assertThat(isFree()).isFalse();
        world.runFor(MINUTE.multipliedBy(2));
        assertThat(isFree()).isTrue();
    }

    @Test
    void whatIsHeldWhenTheClientClosesIsKeptAsWell() throws InterruptedException {
        LockClient client = client(mine, o -> o.ttl(MINUTE.multipliedBy(2)).atLeast(MINUTE));
        Lease lease = client.named(NAME).acquire();
        client.close();
        lease.close();
        world.runFor(Duration.ofSeconds(50));
        assertThat(isFree()).isFalse();
    }

    @Test
    void whatWasLostIsLeftToItsTtlAsWell() throws InterruptedException {
        FaultyNode mineToNode = new FaultyNode(node, mine, server);
        LockClient client = Leasehold.builder()
                .store(new SingleNodeStore(mineToNode, mine))
                .runtime(mine)
                .defaults(LockOptions.defaults()
                        .ttl(Duration.ofSeconds(10))
                        .lockDelay(Duration.ZERO)
                        .atLeast(MINUTE))
                .connect();
        Lease lease = client.named(NAME).acquire();
        mineToNode.refuseConnections();
        Duration untilTheLoss = lease.remainingValidity();
        world.runFor(untilTheLoss);
        assertThat(lease.isValid()).isFalse();
        mineToNode.acceptConnections();
        lease.close();
        assertThat(isFree()).as("its ttl is not over").isFalse();
        world.runFor(Duration.ofSeconds(1));
        assertThat(isFree()).isTrue();
    }

    @Test
    void workThatNeverRanKeepsNothing() throws InterruptedException {
        LockClient client = Leasehold.builder()
                .store(new SingleNodeStore(node, mine))
                .runtime(mine)
                .defaults(LockOptions.defaults().atLeast(MINUTE))
                .workExecutor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .connect();
        CompletableFuture<Integer> done =
                client.named(NAME).holdWhile(Duration.ZERO, lease -> CompletableFuture.completedFuture(1));
        world.runFor(Duration.ofSeconds(1));
        assertThat(done).isCompletedExceptionally();
        assertThat(isFree()).isTrue();
    }

    @Test
    void itIsKeptToItsEndNearMaxHold() throws InterruptedException {
        Duration ttl = Duration.ofSeconds(9);
        Duration longest = MINUTE.minusSeconds(3);
        assertThatThrownBy(() -> LockOptions.defaults().ttl(ttl).maxHold(MINUTE).atLeast(longest.plusMillis(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxHold less one renewal interval = 57s");
        LockClient client = client(mine, o -> o.ttl(ttl).maxHold(MINUTE).atLeast(longest));
        client.named(NAME).acquire().close();
        world.runFor(longest.minusMillis(100));
        assertThat(isFree()).isFalse();
        world.runFor(Duration.ofSeconds(5));
        assertThat(isFree()).isTrue();
    }

    @Test
    void withoutRenewalTheTtlBoundsIt() throws InterruptedException {
        assertThatThrownBy(() -> LockOptions.defaults().renewal(Renewal.none()).atLeast(MINUTE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("atLeast is 1m");
        LockClient client =
                client(mine, o -> o.ttl(MINUTE).renewal(Renewal.none()).atLeast(MINUTE));
        client.named(NAME).acquire().close();
        world.runFor(Duration.ofSeconds(59));
        assertThat(isFree()).isFalse();
        world.runFor(Duration.ofSeconds(3));
        assertThat(isFree()).isTrue();
    }

    @Test
    void anOperatorEndsIt() throws InterruptedException {
        LockClient client = client(mine, o -> o.atLeast(MINUTE));
        client.named(NAME).acquire().close();
        assertThat(other.admin().forceRelease(NAME, null)).isTrue();
        assertThat(isFree()).isTrue();
        world.runFor(MINUTE.multipliedBy(2));
        assertThat(isFree()).isTrue();
    }

    @Test
    void whatNoCallerHasSeenIsNotKept() throws InterruptedException {
        LockClient client = client(mine, o -> o.atLeast(MINUTE));
        Lease busy = other.named("z").acquire();
        assertThat(client.all("report", "z").tryAcquire(Duration.ZERO)).isNull();
        world.runFor(Duration.ofSeconds(1));
        assertThat(isFree()).as("one of several, the other of which was busy").isTrue();
        busy.close();
        MultiLease both = client.all("report", "z").acquire();
        assertThat(both.release()).isEqualTo(ReleaseOutcome.KEPT);
        assertThat(isFree()).isFalse();
    }

    @SuppressWarnings("LockNotBeforeTry")
    @Test
    void theReentrantViewKeepsItToo() throws InterruptedException {
        LockClient client = client(mine, o -> o.atLeast(MINUTE));
        ReentrantLockView view = client.named(NAME).asReentrantLock();
        view.lock();
        view.unlock();
        assertThat(view.isHeldByCurrentThread()).isFalse();
        assertThat(isFree()).isFalse();
        world.runFor(MINUTE.plusSeconds(1));
        assertThat(isFree()).isTrue();
    }
}
