package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What readers of one process meet when others come, leave or fail between two of their steps. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
final class ReadersEdgesTest {

    private static final LockName NAME = LockName.exactly("a");

    /** A client whose store answers when the test says so. */
    private static final class Bench {
        final StillRuntime runtime = new StillRuntime();
        final SilentStore store = new SilentStore();
        final LockClient client = Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(30)))
                .connect();

        CompletableFuture<Lease> asks() {
            return client.readWrite("a").read().acquireAsync();
        }

        AcquireReply granted(AcquireRequest request) {
            return new AcquireReply.Granted(
                    new Grant(request.owner(), TokenRange.of(1_000, 1), runtime.nanoTime(), Incarnation.DURABLE),
                    List.of());
        }

        void grant(int index) {
            SilentStore.Asked<AcquireRequest, AcquireReply> asked =
                    store.acquires().get(index);
            asked.answer().complete(granted(asked.request()));
        }

        List<Lease> held(int readers) {
            List<CompletableFuture<Lease>> wanted = new ArrayList<>();
            for (int i = 0; i < readers; i++) {
                wanted.add(asks());
            }
            grant(0);
            return wanted.stream().map(CompletableFuture::join).toList();
        }

        /** Makes one of the next readings of a clock fail; returns whether it has been reached. */
        AtomicBoolean failsToRead(int index) {
            AtomicInteger left = new AtomicInteger(index);
            AtomicBoolean reached = new AtomicBoolean();
            runtime.beforeAClockIsRead(() -> {
                if (left.getAndDecrement() == 0) {
                    reached.set(true);
                    throw new InternalError("no clock (made by the test)");
                }
            });
            return reached;
        }

        /** Performs a step that an error may end, and lets time pass. */
        void despite(Runnable step) {
            try {
                step.run();
            } catch (InternalError made) {
                assertThat(made).hasMessageContaining("made by the test");
            }
        }
    }

    private final Bench bench = new Bench();

    private static boolean waitsFor(Thread thread, Object monitor) {
        ThreadInfo info = ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId());
        LockInfo awaited = info == null ? null : info.getLockInfo();
        return awaited != null && awaited.getIdentityHashCode() == System.identityHashCode(monitor);
    }

    private static void untilItWaitsFor(Object monitor, Thread thread) {
        while (thread.isAlive() && !waitsFor(thread, monitor)) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aReaderThatLeavesWhileTheLastOneReleasesTheHoldHasLostNothing() throws Exception {
        List<Lease> leases = bench.held(2);
        ActiveLease first = LeaseHandle.of(leases.get(0)).state();
        Object grant =
                ((EngineClient) bench.client).attempts().context().holds().all().get(0);
        CountDownLatch leaves = new CountDownLatch(1);
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();
        Thread leaving = new Thread(() -> outcome.complete(leases.get(0).release()));
        Thread holding = new Thread(() -> {
            synchronized (first) {
                locked.countDown();
                awaits(goesOn);
            }
        });
        bench.runtime.beforeAClockIsRead(() -> {
            if (Thread.currentThread() == leaving) {
                leaves.countDown();
                awaits(locked);
            }
        });
        leaving.start();
        leaves.await();
        holding.start();
        // It has processed what was due, and has not left yet.
        untilItWaitsFor(first, leaving);
        synchronized (grant) {
            goesOn.countDown();
            untilItWaitsFor(grant, leaving);
            assertThat(leases.get(1).release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(outcome.join()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(bench.store.releases()).hasSize(1);
    }

    private static void awaits(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aReaderThatConsidersItsLeaseLostIsToldSoByItsRelease() {
        List<Lease> leases = bench.held(2);
        for (Lease lease : leases) {
            LeaseHandle.of(lease).loseUnconfirmed();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        }
        assertThat(bench.store.releases()).hasSize(1);
    }

    @Test
    void aReaderThatMeetsTheGrantSharesItAndKeepsItOpenForOthers() throws InterruptedException {
        CompletableFuture<Lease> first = bench.asks();
        Thread granting = new Thread(() -> {
            bench.runtime.passUnnoticed(Duration.ofMillis(1));
            bench.grant(0);
        });
        Thread test = Thread.currentThread();
        bench.runtime.afterTheClockIsRead(() -> {
            if (Thread.currentThread() == test
                    && granting.getState() == Thread.State.NEW
                    && StackWalker.getInstance()
                            .walk(frames -> frames.anyMatch(
                                    frame -> frame.getClassName().startsWith(SharedRead.class.getName())))) {
                granting.start();
                while (granting.isAlive() && granting.getState() != Thread.State.BLOCKED) {
                    Thread.onSpinWait();
                }
            }
        });
        CompletableFuture<Lease> second = bench.asks();
        granting.join();
        CompletableFuture<Lease> third = bench.asks();
        assertThat(bench.store.acquires()).hasSize(1);
        assertThat(List.of(first, second, third)).allMatch(CompletableFuture::isDone);
    }

    @Test
    void noReaderIsForgottenIfItsPatienceEndsWithAnError() {
        for (int index = 0; ; index++) {
            Bench own = new Bench();
            CompletableFuture<Attempt<Lease>> hasty =
                    own.client.readWrite("a").read().attemptAsync(Duration.ofSeconds(1));
            own.asks();
            own.store.acquires().get(0).answer().complete(new AcquireReply.Queued(null, 7, List.of()));
            AtomicBoolean reached = own.failsToRead(index);
            own.despite(() -> own.runtime.pass(Duration.ofSeconds(1)));
            own.despite(() -> own.runtime.pass(Duration.ofSeconds(1)));
            assertThat(hasty).as("error at reading %d", index).isDone();
            if (!reached.get()) {
                return;
            }
        }
    }

    @Test
    void noReaderIsForgottenIfTheFirstAnswerCannotBeProcessed() {
        CompletableFuture<Attempt<Lease>> hasty =
                bench.client.readWrite("a").read().attemptAsync(Duration.ofSeconds(1));
        bench.asks();
        AtomicInteger readings = new AtomicInteger();
        bench.runtime.beforeAClockIsRead(() -> {
            if (readings.getAndIncrement() < 2) {
                throw new InternalError("no clock (made by the test)");
            }
        });
        AcquireReply queued = new AcquireReply.Queued(null, 7, List.of());
        bench.despite(() -> bench.store.acquires().get(0).answer().complete(queued));
        bench.runtime.pass(Duration.ofSeconds(1));
        assertThat(hasty).isDone();
    }

    @Test
    void noReaderIsForgottenAndNoHoldIsKeptIfTheGrantMeetsAnError() {
        for (int index = 0; ; index++) {
            Bench own = new Bench();
            CompletableFuture<Lease> one = own.asks();
            CompletableFuture<Lease> other = own.asks();
            SilentStore.Asked<AcquireRequest, AcquireReply> asked =
                    own.store.acquires().get(0);
            AcquireReply answer = own.granted(asked.request());
            AtomicBoolean reached = own.failsToRead(index);
            own.despite(() -> asked.answer().complete(answer));
            List<OwnerToken> granted = new ArrayList<>(
                    List.of(own.store.acquires().get(0).request().owner()));
            own.runtime.beforeAClockIsRead(() -> {});
            // A request whose answer could not be processed is repeated.
            own.runtime.pass(Duration.ofSeconds(1));
            for (int i = 1; i < own.store.acquires().size(); i++) {
                granted.add(own.store.acquires().get(i).request().owner());
                own.grant(i);
            }
            for (CompletableFuture<Lease> each : List.of(one, other)) {
                assertThat(each).as("error at reading %d", index).isDone();
                if (!each.isCompletedExceptionally()) {
                    each.join().close();
                }
            }
            own.runtime.pass(Duration.ofSeconds(1));
            assertThat(own.store.releases())
                    .as("error at reading %d", index)
                    .extracting(ReleaseRequest::owner)
                    .containsAll(granted);
            if (!reached.get()) {
                return;
            }
        }
    }

    @Test
    void aForcedReleaseIsSuspectedOfAHoldThatIsJustBeginning() {
        bench.asks();
        AtomicBoolean told = new AtomicBoolean();
        bench.runtime.beforeAClockIsRead(() -> {
            boolean isRegistered = !((EngineClient) bench.client)
                    .attempts()
                    .context()
                    .holds()
                    .all()
                    .isEmpty();
            if (isRegistered && told.compareAndSet(false, true)) {
                bench.store.ear().takenAway(NAME);
            }
        });
        bench.grant(0);
        bench.runtime.pass(Duration.ofMillis(10));
        assertThat(told).isTrue();
        assertThat(bench.store.renewals()).hasSize(1);
    }
}
