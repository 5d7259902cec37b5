package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Claim;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A lease that begins from a message, as its holder, the listeners and the store see it. */
@Tag("quick")
final class ClaimedLeaseTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final long CLAIM = 4_000_000_000L;

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(new LockListener() {
                @Override
                public void attemptEnded(AttemptEnded event) {
                    news.add(event.outcome() + " after " + event.waited().toMillis() + " ms");
                }

                @Override
                public void renewed(Renewed event) {
                    news.add("renewal " + event.outcome());
                }

                @Override
                public void atRisk(AtRisk event) {
                    news.add("at risk");
                }

                @Override
                public void lost(Lost event) {
                    news.add("lost " + event.cause());
                }
            })
            .connect();

    private CompletableFuture<Lease> waits() {
        CompletableFuture<Lease> future = client.named(NAME).acquireAsync();
        store.acquires().get(0).answer().complete(new AcquireReply.Queued(null, 50, List.of()));
        runtime.pass(Duration.ofMillis(700));
        return future;
    }

    private OwnerToken owner() {
        return store.acquires().get(0).request().owner();
    }

    private boolean claimed(OwnerToken owner) {
        return claimed(owner, 1_000_000);
    }

    private boolean claimed(OwnerToken owner, long agoNanos) {
        TokenRange tokens = TokenRange.of(70, 2);
        HandOver message = new HandOver(NAME, owner.attemptId(), tokens, 1);
        Grant grant = new Grant(owner, tokens, runtime.nanoTime() - agoNanos, Incarnation.DURABLE);
        return store.ear().claimed(new Claim(message, grant, CLAIM));
    }

    private void answers(RenewReply.Item item) {
        store.renewals().get(store.renewals().size() - 1).answer().complete(new RenewReply(List.of(item)));
    }

    private void fails() {
        answers(new RenewReply.Failed(new StoreUnavailableException("down", null)));
    }

    @Test
    void theHolderHasTheLeaseBeforeAnyRequestIsSent() {
        CompletableFuture<Lease> future = waits();
        assertThat(claimed(owner())).isTrue();
        assertThat(future.join().fencingToken()).isEqualTo(70);
        assertThat(future.join().remainingValidity()).isEqualTo(Duration.ofMillis(3_957));
        assertThat(store.acquires()).hasSize(1);
        assertThat(store.renewals()).isEmpty();
        assertThat(news).containsExactly("ACQUIRED after 700 ms");
    }

    /** Renewals wait up to 50 ms for others, to share their request. */
    @Test
    void theTtlIsAskedForAtOnceWithoutNewsOfARenewal() {
        Lease lease = claimedLease();
        assertThat(store.renewals()).hasSize(1);
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(lease.remainingValidity()).isEqualTo(Duration.ofMillis(29_698));
        assertThat(news).containsExactly("ACQUIRED after 700 ms");
        runtime.pass(Duration.ofMillis(10_100));
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(news).containsExactly("ACQUIRED after 700 ms", "renewal RENEWED");
    }

    private Lease claimedLease() {
        CompletableFuture<Lease> future = waits();
        assertThat(claimed(owner())).isTrue();
        runtime.pass(Duration.ofMillis(50));
        return future.join();
    }

    @Test
    void aMessageForAnotherAttemptBeginsNothing() {
        CompletableFuture<Lease> future = waits();
        assertThat(claimed(OwnerToken.fromHex("b".repeat(40)))).isFalse();
        assertThat(future).isNotDone();
    }

    @Test
    void aSecondMessageBeginsNothing() {
        claimedLease();
        assertThat(claimed(owner())).isFalse();
        assertThat(store.releases()).isEmpty();
    }

    @Test
    void aMessageAfterACancellationBeginsNothingAndTheUndoPassesTheLockOn() {
        CompletableFuture<Lease> future = waits();
        future.cancel(false);
        assertThat(claimed(owner())).isFalse();
        assertThat(store.releases())
                .singleElement()
                .satisfies(undo -> assertThat(undo.owner()).isEqualTo(owner()));
        assertThat(store.renewals()).isEmpty();
    }

    @Test
    void aReleaseBeforeTheRenewalReplacesIt() {
        CompletableFuture<Lease> future = waits();
        claimed(owner());
        future.join().release();
        runtime.pass(Duration.ofSeconds(20));
        assertThat(store.renewals()).isEmpty();
        assertThat(store.releases()).singleElement().satisfies(release -> {
            assertThat(release.owner()).isEqualTo(owner());
            assertThat(release.ballot()).isEqualTo(71);
        });
    }

    @Test
    void aReleaseBeforeTheAnswerIsTheEnd() {
        Lease lease = claimedLease();
        lease.release();
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        runtime.pass(Duration.ofSeconds(20));
        assertThat(lease.isValid()).isFalse();
        assertThat(store.renewals()).hasSize(1);
        assertThat(store.releases()).hasSize(1);
    }

    @Test
    void theCloseOfTheClientBeforeTheAnswerReleasesIt() {
        CompletableFuture<Lease> future = waits();
        claimed(owner());
        client.close();
        runtime.pass(Duration.ofMinutes(2));
        assertThat(store.releases())
                .singleElement()
                .satisfies(release -> assertThat(release.owner()).isEqualTo(owner()));
        assertThat(future.join().isValid()).isFalse();
    }

    @Test
    void aRenewalThatFailsIsARiskAndIsRepeatedUntilTheEndOfTheClaim() {
        Lease lease = claimedLease();
        fails();
        assertThat(news).containsExactly("ACQUIRED after 700 ms", "at risk", "renewal FAILED");
        runtime.pass(Duration.ofMillis(150));
        assertThat(store.renewals()).hasSize(2);
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(lease.remainingValidity()).isGreaterThan(Duration.ofSeconds(29));
        assertThat(news)
                .as("the thread that was notified of the failure")
                .containsExactly("ACQUIRED after 700 ms", "at risk", "renewal FAILED", "renewal RENEWED");
    }

    @Test
    void theShortestClaimOutlastsOneLostAnswer() {
        CompletableFuture<Lease> future = waits();
        assertThat(claimed(owner(), Duration.ofMillis(708).toNanos())).isTrue();
        assertThat(future.join().remainingValidity()).isEqualTo(Duration.ofMillis(3_250));
        runtime.pass(Duration.ofMillis(3_050));
        assertThat(store.renewals()).hasSize(1);
        fails();
        runtime.pass(Duration.ofMillis(150));
        assertThat(store.renewals()).hasSize(2);
        runtime.pass(Duration.ofMillis(49));
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(future.join().isValid()).isTrue();
    }

    @Test
    void withoutAnAnswerItIsLostAtTheEndOfTheClaim() {
        Lease lease = claimedLease();
        runtime.pass(Duration.ofMillis(3_900));
        assertThat(lease.isValid()).isTrue();
        runtime.pass(Duration.ofMillis(8));
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.whenEnded())
                .isCompletedWithValueMatching(
                        end -> end instanceof HoldEnd.Lost lost && lost.cause() == LossCause.EXPIRED);
    }

    @Test
    void aStoreThatKeepsNothingEndsIt() {
        Lease lease = claimedLease();
        answers(new RenewReply.NotOurs());
        assertThat(lease.isValid()).isFalse();
        assertThat(news).contains("lost NOT_OURS");
    }

    @Test
    void aCheckForMoreThanTheClaimWaitsForTheAnswer() {
        CompletableFuture<Lease> future = waits();
        claimed(owner());
        CompletableFuture<Void> check =
                future.join().ensureValidForAsync(Duration.ofSeconds(20)).toCompletableFuture();
        assertThat(store.renewals()).as("not later, with others").hasSize(1);
        assertThat(check).isNotDone();
        answers(new RenewReply.Renewed(runtime.nanoTime()));
        assertThat(check).isCompleted();
        assertThat(news).doesNotContain("at risk");
    }

    @Test
    void afterASleepBetweenTheAnswerAndTheMessageNoLeaseBegins() {
        CompletableFuture<Lease> future = waits();
        runtime.suspend(Duration.ofSeconds(1));
        assertThat(claimed(owner())).isFalse();
        assertThat(future).as("a request is to be answered after the sleep").isNotDone();
    }
}
