package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasehold.DistributedLock;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.InlineThread;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * If too little validity is left, a check renews the lease and waits for the answer, unless its thread must not wait.
 */
@SuppressWarnings({"FutureReturnValueIgnored", "LockNotBeforeTry"})
@Tag("quick")
@Timeout(60)
final class EnsureValidTest {

    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30));
    private static final Duration MUCH = Duration.ofSeconds(25);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final AtomicReference<Lease> heard = new AtomicReference<>();
    private final List<Throwable> inListener = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void renewed(Renewed event) {
            Lease lease = heard.get();
            if (lease != null) {
                inListener.add(catchThrowableOfType(RuntimeException.class, () -> lease.ensureValidFor(MUCH)));
            }
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

    /** Returns a lease that was held for eight seconds. Its next renewal is not due, and time passes during waits. */
    private Lease held(LockOptions options) {
        Lease lease = heldInStillTime(options);
        runtime.passesInWaits();
        return lease;
    }

    private Lease heldInStillTime(LockOptions options) {
        grantAtOnce();
        Lease lease = client.named(LockName.exactly("a"))
                .with(given -> options)
                .acquireAsync()
                .join();
        runtime.pass(Duration.ofSeconds(8));
        return lease;
    }

    private Lease held() {
        return held(OPTIONS);
    }

    private void answer(int renewal, RenewReply.Item item) {
        store.renewals().get(renewal).answer().complete(new RenewReply(List.of(item)));
    }

    /** Answers a renewal a little later, on the timer. */
    private void answerLater(int renewal, Duration after) {
        long askedAtNanos = runtime.nanoTime();
        runtime.schedule(after.toNanos(), () -> answer(renewal, new RenewReply.Renewed(askedAtNanos)));
    }

    @Test
    void withTooLittleLeftItRenewsAndPasses() {
        Lease lease = held();
        assertThat(lease.remainingValidity()).isLessThan(MUCH);
        answerLater(0, Duration.ofMillis(100));
        lease.ensureValidFor(MUCH);
        assertThat(store.renewals()).hasSize(1);
        assertThat(lease.remainingValidity()).isEqualTo(OPTIONS.validity().minusMillis(100));
        lease.ensureValidFor(MUCH);
        assertThat(store.renewals()).as("enough is left").hasSize(1);
    }

    @Test
    void atRiskItSaysWhatTheRenewalAnswered() {
        Lease lease = held();
        StoreUnavailableException down = new StoreUnavailableException("made by the test", null);
        runtime.schedule(5_000_000, () -> answer(0, new RenewReply.Failed(down)));
        LeaseAtRiskException atRisk =
                catchThrowableOfType(LeaseAtRiskException.class, () -> lease.ensureValidFor(MUCH));
        assertThat(atRisk)
                .hasMessageContaining("its renewal failed: made by the test")
                .hasCause(down);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aStoreThatDoesNotAnswerIsWaitedForAsLongAsItMayTake() {
        Lease lease = held();
        long begunAtNanos = runtime.nanoTime();
        LeaseAtRiskException atRisk =
                catchThrowableOfType(LeaseAtRiskException.class, () -> lease.ensureValidFor(MUCH));
        assertThat(atRisk).hasMessageContaining("has not answered its renewal within 3000 ms");
        assertThat(runtime.nanoTime() - begunAtNanos)
                .isEqualTo(Duration.ofSeconds(3).toNanos());
        int timers = runtime.timers();
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        lease.release();
        assertThat(runtime.timers()).isLessThanOrEqualTo(timers);
    }

    @Test
    void aWaitEndsWithTheValidityInALoss() {
        Lease lease = held();
        lease.renewAsync();
        runtime.pass(Duration.ofMillis(21_600));
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH)).isInstanceOf(LeaseLostException.class);
        assertThat(lease.remainingValidity()).isZero();
    }

    @Test
    void aDenialIsALoss() {
        Lease lease = held();
        runtime.schedule(5_000_000, () -> answer(0, new RenewReply.NotOurs()));
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH))
                .isInstanceOfSatisfying(
                        LeaseLostException.class,
                        lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.NOT_OURS));
    }

    @Test
    void whatIsNeverRenewedIsNotWaitedFor() {
        Lease lease = held(OPTIONS.renewal(Renewal.none()));
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH))
                .isInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("a renewal is late");
        assertThat(lease.ensureValidForAsync(MUCH).toCompletableFuture()).isCompletedExceptionally();
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void threadsThatMustNotWaitSayWhatIsLeft() throws InterruptedException {
        Lease lease = held();
        AtomicReference<Throwable> said = new AtomicReference<>();
        Thread loop = new Thread(
                () -> said.set(catchThrowableOfType(LeaseAtRiskException.class, () -> lease.ensureValidFor(MUCH))),
                "nioEventLoopGroup-2-1");
        loop.start();
        loop.join();
        assertThat(said.get()).isNotNull();
        InlineThread.run(
                () -> assertThatThrownBy(() -> lease.ensureValidFor(MUCH)).isInstanceOf(LeaseAtRiskException.class));
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void aListenerDoesNotWait() {
        Lease lease = held();
        lease.renewAsync();
        heard.set(lease);
        answer(0, new RenewReply.Failed(new StoreUnavailableException("made by the test", null)));
        assertThat(inListener).hasSize(1).first().isInstanceOf(LeaseAtRiskException.class);
        heard.set(null);
    }

    @Test
    void anInterruptIsHeardAndTheLeaseStaysHeld() {
        Lease lease = heldInStillTime(OPTIONS);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH))
                .isInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
        assertThat(lease.isValid()).isTrue();
        // The renewal continues.
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThatCode(() -> lease.ensureValidFor(MUCH)).doesNotThrowAnyException();
    }

    @Test
    void theTwinCompletesOnceTheAnswerIsThere() {
        Lease lease = held();
        CompletableFuture<Void> check = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        assertThat(check).isNotDone();
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isCompleted();
    }

    @Test
    void theTwinCompletesOnACallbackThread() {
        Lease lease = held();
        CompletableFuture<Void> check = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        runtime.holdCallbacks();
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isNotDone();
        runtime.runCallbacks();
        assertThat(check).isCompleted();
    }

    @Test
    void whoCancelsTheTwinCancelsItForNobodyElse() {
        Lease lease = held();
        CompletableFuture<Void> given = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        CompletableFuture<Void> other = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        other.thenRun(() -> {
            throw new InternalError("made by the test");
        });
        CompletableFuture<Void> third = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        given.cancel(true);
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(other).isCompleted();
        assertThat(third).isCompleted();
        assertThat(store.renewals()).hasSize(1);
    }

    @Test
    void aReleaseEndsTheWaitOfOthers() {
        Lease lease = held();
        CompletableFuture<Void> check = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        lease.releaseAsync();
        assertThatThrownBy(check::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was released");
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH)).hasMessageContaining("was released");
    }

    /** After a grant was passed on within the process, it is valid, but not for its former holder. */
    @Test
    void aCheckDoesNotPassByTheLeaseOfTheNextHolder() {
        grantAtOnce();
        LockOptions options = OPTIONS.fairness(Fairness.BOUNDED_LOCAL_HAND_OVER);
        DistributedLock lock = client.named(LockName.exactly("a")).with(given -> options);
        Lease lease = lock.acquireAsync().join();
        ActiveLease state = LeaseHandle.of(lease).state();
        CompletableFuture<Lease> next = lock.acquireAsync();
        lease.releaseAsync();
        assertThat(LeaseHandle.of(next.join()).state().owner()).isSameAs(state.owner());
        List<WaitingChecks.Verdict> verdicts = new ArrayList<>();
        state.owner().ask(state, new WaitingChecks.Check() {
            @Override
            public long neededNanos() {
                return 0;
            }

            @Override
            public void answered(WaitingChecks.Verdict verdict) {
                verdicts.add(verdict);
            }
        });
        assertThat(verdicts).containsExactly(new WaitingChecks.GivenBack());
    }

    @Test
    void aSleepDuringTheWaitProvesNothing() {
        Lease lease = held();
        CompletableFuture<Void> check = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        runtime.suspend(Duration.ofHours(1));
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isNotDone();
        answer(1, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isCompleted();
    }

    @Test
    void whatWasSleptThroughIsConfirmedByACheck() {
        Lease lease = held();
        runtime.suspend(Duration.ofHours(1));
        runtime.schedule(1_000_000, () -> answer(0, new RenewReply.Renewed(runtime.nanoTime())));
        lease.ensureValidFor(Duration.ZERO);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aListenerOfALossThatChecksAgainHearsOfTheLoss() {
        Lease lease = held();
        List<Throwable> again = new ArrayList<>();
        lease.onLost(
                cause -> again.add(catchThrowableOfType(RuntimeException.class, () -> lease.ensureValidFor(MUCH))));
        CompletableFuture<Void> check = lease.ensureValidForAsync(MUCH).toCompletableFuture();
        answer(0, new RenewReply.NotOurs());
        assertThat(check).isCompletedExceptionally();
        assertThat(again).hasSize(1).first().isInstanceOf(LeaseLostException.class);
    }

    @Test
    void aStoreThatThrowsAnErrorAnswersTheCheck() {
        Lease lease = held();
        store.failNext(new InternalError("made by the test"));
        assertThatThrownBy(() -> lease.ensureValidFor(MUCH))
                .isInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("its renewal failed");
    }

    /** Several locks are renewed at once, and the validity of all counts. */
    @Test
    void severalAreRenewedTogetherAndCheckedAgain() {
        grantAtOnce();
        store.isNotAtomic();
        MultiLease all = client.all("a", "b").acquireAsync().join();
        runtime.pass(Duration.ofSeconds(8));
        runtime.passesInWaits();
        CompletableFuture<Void> check = all.ensureValidForAsync(MUCH).toCompletableFuture();
        assertThat(store.renewals()).hasSize(2);
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isNotDone();
        CompletableFuture<Void> next = all.ensureValidForAsync(MUCH).toCompletableFuture();
        assertThat(next).as("the first lease has enough, the second not yet").isNotDone();
        answer(1, new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isCompleted();
        assertThat(next).isCompleted();
        runtime.pass(Duration.ofSeconds(8));
        runtime.schedule(1_000_000, () -> answer(2, new RenewReply.Renewed(runtime.nanoTime())));
        assertThatThrownBy(() -> all.ensureValidFor(MUCH))
                .isInstanceOfSatisfying(
                        LeaseAtRiskException.class,
                        risk -> assertThat(risk.lockName()).isEqualTo(LockName.exactly("b")));
    }

    /**
     * The validity counts from the sending of the request. A check that needs nearly all of it must not pass by a slow
     * answer.
     */
    @Test
    void anAnswerThatLeavesTooLittleDoesNotPass() {
        Lease lease = held();
        answerLater(0, Duration.ofMillis(300));
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofMillis(29_500)))
                .isInstanceOf(LeaseAtRiskException.class);
        assertThat(lease.remainingValidity()).isEqualTo(Duration.ofMillis(29_398));
    }

    /** The first lease has enough left when it is renewed, but not when the second is: they pass together or not at all. */
    @Test
    void whatPassesFirstIsCheckedAgainAfterTheSlowestAnswer() {
        grantAtOnce();
        store.isNotAtomic();
        MultiLease all = client.all("a", "b").acquireAsync().join();
        runtime.pass(Duration.ofSeconds(8));
        CompletableFuture<Void> check =
                all.ensureValidForAsync(Duration.ofMillis(29_500)).toCompletableFuture();
        long askedAtNanos = runtime.nanoTime();
        answer(0, new RenewReply.Renewed(askedAtNanos));
        runtime.pass(Duration.ofMillis(300));
        answer(1, new RenewReply.Renewed(askedAtNanos));
        assertThatThrownBy(check::join)
                .hasCauseInstanceOf(LeaseAtRiskException.class)
                .hasMessageContaining("\"a\"");
    }

    /** The check does not wait for the other leases: it can no longer pass. */
    @Test
    void theEndOfOneOfSeveralEndsTheWait() {
        grantAtOnce();
        store.isNotAtomic();
        MultiLease all = client.all("a", "b").acquireAsync().join();
        runtime.pass(Duration.ofSeconds(8));
        CompletableFuture<Void> check = all.ensureValidForAsync(MUCH).toCompletableFuture();
        answer(1, new RenewReply.NotOurs());
        assertThatThrownBy(check::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        LeaseLostException.class,
                        lost -> assertThat(lost.lockName()).isEqualTo(LockName.exactly("b")));
    }

    /** Uses real time and a real store; the next automatic renewal is twenty seconds away. */
    @Test
    void aLeaseOfAStoreIsRenewedByACheck() throws Exception {
        Duration wanted = Duration.ofMillis(58_500);
        try (LockClient locks = Leasehold.builder()
                        .defaults(OPTIONS.ttl(Duration.ofSeconds(60)))
                        .store("memory:")
                        .connect();
                Lease lease = locks.named("a").acquire()) {
            while (lease.remainingValidity().compareTo(wanted) >= 0) {
                Thread.sleep(10);
            }
            lease.ensureValidFor(wanted);
            assertThat(lease.remainingValidity()).isGreaterThan(wanted.minusMillis(500));
            while (lease.remainingValidity().compareTo(wanted) >= 0) {
                Thread.sleep(10);
            }
            lease.ensureValidForAsync(wanted).toCompletableFuture().get();
            assertThat(lease.remainingValidity()).isGreaterThan(wanted.minusMillis(500));
        }
    }
}
