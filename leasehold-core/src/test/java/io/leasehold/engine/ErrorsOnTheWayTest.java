package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.Renewal;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** If an {@link Error} occurs in one step of a duty, the duty continues, and the later steps are performed. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class ErrorsOnTheWayTest {

    private static final Duration TTL = Duration.ofSeconds(30);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final AtomicInteger underWay = new AtomicInteger();
    private LockClient client;

    private Lease held(Renewal renewal) {
        store.answersAtOnce(this::granted);
        client = client();
        return client.named("n").with(o -> o.renewal(renewal)).acquireAsync().join();
    }

    private Lease other() {
        return client.named("other").acquireAsync().join();
    }

    private AcquireReply granted(AcquireRequest asked) {
        return new AcquireReply.Granted(
                new Grant(asked.owner(), TokenRange.of(1, 64), runtime.nanoTime(), Incarnation.DURABLE), List.of());
    }

    private LockClient client() {
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .listener(new LockListener() {
                    @Override
                    public void attemptBegan(AttemptBegan event) {
                        underWay.incrementAndGet();
                    }

                    @Override
                    public void attemptEnded(AttemptEnded event) {
                        underWay.decrementAndGet();
                    }
                })
                .defaults(LockOptions.defaults().ttl(TTL))
                .connect();
    }

    /** Runs the step, and fails the read of a clock with this number. Returns whether that read occurred. */
    private boolean meets(int fatal, Runnable step) {
        return meets(fatal, 1, step);
    }

    /** Does the same for this number of reads in a row. */
    private boolean meets(int fatal, int times, Runnable step) {
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            int read = reads.incrementAndGet();
            if (read >= fatal && read < fatal + times) {
                throw new InternalError("made by the test");
            }
        });
        try {
            step.run();
        } catch (InternalError e) {
            assertThat(e).hasMessage("made by the test");
        } finally {
            runtime.beforeAClockIsRead(() -> {});
        }
        return reads.get() >= fatal;
    }

    private void renewAll() {
        for (var asked : store.renewals()) {
            asked.answer()
                    .complete(new RenewReply(asked.request().items().stream()
                            .<RenewReply.Item>map(item -> new RenewReply.Renewed(runtime.nanoTime()))
                            .toList()));
        }
    }

    @Test
    void whicheverStepOfARenewalItMeetsTheNextOnesFollow() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            Lease lease = own.held(Renewal.automatic());
            own.runtime.pass(Duration.ofSeconds(8));
            met = own.meets(at, () -> own.runtime.pass(Duration.ofSeconds(3)));
            for (int i = 0; i < 6; i++) {
                own.renewAll();
                own.runtime.pass(Duration.ofSeconds(5));
            }
            own.renewAll();
            assertThat(lease.isValid()).as("read %d", at).isTrue();
        }
    }

    /** Otherwise, the counter of the attempts in progress would never return to zero. */
    @Test
    void anAttemptThatItEndsIsToldToHaveEnded() {
        for (boolean granted : new boolean[] {true, false}) {
            boolean met = true;
            for (int at = 1; met; at++) {
                ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
                var wanted = own.client().named("n").attemptAsync(Duration.ZERO);
                var asked = own.store.acquires().get(0);
                AcquireReply reply = granted ? own.granted(asked.request()) : new AcquireReply.Busy(null, 0, List.of());
                met = own.meets(at, () -> asked.answer().complete(reply));
                own.runtime.pass(Duration.ofSeconds(1));
                assertThat(wanted).as("read %d", at).isDone();
                if (wanted.isCompletedExceptionally()) {
                    assertThat(own.underWay)
                            .as("read %d, granted %s", at, granted)
                            .hasValue(0);
                }
            }
        }
    }

    /** No holder asks: only the timer detects the end. */
    @Test
    void whicheverStepOfAnEndItMeetsTheLossIsTold() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            Lease lease = own.held(Renewal.none());
            List<LossCause> told = new ArrayList<>();
            lease.onLost(told::add);
            own.runtime.pass(Duration.ofSeconds(29));
            met = own.meets(at, () -> own.runtime.pass(Duration.ofSeconds(1)));
            own.runtime.pass(Duration.ofSeconds(1));
            assertThat(told).as("read %d", at).containsExactly(LossCause.EXPIRED);
        }
    }

    /**
     * A hold that could not be notified is notified by the next check, and does not prevent the checks of other holds.
     */
    @Test
    void whicheverStepOfNoticingASuspensionItMeetsNoHoldIsBelieved() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            List<Lease> leases = List.of(own.held(Renewal.automatic()), own.other());
            own.runtime.suspend(Duration.ofHours(1));
            met = own.meets(at, () -> own.runtime.pass(Duration.ofSeconds(1)));
            own.runtime.pass(Duration.ofMillis(1_100));
            assertThat(own.store.renewals()).as("read %d", at).isNotEmpty();
            assertThat(leases).as("read %d", at).noneMatch(Lease::isValid);
        }
    }

    @Test
    void whicheverStepOfAQuestionItMeetsASuspensionIsNotOverlooked() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            Lease lease = own.held(Renewal.automatic());
            own.runtime.suspend(Duration.ofHours(1));
            met = own.meets(at, lease::isValid);
            assertThat(lease.isValid()).as("read %d", at).isFalse();
        }
    }

    /** A lease that was passed on is not released while its next holder uses it. */
    @Test
    void whicheverStepOfAHandOverItMeetsTheNextHolderKeepsWhatItGot() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            LockClient client = own.client();
            CompletableFuture<Lease> first = client.named("n").acquireAsync();
            CompletableFuture<Lease> next = client.named("n").acquireAsync();
            var asked = own.store.acquires().get(0);
            asked.answer().complete(own.granted(asked.request()));
            met = own.meets(at, () -> first.join().releaseAsync());
            if (next.isDone()) {
                assertThat(own.store.releases()).as("read %d", at).isEmpty();
                assertThat(next.join().isValid()).as("read %d", at).isTrue();
            }
            assertThat(first.join().whenEnded().toCompletableFuture())
                    .as("read %d", at)
                    .isDone();
        }
    }

    @Test
    void whicheverStepOfACloseItMeetsTheStoreIsClosedAndWaitersAreTold() {
        boolean met = true;
        for (int at = 1; met; at++) {
            met = new ErrorsOnTheWayTest().closes(at);
        }
    }

    /** The holder cannot be notified, the lease cannot be ended, and the first check of both fails, too. */
    @Test
    void severalInARowAtACloseAreMadeUpForAtOnce() {
        boolean met = true;
        for (int at = 1; met; at++) {
            ErrorsOnTheWayTest own = new ErrorsOnTheWayTest();
            Lease lease = own.held(Renewal.automatic());
            own.runtime.passesInWaits();
            long beforeNanos = own.runtime.nanoTime();
            met = own.meets(at, 3, own.client::close);
            assertThat(Duration.ofNanos(own.runtime.nanoTime() - beforeNanos))
                    .as("read %d", at)
                    .isLessThan(Duration.ofSeconds(1));
            assertThat(lease.whenEnded().toCompletableFuture())
                    .as("read %d", at)
                    .isDone();
            assertThat(own.store.isClosed()).as("read %d", at).isTrue();
        }
    }

    private boolean closes(int at) {
        store.isNotAtomic();
        LockClient client = client();
        var several = client.all(LockName.exactly("a"), LockName.exactly("b")).acquireAsync();
        var others = client.all(LockName.exactly("c"), LockName.exactly("d")).acquireAsync();
        var one = client.named("e").acquireAsync();
        for (var asked : store.acquires()) {
            asked.answer().complete(new AcquireReply.Queued(null, 1, List.of()));
        }
        runtime.passesInWaits();
        boolean met = meets(at, client::close);
        assertThat(store.isClosed()).as("read %d", at).isTrue();
        assertThat(List.of(several.isDone(), others.isDone(), one.isDone()))
                .as("read %d", at)
                .containsOnly(true);
        return met;
    }
}
