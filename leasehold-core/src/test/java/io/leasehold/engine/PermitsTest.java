package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.HoldEnd;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.Permits;
import io.leasehold.ReleaseOutcome;
import io.leasehold.UnsafeStoreException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.StorePermits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of permits as their callers see them, over {@code memory:}. */
@Tag("quick")
@Timeout(60)
final class PermitsTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @Test
    void aCountOutOfBoundsIsRefusedWithBothNumbers() {
        try (LockClient locks = Leasehold.connect("memory:")) {
            for (int count : new int[] {0, -1, 1_001}) {
                assertThatThrownBy(() -> locks.permits("pool", count))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("count " + count)
                        .hasMessageContaining("1 to 1000");
            }
            assertThat(locks.permits("pool", 1_000).count()).isEqualTo(1_000);
            assertThat(locks.permits("pool", 2)).hasToString("Permits[2 of pool at memory:]");
        }
    }

    @Test
    void aPermitIsALeaseWithASlot() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Permits pool = locks.permits("pool", 2);
            Permit permit = pool.acquire();
            assertThat(permit.slot()).isZero();
            assertThat(permit.lockName()).isEqualTo(pool.name()).isNotEqualTo(LockName.exactly("pool"));
            assertThat(permit.isValid()).isTrue();
            assertThat(permit.remainingValidity()).isPositive();
            permit.ensureValidFor(Duration.ofSeconds(1));
            permit.ensureValidForAsync(Duration.ofSeconds(1))
                    .toCompletableFuture()
                    .join();
            permit.renew();
            permit.renewAsync().join();
            assertThat(permit.toString()).contains("slot 0").contains("pool");
            CompletableFuture<HoldEnd> end = permit.whenEnded().toCompletableFuture();
            assertThat(permit.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(permit.releaseAsync().join()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(end.join()).isInstanceOf(HoldEnd.Released.class);
            permit.close();
            assertThat(permit.isValid()).isFalse();
            assertThat(permit.slot()).as("it can still be read").isZero();
        }
    }

    @Test
    void theLossOfOnePermitIsToldToItsHolderAlone() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Permits pool = locks.permits("pool", 2);
            Permit kept = pool.acquire();
            Permit taken = pool.acquire();
            CompletableFuture<LossCause> cause = new CompletableFuture<>();
            taken.onLost(cause::complete);
            taken.onAtRisk(left -> {});
            assertThat(locks.admin().forceReleasePermit(pool.name(), 1, null)).isTrue();
            assertThat(cause.join()).isEqualTo(LossCause.FORCE_RELEASED);
            taken.interruptOnLoss();
            assertThat(Thread.interrupted()).as("it is lost already").isTrue();
            kept.renew();
            assertThat(kept.isValid()).isTrue();
            assertThat(taken.isValid()).isFalse();
        }
    }

    @Test
    void waitersOfOneProcessAreServedInTheirOrder() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Permits pool = locks.permits("pool", 1);
            Permit held = pool.acquire();
            List<CompletableFuture<Permit>> waiting = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                waiting.add(pool.acquireAsync());
            }
            assertThat(pool.tryAcquire(Duration.ZERO)).isNull();
            waiting.get(1).cancel(false);
            long before = held.fencingToken();
            held.close();
            for (int i : new int[] {0, 2, 3}) {
                Permit next = waiting.get(i).get(20, TimeUnit.SECONDS);
                assertThat(next.fencingToken()).isGreaterThan(before);
                assertThat(waiting.subList(i + 1, 4)).noneMatch(later -> later.isDone() && !later.isCancelled());
                before = next.fencingToken();
                next.close();
            }
        }
    }

    @Test
    void holdWhileReleasesThePermit() {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Permits pool = locks.permits("pool", 2);
            Set<Integer> slots = new HashSet<>();
            for (int i = 0; i < 3; i++) {
                slots.add(pool.holdWhile(SOON, permit -> CompletableFuture.completedFuture(permit.slot()))
                        .join());
            }
            assertThat(slots).containsExactly(0);
        }
    }

    @Test
    void aDisagreementEndsAWaitAtOnce() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            Permit held = locks.permits("pool", 1).acquire();
            CompletableFuture<Permit> waiting = locks.permits("pool", 1).acquireAsync();
            assertThatThrownBy(() -> locks.permits("pool", 2).acquireAsync().get(20, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(PermitCountException.class);
            assertThat(waiting).isNotDone();
            held.close();
            waiting.get(20, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void namesOfPermitsAndOfLocksAreNotMixedUp() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            LockName permits = LockName.exactly("pool").asPermits(2);
            assertThat(permits).isEqualTo(LockName.exactly("pool").asPermits(3)).isNotEqualTo(LockName.exactly("pool"));
            assertThat(permits).hasSameHashCodeAs(LockName.exactly("pool")).hasToString("pool");
            assertThat(permits.compareTo(LockName.exactly("pool"))).isPositive();
            assertThat(permits.permitCount()).isEqualTo(2);
            assertThat(LockName.exactly("pool").asPermits().permitCount()).isZero();
            assertThat(LockName.exactly("pool").isPermits()).isFalse();
            assertThatThrownBy(() -> locks.named(permits)).hasMessageContaining("name of permits");
            assertThatThrownBy(() -> locks.all(permits)).hasMessageContaining("name of permits");
            assertThatThrownBy(() -> locks.election(permits)).hasMessageContaining("name of permits");
            assertThatThrownBy(() -> locks.admin().inspect(permits)).hasMessageContaining("name of permits");
            assertThatThrownBy(() -> locks.admin().forceRelease(permits, null)).hasMessageContaining("name of permits");
            Permit permit = locks.permits(permits, 4).acquire();
            assertThat(locks.named("pool").tryAcquire(Duration.ZERO))
                    .as("a lock of its own")
                    .isNotNull();
            assertThat(permit.isValid()).isTrue();
        }
    }

    @Test
    void listenersAreNotified() throws Exception {
        Queue<String> events = new ConcurrentLinkedQueue<>();
        LockListener listener = new LockListener() {
            @Override
            public void attemptEnded(AttemptEnded event) {
                events.add(event.outcome() + " " + event.name());
            }

            @Override
            public void released(Released event) {
                events.add(event.outcome() + " " + event.name());
            }
        };
        try (LockClient locks =
                Leasehold.builder().store("memory:").listener(listener).connect()) {
            locks.permits("pool", 1).acquire().close();
            assertThat(events).containsExactly("ACQUIRED pool", "RELEASED pool");
        }
    }

    @Test
    void aClientThatClosesReleasesItsPermits() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        LockClient first =
                Leasehold.builder().store(own -> new SingleNodeStore(node, own)).connect();
        Permit permit = first.permits("pool", 1).acquire();
        CompletableFuture<Permit> waiting = first.permits("pool", 1).acquireAsync();
        first.close();
        assertThatThrownBy(waiting::join).hasCauseInstanceOf(IllegalStateException.class);
        assertThat(permit.isValid()).isFalse();
        try (LockClient second =
                Leasehold.builder().store(own -> new SingleNodeStore(node, own)).connect()) {
            assertThat(second.permits("pool", 1).tryAcquire(SOON)).isNotNull();
        }
        runtime.close();
    }

    /** A store that keeps no permits, and grants whatever it is asked. */
    private static LockStore withoutPermits(LockRuntime runtime) {
        return new Plain(new SingleNodeStore(new InMemoryNode(runtime), runtime));
    }

    private static final class Plain extends PassingKeeper implements LockStore {
        private final LockStore store;

        Plain(LockStore store) {
            super(store);
            this.store = store;
        }

        @Override
        public Optional<StorePermits> permits() {
            return Optional.empty();
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            return store.acquire(request);
        }
    }

    @Test
    void aStoreThatKeepsNoneRefusesAtTheDoor() {
        try (LockClient locks =
                Leasehold.builder().store(PermitsTest::withoutPermits).connect()) {
            assertThatThrownBy(() -> locks.permits("pool", 2).tryAcquire(Duration.ZERO))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("memory:")
                    .hasMessageContaining("pool")
                    .hasMessageContaining("does not keep permits");
            assertThatThrownBy(() -> locks.admin().permits(LockName.exactly("pool")))
                    .isInstanceOf(UnsafeStoreException.class);
            assertThatThrownBy(
                            () -> locks.admin().waiters(LockName.exactly("pool").asPermits(), 1))
                    .isInstanceOf(UnsafeStoreException.class);
            assertThat(locks.admin().listPermits("*", 1)).isEmpty();
        }
    }

    @Test
    void aStoreThatOpensLaterRefusesThenAtTheDoor() {
        try (LockClient locks =
                Leasehold.builder().store(PermitsTest::withoutPermits).connectLazily()) {
            assertThatThrownBy(() -> locks.permits("pool", 2).attemptAsync(SOON).join())
                    .satisfies(error -> assertThat(error instanceof CompletionException ? error.getCause() : error)
                            .isInstanceOf(UnsafeStoreException.class)
                            .hasMessageContaining("does not keep permits"));
        }
    }
}
