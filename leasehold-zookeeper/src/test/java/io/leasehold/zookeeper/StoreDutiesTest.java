package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The duties of the store when connections break and sessions end, and the times from which it counts. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
class StoreDutiesTest {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final LockName LOCK = LockName.of("duty");

    @TempDir
    private Path directory;

    private Member member;
    private TcpProxy proxy;
    private final Ear ear = new Ear();
    private final Hooked runtime = new Hooked();
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeEach
    void start() {
        member = new Member(directory);
        proxy = TcpProxy.to(member.port());
    }

    @AfterEach
    void stop() throws Exception {
        proxy.heal();
        for (AutoCloseable one : open) {
            one.close();
        }
        runtime.close();
        proxy.close();
        member.close();
    }

    /** The real runtime, with a callback before each timer is set. */
    private static final class Hooked implements LockRuntime {
        private final LockRuntime world = new SystemLockRuntime();
        private volatile Runnable hook = () -> {};

        @Override
        public long nanoTime() {
            return world.nanoTime();
        }

        @Override
        public long wallMillis() {
            return world.wallMillis();
        }

        @Override
        public Timer schedule(long delayNanos, Runnable task) {
            hook.run();
            return world.schedule(delayNanos, task);
        }

        @Override
        public void execute(Runnable task) {
            world.execute(task);
        }

        @Override
        public void randomBytes(byte[] bytes) {
            world.randomBytes(bytes);
        }

        @Override
        public long randomBelow(long bound) {
            return world.randomBelow(bound);
        }

        @Override
        public void await(CompletableFuture<?> future) throws InterruptedException {
            world.await(future);
        }

        @Override
        public void close() {
            world.close();
        }
    }

    private static final class Ear implements StoreSignals {
        private final AtomicInteger wakes = new AtomicInteger();
        private final AtomicInteger reconnected = new AtomicInteger();
        private final AtomicInteger suspended = new AtomicInteger();
        private final CompletableFuture<LossCause> lost = new CompletableFuture<>();

        @Override
        public void wake(LockName name) {
            wakes.incrementAndGet();
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            lost.complete(cause);
        }

        @Override
        public void suspended(OwnerToken owner) {
            suspended.incrementAndGet();
        }

        @Override
        public void reconnected() {
            reconnected.incrementAndGet();
        }
    }

    private String uri(String options) {
        return member.uri(options).replace(":" + member.port() + "/", ":" + proxy.port() + "/");
    }

    private ZooKeeperStore store(String uri) {
        ZooKeeperStore store = new ZooKeeperStore(ZooKeeperUri.parse(StoreUri.parse(uri)), runtime);
        open.add(store);
        return store;
    }

    /** The store whose connection breaks. */
    private ZooKeeperStore store() {
        ZooKeeperStore store = store(uri(""));
        store.listen(ear);
        return store;
    }

