package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The ends of leases of several locks: each is reported once, and a query causes none. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(120)
final class MultiLeaseEndsTest {

    private static final LockName ONE = LockName.exactly("one");
    private static final LockName OTHER = LockName.exactly("other");
    private static final LockOptions OPTIONS =
            LockOptions.defaults().ttl(Duration.ofSeconds(10)).lockDelay(Duration.ofSeconds(60));

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client =
            Leasehold.builder().store(store).runtime(runtime).defaults(OPTIONS).connect();

    private MultiLease both() {
        CompletableFuture<MultiLease> future = client.all(ONE, OTHER).acquireAsync();
        grant();
        return future.join();
    }

    private void grant() {
        grant(store);
    }

    private void grant(SilentStore its) {
        var asked = its.acquires().get(its.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
    }

    private void renewAll() {
        renewAll(store);
    }

    private void renewAll(SilentStore its) {
        for (var asked : its.renewals()) {
            asked.answer()
                    .complete(new RenewReply(asked.request().items().stream()
                            .<RenewReply.Item>map(item -> new RenewReply.Renewed(runtime.nanoTime()))
                            .toList()));
        }
    }

    @Test
    void askingWhenItEndsReleasesNothingThatIsLost() {
        MultiLease lease = both();
        var ended = lease.whenEnded().toCompletableFuture();
        runtime.pass(Duration.ofSeconds(11));
        assertThat(ended.join()).isEqualTo(new HoldEnd.Lost(LossCause.EXPIRED));
        assertThat(store.releases()).as("the lock delay runs").isEmpty();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ZERO)).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lease::renew).isInstanceOf(LeaseLostException.class);
        List<LossCause> told = new ArrayList<>();
        lease.onLost(told::add);
        assertThat(told).containsExactly(LossCause.EXPIRED);
    }

    /** Two leases, of which the first may be held for 5 s less: when its renewals end, those of the other continue. */
    private MultiLease firstAtItsCap() {
        store.isNotAtomic();
        CompletableFuture<MultiLease> future = client.all(ONE, OTHER)
                .with(options -> options.maxHold(Duration.ofSeconds(15)))
                .acquireAsync();
        grant();
        runtime.pass(Duration.ofSeconds(5));
        renewAll();
        grant();
        return future.join();
    }

    @Test
    void aCheckWaitsForNoOtherLeaseIfOneHasTooLittleAndIsRenewedNoMore() {
        MultiLease lease = firstAtItsCap();
        runtime.pass(Duration.ofSeconds(4));
        var check = lease.ensureValidForAsync(Duration.ofSeconds(7)).toCompletableFuture();
        assertThat(check).as("the renewal of the other lease is not answered").isCompletedExceptionally();
        assertThatThrownBy(check::join).hasCauseInstanceOf(LeaseAtRiskException.class);
    }

    @Test
    void aCheckEndsWithTheFirstLeaseThatEnds() {
        LeaseHandle early = oneOf(new SilentStore(), OPTIONS);
        runtime.pass(Duration.ofMillis(200));
        LeaseHandle capped = oneOf(new SilentStore(), OPTIONS.maxHold(Duration.ofSeconds(10)));
        runtime.pass(Duration.ofMillis(1_300));
        LeaseHandle silent = oneOf(new SilentStore(), OPTIONS);
        runtime.pass(early.remainingValidity().minusMillis(400));
        var check = ValidityWait.ensureAsync(
                        List.of(early.state(), capped.state(), silent.state()), Duration.ofMillis(500))
                .toCompletableFuture();
        renewAll(stores.get(0));
        assertThat(check).as("one of the leases is being renewed").isNotDone();
        runtime.pass(Duration.ofMillis(601));
        assertThat(check).isCompletedExceptionally();
        assertThatThrownBy(check::join).hasCauseInstanceOf(LeaseLostException.class);
    }

    private final List<SilentStore> stores = new ArrayList<>();

    private LeaseHandle oneOf(SilentStore its, LockOptions options) {
        stores.add(its);
        LockClient other = Leasehold.builder()
                .store(its)
                .runtime(runtime)
                .defaults(options)
                .connect();
        CompletableFuture<Lease> future = other.named(ONE).acquireAsync();
        grant(its);
        return (LeaseHandle) future.join();
    }

    @Test
    void theEndIsTheFirstLossOrTheWorstOutcomeOfAll() {
        MultiLease released = both();
        var end = released.whenEnded().toCompletableFuture();
        assertThat(end).isNotDone();
        released.release();
        assertThat(end.join()).isEqualTo(new HoldEnd.Released(ReleaseOutcome.RELEASED));
        assertThat(released.whenEnded().toCompletableFuture().join()).isEqualTo(end.join());
    }

    @Test
    void aLossOfTheLastPartIsNoRelease() {
        LockClient memory = Leasehold.connect("memory:");
        try (memory) {
            MultiLease lease = memory.all(ONE, OTHER).acquireAsync().join();
            var end = lease.whenEnded().toCompletableFuture();
            assertThat(memory.admin().forceRelease(ONE, null)).isTrue();
            assertThat(end.join()).isInstanceOf(HoldEnd.Lost.class);
            lease.close();
            assertThat(lease.whenEnded().toCompletableFuture().join()).isInstanceOf(HoldEnd.Lost.class);
        }
    }

    /** A waiter for the end does not hold the lease. */
    @Test
    void aDroppedLeaseWhoseEndIsAwaitedIsFound() throws InterruptedException {
        var end = both().whenEnded().toCompletableFuture();
        for (int tries = 0; tries < 300 && !end.isDone(); tries++) {
            System.gc();
            Thread.sleep(10);
            runtime.pass(Duration.ofSeconds(4));
            renewAll();
        }
        assertThat(end)
                .isCompletedWithValueMatching(
                        how -> how instanceof HoldEnd.Lost lost && lost.cause() == LossCause.LEAKED);
    }

    @Test
    void theThreadIsInterruptedOnce() {
        MultiLease lease = both();
        lease.interruptOnLoss();
        List<Boolean> interrupted = new ArrayList<>();
        lease.onLost(cause -> interrupted.add(Thread.interrupted()));
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThat(interrupted).containsExactly(true);
        assertThat(Thread.interrupted()).as("again, for the second part").isFalse();
    }

    @Test
    void noInterruptComesOnceItsReleaseHasBegun() throws InterruptedException {
        MultiLease lease = both();
        Waiting other = Waiting.that(lease::interruptOnLoss);
        lease.interruptOnLoss();
        // The first part proves to be lost during the release of all.
        store.answersReleases(new ReleaseReply.NotOurs());
        lease.releaseAsync();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThat(Thread.interrupted()).isFalse();
        assertThat(other.isInterrupted()).isFalse();
    }

    @Test
    void eachThreadThatAskedIsInterrupted() throws InterruptedException {
        MultiLease lease = both();
        Waiting other = Waiting.that(lease::interruptOnLoss);
        lease.interruptOnLoss();
        store.ear().lost(store.acquires().get(0).request().owner(), LossCause.FORCE_RELEASED);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(other.isInterrupted()).isTrue();
    }

    private void answer(int renewal, RenewReply.Item item) {
        store.renewals().get(renewal).answer().complete(new RenewReply(List.of(item)));
    }

    /** A part is at risk anew once it was renewed; the whole only once all its parts were. */
    @Test
    void aRiskIsToldOnceUntilAllPartsAreRenewed() {
        MultiLease lease = both();
        List<Duration> told = new ArrayList<>();
        lease.onAtRisk(told::add);
        Runnable contactLost =
                () -> store.ear().suspended(store.acquires().get(0).request().owner());
        contactLost.run();
        assertThat(told).hasSize(1);
        lease.renewAsync();
        answer(0, new RenewReply.Renewed(runtime.nanoTime()));
        contactLost.run();
        assertThat(told).as("the other part was not renewed").hasSize(1);
        answer(1, new RenewReply.Renewed(runtime.nanoTime()));
        contactLost.run();
        assertThat(told)
                .as("the first part was at risk before the other was renewed")
                .hasSize(1);
        lease.renewAsync();
        answer(2, new RenewReply.Renewed(runtime.nanoTime()));
        answer(3, new RenewReply.Renewed(runtime.nanoTime()));
        contactLost.run();
        assertThat(told).hasSize(2);
    }

    @Test
    void eachOfItsCallbacksIsToldOfARisk() {
        MultiLease lease = both();
        List<String> told = new ArrayList<>();
        lease.onAtRisk(left -> told.add("first"));
        lease.onAtRisk(left -> told.add("second"));
        store.ear().suspended(store.acquires().get(0).request().owner());
        assertThat(told).containsExactlyInAnyOrder("first", "second");
    }

    /** The thread that answers a renewal has not used the lease: it will not release it. */
    @Test
    void anAnswerIsNoUseOfALeaseByItsThread() throws InterruptedException {
        store.answersAtOnce(request -> new AcquireReply.Granted(
                new Grant(request.owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE), List.of()));
        MultiLease lease = client.all(ONE, OTHER)
                .with(options -> options.ttl(Duration.ofSeconds(30)))
                .acquire();
        runtime.pass(Duration.ofSeconds(8));
        lease.ensureValidForAsync(Duration.ofSeconds(25));
        Thread network = new Thread(
                () -> answer(0, new RenewReply.Failed(new StoreUnavailableException("made by the test", null))));
        network.start();
        network.join();
        assertThat(((JoinedLeases) lease).parts).allMatch(part -> part.state().isOnlyFor(Thread.currentThread()));
        assertThatThrownBy(() -> client.named(ONE).acquire()).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aRenewalAfterTheReleaseFailsAsAFutureDoes() {
        MultiLease several = both();
        several.release();
        assertThat(several.renewAsync()).isCompletedExceptionally();
        CompletableFuture<Lease> single = client.named(ONE).acquireAsync();
        grant();
        Lease lease = single.join();
        lease.release();
        CompletableFuture<Void> renewal = lease.renewAsync();
        assertThatThrownBy(renewal::join).hasCauseInstanceOf(IllegalStateException.class);
        assertThatThrownBy(lease::renew).isInstanceOf(IllegalStateException.class);
    }

    // ---- many parts

    /** Delegates to the store, except for the parts that the test changes. */
    private static LockStore like(LockStore store, boolean atomic, Consumer<LockStore> close) {
        return (LockStore) Proxy.newProxyInstance(
                MultiLeaseEndsTest.class.getClassLoader(),
                new Class<?>[] {LockStore.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("isAtomicOver")) {
                        return atomic;
                    }
                    if (method.getName().equals("close")) {
                        close.accept(store);
                        return null;
                    }
                    try {
                        return method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void thousandsOfPartsOfAStoreThatAnswersAtOnce() {
        SystemLockRuntime real = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(real);
        try (LockClient inline = Leasehold.builder()
                .runtime(real)
                .store(like(new SingleNodeStore(node, real), false, LockStore::close))
                .connect()) {
            LockName[] names = IntStream.range(0, 5_000)
                    .mapToObj(i -> LockName.exactly("part-" + i))
                    .toArray(LockName[]::new);
            MultiLease lease = inline.all(names)
                    .acquireAsync()
                    .orTimeout(60, java.util.concurrent.TimeUnit.SECONDS)
                    .join();
            assertThat(lease.isValid()).isTrue();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(node.admin().list("*", 10).join()).isEmpty();
        }
    }

    // ---- the end of the client

    @Test
    void anInterruptedThreadWaitsForTheStoreToClose() {
        List<Boolean> interrupted = new ArrayList<>();
        SystemLockRuntime real = new SystemLockRuntime();
        LockClient closing = Leasehold.builder()
                .runtime(real)
                .store(like(new SingleNodeStore(new InMemoryNode(real), real), true, store -> {
                    interrupted.add(Thread.currentThread().isInterrupted());
                    store.close();
                }))
                .connect();
        Thread.currentThread().interrupt();
        closing.close();
        assertThat(interrupted).containsExactly(false);
        assertThat(Thread.interrupted()).as("kept for later").isTrue();
    }

    /** Whichever read of a clock fails during a close, the other part is released, and nothing is thrown. */
    @Test
    void aPartThatCannotBeGivenBackDoesNotKeepTheOthers() {
        for (int at = 1; at <= 30; at++) {
            StillRuntime still = new StillRuntime();
            SilentStore silent = new SilentStore();
            LockClient own = Leasehold.builder()
                    .store(silent)
                    .runtime(still)
                    .defaults(OPTIONS)
                    .connect();
            CompletableFuture<MultiLease> future = own.all(ONE, OTHER).acquireAsync();
            grant(silent, still);
            MultiLease lease = future.join();
            AtomicInteger reads = new AtomicInteger();
            int fatal = at;
            still.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == fatal) {
                    throw new InternalError("made by the test");
                }
            });
            assertThatCode(lease::close).as("read %d", at).doesNotThrowAnyException();
            still.beforeAClockIsRead(() -> {});
            assertThat(silent.releases()).as("read %d", at).isNotEmpty();
        }
    }

    private static void grant(SilentStore silent, StillRuntime still) {
        var asked = silent.acquires().get(0);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(asked.request().owner(), TokenRange.of(1, 1), still.nanoTime(), Incarnation.DURABLE),
                        List.of()));
    }
}
