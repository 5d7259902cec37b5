package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Acquirable;
import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StorePermits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of several permits at once, whose requests are lost, refused and late, over the node in memory. */
@Tag("quick")
@Timeout(60)
final class SeveralPermitsTest {

    private static final LockName POOL = LockName.exactly("pool");
    private static final Duration SOON = Duration.ofSeconds(20);

    private final SystemLockRuntime runtime = new SystemLockRuntime();
    private final InMemoryNode node = new InMemoryNode(runtime);
    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final LockListener listener = new LockListener() {
        @Override
        public void attemptBegan(AttemptBegan event) {
            events.add("began");
        }

        @Override
        public void attemptEnded(AttemptEnded event) {
            events.add(event.outcome() + " " + event.name());
        }
    };
    private final List<LockClient> clients = new ArrayList<>();

    /** The node, some of whose answers the test decides on. */
    private static final class Way extends PassingKeeper implements LockStore {
        private final LockStore store;
        private final AtomicInteger acquires = new AtomicInteger();
        /** Called with the number of each request, from 1 on; null lets it pass. */
        private volatile Answers answers = (number, request) -> null;

        private volatile boolean inOneStep;
        private volatile boolean failsReleases;
        private volatile boolean swallowsReleases;
        private final Set<OwnerToken> released = ConcurrentHashMap.newKeySet();
        private final Queue<Long> ballots = new ConcurrentLinkedQueue<>();
        private final Queue<OwnerToken> renewedAfterwards = new ConcurrentLinkedQueue<>();

        Way(LockStore store) {
            super(store);
            this.store = store;
        }

        @Override
        public Optional<StorePermits> permits() {
            return inOneStep ? super.permits() : super.permits().map(OneByOne::new);
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            CompletableFuture<AcquireReply> answer = answers.to(acquires.incrementAndGet(), request);
            return answer != null ? answer : store.acquire(request);
        }

        CompletableFuture<AcquireReply> performed(AcquireRequest request, AcquireReply told) {
            return store.acquire(request).thenApply(reply -> told);
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            released.add(request.owner());
            ballots.add(request.ballot());
            if (swallowsReleases) {
                return new CompletableFuture<>();
            }
            return failsReleases
                    ? CompletableFuture.completedFuture(new ReleaseReply.Failed(
                            FailureKind.NO_EFFECT, new StoreUnavailableException("the release was lost", null)))
                    : store.release(request);
        }

        @Override
        public CompletableFuture<RenewReply> renew(RenewBatch batch) {
            batch.items().stream()
                    .map(RenewBatch.Item::owner)
                    .filter(released::contains)
                    .forEach(renewedAfterwards::add);
            return store.renew(batch);
        }
    }

    /** Permits of which a request takes one. */
    private record OneByOne(StorePermits permits) implements StorePermits {

        @Override
        public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
            return permits.describe(name);
        }

