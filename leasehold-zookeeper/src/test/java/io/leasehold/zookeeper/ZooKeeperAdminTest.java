package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Inspection and forced end of the holds of other clients. */
@Tag("full")
class ZooKeeperAdminTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final LockName ONE = LockName.of("one");
    private static final LockName TWO = LockName.of("two");

    @TempDir
    private Path directory;

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final SteppedRuntime operators = new SteppedRuntime(new SystemLockRuntime());
    private Member member;
    private TcpProxy proxy;
    private ZooKeeper operator;
    private ZooKeeperStore holders;
    private ZooKeeperStore store;

    @BeforeEach
    void open() throws Exception {
        member = new Member(directory);
        proxy = TcpProxy.to(member.port());
        operator = new ZooKeeper("127.0.0.1:" + member.port(), 60_000, event -> {});
        holders = new ZooKeeperStore(uri(member.uri("")), runtime);
        store = new ZooKeeperStore(
                uri(member.uri("").replace(":" + member.port() + "/", ":" + proxy.port() + "/")), operators);
    }

    @AfterEach
    void close() throws Exception {
        proxy.heal();
        holders.close();
        store.close();
        operator.close();
        runtime.close();
        operators.close();
        proxy.close();
        member.close();
    }

    private static ZooKeeperUri uri(String text) {
        return ZooKeeperUri.parse(StoreUri.parse(text));
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private OwnerToken take(LockName name, String holder, Class<? extends AcquireReply> expected) throws Exception {
        OwnerToken by = OwnerToken.draw(runtime);
        AcquireRequest request = AcquireRequest.exclusive(List.of(name), by, holder, TTL.toNanos(), TTL.toNanos());
        assertThat(answer(holders.acquire(request.waiting(TTL.toNanos())))).isInstanceOf(expected);
        return by;
    }

    private OwnerToken held(LockName name) throws Exception {
        return take(name, "holder", AcquireReply.Granted.class);
    }

    private OwnerToken queued(LockName name, String holder) throws Exception {
        return take(name, holder, AcquireReply.Queued.class);
    }

    private ReleaseReply release(OwnerToken by, LockName... names) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(names), by, 0, ReleaseRequest.Kind.RELEASE, TTL.toNanos())));
    }

    private List<String> queue(LockName name) {
        return Znodes.inOrder(member.children("/tests/" + name));
    }

    /** A process that has died has left a record of its owner tokens, or another client of the caller has them. */
    @Test
    void whatAnotherClientHasIsReleasedByItsOwnerToken() throws Exception {
        OwnerToken holder = held(ONE);
        OwnerToken waiter = queued(ONE, "waiter");
        assertThat(release(waiter, ONE)).as("it did not hold").isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue(ONE)).hasSize(1);
        assertThat(release(OwnerToken.draw(runtime), ONE)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue(ONE)).hasSize(1);
        queued(ONE, "waiter");
        assertThat(release(holder, ONE, TWO)).as("one of them").isInstanceOf(ReleaseReply.Released.class);
        assertThat(queue(ONE)).hasSize(1);
    }

    @Test
    void onlyWhatIsHeldIsRenewedForAnotherClient() throws Exception {
        OwnerToken holder = held(ONE);
        OwnerToken waiter = queued(ONE, "waiter");
        List<RenewReply.Item> items = answer(store.renew(new RenewBatch(
                        List.of(
                                new RenewBatch.Item(ONE, waiter, TTL.toNanos()),
                                new RenewBatch.Item(ONE, holder, TTL.toNanos()),
                                new RenewBatch.Item(TWO, holder, TTL.toNanos())),
                        TTL.toNanos())))
                .items();
        assertThat(items.get(0)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(items.get(1)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(items.get(2)).isInstanceOf(RenewReply.NotOurs.class);
    }

    /** A waiter that the store knows holds nothing either. */
    @Test
    void aWaiterIsNotRenewed() throws Exception {
        OwnerToken holder = held(ONE);
        OwnerToken waiter = queued(ONE, "waiter");
        List<RenewReply.Item> items = answer(holders.renew(new RenewBatch(
                        List.of(
                                new RenewBatch.Item(ONE, waiter, TTL.toNanos()),
                                new RenewBatch.Item(ONE, holder, TTL.toNanos())),
                        TTL.toNanos())))
                .items();
        assertThat(items.get(0)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(items.get(1)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void waitersAreToldInTheirOrderUpToTheLimit() throws Exception {
        held(ONE);
        for (int i = 1; i <= 3; i++) {
            queued(ONE, "waiter-" + i);
        }
        assertThat(answer(store.admin().waiters(ONE, 2)))
                .extracting(QueuedWaiter::holderId)
                .containsExactly("waiter-1", "waiter-2");
        assertThat(answer(store.admin().waiters(ONE, 9))).hasSize(3);
        assertThat(answer(store.admin().waiters(TWO, 9))).isEmpty();
    }

    @Test
    void aHolderIsToldAndWhetherItEndsByItself() throws Exception {
        held(ONE);
        long czxid = operator.exists("/tests/one/" + queue(ONE).get(0), false).getCzxid();
        Holder holder = answer(store.admin().describe(ONE)).orElseThrow().holder();
        assertThat(holder.id()).isEqualTo("holder");
        assertThat(holder.remainingTtl()).isNull();
        assertThat(holder.fencingToken()).hasValue(czxid);
        assertThat(holder.ends()).isEqualTo(Holder.Ends.WITH_SESSION);
        ZooKeeperStore based = new ZooKeeperStore(uri(member.uri("&tokenBase=1000000")), operators);
        assertThat(answer(based.admin().describe(ONE)).orElseThrow().holder().fencingToken())
                .hasValue(1_000_000 + czxid);
        based.close();
        operator.create("/tests/two", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        operator.create(
                "/tests/two/x-lock-",
                "by hand".getBytes(StandardCharsets.UTF_8),
                ZooDefs.Ids.OPEN_ACL_UNSAFE,
                CreateMode.PERSISTENT_SEQUENTIAL);
        Holder stranger = answer(store.admin().describe(TWO)).orElseThrow().holder();
        assertThat(stranger.id()).isEqualTo("by hand");
        assertThat(stranger.ends()).isEqualTo(Holder.Ends.NEVER);
    }

    @Test
    void locksAreListedByNameUpToTheLimit() throws Exception {
        held(TWO);
        held(ONE);
        queued(ONE, "waiter");
        release(held(LockName.of("a-free-one")), LockName.of("a-free-one"));
        assertThat(answer(store.admin().list("*", 9)))
                .extracting(HeldLock::name)
                .containsExactly(ONE, TWO);
        assertThat(answer(store.admin().list("*", 1)))
                .extracting(HeldLock::name)
                .containsExactly(ONE);
        assertThat(answer(store.admin().list("t*", 9)))
                .extracting(HeldLock::name)
                .containsExactly(TWO);
        assertThat(answer(store.admin().list("*", 9)).get(0).holder().id()).isEqualTo("holder");
    }

    /** All clients see that there is none, and one of them writes it. */
    @Test
    void manyClientsWriteTheBaseAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<ZooKeeperStore> stores = new ArrayList<>();
        try {
            for (int round = 0; round < 5; round++) {
                List<Future<?>> verified = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    ZooKeeperStore one =
                            new ZooKeeperStore(uri(member.uri("").replace("/tests", "/fresh/" + round)), operators);
                    stores.add(one);
                    verified.add(threads.submit(() -> one.verify(() -> {})));
                }
                for (Future<?> one : verified) {
                    one.get(60, TimeUnit.SECONDS);
                }
            }
            ZooKeeperStore another =
                    new ZooKeeperStore(uri(member.uri("&tokenBase=7").replace("/tests", "/fresh/1")), operators);
            stores.add(another);
            assertThatThrownBy(() -> another.verify(() -> {}))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("tokenBase is 7")
                    .hasMessageContaining("\"tokenBase=0\"");
        } finally {
            threads.shutdownNow();
            stores.forEach(ZooKeeperStore::close);
        }
    }

    @Test
    void aQuestionThatIsNotAnsweredHasAnEnd() throws Exception {
        answer(store.admin().describe(ONE));
        proxy.stall();
        CompletableFuture<?> described = store.admin().describe(ONE);
        operators.advance(Duration.ofSeconds(10).minusMillis(1));
        assertThat(described).isNotDone();
        operators.advance(Duration.ofMillis(1));
        assertThatThrownBy(() -> answer(described))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("inspection of \"one\"")
                .hasMessageContaining("10000 ms");
        CompletableFuture<?> listed = store.admin().list("*", 1);
        operators.advance(Duration.ofSeconds(60).minusMillis(1));
        assertThat(listed).isNotDone();
        operators.advance(Duration.ofMillis(1));
        assertThatThrownBy(() -> answer(listed)).hasMessageContaining("60000 ms");
    }

    @Test
    void aReleaseByForceTakesTheFirstAlone() throws Exception {
        held(ONE);
        queued(ONE, "waiter");
        assertThat(answer(store.admin().forceRelease(ONE, "waiter"))).isFalse();
        assertThat(queue(ONE)).hasSize(2);
        assertThat(answer(store.admin().forceRelease(ONE, "holder"))).isTrue();
        assertThat(answer(store.admin().describe(ONE)).orElseThrow().holder().id())
                .isEqualTo("waiter");
        assertThat(answer(store.admin().forceRelease(TWO, null))).isFalse();
    }
}
