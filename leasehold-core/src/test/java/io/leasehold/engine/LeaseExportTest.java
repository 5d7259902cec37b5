package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousExportException;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.Permit;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the export of a lease ({@link Lease#export}). */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class LeaseExportTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final Duration CLAIM = Duration.ofMinutes(2);
    private static final Duration TTL_AND_DRIFT = Duration.ofMillis(30_302);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void lost(Lost event) {
            news.add("lost");
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome().name());
        }
    };

    private final LockClient client = client(LockOptions.defaults().ttl(Duration.ofSeconds(30)));

    private LockClient client(LockOptions options) {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .listener(listener)
                .defaults(options)
                .connect();
    }

    private Lease held() {
        return held(client);
    }

    private Lease held(LockClient by) {
        CompletableFuture<Lease> wanted = by.named(NAME).acquireAsync();
        grant(64);
        return wanted.join();
    }

    private void grant(int tokens) {
        var asked = store.acquires().get(store.acquires().size() - 1);
        OwnerToken owner = asked.request().owner();
        TokenRange range = TokenRange.of(1_000, tokens);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(owner, range, runtime.nanoTime(), Incarnation.DURABLE), List.of()));
    }

    private SilentStore.Asked<ExportRequest, ExportReply> asked(int index) {
        assertThat(store.exports()).hasSizeGreaterThan(index);
        return store.exports().get(index);
    }

    private static Throwable failure(CompletableFuture<?> future) {
        try {
            future.getNow(null);
        } catch (CompletionException e) {
            return e.getCause();
        }
        throw new AssertionError("it has not failed: " + future);
    }

    private static ExportReply.Failed failed(FailureKind kind) {
        return new ExportReply.Failed(kind, new StoreUnavailableException("made by the test", null));
    }

    @Test
    void theHandleEndsBeforeTheRequestLeavesAndTheTicketComesWithTheAnswer() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);

        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remainingValidity()).isZero();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        assertThat(failure(lease.exportAsync(CLAIM))).isInstanceOf(IllegalStateException.class);
        assertThat(exported).isNotDone();
        ExportRequest request = asked(0).request();
        assertThat(request.name()).isEqualTo(NAME);
        assertThat(request.owner()).isEqualTo(store.acquires().get(0).request().owner());
        assertThat(request.ballot()).as("the whole range").isEqualTo(1_063);
        assertThat(request.token()).isEqualTo(lease.fencingToken());
        assertThat(request.claimNanos()).isEqualTo(CLAIM.toNanos());
        assertThat(request.holderId()).isEqualTo("ticket of " + client.holderId());
        assertThat(request.ticket()).isNotEqualTo(request.owner());

        asked(0).answer().complete(new ExportReply.Exported());
        LeaseTicket ticket = exported.join();
        assertThat(ticket.lockName()).isEqualTo(NAME);
        assertThat(ticket.claim()).isEqualTo(CLAIM);
        assertThat(ticket.store()).isEqualTo("silent:");
        assertThat(ticket.secret()).isEqualTo(request.ticket().hex());
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.EXPORTED);
        assertThat(lease.whenEnded().toCompletableFuture().join())
                .isEqualTo(new HoldEnd.Released(ReleaseOutcome.EXPORTED));
        lease.close();
        assertThat(news).containsExactly("EXPORTED");
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofMinutes(5));
        assertThat(store.renewals()).as("nothing renews it").isEmpty();
        assertThat(store.exports()).hasSize(1);
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void noRenewalFollowsAndALateAnswerToOneChangesNothing() {
        Lease lease = held();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(1);
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.NotOurs())));
        asked(0).answer().complete(new ExportReply.Exported());
        assertThat(exported).isCompleted();
        assertThat(news).containsExactly("EXPORTED");
    }

    @Test
    void theBlockingFormWaitsForTheAnswer() {
        Lease lease = held();
        runtime.schedule(5, () -> asked(0).answer().complete(new ExportReply.Exported()));
        runtime.passesInWaits();
        assertThat(lease.export(CLAIM).lockName()).isEqualTo(NAME);
    }

    @Test
    void aLostAnswerIsRequestedAgainWithTheSameTicket() {
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.UNKNOWN));
        runtime.pass(Duration.ofMillis(10));
        assertThat(asked(1).request()).isEqualTo(asked(0).request());
        asked(1).answer().completeExceptionally(new IllegalStateException("a driver that throws"));
        runtime.pass(Duration.ofMillis(20));
        asked(2).answer().complete(new ExportReply.Exported());
        assertThat(exported.join().secret())
                .isEqualTo(asked(0).request().ticket().hex());
    }

    @Test
    void aReconnectSendsTheNextCopyAtOnce() {
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        for (int i = 0; i < 6; i++) {
            asked(i).answer().complete(failed(FailureKind.NO_EFFECT));
            runtime.pass(Duration.ofMillis(500));
        }
        asked(6).answer().complete(failed(FailureKind.NO_EFFECT));
        store.ear().reconnected();
        asked(7).answer().complete(new ExportReply.Exported());
        assertThat(exported).isCompleted();
    }

    /** The variant unconfirmed-export of the formal model. */
    @Test
    void withoutAnAnswerThereIsNoTicketAndBothOwnerTokensAreEnded() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        for (int i = 0; !exported.isDone(); i++) {
            assertThat(i).as("copies within the validity").isLessThan(100);
            asked(i).answer().complete(failed(FailureKind.UNKNOWN));
            assertThat(store.releases().isEmpty() || exported.isDone()).isTrue();
            runtime.pass(Duration.ofMillis(500));
        }
        assertThat(failure(exported)).isInstanceOfSatisfying(AmbiguousExportException.class, e -> {
            assertThat(e.lockName()).isEqualTo(NAME);
            assertThat(e.freeAfter())
                    .as("an unanswered renewal may have arrived just before")
                    .isEqualTo(CLAIM.plus(TTL_AND_DRIFT));
            assertThat(e).hasMessageContaining("made by the test");
        });
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        ExportRequest request = asked(0).request();
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .containsExactly(request.owner(), request.ticket());
        assertThat(store.releases().get(0).ballot()).isEqualTo(1_063);
        assertThat(news).containsExactly("UNCONFIRMED");
    }

    @Test
    void theTicketIsEndedOnlyOnceTheHolderIs() {
        CompletableFuture<ReleaseReply> later = new CompletableFuture<>();
        store.answersReleasesWith(later);
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.PERMANENT));
        assertThat(failure(exported)).isInstanceOf(AmbiguousExportException.class);
        assertThat(store.releases()).hasSize(1);
        later.complete(new ReleaseReply.Released());
        assertThat(store.releases()).hasSize(2);
    }

    @Test
    void aLeaseThatTheStoreDoesNotKnowIsLost() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        asked(0).answer().complete(new ExportReply.NotOurs());
        assertThat(failure(exported))
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.lossCause()).isEqualTo(LossCause.NOT_OURS));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).isEmpty();
    }

    /** A claim shorter than the validity: the first copy wrote the ticket, which has ended since. */
    @Test
    void anAnswerAfterACopyWithAnUnknownOutcomeIsNoLoss() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(Duration.ofMillis(5));
        asked(0).answer().complete(failed(FailureKind.UNKNOWN));
        runtime.pass(Duration.ofMillis(10));
        asked(1).answer().complete(new ExportReply.NotOurs());
        assertThat(failure(exported))
                .isInstanceOf(AmbiguousExportException.class)
                .hasMessageContaining("made by the test");
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
        assertThat(news).containsExactly("UNCONFIRMED");
    }

    /** The second copy was not sent, which says nothing of the first one. */
    @Test
    void aCopyWithoutEffectDoesNotHideAnEarlierOneWithAnUnknownOutcome() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(Duration.ofMillis(5));
        asked(0).answer().complete(failed(FailureKind.UNKNOWN));
        runtime.pass(Duration.ofMillis(10));
        asked(1).answer().complete(failed(FailureKind.NO_EFFECT));
        runtime.pass(Duration.ofMillis(20));
        asked(2).answer().complete(new ExportReply.NotOurs());
        assertThat(failure(exported)).isInstanceOf(AmbiguousExportException.class);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
    }

    @Test
    void anAnswerAfterTheValidityIsNoLoss() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        runtime.passUnnoticed(Duration.ofSeconds(40));
        asked(0).answer().complete(new ExportReply.NotOurs());
        assertThat(failure(exported)).isInstanceOf(AmbiguousExportException.class);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
    }

    @Test
    void aCopyWithoutEffectDoesNotHideALoss() {
        Lease lease = held();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.NO_EFFECT));
        runtime.pass(Duration.ofMillis(10));
        asked(1).answer().complete(new ExportReply.NotOurs());
        assertThat(failure(exported)).isInstanceOf(LeaseLostException.class);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void theUndoOfTheTicketIsRepeatedUntilItsClaimIsOver() {
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.PERMANENT));
        assertThat(failure(exported)).isInstanceOf(AmbiguousExportException.class);
        assertThat(store.releases()).hasSize(2);

        Lease second = held();
        store.answersReleases(
                new ReleaseReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("made by the test", null)));
        second.exportAsync(CLAIM);
        asked(1).answer().complete(failed(FailureKind.PERMANENT));
        runtime.pass(Duration.ofSeconds(32));
        OwnerToken ticket = asked(1).request().ticket();
        assertThat(lastReleased()).as("once the holder's has ended").isEqualTo(ticket);
        runtime.pass(Duration.ofSeconds(145));
        store.answersReleases(new ReleaseReply.Released());
        int before = store.releases().size();
        runtime.pass(Duration.ofSeconds(2));
        assertThat(store.releases()).as("it is still repeated, a claim later").hasSize(before + 1);
        assertThat(lastReleased()).isEqualTo(ticket);
    }

    private OwnerToken lastReleased() {
        return store.releases().get(store.releases().size() - 1).owner();
    }

    @Test
    void anExportThatFailsIsUndoneOnlyOnceTheLockNeedNotStayTaken() {
        LockClient other =
                client(LockOptions.defaults().ttl(Duration.ofSeconds(30)).atLeast(Duration.ofSeconds(20)));
        Lease lease = held(other);
        runtime.pass(Duration.ofSeconds(1));
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.PERMANENT));
        assertThat(failure(exported)).isInstanceOf(AmbiguousExportException.class);
        runtime.pass(Duration.ofSeconds(19).minusNanos(1));
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofNanos(1));
        assertThat(store.releases())
                .extracting(ReleaseRequest::owner)
                .containsExactly(asked(0).request().owner(), asked(0).request().ticket());
    }

    @Test
    void aCloseDoesNotWaitForTheTimeOfALockThatAFailedExportKeeps() {
        LockClient other =
                client(LockOptions.defaults().ttl(Duration.ofSeconds(30)).atLeast(Duration.ofSeconds(20)));
        held(other).exportAsync(CLAIM);
        asked(0).answer().complete(failed(FailureKind.PERMANENT));
        long beforeNanos = runtime.nanoTime();
        runtime.passesInWaits();
        other.close(Duration.ofSeconds(30));
        assertThat(runtime.nanoTime()).isEqualTo(beforeNanos);
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void theExportOfALostLeaseLeavesALockThatMustStayTaken() {
        LockClient other =
                client(LockOptions.defaults().ttl(Duration.ofSeconds(30)).atLeast(Duration.ofMinutes(5)));
        Lease lease = held(other);
        runtime.beforeAClockIsRead(new Runnable() {
            private int reads;

            @Override
            public void run() {
                // Between the check of the end and the export, the validity ends.
                if (++reads == 3) {
                    runtime.passUnnoticed(Duration.ofSeconds(40));
                }
            }
        });
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(CLAIM);
        runtime.beforeAClockIsRead(() -> {});
        assertThat(failure(exported)).isInstanceOf(LeaseLostException.class);
        assertThat(lease.release()).as("it was lost in the export").isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.exports()).isEmpty();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void anExportThatCannotBeSentReleasesTheLease() {
        for (int at = 1; at <= 5; at++) {
            Lease lease = held();
            int failing = at;
            int releases = store.releases().size();
            AtomicInteger reads = new AtomicInteger();
            runtime.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == failing) {
                    throw new InternalError("made by the test");
                }
            });
            CompletableFuture<LeaseTicket> exported = null;
            try {
                exported = lease.exportAsync(CLAIM);
            } catch (InternalError e) {
                assertThat(lease.isValid()).as("nothing was changed").isTrue();
            }
            runtime.beforeAClockIsRead(() -> {});
            if (exported == null) {
                lease.release();
            } else if (store.exports().isEmpty()) {
                assertThat(failure(exported)).as("reading " + at).isInstanceOf(AmbiguousExportException.class);
                assertThat(lease.releaseAsync()).isCompletedWithValue(ReleaseOutcome.UNCONFIRMED);
                assertThat(store.releases()).as("reading " + at).hasSize(releases + 1);
            } else {
                assertThat(at).as("an export that could not be sent").isGreaterThan(3);
                return;
            }
        }
    }

    @Test
    void anErrorWhileAFailureIsProcessedCostsOneCopy() {
        for (int at = 1; at <= 3; at++) {
            CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
            int first = store.exports().size() - 1;
            int failing = at;
            AtomicInteger reads = new AtomicInteger();
            runtime.beforeAClockIsRead(() -> {
                // The failure is processed, the next copy is scheduled, the timer is armed.
                if (reads.incrementAndGet() == failing) {
                    throw new InternalError("made by the test");
                }
            });
            asked(first).answer().complete(failed(FailureKind.NO_EFFECT));
            runtime.beforeAClockIsRead(() -> {});
            runtime.pass(Duration.ofMillis(200));
            asked(first + 1).answer().complete(new ExportReply.Exported());
            assertThat(exported).as("reading " + at).isCompleted();
        }
    }

    @Test
    void aStoreThatReturnsNoFutureCostsOneCopy() {
        store.returnsNoFuture(2);
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        runtime.pass(Duration.ofMillis(100));
        asked(2).answer().complete(new ExportReply.Exported());
        assertThat(exported).isCompleted();
    }

    @Test
    void aLeaseThatHasEndedIsNotExported() {
        Lease expired = held();
        runtime.passUnnoticed(Duration.ofSeconds(40));
        assertThat(failure(expired.exportAsync(CLAIM))).isInstanceOf(LeaseLostException.class);
        expired.close();
        Lease released = held();
        released.release();
        assertThat(failure(released.exportAsync(CLAIM))).isInstanceOf(IllegalStateException.class);
        assertThat(store.exports()).isEmpty();
    }

    @Test
    void unsuitableClaimsAndStoresAreRefusedWhileTheLeaseIsHeld() {
        Lease lease = held();
        for (Duration wrong : List.of(
                Duration.ZERO,
                Duration.ofSeconds(-1),
                Duration.ofNanos(999_999),
                Duration.ofHours(24).plusMillis(1),
                Duration.ofSeconds(Long.MAX_VALUE),
                Duration.ofSeconds(Long.MIN_VALUE))) {
            assertThatIllegalArgumentException().isThrownBy(() -> lease.export(wrong));
        }
        store.ticketed = false;
        assertThatThrownBy(() -> lease.export(CLAIM))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("\"a\"", "silent:", "ticket");
        assertThat(lease.isValid()).isTrue();
        assertThat(store.exports()).isEmpty();
    }

    @Test
    void aPermitIsRefusedAndStillHeld() throws InterruptedException {
        try (LockClient memory = Leasehold.connect("memory:")) {
            Permit permit = memory.permits(NAME, 2).acquire();
            assertThatThrownBy(() -> permit.export(CLAIM))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll("permit of \"a", "still held");
            assertThat(permit.isValid()).isTrue();
        }
    }

    @Test
    void theNextAttemptOfTheClientContendsAtTheStore() {
        Lease lease = held();
        CompletableFuture<Lease> next = client.named(NAME).acquireAsync();
        assertThat(store.acquires()).hasSize(1);
        lease.exportAsync(CLAIM);
        assertThat(store.acquires()).as("it is handed no lease of the grant").hasSize(2);
        assertThat(next).isNotDone();
        asked(0).answer().complete(new ExportReply.Exported());
        assertThat(next).isNotDone();
    }

    @Test
    void theLockStaysTakenForAsLongAsAfterARelease() {
        LockClient other =
                client(LockOptions.defaults().ttl(Duration.ofSeconds(30)).atLeast(Duration.ofMinutes(5)));
        Lease lease = held(other);
        runtime.pass(Duration.ofSeconds(1));
        lease.exportAsync(CLAIM);
        assertThat(asked(0).request().claimNanos())
                .isEqualTo(Duration.ofMinutes(5).minusSeconds(1).toNanos());
    }

    @Test
    void aCloseWaitsForTheAnswerAndEndsTheWaitWithItsPatience() {
        CompletableFuture<LeaseTicket> exported = held().exportAsync(CLAIM);
        runtime.schedule(
                Duration.ofSeconds(1).toNanos(), () -> asked(0).answer().complete(new ExportReply.Exported()));
        runtime.passesInWaits();
        client.close(Duration.ofSeconds(10));
        assertThat(exported).isCompleted();

        LockClient second = client(LockOptions.defaults().ttl(Duration.ofSeconds(30)));
        CompletableFuture<LeaseTicket> unanswered = held(second).exportAsync(CLAIM);
        second.close(Duration.ofSeconds(1));
        assertThat(failure(unanswered)).isInstanceOf(AmbiguousExportException.class);
        asked(1).answer().complete(new ExportReply.Exported());
        assertThat(failure(unanswered)).isInstanceOf(AmbiguousExportException.class);
    }
}
