package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The renewals of a grant, and its end, after which nothing of it is left. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class GrantRulesTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();

    private LockClient client(UnaryOperator<LockOptions> change) {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(change.apply(LockOptions.defaults().ttl(Duration.ofSeconds(30))))
                .connect();
    }

    private Lease held(LockClient client) {
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        grant();
        return wanted.join();
    }

    private void grant() {
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 64), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
    }

    private void renewedAll() {
        for (var asked : store.renewals()) {
            asked.answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        }
    }

    private void lose(LossCause cause) {
        store.ear()
                .lost(
                        store.acquires()
                                .get(store.acquires().size() - 1)
                                .request()
                                .owner(),
                        cause);
    }

    /** While the lock is held, each renewal arms the next one, and no earlier timer is left. */
    @Test
    void aHoldIsRenewedAgainAndAgainAndItsTimersDoNotPileUp() {
        LockClient client = client(o -> o);
        Workshop shop = new Workshop(runtime, store);
        LeaseHandle lease = shop.keeper().begin(shop.context.suspensions().mark(), null);
        int timers = shop.timeline.size();
        for (int second = 0; second < 1_200; second++) {
            runtime.pass(Duration.ofSeconds(1));
            renewedAll();
        }
        assertThat(lease.isValid()).isTrue();
        assertThat(store.renewals().size()).isBetween(100, 130);
        for (int byHand = 0; byHand < 100; byHand++) {
            lease.renewAsync();
            renewedAll();
        }
        assertThat(shop.timeline.size()).isLessThanOrEqualTo(timers);
        lease.release();
        runtime.pass(Duration.ofSeconds(2));
        assertThat(shop.timeline.size()).isZero();
        assertThat(shop.holds.isEmpty()).isTrue();
        assertThat(shop.holds.hasNoneEnding()).isTrue();
        client.close();
    }

    @Test
    void nothingIsLeftOfALostLeaseThatNobodyGivesBack() {
        Workshop shop = new Workshop(runtime, store);
        HeldGrant keeper = shop.keeper();
        LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
        keeper.on(new GrantMachine.TakenAway(LossCause.SESSION_LOST));
        assertThat(shop.holds.isEmpty()).isTrue();
        assertThat(shop.queues.isEmpty()).isTrue();
        runtime.pass(Duration.ofSeconds(2));
        assertThat(shop.timeline.size()).isZero();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(shop.holds.hasNoneEnding()).isTrue();
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.renewals()).isEmpty();
    }

    /** A renewal waits for others to share its request; a lease that is released in the meantime is not renewed. */
    @Test
    void whatIsReleasedWhileItsRenewalWaitsIsNotRenewed() {
        Lease lease = held(client(o -> o));
        Duration most = Duration.ofSeconds(11);
        for (Duration spent = Duration.ZERO;
                spent.compareTo(most) < 0 && runtime.timers() > 0;
                spent = spent.plusMillis(10)) {
            runtime.pass(Duration.ofMillis(10));
            if (!store.renewals().isEmpty()) {
                break;
            }
        }
        assertThat(store.renewals()).hasSize(1);
        renewedAll();
        runtime.pass(Duration.ofMillis(9_980));
        // Due now, and waiting for others for up to 50 ms.
        runtime.pass(Duration.ofMillis(40));
        int sent = store.renewals().size();
        lease.release();
        runtime.pass(Duration.ofMinutes(1));
        assertThat(store.renewals()).hasSize(sent);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void aRenewalByHandIsToldOfALossAndOfARelease() {
        LockClient client = client(o -> o);
        Lease lost = held(client);
        CompletableFuture<Void> first = lost.renewAsync();
        lose(LossCause.SESSION_LOST);
        assertThatThrownBy(first::join).hasCauseInstanceOf(LeaseLostException.class);
        lost.release();
        Lease released = held(client);
        CompletableFuture<Void> second = released.renewAsync();
        released.release();
        assertThatThrownBy(second::join)
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageContaining("released during its renewal");
    }

    @Test
    void atItsCapARenewalByHandIsRefusedAndSaysWhy() {
        Lease lease = held(client(o -> o.maxHold(Duration.ofSeconds(60))));
        for (int second = 0; second < 45; second++) {
            runtime.pass(Duration.ofSeconds(1));
            renewedAll();
        }
        assertThatThrownBy(() -> lease.renewAsync().join())
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("no longer renewed", "MAX_HOLD", "1m");
        assertThat(lease.isValid()).isTrue();
        List<LossCause> told = new ArrayList<>();
        lease.onLost(told::add);
        runtime.pass(Duration.ofSeconds(16));
        renewedAll();
        assertThat(told).containsExactly(LossCause.MAX_HOLD);
    }

    /** If the machine slept while a request was in flight, the grant is as old as the sleep. */
    @Test
    void aGrantThatSleptOnItsWayIsConfirmedFirst() {
        LockClient client = client(o -> o);
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        runtime.suspend(Duration.ofMinutes(1));
        grant();
        Lease lease = wanted.join();
        assertThat(lease.isValid()).isFalse();
        runtime.pass(Duration.ofMillis(60));
        assertThat(store.renewals()).hasSize(1);
        renewedAll();
        assertThat(lease.isValid()).isTrue();
    }

    /** An expired hold is ended, too: the remains can be freed without harm. The hold of another client stays. */
    @Test
    void whatWasLostIsEndedUnlessItIsAnothers() {
        LockClient client = client(o -> o);
        Lease expired = held(client);
        runtime.pass(Duration.ofSeconds(31));
        assertThat(expired.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).hasSize(1);
        assertThat(store.releases().get(0).kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
        Lease anothers = held(client);
        lose(LossCause.NOT_OURS);
        assertThat(anothers.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).hasSize(1);
    }

    /**
     * A release raises the fence to the highest token that was ever proposed, even by a request that may still arrive.
     */
    @Test
    void aReleaseNamesTheHighestBallotOfItsAttempt() {
        LockClient client = client(o -> o);
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        store.acquires().get(0).answer().complete(new AcquireReply.Busy(null, 5_000, List.of()));
        runtime.pass(Duration.ofSeconds(10));
        grant();
        wanted.join().release();
        assertThat(store.releases().get(0).ballot()).isEqualTo(5_000);
        held(client).release();
        assertThat(store.releases().get(1).ballot()).isEqualTo(64);
    }

    /**
     * Whichever read of a clock fails while a lease is lost or released, nothing of it is left, and the next attempt
     * may contend.
     */
    @Test
    void anErrorAtItsEndLeavesNothingOfAGrant() {
        for (boolean lost : new boolean[] {true, false}) {
            for (int at = 1; at <= 20; at++) {
                StillRuntime still = new StillRuntime();
                SilentStore silent = new SilentStore();
                Workshop shop = new Workshop(still, silent);
                HeldGrant keeper = shop.keeper();
                LeaseHandle lease = keeper.begin(shop.context.suspensions().mark(), null);
                // Too late for a hand-over.
                still.pass(Duration.ofMillis(900));
                AcquireAttempt behind = shop.waiter();
                AtomicInteger reads = new AtomicInteger();
                int fatal = at;
                still.beforeAClockIsRead(() -> {
                    if (reads.incrementAndGet() == fatal) {
                        throw new InternalError("made by the test");
                    }
                });
                try {
                    if (lost) {
                        keeper.on(new GrantMachine.TakenAway(LossCause.SESSION_LOST));
                    } else {
                        lease.releaseAsync();
                    }
                } catch (InternalError e) {
                    assertThat(e).hasMessage("made by the test");
                }
                still.beforeAClockIsRead(() -> {});
                if (lost ? lease.isValid() : lease.state().isUnreleased()) {
                    // Nothing has begun.
                    continue;
                }
                still.pass(Duration.ofMinutes(2));
                assertThat(shop.holds.isEmpty())
                        .as("read %d, lost %s", at, lost)
                        .isTrue();
                assertThat(shop.queues.isEmpty())
                        .as("read %d, lost %s", at, lost)
                        .isTrue();
                assertThat(shop.holds.hasNoneEnding()).isTrue();
                assertThat(lease.releaseAsync()).isDone();
                shop.queues.enter(behind);
                assertThat(silent.acquires()).as("read %d, lost %s", at, lost).hasSize(1);
            }
        }
    }
}
