package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.Renewal;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.Grant;
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

/** A signal that an operator has released a lock ends the lease only if the store confirms that the hold is gone. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ForcedReleaseTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)).lockDelay(Duration.ofSeconds(60)))
            .connect();
    private final List<LossCause> told = new ArrayList<>();
    private final Lease lease = held(client.named(NAME));

    private Lease held(DistributedLock lock) {
        CompletableFuture<Lease> wanted = lock.acquireAsync();
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        Lease granted = wanted.join();
        granted.onLost(told::add);
        return granted;
    }

    private void answerTheLast(RenewReply.Item item) {
        var all = store.renewals();
        all.get(all.size() - 1).answer().complete(new RenewReply(List.of(item)));
    }

    private RenewReply.Item renewed() {
        return new RenewReply.Renewed(runtime.nanoTime());
    }

    @Test
    void theStoreIsAskedAtOnceAndItsNoIsOneByForce() {
        store.ear().takenAway(NAME);
        assertThat(store.renewals()).hasSize(1);
        assertThat(told).as("it is not believed by itself").isEmpty();
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.FORCE_RELEASED);
    }

    @Test
    void aNoWithoutSuchNewsIsNone() {
        lease.renewAsync();
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.NOT_OURS);
    }

    /** All doubted holds are renewed by one request, however many they are. */
    @Test
    void doubtedHoldsAreRenewedTogetherAndTheAnswerDecides() {
        LockName other = LockName.exactly("b");
        Lease kept = held(client.named(other));
        OwnerToken owner = store.acquires().get(0).request().owner();
        OwnerToken another = store.acquires().get(1).request().owner();
        store.ear()
                .doubted(List.of(
                        new DoubtedHold(owner, NAME),
                        new DoubtedHold(another, other),
                        new DoubtedHold(another, NAME),
                        new DoubtedHold(OwnerToken.fromHex("a".repeat(40)), NAME)));
        assertThat(store.renewals()).hasSize(1);
        assertThat(told).as("it is not believed by itself").isEmpty();
        assertThat(lease.isValid()).isTrue();
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.NotOurs(), renewed())));
        assertThat(told).containsExactly(LossCause.NOT_OURS);
        assertThat(kept.isValid()).isTrue();
        assertThat(store.renewals()).hasSize(1);
    }

    @Test
    void newsOfAnotherLockAskNothing() {
        store.ear().takenAway(LockName.exactly("b"));
        assertThat(store.renewals()).isEmpty();
    }

    /** A signal about an earlier hold may be late; a hold that the store has confirmed since was not taken. */
    @Test
    void newsThatTheStoreHasRefutedAreForgotten() {
        store.ear().takenAway(NAME);
        answerTheLast(renewed());
        assertThat(lease.isValid()).isTrue();
        assertThat(store.renewals()).hasSize(1);
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(2);
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.NOT_OURS);
        lease.release();
        assertThat(store.releases()).as("the lock delay runs").isEmpty();
    }

    /** The answer to an earlier request proves nothing: the store is asked again, at once. */
    @Test
    void anAnswerThatWasUnderWayRefutesNothing() {
        CompletableFuture<Void> byHand = lease.renewAsync();
        store.ear().takenAway(NAME);
        assertThat(store.renewals()).hasSize(1);
        answerTheLast(renewed());
        assertThat(byHand).isCompleted();
        assertThat(store.renewals()).hasSize(2);
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.FORCE_RELEASED);
    }

    private static RenewReply.Item failed() {
        return new RenewReply.Failed(new StoreUnavailableException("made by the test", null));
    }

    @Test
    void aRenewalThatFailsRefutesNothing() {
        store.ear().takenAway(NAME);
        answerTheLast(failed());
        runtime.pass(Duration.ofSeconds(11));
        assertThat(store.renewals()).hasSize(2);
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.FORCE_RELEASED);
    }

    /** Otherwise, the holder would rely on the lease for the rest of its hour, while another client holds the lock. */
    @Test
    void aLeaseThatNothingRenewsIsAskedAboutUntilItIsAnswered() {
        lease.release();
        told.clear();
        LockName other = LockName.exactly("b");
        Lease fixed =
                held(client.named(other).with(o -> o.ttl(Duration.ofHours(1)).renewal(Renewal.none())));
        store.ear().takenAway(other);
        for (int failures = 1; failures <= 10; failures++) {
            assertThat(store.renewals()).hasSize(failures);
            answerTheLast(failed());
            runtime.pass(Duration.ofSeconds(5));
        }
        assertThat(fixed.isValid()).as("the store has not denied it").isTrue();
        answerTheLast(new RenewReply.NotOurs());
        assertThat(told).containsExactly(LossCause.FORCE_RELEASED);
        assertThat(fixed.isValid()).isFalse();
    }

    /** Each signal causes one request, however many renewals follow. */
    @Test
    void afterTheAnswerRenewalsComeAtTheirTime() {
        lease.renewAsync();
        store.ear().takenAway(NAME);
        answerTheLast(renewed());
        answerTheLast(renewed());
        assertThat(store.renewals()).hasSize(2);
        runtime.pass(Duration.ofSeconds(9));
        assertThat(store.renewals()).hasSize(2);
        runtime.pass(Duration.ofSeconds(2));
        assertThat(store.renewals()).hasSize(3);
    }
}