        @Override
        public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
            return permits.list(glob, limit);
        }

        @Override
        public CompletableFuture<Boolean> change(LockName name, int count, long version) {
            return permits.change(name, count, version);
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, int slot, String holderId) {
            return permits.forceRelease(name, slot, holderId);
        }
    }

    private interface Answers {
        CompletableFuture<AcquireReply> to(int number, AcquireRequest request);
    }

    private final Way way = new Way(new SingleNodeStore(node, runtime));

    private LockClient client(LockStore store, Duration ttl) {
        LockClient client = Leasehold.builder()
                .store(own -> store)
                .listener(listener)
                .defaults(LockOptions.defaults().ttl(ttl))
                .connect();
        clients.add(client);
        return client;
    }

    private Acquirable<MultiPermit> several(int number, int count) {
        return client(way, Duration.ofSeconds(30)).permits(POOL, count).several(number);
    }

    private LockClient other() {
        return client(new SingleNodeStore(node, runtime), Duration.ofSeconds(30));
    }

    private int held() {
        return node.permits()
                .orElseThrow()
                .describe(POOL.asPermits())
                .join()
                .map(status -> status.held().size())
                .orElse(0);
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(end);
            Thread.sleep(2);
        }
    }

    @AfterEach
    void close() {
        clients.forEach(LockClient::close);
        runtime.close();
    }

    private static AcquireReply lost(AcquireRequest request) {
        return new AcquireReply.Failed(
                FailureKind.UNKNOWN, new StoreUnavailableException("the reply was lost: " + request, null), 0);
    }

    @Test
    void aLostReplyInTheMiddleIsAmbiguousAndUndone() {
        way.answers = (number, request) -> number == 2 ? way.performed(request, lost(request)) : null;
        Acquirable<MultiPermit> three = several(3, 4);
        assertThatThrownBy(() -> three.attempt(Duration.ZERO)).isInstanceOf(AmbiguousAcquireException.class);
        assertThat(held()).as("the permit in doubt and the one that was taken").isZero();
        assertThat(events).containsExactly("began", "AMBIGUOUS pool");
    }

    @Test
    void aCallerWithPatienceGetsAllAfterALostReply() throws Exception {
        way.answers = (number, request) -> number == 2 ? way.performed(request, lost(request)) : null;
        MultiPermit three = several(3, 3).tryAcquire(SOON);
        assertThat(three).isNotNull();
        assertThat(three.slots()).containsExactly(0, 1, 2);
        assertThat(held()).isEqualTo(3);
        assertThat(events).containsExactly("began", "ACQUIRED pool");
        assertThat(three.toString()).contains("MultiPermit[slots [0, 1, 2]");
        three.close();
        assertThat(held()).isZero();
    }

    @Test
    void aBusyPoolIsToldOnceNothingIsHeld() throws Exception {
        Permit held = other().permits(POOL, 3).acquire();
        events.clear();
        Attempt<MultiPermit> attempt = several(3, 3).attempt(Duration.ZERO);
        assertThat(attempt).isInstanceOfSatisfying(Attempt.Busy.class, busy -> {
            assertThat(busy.lockName()).isEqualTo(POOL.asPermits());
            assertThat(busy.holder()).isNotNull();
        });
        assertThat(held()).isEqualTo(1);
        assertThat(held.isValid()).isTrue();
        assertThat(events).containsExactly("began", "BUSY pool");
    }

    /** Each permit is given back; one whose release fails is not renewed, so that it ends with its ttl. */
    @Test
    void aPermitThatCannotBeGivenBackEndsWithItsTtl() throws Exception {
        Duration ttl = Duration.ofSeconds(1);
        Permit held = other().permits(POOL, 3).acquire();
        Acquirable<MultiPermit> three = client(way, ttl).permits(POOL, 3).several(3);
        way.failsReleases = true;
        assertThat(three.attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
        assertThat(held()).isEqualTo(3);
        until(() -> held() == 1);
        assertThat(way.renewedAfterwards).isEmpty();
        held.close();
        way.failsReleases = false;
        MultiPermit all = three.tryAcquire(SOON);
        assertThat(all).isNotNull();
    }

    @Test
    void aCallerWaitsOneNodeTimeoutForUnansweredReleases() throws Exception {
        Permit held = other().permits(POOL, 2).acquire();
        Acquirable<MultiPermit> two = client(way, Duration.ofSeconds(2))
                .permits(POOL, 2)
                .with(options -> options.nodeTimeout(Duration.ofMillis(200)))
                .several(2);
        way.swallowsReleases = true;
        long start = System.nanoTime();
        assertThat(two.attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
        until(() -> held() == 1);
        assertThat(way.renewedAfterwards).isEmpty();
        assertThat(held.isValid()).isTrue();
    }

    @Test
    void patienceThatEndsWhileReleasesAreUnansweredEndsTheAttempt() throws Exception {
        Permit held = other().permits(POOL, 2).acquire();
        Acquirable<MultiPermit> two = several(2, 2);
        way.swallowsReleases = true;
        Attempt<MultiPermit> attempt = two.attempt(Duration.ofMillis(200));
        assertThat(attempt).isInstanceOf(Attempt.Busy.class);
        assertThat(way.acquires.get())
                .as("no second round while a permit is held")
                .isEqualTo(2);
        assertThat(held.isValid()).isTrue();
    }

    @Test
    void nothingIsHeldWhileAnAttemptWaits() throws Exception {
        Permit held = other().permits(POOL, 3).acquire();
        CompletableFuture<MultiPermit> waiting = several(3, 3).acquireAsync();
        until(() -> way.acquires.get() > 8);
        LockClient single = other();
        for (int i = 0; i < 2; i++) {
            try (Permit free = single.permits(POOL, 3).tryAcquire(SOON)) {
                assertThat(free).isNotNull();
            }
        }
        assertThat(waiting).isNotDone();
        held.close();
        assertThat(waiting.get(20, TimeUnit.SECONDS).slots()).containsExactly(0, 1, 2);
    }

    @Test
    void anInterruptedCallerHoldsNothing() throws Exception {
        Permit held = other().permits(POOL, 3).acquire();
        Acquirable<MultiPermit> three = several(3, 3);
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try {
                three.acquire();
                ended.complete(null);
            } catch (InterruptedException | RuntimeException e) {
                ended.complete(e);
            }
        });
        caller.start();
        until(() -> way.acquires.get() >= 5);
        caller.interrupt();
        assertThat(ended.get(20, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(held()).isEqualTo(1);
        assertThat(held.isValid()).isTrue();
        assertThat(events).contains("INTERRUPTED pool");
    }

    /** The caller is interrupted after a permit was granted to its attempt, and before the attempt has processed that. */
    @Test
    void anInterruptedCallerWaitsForAPermitThatItsAttemptJustGets() throws Exception {
        CountDownLatch processing = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        CompletableFuture<AcquireReply> reply = new CompletableFuture<>();
        CompletableFuture<AcquireRequest> asked = new CompletableFuture<>();
        way.answers = (number, request) -> {
            asked.complete(request);
            return reply;
        };
        LockClient client = Leasehold.builder()
                .store(own -> way)
                .runtime(pausing(runtime, processing, goesOn))
                .listener(listener)
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(2)).nodeTimeout(Duration.ofSeconds(10)))
                .connect();
        clients.add(client);
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try {
                client.permits(POOL, 3).several(2).acquire();
                ended.complete(null);
            } catch (InterruptedException | RuntimeException e) {
                ended.complete(e);
            }
        });
        caller.start();
        AcquireRequest request = asked.get(20, TimeUnit.SECONDS);
        // Until the caller waits for its result, the caller itself would process an answer.
        until(() -> waitsForItsResult(caller));
        new Thread(() -> way.store.acquire(request).thenAccept(reply::complete).join()).start();
        assertThat(processing.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(held()).isEqualTo(1);
        caller.interrupt();
        until(() -> events.contains("INTERRUPTED pool"));
        until(() -> caller.getState() == Thread.State.WAITING || caller.getState() == Thread.State.TERMINATED);
        assertThat(ended).isNotDone();
        goesOn.countDown();
        assertThat(ended.get(20, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(held()).isZero();
    }

    private static boolean waitsForItsResult(Thread caller) {
        List<String> waitingIn = Stream.of(caller.getStackTrace())
                .map(StackTraceElement::getClassName)
                .toList();
        return waitingIn.contains(CompletableFuture.class.getName())
                && waitingIn.stream().noneMatch(name -> name.endsWith("MultiPermitAttempt"));
    }

    /** A runtime that pauses an attempt for several permits when it begins to process an answer. */
    private static LockRuntime pausing(LockRuntime real, CountDownLatch processing, CountDownLatch goesOn) {
        return (LockRuntime) Proxy.newProxyInstance(
                SeveralPermitsTest.class.getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) -> {
                    boolean processes = method.getName().equals("randomBelow")
                            && StackWalker.getInstance()
                                    .walk(frames -> frames.anyMatch(
                                            frame -> frame.getClassName().endsWith("MultiPermitAttempt")
                                                    && frame.getMethodName().equals("answered")));
                    if (processes && processing.getCount() > 0) {
                        processing.countDown();
                        goesOn.await();
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aCancelledAttemptGivesBackAPermitThatArrivesLate() throws Exception {
        CompletableFuture<AcquireReply> late = new CompletableFuture<>();
        CompletableFuture<AcquireRequest> second = new CompletableFuture<>();
        way.answers = (number, request) -> {
            if (number != 2) {
                return null;
            }
            second.complete(request);
            return late;
        };
        CompletableFuture<MultiPermit> waiting = several(3, 3).acquireAsync();
        AcquireRequest request = second.get(20, TimeUnit.SECONDS);
        assertThat(held()).isEqualTo(1);
        waiting.cancel(false);
        until(() -> held() == 0);
        var unused = new SingleNodeStore(node, runtime).acquire(request).thenAccept(late::complete);
        until(() -> held() == 0);
        assertThat(late).isCompleted();
    }

    @Test
    void aClientThatClosesEndsItsAttempts() throws Exception {
        Permit held = other().permits(POOL, 3).acquire();
        LockClient closing = client(way, Duration.ofSeconds(30));
        CompletableFuture<MultiPermit> waiting =
                closing.permits(POOL, 3).several(3).acquireAsync();
        until(() -> way.acquires.get() >= 5);
        closing.close();
        assertThatThrownBy(waiting::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageContaining("3 permits of \"pool\"");
        assertThat(held()).isEqualTo(1);
        assertThat(held.isValid()).isTrue();
        assertThatThrownBy(() -> closing.permits(POOL, 3).several(2).tryAcquire(Duration.ZERO))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aCountThatChangesInTheMiddleEndsTheAttempt() {
        LockClient operator = other();
        way.answers = (number, request) -> {
            if (number == 2) {
                assertThat(operator.admin().changePermits(POOL, 5, 3)).isTrue();
            }
            return null;
        };
        assertThatThrownBy(() -> several(3, 3).tryAcquire(SOON))
                .isInstanceOfSatisfying(PermitCountException.class, refused -> {
                    assertThat(refused.stated()).isEqualTo(3);
                    assertThat(refused.kept()).isEqualTo(5);
                });
        assertThat(held()).isZero();
    }

    @Test
    void aStoreThatThrowsLeavesNothing() {
        way.answers = (number, request) -> {
            if (number == 2) {
                throw new IllegalArgumentException("a bug of the store");
            }
            return null;
        };
        assertThatThrownBy(() -> several(3, 3).tryAcquire(Duration.ZERO)).isInstanceOf(RuntimeException.class);
        assertThat(held()).isZero();
    }

    // ---- in one step

    @Test
    void oneRequestTakesAllAndOneReleaseGivesThemBack() throws Exception {
        way.inOneStep = true;
        Permit single = other().permits(POOL, 5).acquire();
        events.clear();
        MultiPermit three = several(3, 5).tryAcquire(Duration.ZERO);
        assertThat(three).isNotNull();
        assertThat(way.acquires.get()).isEqualTo(1);
        assertThat(three.slots()).containsExactly(1, 2, 3);
        long first = three.fencingToken(1);
        assertThat(first).isGreaterThan(single.fencingToken());
        assertThat(three.fencingToken(2)).isEqualTo(first + 1);
        assertThat(three.fencingToken(3)).isEqualTo(first + 2);
        assertThat(((MultiPermitHandle) three).parts.get(0).state().asClientHolds(0))
                .as("operators see a hold for each permit")
                .hasSize(3);
        three.renew();
        three.close();
        assertThat(held()).isEqualTo(1);
        assertThat(way.ballots).as("the fence exceeds every token").containsExactly(first + 2);
        assertThat(events).containsExactly("began", "ACQUIRED pool");
    }

    @Test
    void aLostReplyToTheOneRequestIsAmbiguousOrRepeated() throws Exception {
        way.inOneStep = true;
        way.answers = (number, request) -> number < 3 ? way.performed(request, lost(request)) : null;
        Acquirable<MultiPermit> three = several(3, 4);
        assertThatThrownBy(() -> three.attempt(Duration.ZERO)).isInstanceOf(AmbiguousAcquireException.class);
        until(() -> held() == 0);
        MultiPermit held = three.tryAcquire(SOON);
        assertThat(held).isNotNull();
        assertThat(held()).as("the repeated request finds its own").isEqualTo(3);
    }

    @Test
    void permitsOfOneStepAreNotPassedOnWithinTheProcess() throws Exception {
        way.inOneStep = true;
        LockClient client = client(way, Duration.ofSeconds(30));
        MultiPermit all = client.permits(POOL, 3).several(3).acquire();
        CompletableFuture<Permit> one = client.permits(POOL, 3).acquireAsync();
        CompletableFuture<MultiPermit> two = client.permits(POOL, 3).several(2).acquireAsync();
        assertThat(two).isNotDone();
        all.close();
        assertThat(one.get(20, TimeUnit.SECONDS).slot()).isZero();
        assertThat(two.get(20, TimeUnit.SECONDS).slots()).containsExactly(1, 2);
        assertThat(held()).isEqualTo(3);
    }

    @Test
    void aWithdrawnRequestForSeveralLetsThoseBehindItIn() throws Exception {
        way.inOneStep = true;
        Permit held = other().permits(POOL, 3).acquire();
        CompletableFuture<MultiPermit> large = several(3, 3).acquireAsync();
        until(() -> node.waiters(POOL.asPermits(), 10).join().size() == 1);
        CompletableFuture<Permit> small = other().permits(POOL, 3).acquireAsync();
        until(() -> node.waiters(POOL.asPermits(), 10).join().size() == 2);
        assertThat(small).isNotDone();
        large.cancel(false);
        assertThat(small.get(20, TimeUnit.SECONDS).isValid()).isTrue();
        assertThat(held.isValid()).isTrue();
    }

    /** A store that grants fewer than were requested has not understood the request. */
    @Test
    void aGrantOfFewerSlotsIsEnded() throws Exception {
        LockNode fewer = new PassingNode(node) {
            @Override
            public CompletableFuture<NodeReply> acquire(Ballot ballot) {
                return super.acquire(new Ballot(ballot.request(), ballot.candidate(), 1));
            }
        };
        LockClient client = client(new SingleNodeStore(fewer, runtime), Duration.ofSeconds(30));
        assertThatThrownBy(() -> client.permits(POOL, 3).several(2).attempt(Duration.ZERO))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("granted the slots [0]")
                .hasMessageContaining("2 were requested");
        until(() -> held() == 0);
    }

    // ---- large pools, and one process

    /** A thousand answers at once do not exhaust the stack. */
    @Test
    void allPermitsOfALargePoolAreTakenTogether() throws Exception {
        try (MultiPermit all = several(1_000, 1_000).tryAcquire(Duration.ZERO)) {
            assertThat(all).isNotNull();
            assertThat(all.slots()).hasSize(1_000).doesNotHaveDuplicates();
        }
        assertThat(held()).isZero();
    }

    @Test
    void threadsOfOneProcessDoNotBlockEachOther() throws Exception {
        Acquirable<MultiPermit> three = several(3, 4);
        List<CompletableFuture<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            all.add(three.holdWhile(
                    SOON,
                    several -> CompletableFuture.completedFuture(several.slots().size())));
        }
        for (CompletableFuture<Integer> one : all) {
            assertThat(one.get(20, TimeUnit.SECONDS)).isEqualTo(3);
        }
        until(() -> held() == 0);
    }
}
