package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.HoldEnd;
import io.leasehold.LeaseLostException;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of a lease that no holder releases, and its place in the table of holds. */
@Tag("quick")
@Timeout(60)
final class LeaseStepsTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();
    private final LockListener listener = new LockListener() {
        @Override
        public void abandoned(Abandoned event) {
            news.add("abandoned " + event.cause());
        }

        @Override
        public void lost(Lost event) {
            news.add("lost " + event.cause());
        }

        @Override
        public void released(Released event) {
            news.add("released");
        }
    };
    private final Workshop shop = new Workshop(runtime, store, LockOptions.defaults(), List.of(listener));

    private LeaseHandle lease() {
        return lease(shop);
    }

    private static LeaseHandle lease(Workshop in) {
        return in.keeper().begin(in.context.suspensions().mark(), null);
    }

    // ---- unconfirmed

    @Test
    void aHoldThatNothingConfirmsIsLostForItsHolderAndGivenBackAtTheStore() {
        LeaseHandle lease = lease();
        runtime.suspend(Duration.ofSeconds(5));
        lease.loseUnconfirmed();
        lease.loseUnconfirmed();
        assertThat(lease.state().cause()).isEqualTo(LossCause.EXPIRED);
        assertThat(store.releases()).hasSize(1);
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void whatIsReleasedOrLostAlreadyIsLeftAsItIs() {
        LeaseHandle released = lease();
        released.release();
        released.loseUnconfirmed();
        assertThat(released.state().cause()).isNull();
        assertThat(store.releases()).hasSize(1);
        LeaseHandle lost = lease();
        lost.state().owner().on(new GrantMachine.TakenAway(LossCause.FORCE_RELEASED));
        lost.loseUnconfirmed();
        assertThat(lost.state().cause()).isEqualTo(LossCause.FORCE_RELEASED);
        assertThat(lost.state().isUnreleased()).isTrue();
    }

    // ---- unseen

    /** The time during which other clients must not have the lock is for work that has begun. */
    @Test
    void aLeaseThatNoCallerHasSeenIsNotKept() {
        Workshop keeping = new Workshop(runtime, store, LockOptions.defaults().atLeast(Duration.ofSeconds(10)));
        assertThat(lease(keeping).giveBackUnseen()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1);
        assertThat(lease(keeping).releaseAsync()).isCompletedWithValue(ReleaseOutcome.KEPT);
        assertThat(store.releases()).hasSize(1);
    }

    // ---- dropped

    @Test
    void aDroppedLeaseIsAbandonedUnlessItHasEnded() {
        LeaseHandle lease = lease();
        assertThat(lease.state().isLeaked()).isTrue();
        lease.state().leaked();
        assertThat(news).containsExactly("abandoned LEAKED");
        runtime.pass(Duration.ofSeconds(40));
        assertThat(store.renewals()).as("it is renewed no more").isEmpty();
        assertThat(news).containsExactly("abandoned LEAKED", "lost LEAKED");
        assertThat(lease.state().isLeaked()).isFalse();
    }

    // ---- its end

    @Test
    void theEndIsToldToEachThatAsksOnce() {
        LeaseHandle lease = lease();
        List<HoldEnd> told = new ArrayList<>();
        CompletionStage<HoldEnd> early = lease.whenEnded();
        early.thenAccept(told::add);
        lease.whenEnded().thenAccept(told::add);
        assertThat(told).isEmpty();
        lease.release();
        lease.whenEnded().thenAccept(told::add);
        assertThat(told).hasSize(3).allMatch(HoldEnd.Released.class::isInstance);
        assertThat(news).containsExactly("released");
        lease.state().owner().on(new GrantMachine.TakenAway(LossCause.FORCE_RELEASED));
        assertThat(news).as("its end was told").containsExactly("released");
    }

    /** The waiters for the end are notified, and a lease without a holder is not renewed forever. */
    @Test
    void aReleaseThatAnErrorMeetsEndsTheLeaseAndIsMadeUpFor() {
        LeaseHandle lease = lease();
        CompletableFuture<HoldEnd> end = lease.whenEnded().toCompletableFuture();
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            // One read to check whether the lease may be passed on, the other to release it.
            if (reads.incrementAndGet() <= 2) {
                throw new InternalError("made by the test");
            }
        });
        assertThatThrownBy(lease::releaseAsync).hasMessage("made by the test");
        runtime.beforeAClockIsRead(() -> {});
        assertThat(end).isCompletedWithValue(new HoldEnd.Released(ReleaseOutcome.UNCONFIRMED));
        assertThat(news).containsExactly("released");
        assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.UNCONFIRMED);
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.releases()).hasSize(1);
        assertThat(shop.holds.isEmpty()).isTrue();
        assertThat(news).as("once").containsExactly("released");
    }

    /** The timer of the end may be late. */
    @Test
    void aRenewalByHandFindsOutThatTheLeaseHasEnded() {
        LeaseHandle lease = lease();
        runtime.passUnnoticed(Duration.ofSeconds(31));
        assertThatThrownBy(lease::renew).isInstanceOf(LeaseLostException.class);
        assertThat(store.renewals()).isEmpty();
        assertThat(news).containsExactly("lost EXPIRED");
    }

    // ---- the table of holds

    private static HoldTable.Held grant(String name) {
        return new HoldTable.Held() {
            @Override
            public LockName name() {
                return LockName.exactly(name);
            }

            @Override
            public void on(GrantMachine.Event event) {}

            @Override
            public void noticeSuspension() {}

            @Override
            public void endAtClose() {}

            @Override
            public boolean awaitsOtherThan(Thread thread) {
                return false;
            }

            @Override
            public boolean awaitsAnyThread() {
                return false;
            }

            @Override
            public long ageNanos() {
                throw new UnsupportedOperationException(name);
            }

            @Override
            public List<ClientRecord.ClientHold> asClientHolds() {
                throw new UnsupportedOperationException(name);
            }
        };
    }

    @Test
    void grantsOfOneOwnerTokenComeAndGoOneByOne() {
        HoldTable table = new HoldTable();
        OwnerToken owner = OwnerToken.draw(runtime);
        HoldTable.Held one = grant("one");
        HoldTable.Held other = grant("other");
        assertThat(table.isEmpty()).isTrue();
        table.add(owner, one);
        table.remove(owner, other);
        assertThat(table.find(owner)).containsExactly(one);
        assertThat(table.isEmpty()).isFalse();
        table.add(owner, other);
        table.remove(owner, one);
        assertThat(table.find(owner)).containsExactly(other);
        assertThat(table.all()).containsExactly(other);
        table.remove(owner, other);
        assertThat(table.find(owner)).isEmpty();
        assertThat(table.isEmpty()).isTrue();
    }

    @Test
    void anEndIsUnderWayFromItsDecisionUntilItIsSent() {
        HoldTable table = new HoldTable();
        HoldTable.Held grant = grant("one");
        assertThat(table.hasNoneEnding()).isTrue();
        table.endBegun(grant);
        assertThat(table.hasNoneEnding()).isFalse();
        table.endSent(grant);
        assertThat(table.hasNoneEnding()).isTrue();
    }
}
