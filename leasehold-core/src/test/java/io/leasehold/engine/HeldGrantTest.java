package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One grant, its leases, and the attempts in the queue. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class HeldGrantTest {

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Workshop workshop = new Workshop(runtime, store);

    private LeaseHandle held() {
        HeldGrant keeper = workshop.keeper();
        return keeper.begin(workshop.context.suspensions().mark(), null);
    }

    /** Its end is decided before it leaves the queue. */
    private void firstInLineThatHasGivenUp() {
        AcquireAttempt attempt = workshop.waiter();
        attempt.giveUp();
        workshop.queues.enter(attempt);
        assertThat(workshop.queues.first(Workshop.NAME)).isSameAs(attempt);
    }

    @Test
    void aReleaseIsFinishedAlthoughTheFirstInLineHasJustGivenUp() {
        LeaseHandle lease = held();
        firstInLineThatHasGivenUp();

        assertThat(lease.state().release()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).hasSize(1).first().satisfies(request -> {
            assertThat(request.kind()).isEqualTo(ReleaseRequest.Kind.RELEASE);
            assertThat(request.ballot()).isEqualTo(1_063);
        });
        assertThat(workshop.holds.isEmpty()).isTrue();
        assertThat(workshop.queues.isEmpty()).isTrue();
        assertThat(workshop.timeline.size())
                .as("but the tick of the suspension watch, and the one for hand-over")
                .isLessThanOrEqualTo(2);
    }

    @Test
    void theNextInLineGetsItIfTheFirstHasJustGivenUp() {
        LeaseHandle lease = held();
        firstInLineThatHasGivenUp();
        AcquireAttempt second = workshop.waiter();
        workshop.queues.enter(second);

        assertThat(lease.state().release()).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(store.releases()).isEmpty();
        assertThat(second.result()).isCompleted();
        assertThat(second.result().join().orElseThrow().fencingToken()).isGreaterThan(lease.fencingToken());
    }

    @Test
    void theExitAwaitsALeaseThatItsOpenerHandedToAnotherThread() throws InterruptedException {
        LeaseHandle lease = held();
        Thread opener = new Thread(() -> {});
        opener.start();
        opener.join();
        lease.state().openedBy(opener);
        assertThat(lease.state().isToBeReleased()).as("no other client has it").isFalse();

        assertThat(lease.isValid()).isTrue();

        assertThat(lease.state().isToBeReleased()).as("this thread has it").isTrue();
    }

    @Test
    void aRenewalThatAReleaseOvertakesFails() {
        LeaseHandle lease = held();
        CompletableFuture<Void> renewal = lease.state().renew();
        assertThat(store.renewals()).hasSize(1);

        assertThat(lease.state().release()).isCompletedWithValue(ReleaseOutcome.RELEASED);

        assertThatThrownBy(renewal::join).hasCauseInstanceOf(IllegalStateException.class);
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        runtime.pass(Duration.ofMinutes(5));
        assertThat(store.renewals()).as("none after the release").hasSize(1);
        assertThat(store.releases()).hasSize(1);
    }

    /** The pause after the last try that fails is longer than the rest of the validity. */
    @Test
    void aLossIsReportedAtItsTimeAlthoughTheNextRenewalWouldBeLater() {
        LeaseHandle lease = held();
        List<LossCause> told = new ArrayList<>();
        lease.onLost(told::add);
        long validNanos = workshop.settings.timings().validityNanos();
        int answered = 0;
        for (long ms = 0; ms < validNanos / 1_000_000; ms += 10) {
            runtime.pass(
                    Duration.ofMillis(10).compareTo(lease.remainingValidity()) < 0
                            ? Duration.ofMillis(10)
                            : lease.remainingValidity().minusNanos(1));
            for (; answered < store.renewals().size(); answered++) {
                store.renewals()
                        .get(answered)
                        .answer()
                        .complete(new RenewReply(
                                List.of(new RenewReply.Failed(new StoreUnavailableException("n", null)))));
            }
        }
        assertThat(answered).isGreaterThan(3);
        assertThat(told).isEmpty();
        runtime.pass(lease.remainingValidity());
        assertThat(told).containsExactly(LossCause.EXPIRED);
    }

    /** Another thread ends the lease after a renewal was decided, and before it is armed. */
    @Test
    void aLeaseThatHasEndedArmsNothing() {
        HeldGrant keeper = workshop.keeper();
        LeaseHandle lease = keeper.begin(workshop.context.suspensions().mark(), null);
        keeper.on(new GrantMachine.TakenAway(LossCause.FORCE_RELEASED));
        assertThat(lease.isValid()).isFalse();
        int armed = workshop.timeline.size();
        long laterAtNanos = runtime.nanoTime() + Duration.ofSeconds(1).toNanos();
        keeper.perform(List.of(new GrantMachine.ArmRenew(laterAtNanos, laterAtNanos)));
        keeper.perform(List.of(new GrantMachine.ArmEnd(laterAtNanos)));
        assertThat(workshop.timeline.size()).isEqualTo(armed);
    }

    /** The timer thread that runs anyway takes a renewal with it that would wake it a little later. */
    @Test
    void aRenewalMayBeALittleEarlyIfTheTimerRunsAnyway() {
        held();
        workshop.timeline.schedule(Duration.ofMillis(9_949).toNanos(), () -> {});
        workshop.timeline.schedule(Duration.ofMillis(9_950).toNanos(), () -> {});
        runtime.pass(Duration.ofMillis(9_949));
        assertThat(store.renewals()).isEmpty();
        runtime.pass(Duration.ofMillis(50));
        assertThat(store.renewals()).as("50 ms early, it waits for others").isEmpty();
        runtime.pass(Duration.ofMillis(1));
        assertThat(store.renewals()).hasSize(1);
    }

    /** Whatever the times at which they were granted, the renewals of a client soon share one request. */
    @Test
    void renewalsThatAreDueWithinHalfAnIntervalShareARequest() {
        held();
        runtime.pass(Duration.ofSeconds(5));
        held();
        runtime.pass(Duration.ofMillis(60));
        held();
        runtime.pass(Duration.ofMillis(4_990));
        assertThat(store.renewals()).hasSize(1);
        assertThat(items(0))
                .as("the third was granted less than half an interval ago")
                .isEqualTo(2);
        confirm(0);
        runtime.pass(Duration.ofMillis(5_060));
        assertThat(store.renewals()).hasSize(2);
        assertThat(items(1))
                .as("the first two were renewed half an interval ago")
                .isEqualTo(3);
        confirm(1);
        runtime.pass(Duration.ofMillis(10_050));
        assertThat(store.renewals()).hasSize(3);
        assertThat(items(2)).isEqualTo(3);
    }

    private int items(int request) {
        return store.renewals().get(request).request().items().size();
    }

    private void confirm(int request) {
        long sentAtNanos = runtime.nanoTime();
        SilentStore.Asked<RenewBatch, RenewReply> asked = store.renewals().get(request);
        asked.answer()
                .complete(new RenewReply(asked.request().items().stream()
                        .<RenewReply.Item>map(item -> new RenewReply.Renewed(sentAtNanos))
                        .toList()));
    }

    @Test
    void tenThousandRenewalsShareTheirRequests() {
        List<LeaseHandle> held = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            held.add(workshop.keeper().begin(workshop.context.suspensions().mark(), null));
        }
        runtime.pass(Duration.ofSeconds(11));
        assertThat(held).hasSize(10_000);
        assertThat(store.renewals()).hasSize(10);
        assertThat(store.renewals().stream()
                        .mapToInt(asked -> asked.request().items().size())
                        .sum())
                .isEqualTo(10_000);
    }
}
