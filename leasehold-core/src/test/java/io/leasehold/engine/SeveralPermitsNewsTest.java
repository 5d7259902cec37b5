package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.MultiPermit;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the events of several permits that are a lock for each slot: one attempt, and one end if it has acquired
 * them, as at stores that take them in one step.
 */
@Tag("quick")
@Timeout(60)
final class SeveralPermitsNewsTest {

    private static final LockName POOL = LockName.exactly("pool");
    private static final Duration SOON = Duration.ofSeconds(20);

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private final Locks locks = new Locks(new SingleNodeStore(new InMemoryNode(runtime), runtime));
    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private Runnable onAcquired = () -> {};
    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            events.add("began");
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            events.add(event.outcome().name());
            if (event.outcome() == AttemptOutcome.ACQUIRED) {
                onAcquired.run();
            }
        }

        @Override
        public void lost(Lost event) {
            events.add("lost " + event.cause());
        }

        @Override
        public void released(Released event) {
            events.add("released " + event.outcome());
        }
    };
    private final LockClient client = client(listener);
    private final LockClient other = client(new LockListener() {});
    private final Acquirable<MultiPermit> three = client.permits(POOL, 4).several(3);

    /** The locks of the slots. */
    private static final class Locks extends PassingKeeper implements LockStore {
        private final LockStore store;
        private final AtomicInteger acquires = new AtomicInteger();
        private int takenAwayBefore;

        Locks(LockStore store) {
            super(store);
            this.store = store;
        }

        /** Takes every slot from its holder before this request is carried out. */
        void takeAwayBefore(int request) {
            takenAwayBefore = request;
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            if (acquires.incrementAndGet() == takenAwayBefore) {
                for (int slot = 0; slot < 4; slot++) {
                    store.admin()
                            .forceRelease(LockName.exactly("pool#" + slot), null)
                            .join();
                }
            }
            return store.acquire(request);
        }

        @Override
        public CompletableFuture<RenewReply> renew(RenewBatch batch) {
            return store.renew(batch);
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            return store.release(request);
        }
    }

    private LockClient client(LockListener told) {
        return Leasehold.builder()
                .store(own -> new PermitsByLocks(locks, runtime))
                .listener(told)
                .connect();
    }

    @AfterEach
    void close() {
        client.close();
        other.close();
        runtime.close();
    }

    @Test
    void aHoldIsOneAttemptAndOneEnd() throws Exception {
        try (MultiPermit held = three.tryAcquire(Duration.ZERO)) {
            assertThat(held).isNotNull();
            assertThat(events).containsExactly("began", "ACQUIRED");
        }
        assertThat(events).containsExactly("began", "ACQUIRED", "released RELEASED");
    }

    @Test
    void aBusyRoundIsNoHold() throws Exception {
        try (MultiPermit most = other.permits(POOL, 4).several(2).acquire()) {
            assertThat(three.attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
            assertThat(most.isValid()).isTrue();
        }
        assertThat(events).containsExactly("began", "BUSY");
    }

    @Test
    void theFirstLossIsTheEnd() throws Exception {
        try (MultiPermit held = three.tryAcquire(Duration.ZERO)) {
            assertThat(held).isNotNull();
            for (int slot : List.of(held.slots().get(1), held.slots().get(2))) {
                other.admin().forceRelease(LockName.exactly("pool#" + slot), null);
            }
            assertThat(held.isValid()).isFalse();
        }
        assertThat(events).containsExactly("began", "ACQUIRED", "lost FORCE_RELEASED");
    }

    /** The permits that were lost are returned, and the attempt begins again. */
    @Test
    void aPermitThatIsLostBeforeTheCallerHasItIsNoHold() throws Exception {
        locks.takeAwayBefore(locks.acquires.get() + 3);
        try (MultiPermit held = three.tryAcquire(SOON)) {
            assertThat(held).isNotNull();
            assertThat(events).containsExactly("began", "ACQUIRED");
        }
        assertThat(events).containsExactly("began", "ACQUIRED", "released RELEASED");
    }

    @Test
    void aLossWhileTheListenersLearnOfTheHoldIsToldAfterThat() throws Exception {
        onAcquired = () -> other.admin().forceRelease(LockName.exactly("pool#0"), null);
        Acquirable<MultiPermit> all = client.permits(POOL, 2).several(2);
        try (MultiPermit held = all.tryAcquire(Duration.ZERO)) {
            assertThat(held).isNotNull();
            assertThat(held.isValid()).isFalse();
        }
        assertThat(events).containsExactly("began", "ACQUIRED", "lost FORCE_RELEASED");
    }

    @Test
    void theFirstEndThatIsNotCleanIsToldOrElseTheLast() {
        JoinedEnd hold = new JoinedEnd(2);
        assertThat(hold.isToldBy(true)).as("one is left").isFalse();
        assertThat(hold.isToldBy(true)).isTrue();
        assertThat(hold.isToldBy(false)).as("once").isFalse();
        JoinedEnd lost = new JoinedEnd(3);
        assertThat(lost.isToldBy(true)).isFalse();
        assertThat(lost.isToldBy(false)).as("a loss, at once").isTrue();
        assertThat(lost.isToldBy(true)).isFalse();
    }
}
