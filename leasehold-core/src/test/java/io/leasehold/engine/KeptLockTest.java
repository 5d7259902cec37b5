package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A lock that stays taken for a while after its holder is done ({@link LockOptions#atLeast()}). */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class KeptLockTest {

    private static final LockName NAME = LockName.exactly("a");

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<String> news = new ArrayList<>();

    private final LockListener listener = new LockListener() {
        @Override
        public void atRisk(AtRisk event) {
            news.add("at risk");
        }

        @Override
        public void lost(Lost event) {
            news.add("lost");
        }

        @Override
        public void released(Released event) {
            news.add(event.outcome().name());
        }
    };

    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .listener(listener)
            .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)).atLeast(Duration.ofSeconds(20)))
            .connect();

    private Lease held() {
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 64), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        return wanted.join();
    }

    private void renewAll() {
        for (var asked : store.renewals()) {
            asked.answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        }
    }

    @Test
    void itIsGivenBackWhenItsTimeHasPassedAndItsHolderIsToldAtOnce() {
        Lease lease = held();
        runtime.pass(Duration.ofSeconds(5));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.KEPT);
        assertThat(lease.whenEnded().toCompletableFuture().join()).isEqualTo(new HoldEnd.Released(ReleaseOutcome.KEPT));
        assertThat(lease.isValid()).isFalse();
        runtime.pass(Duration.ofSeconds(14));
        renewAll();
        assertThat(store.renewals()).as("it stays taken").hasSize(1);
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.releases()).hasSize(1);
        assertThat(news).containsExactly("KEPT");
        runtime.pass(Duration.ofMinutes(5));
        assertThat(store.renewals()).hasSize(1);
    }

    @Test
    void afterItsTimeItIsReleasedAtOnce() {
        Lease lease = held();
        runtime.pass(Duration.ofSeconds(11));
        renewAll();
        runtime.pass(Duration.ofSeconds(9));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1);
    }

    /** A holder that has released the lock is not notified of later events. */
    @Test
    void itsFormerHolderHearsNoMoreOfIt() {
        Lease lease = held();
        lease.onAtRisk(left -> news.add("risk callback"));
        lease.onLost(why -> news.add("loss callback"));
        lease.release();
        store.ear().suspended(store.acquires().get(0).request().owner());
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        assertThat(news).containsExactly("KEPT");
    }

    /** A waiter in this process may receive the lock after that time, and not before. */
    @Test
    void aWaiterOfThisProcessGetsItThen() {
        Lease lease = held();
        CompletableFuture<Lease> waiting = client.named(NAME).acquireAsync();
        lease.release();
        assertThat(waiting).isNotDone();
        runtime.pass(Duration.ofSeconds(19));
        assertThat(waiting).isNotDone();
        assertThat(store.releases()).isEmpty();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.releases().size() == 1 || waiting.isDone()).isTrue();
    }

    @Test
    void whatWasLostIsLeftToItsTtlUnlessAnOperatorHasEndedIt() {
        Lease lease = held();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.SESSION_LOST);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(store.releases()).isEmpty();
        Lease other = held();
        store.ear().lost(store.acquires().get(1).request().owner(), LossCause.FORCE_RELEASED);
        other.release();
        assertThat(store.releases()).hasSize(1);
        Lease late = held();
        runtime.pass(Duration.ofSeconds(20));
        store.ear().lost(store.acquires().get(2).request().owner(), LossCause.SESSION_LOST);
        late.release();
        assertThat(store.releases()).as("its time has passed").hasSize(2);
    }

    /** A lease that no caller will ever see protects nothing. */
    @Test
    void whatNoCallerHasSeenIsNotKept() {
        CompletableFuture<Lease> wanted = client.named(NAME).acquireAsync();
        wanted.cancel(false);
        var asked = store.acquires().get(0);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 64), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        assertThat(store.releases()).hasSize(1);
    }
}