    private ZooKeeper operator() throws Exception {
        ZooKeeper operator = new ZooKeeper("127.0.0.1:" + member.port(), 30_000, event -> {});
        open.add(operator);
        return operator;
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as("not in time")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static AcquireRequest request(LockName name, OwnerToken by, Duration ttl) {
        return AcquireRequest.exclusive(List.of(name), by, "tester", ttl.toNanos(), LIMIT.toNanos());
    }

    private static AcquireRequest waiting(OwnerToken by) {
        return request(LOCK, by, TTL).waiting(Duration.ofMinutes(5).toNanos());
    }

    private static AcquireReply.Granted granted(ZooKeeperStore at, OwnerToken by) throws Exception {
        AcquireReply reply = answer(at.acquire(request(LOCK, by, TTL)));
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return (AcquireReply.Granted) reply;
    }

    private static void queued(ZooKeeperStore at, OwnerToken by) throws Exception {
        assertThat(answer(at.acquire(waiting(by)))).isInstanceOf(AcquireReply.Queued.class);
    }

    private static ReleaseReply release(ZooKeeperStore at, LockName name, OwnerToken by) throws Exception {
        return answer(
                at.release(new ReleaseRequest(List.of(name), by, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos())));
    }

    private static List<RenewReply.Item> renew(ZooKeeperStore at, List<RenewBatch.Item> items) throws Exception {
        return answer(at.renew(new RenewBatch(items, LIMIT.toNanos()))).items();
    }

    private List<String> queue() {
        return Znodes.inOrder(member.children("/tests/" + LOCK));
    }

    // ---- from when is counted

    /** The time that the leader may not have heard of is not sure. */
    @Test
    void whatTheLeaderMayNotHaveHeardIsNotCounted() throws Exception {
        ZooKeeperStore store = store(member.uri("&sessionTimeout=10s"));
        AcquireReply reply = answer(store.acquire(request(LOCK, owner(), Duration.ofSeconds(9))));
        long afterNanos = runtime.nanoTime();
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        // A third of the timeout between two pings, and a tick of 100 ms, are not sure: 6567 ms of the 9 s are.
        long leastNanos = Duration.ofMillis(9_000 - 6_567).toNanos();
        assertThat(((AcquireReply.Granted) reply).grant().sentAtNanos() - afterNanos)
                .isLessThanOrEqualTo(-leastNanos);
    }

    @Test
    void whatAnotherClientHoldsWithTheOwnerTokenIsNotPromised() throws Exception {
        OwnerToken owner = owner();
        granted(store(member.uri("")), owner);
        ZooKeeperStore other = store(member.uri(""));
        RenewReply.Item item = renew(other, List.of(new RenewBatch.Item(LOCK, owner, TTL.toNanos())))
                .get(0);
        long afterNanos = runtime.nanoTime();
        assertThat(item).isInstanceOf(RenewReply.Renewed.class);
        assertThat(((RenewReply.Renewed) item).sentAtNanos() - afterNanos).isLessThanOrEqualTo(-TTL.toNanos());
    }

    /** A member that is reached later may grant less. */
    @Test
    void theTimeoutThatCountsIsThatOfTheLastConnection() throws Exception {
        Session.Listener nobody = new Session.Listener() {
            @Override
            public void suspended(Session session) {}

            @Override
            public void resumed(Session session) {}

            @Override
            public void ended(Session session) {}
        };
        ZooKeeperUri uri = ZooKeeperUri.parse(StoreUri.parse(member.uri("")));
        Session session =
                Session.open(uri, VirtualRuntime.seeded(1), 20_000, new Driver(uri, new ZKClientConfig()), nobody);
        open.add(() -> session.close(1_000));
        answer(session.connected());
        assertThat(session.timeoutNanos()).isEqualTo(Duration.ofSeconds(20).toNanos());
        member.mostSession(10_000);
        member.cutConnections();
        until(() -> session.timeoutNanos() == Duration.ofSeconds(10).toNanos());
    }

    // ---- connections that break

    /** The node was made, and its client got no answer. */
    @Test
    void aNodeWhoseMakingWasNotAnsweredIsRemoved() throws Exception {
        ZooKeeperStore store = store();
        OwnerToken warm = owner();
        granted(store, warm);
        release(store, LOCK, warm);
        OwnerToken owner = owner();
        proxy.toClient().stall();
        CompletableFuture<AcquireReply> asked = store.acquire(waiting(owner));
        until(() -> queue().size() == 1);
        proxy.resetAll();
        proxy.resume();
        assertThat(answer(asked)).isInstanceOf(AcquireReply.Failed.class);
        release(store, LOCK, owner);
        until(() -> queue().isEmpty());
        until(() -> store.attempts() == 0);
    }

    /** It keeps its place if the attempt asks again. */
    @Test
    void aNodeWhoseMakingWasNotAnsweredIsFoundAgain() throws Exception {
        ZooKeeperStore store = store();
        OwnerToken first = owner();
        granted(store, first);
        OwnerToken owner = owner();
        proxy.toClient().stall();
        CompletableFuture<AcquireReply> asked = store.acquire(waiting(owner));
        until(() -> queue().size() == 2);
        String made = queue().get(1);
        proxy.resetAll();
        proxy.resume();
        assertThat(answer(asked)).isInstanceOf(AcquireReply.Failed.class);
        until(() -> ear.reconnected.get() > 0);
        queued(store, owner);
        assertThat(queue().get(1)).isEqualTo(made);
    }

    @Test
    void itIsToldThatTheConnectionIsThereAgain() throws Exception {
        ZooKeeperStore store = store();
        granted(store, owner());
        for (int i = 1; i <= 3; i++) {
            int times = i;
            proxy.resetAll();
            until(() -> ear.reconnected.get() == times);
            assertThat(ear.suspended).hasValue(times);
        }
    }

    /** A client that is cut off knows nothing of the queue. */
    @Test
    void aRecheckIsNotAnsweredFromMemoryWhileTheConnectionIsGone() throws Exception {
        granted(store(member.uri("")), owner());
        ZooKeeperStore store = store();
        OwnerToken waiter = owner();
        AcquireRequest often = request(LOCK, waiter, TTL).waiting(2);
        assertThat(answer(store.acquire(often))).isInstanceOf(AcquireReply.Queued.class);
        assertThat(answer(store.acquire(often))).isInstanceOf(AcquireReply.Queued.class);
        proxy.refuseConnections().resetAll();
        until(() -> {
            try {
                return answer(store.acquire(often)) instanceof AcquireReply.Failed;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void theRemovalIsRepeatedUntilItSucceeds() throws Exception {
        ZooKeeperStore store = store();
        OwnerToken holder = owner();
        granted(store, holder);
        proxy.refuseConnections().resetAll();
        assertThat(release(store, LOCK, holder)).isInstanceOf(ReleaseReply.Failed.class);
        // Several repetitions, one a second.
        LockSupport.parkNanos(Duration.ofSeconds(5).toNanos());
        assertThat(store.attempts()).isEqualTo(1);
        proxy.acceptConnections();
        // The session, and with it the node, would live for more than a minute.
        until(() -> queue().isEmpty());
        until(() -> store.attempts() == 0);
    }

    // ---- sessions

    @Test
    void aWaiterWhoseSessionEndedIsToldToAskAnew() throws Exception {
        granted(store(member.uri("")), owner());
        ZooKeeperStore store = store();
        OwnerToken waiter = owner();
        queued(store, waiter);
        for (int i = 1; i <= 2; i++) {
            int times = i;
            member.killSessionOf("/tests/" + LOCK + "/" + queue().get(1));
            until(() -> ear.wakes.get() == times);
            queued(store, waiter);
            assertThat(queue()).hasSize(2);
        }
        assertThat(store.attempts()).isEqualTo(1);
    }

    @Test
    void aSessionInWhichALeaseLivesIsNotClosedForAnother() throws Exception {
        ZooKeeperStore store = store();
        List<RenewBatch.Item> held = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            LockName name = LockName.of("one-of-many-" + i);
            Duration ttl = Duration.ofSeconds(60 + i);
            OwnerToken by = owner();
            assertThat(answer(store.acquire(request(name, by, ttl)))).isInstanceOf(AcquireReply.Granted.class);
            held.add(new RenewBatch.Item(name, by, ttl.toNanos()));
        }
        LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
        assertThat(ear.lost).isNotDone();
        assertThat(renew(store, held)).allMatch(RenewReply.Renewed.class::isInstance);
        assertThat(member.sessions()).isEqualTo(12);
    }

    @Test
    void sessionsInWhichNothingLivesAreClosedInTheEnd() throws Exception {
        ZooKeeperStore store = store();
        for (int i = 0; i < 12; i++) {
            heldFor(store, Duration.ofSeconds(60 + i));
        }
        // After 10 s. Before that, a request might still be about to use one of them.
        until(() -> member.sessions() <= 8);
        store.admin().list("*", 10).get(60, TimeUnit.SECONDS);
        store.close();
        until(() -> member.sessions() == 0);
    }

    private void heldFor(ZooKeeperStore store, Duration ttl) throws Exception {
        LockName name = LockName.of("held-for-" + ttl);
        OwnerToken by = owner();
        long limitNanos = Duration.ofSeconds(10).toNanos();
        assertThat(answer(store.acquire(
                        AcquireRequest.exclusive(List.of(name), by, "tester", ttl.toNanos(), limitNanos))))
                .isInstanceOf(AcquireReply.Granted.class);
        release(store, name, by);
        until(() -> store.attempts() == 0);
    }

    @Test
    void aThreadThatIsInterruptedWhileItClosesStaysInterrupted() throws Exception {
        ZooKeeperStore store = store();
        granted(store, owner());
        Thread.currentThread().interrupt();
        store.close();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aThreadThatIsInterruptedWhileItConnectsStaysInterrupted() {
        proxy.stall();
        ZooKeeperStore store = store();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> store.verify(() -> {}))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
    }

    // ---- many, and what happens in between

    @Test
    void whichOfManyIsGoneIsToldOfThat() throws Exception {
        ZooKeeperStore store = store();
        List<RenewBatch.Item> items = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            LockName name = LockName.of("part-" + i);
            OwnerToken by = owner();
            assertThat(answer(store.acquire(request(name, by, TTL)))).isInstanceOf(AcquireReply.Granted.class);
            items.add(new RenewBatch.Item(name, by, TTL.toNanos()));
        }
        ZooKeeper operator = operator();
        // While no event can report it.
        proxy.toClient().stall();
        for (int gone : new int[] {1, 2}) {
            String path = "/tests/part-" + gone;
            operator.delete(path + "/" + member.children(path).get(0), -1);
        }
        CompletableFuture<RenewReply> asked = store.renew(new RenewBatch(items, LIMIT.toNanos()));
        proxy.resume();
        assertThat(answer(asked).items().stream().map(RenewReply.Renewed.class::isInstance))
                .containsExactly(true, false, false, true);
    }

    /** The paths exceed the limit of the members for one request, which would end the connection. */
    @Test
    void renewalsOfManyLongNamesGoInParts() throws Exception {
        ZooKeeperStore store = store();
        String padding = "x".repeat(400);
        List<RenewBatch.Item> items = new ArrayList<>();
        List<CompletableFuture<AcquireReply>> replies = new ArrayList<>();
        for (int i = 0; i < 2_600; i++) {
            LockName name = LockName.of(padding + i);
            OwnerToken by = owner();
            items.add(new RenewBatch.Item(name, by, TTL.toNanos()));
            replies.add(store.acquire(AcquireRequest.exclusive(
                    List.of(name),
                    by,
                    "tester",
                    TTL.toNanos(),
                    Duration.ofMinutes(2).toNanos())));
        }
        for (CompletableFuture<AcquireReply> reply : replies) {
            assertThat(reply.get(3, TimeUnit.MINUTES)).isInstanceOf(AcquireReply.Granted.class);
        }
        assertThat(renew(store, items)).allMatch(RenewReply.Renewed.class::isInstance);
        assertThat(ear.suspended).hasValue(0);
    }

    /** Before its own node is watched. */
    @Test
    void aReleaseByForceRightAfterTheGrantIsTold() throws Exception {
        ZooKeeperStore store = store();
        ZooKeeper operator = operator();
        OwnerToken holder = owner();
        AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
        // The grant is the first to set a timer once there is a node: it ends earlier than the patience for its
        // request.
        runtime.hook = () -> {
            try {
                for (String node : queue()) {
                    operator.delete("/tests/" + LOCK + "/" + node, -1);
                }
            } catch (InterruptedException | KeeperException | RuntimeException e) {
                failed.set(e);
            }
        };
        assertThat(answer(store.acquire(waiting(holder)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(failed).hasValue(null);
        assertThat(ear.lost.get(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
    }

    /** An attempt that does not wait checks the queue before it joins. */
    @Test
    void anAttemptThatIsToldBusyHasNotQueued() throws Exception {
        ZooKeeperStore store = store();
        granted(store, owner());
        int before = member.changesBelow("/tests/" + LOCK);
        // An attempt that has not ended is remembered for as long as its request may take.
        AcquireRequest slow = AcquireRequest.exclusive(
                List.of(LOCK),
                owner(),
                "tester",
                TTL.toNanos(),
                Duration.ofMinutes(10).toNanos());
        assertThat(answer(store.acquire(slow))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(member.changesBelow("/tests/" + LOCK)).isEqualTo(before);
        until(() -> store.attempts() == 1);
    }
}
