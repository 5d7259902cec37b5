package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The reports of a lease to its holder, and the end of these reports at its release. */
@SuppressWarnings({"FutureReturnValueIgnored", "LockNotBeforeTry"})
@Tag("quick")
@Timeout(60)
final class LeaseRulesTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void lost(Lost event) {
            news.add("lost " + event.cause());
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome().name());
        }

        @Override
        public void abandoned(Abandoned event) {
            news.add("abandoned " + event.cause() + " after " + event.held().toSeconds());
        }

        @Override
        public void renewed(Renewed event) {
            news.add(event.outcome() + " with " + event.headroom().toSeconds() + " of "
                    + event.ttl().toSeconds());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(OPTIONS)
            .connect();

    @AfterEach
    void noInterruptIsLeft() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private void grantAtOnce() {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(100, 64), runtime.nanoTime(), Incarnation.DURABLE),
                List.of()));
    }

    private Lease held() {
        grantAtOnce();
        return client.named(NAME).acquireAsync().join();
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

    private void answerTheLast(RenewReply.Item item) {
        var all = store.renewals();
        all.get(all.size() - 1).answer().complete(new RenewReply(List.of(item)));
    }

    // ---- checks

    @Test
    void aCheckPassesWithAsMuchAsItAsksForAndNotWithLess() {
        Lease lease = held();
        Duration valid = lease.remainingValidity();
        runtime.pass(Duration.ofSeconds(9));
        Duration left = lease.remainingValidity();
        assertThat(left).isEqualTo(valid.minusSeconds(9));
        runtime.passesInWaits();
        Duration most = OPTIONS.longestCheckable();
        Duration wanted = OPTIONS.longestUnrenewed();
        assertThatCode(() -> lease.ensureValidFor(wanted)).doesNotThrowAnyException();
        runtime.pass(left.minus(wanted));
        assertThatCode(() -> lease.ensureValidFor(wanted)).doesNotThrowAnyException();
        runtime.pass(Duration.ofNanos(1));
        LeaseAtRiskException tooLittle =
                catchThrowableOfType(LeaseAtRiskException.class, () -> lease.ensureValidFor(wanted));
        assertThat(tooLittle).hasMessageContaining(wanted.toMillis() + " ms were requested");
        assertThatThrownBy(() -> lease.ensureValidFor(most.plusNanos(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("set a ttl of at least");
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofNanos(-1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatCode(() -> lease.ensureValidFor(Duration.ZERO)).doesNotThrowAnyException();
        lease.release();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was released");
        assertThat(lease.remainingValidity()).isZero();
    }

    @Test
    void aCheckAfterALossSaysWhyAndWhatTheNodesSaid() {
        Lease lease = held();
        NodeVote vote = new NodeVote("n1", NodeVote.Answer.BUSY, "");
        lease.renewAsync();
        answerTheLast(new RenewReply.NotOurs(List.of(vote)));
        LeaseLostException lost =
                catchThrowableOfType(LeaseLostException.class, () -> lease.ensureValidFor(Duration.ZERO));
        assertThat(lost.lossCause()).isEqualTo(LossCause.NOT_OURS);
        assertThat(lost.votes()).containsExactly(vote);
        assertThatThrownBy(lease::renew).isInstanceOf(LeaseLostException.class);
        assertThat(lease.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Lost(LossCause.NOT_OURS, List.of(vote)));
    }

    @Test
    void whatNobodyHasConfirmedAfterASuspensionIsAtRiskAndNotLost() {
        Lease lease = held();
        runtime.suspend(Duration.ofHours(1));
        runtime.passesInWaits();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO)).isInstanceOf(LeaseAtRiskException.class);
        assertThat(news).isEmpty();
    }

    /** A late timer delays no report: a caller that asks detects the end, and all callbacks are notified. */
    @Test
    void whoAsksFindsAnEndThatNoTimerHasTold() {
        List<Consumer<Lease>> questions = List.of(
                lease -> assertThat(lease.isValid()).isFalse(),
                lease -> assertThat(lease.remainingValidity()).isZero(),
                lease -> assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO))
                        .isInstanceOf(LeaseLostException.class),
                lease -> assertThat(lease.renewAsync()).isCompletedExceptionally());
        for (Consumer<Lease> question : questions) {
            Lease lease = held();
            runtime.passUnnoticed(Duration.ofSeconds(31));
            news.clear();
            int renewals = store.renewals().size();
            question.accept(lease);
            assertThat(news).containsExactly("lost EXPIRED");
            assertThat(store.renewals()).hasSize(renewals);
            lease.release();
        }
    }

    // ---- loss

    @Test
    void aLossIsToldToWhoeverAskedBeforeOrAsksLaterAndNotAfterTheRelease() {
        Lease lease = held();
        List<String> told = new ArrayList<>();
        lease.onLost(why -> told.add("first " + why));
        lease.onLost(why -> told.add("second " + why));
        lose(LossCause.SESSION_LOST);
        lose(LossCause.NOT_OURS);
        lease.onLost(why -> told.add("late " + why));
        assertThat(told).containsExactly("first SESSION_LOST", "second SESSION_LOST", "late SESSION_LOST");
        lease.release();
        lease.onLost(why -> told.add("after the release"));
        assertThat(told).hasSize(3);
        assertThat(news).containsExactly("lost SESSION_LOST");
    }

    @Test
    void whoAsksToBeInterruptedAfterTheLossIsInterruptedAtOnceAndAfterTheReleaseNever() {
        Lease lost = held();
        lose(LossCause.SESSION_LOST);
        lost.interruptOnLoss();
        assertThat(Thread.interrupted()).isTrue();
        lost.release();
        lost.interruptOnLoss();
        assertThat(Thread.interrupted()).isFalse();
        Lease released = held();
        released.interruptOnLoss();
        released.release();
        lose(LossCause.SESSION_LOST);
        released.interruptOnLoss();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void whoAskedToBeInterruptedIs() {
        held().interruptOnLoss();
        lose(LossCause.SESSION_LOST);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void eachThreadThatAskedToBeInterruptedIsAndOnce() throws InterruptedException {
        Lease lease = held();
        Waiting other = Waiting.that(lease::interruptOnLoss);
        lease.interruptOnLoss();
        lease.interruptOnLoss();
        List<Boolean> interrupted = new ArrayList<>();
        lease.onLost(why -> interrupted.add(Thread.interrupted()));
        lose(LossCause.SESSION_LOST);
        assertThat(other.isInterrupted()).isTrue();
        interrupted.add(Thread.interrupted());
        assertThat(interrupted).as("this thread").containsExactlyInAnyOrder(true, false);
    }

    @Test
    void noThreadIsInterruptedOnceTheReleaseHasBegun() throws InterruptedException {
        Lease lease = held();
        Waiting other = Waiting.that(lease::interruptOnLoss);
        lease.interruptOnLoss();
        lease.releaseAsync();
        lose(LossCause.SESSION_LOST);
        assertThat(Thread.interrupted()).isFalse();
        assertThat(other.isInterrupted()).isFalse();
    }

    // ---- release

    /** The calls of a former holder do not affect the next holder of the same grant. */
    @Test
    void whatWasPassedOnIsOutOfReachOfItsFormerHolder() {
        Lease first = held();
        CompletableFuture<Lease> next = client.named(NAME).acquireAsync();
        first.release();
        Lease second = next.join();
        List<String> told = new ArrayList<>();
        first.onLost(why -> told.add("lost"));
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        first.close();
        assertThat(first.renewAsync()).isCompletedExceptionally();
        assertThat(first.isValid()).isFalse();
        assertThat(second.isValid()).isTrue();
        assertThat(store.releases()).isEmpty();
        assertThat(store.renewals()).isEmpty();
        lose(LossCause.SESSION_LOST);
        assertThat(told).isEmpty();
        assertThat(first.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Released(ReleaseOutcome.RELEASED));
    }

    /**
     * The outcome is that which the store has confirmed. A "not yours" within the validity is a loss; later, it proves
     * nothing.
     */
    @Test
    void theOutcomeOfAReleaseIsWhatTheStoreSays() {
        store.answersReleases(new ReleaseReply.NotOurs());
        assertThat(held().release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        store.answersReleases(new ReleaseReply.Failed(
                FailureKind.UNKNOWN, new io.leasehold.StoreUnavailableException("made by the test", null)));
        assertThat(held().release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        assertThat(news).containsExactly("ALREADY_LOST", "UNCONFIRMED");
    }

    @Test
    void aRenewalIsToldWithTheValidityThatWasLeft() {
        Lease lease = held();
        runtime.pass(Duration.ofSeconds(4));
        Duration left = lease.remainingValidity();
        lease.renewAsync();
        answerTheLast(new RenewReply.Renewed(runtime.nanoTime()));
        lease.renewAsync();
        answerTheLast(new RenewReply.Failed(new io.leasehold.StoreUnavailableException("made by the test", null)));
        assertThat(news)
                .containsExactly(
                        "RENEWED with " + left.toSeconds() + " of 30",
                        "FAILED with " + left.plusSeconds(4).toSeconds() + " of 30");
        assertThat(lease.lockName()).isEqualTo(NAME);
        assertThat(lease.toString())
                .contains("a", "100", Long.toString(lease.remainingValidity().toMillis()));
    }

    // ---- whose lease it is

    /** If another thread uses a lease, it may be the thread that releases it: an exit of the process awaits it. */
    @Test
    void whateverAnotherThreadDoesWithALeaseMakesItItsOwnAsWell() throws InterruptedException {
        List<Consumer<Lease>> uses = List.of(
                Lease::isValid,
                Lease::remainingValidity,
                lease -> lease.ensureValidFor(Duration.ZERO),
                Lease::renewAsync,
                lease -> lease.onLost(why -> {}),
                lease -> lease.onAtRisk(left -> {}),
                Lease::interruptOnLoss);
        for (Consumer<Lease> use : uses) {
            LeaseHandle lease = (LeaseHandle) held();
            Thread opener = new Thread(() -> {});
            opener.start();
            opener.join();
            lease.state().openedBy(opener);
            assertThat(lease.state().isToBeReleased()).isFalse();
            assertThat(lease.state().isOnlyFor(opener)).isTrue();
            use.accept(lease);
            assertThat(lease.state().isToBeReleased()).isTrue();
            assertThat(lease.state().isOnlyFor(opener)).isFalse();
            lease.release();
            assertThat(lease.state().isToBeReleased()).isFalse();
        }
    }

    /**
     * A thread that has died cannot release its lock. The lease is reported as abandoned, and ends with its validity.
     */
    @Test
    void theHoldOfAThreadThatHasDiedIsRenewedNoMore() throws InterruptedException {
        grantAtOnce();
        Thread holder = new Thread(() -> client.named(NAME).asReentrantLock().lock());
        holder.start();
        holder.join();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(news).containsExactly("abandoned THREAD_DIED after " + 10);
        runtime.pass(Duration.ofSeconds(30));
        assertThat(store.renewals()).isEmpty();
        assertThat(news).hasSize(2).contains("lost THREAD_DIED");
    }

    @Test
    void aLeaseThatWasReleasedAndDroppedIsNotMissed() throws InterruptedException {
        WeakReference<Lease> dropped = releasedAndPassedOn();
        for (int tries = 0; tries < 600 && dropped.get() != null; tries++) {
            System.gc();
            Thread.sleep(5);
        }
        assertThat(dropped.get()).isNull();
        System.gc();
        Thread.sleep(20);
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals())
                .as("the next lease of the same grant is renewed")
                .hasSize(1);
        assertThat(news).containsExactly("RELEASED");
        assertThat(next.isValid()).isTrue();
    }

    private Lease next;

    private WeakReference<Lease> releasedAndPassedOn() {
        Lease first = held();
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        first.release();
        next = wanted.join();
        return new WeakReference<>(first);
    }
}
