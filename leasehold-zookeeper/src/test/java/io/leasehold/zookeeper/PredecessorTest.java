package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each way in which the node before a waiter's goes, and the reaction of the waiter. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
class PredecessorTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private Member member;
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeEach
    void start() {
        member = new Member(directory);
    }

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
        member.close();
    }

    private LockClient client(Duration ttl) {
        return client(member.uri(""), ttl);
    }

    private LockClient client(String uri, Duration ttl) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client = Leasehold.builder().store(uri).defaults(options).connect();
        open.add(client);
        return client;
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    /** The nodes of a queue, in the order of arrival. */
    private List<String> queue(String lock) {
        return Znodes.inOrder(member.children("/tests/" + lock));
    }

    @Test
    void aWaiterThatIsGoneWithItsSessionMakesNobodyPause() throws Exception {
        LockClient holder = client(Duration.ofSeconds(20));
        LockClient last = client(Duration.ofSeconds(20));
        long fastestNanos = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            String lock = "left-" + round;
            Lease lease = holder.named(lock).acquire();
            assertThat(client(Duration.ofSeconds(20)).named(lock).acquireAsync())
                    .isNotDone();
            until(() -> queue(lock).size() == 2);
            CompletableFuture<Long> next = last.named(lock).acquireAsync().thenApply(later -> {
                long atNanos = System.nanoTime();
                later.close();
                return atNanos;
            });
            until(() -> queue(lock).size() == 3);
            // The holder and both waiters watch a node each.
            until(() -> member.watches() >= 3);
            member.killSessionOf("/tests/" + lock + "/" + queue(lock).get(1));
            until(() -> queue(lock).size() == 2);
            LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
            long releasedAtNanos = System.nanoTime();
            lease.release();
            fastestNanos = Math.min(fastestNanos, next.get(60, TimeUnit.SECONDS) - releasedAtNanos);
            open.remove(open.size() - 1).close();
        }
        assertThat(Duration.ofNanos(fastestNanos))
                .as("the fastest of five hand-overs behind a waiter that was lost")
                .isLessThan(Duration.ofSeconds(2));
    }

    @Test
    void aHolderThatIsCutOffHasLostBeforeItsNodeIsFree() throws Exception {
        Duration ttl = Duration.ofSeconds(2);
        int port = Integer.parseInt(member.uri("").replaceAll("zk://127.0.0.1:([0-9]+)/.*", "$1"));
        TcpProxy proxy = TcpProxy.to(port);
        open.add(proxy);
        LockClient holder = client(member.uri("").replace(":" + port + "/", ":" + proxy.port() + "/"), ttl);
        LockClient waiter = client(ttl);
        for (int round = 0; round < 2; round++) {
            String lock = "cut-" + round;
            Lease lease = holder.named(lock).acquire();
            CompletableFuture<Boolean> two = waiter.named(lock).acquireAsync().thenApply(later -> {
                boolean both = lease.isValid();
                later.close();
                return both;
            });
            until(() -> queue(lock).size() == 2);
            proxy.stall();
            assertThat(two.get(60, TimeUnit.SECONDS)).as("two hold at once").isFalse();
            proxy.resume();
            proxy.resetAll();
        }
    }

    @Test
    void aSessionThatWeCloseIsOverForItsHoldersBeforeItsNodesGo() throws Exception {
        List<Boolean> thereWhenTold = new CopyOnWriteArrayList<>();
        Session.Listener listener = new Session.Listener() {
            @Override
            public void suspended(Session session) {}

            @Override
            public void resumed(Session session) {}

            @Override
            public void ended(Session session) {
                thereWhenTold.add(member.children("/").contains("mine"));
            }
        };
        ZooKeeperUri uri = ZooKeeperUri.parse(StoreUri.parse(member.uri("")));
        Session session =
                Session.open(uri, VirtualRuntime.seeded(1), 20_000, new Driver(uri, new ZKClientConfig()), listener);
        session.connected().get(60, TimeUnit.SECONDS);
        session.create("/mine", new byte[0], CreateMode.EPHEMERAL).get(60, TimeUnit.SECONDS);
        session.close(60_000);
        assertThat(thereWhenTold).containsExactly(true);
        until(() -> !member.children("/").contains("mine"));
    }

    @Test
    void aReleaseNeedsNoMoreThanTheRightsThatAreDocumented() throws Exception {
        String address = member.uri("").replaceAll("zk://([^/]*)/.*", "$1");
        ZooKeeper operator = new ZooKeeper(address, 30_000, event -> {});
        open.add(operator);
        operator.addAuthInfo("digest", "app:secret".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        int createReadDelete = ZooDefs.Perms.CREATE | ZooDefs.Perms.READ | ZooDefs.Perms.DELETE;
        // The driver checks whether the list contains null, and List.of throws on that check.
        List<ACL> cdr = Collections.singletonList(new ACL(createReadDelete, ZooDefs.Ids.AUTH_IDS));
        operator.create("/rights", new byte[0], cdr, CreateMode.PERSISTENT);
        operator.create("/rights/mine", new byte[0], cdr, CreateMode.PERSISTENT);
        LockClient locks = client("zk://app:secret@" + address + "/rights?tickTime=100ms", Duration.ofSeconds(20));
        LockClient others = client("zk://app:secret@" + address + "/rights?tickTime=100ms", Duration.ofSeconds(20));
        Lease lease = locks.named("mine").acquire();
        CompletableFuture<Lease> waiter = others.named("mine").acquireAsync();
        until(() -> member.children("/rights/mine").size() == 2);
        waiter.cancel(false);
        until(() -> member.children("/rights/mine").size() == 1);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(locks.admin().inspect(LockName.of("mine"))).isEmpty();
    }

    /** The ensemble checks the right to create at the parent before it looks whether the chroot exists. */
    @Test
    void theFirstClientNeedsNoRightAtTheParentOfItsChroot() throws Exception {
        String address = member.uri("").replaceAll("zk://([^/]*)/.*", "$1");
        ZooKeeper operator = new ZooKeeper(address, 30_000, event -> {});
        open.add(operator);
        operator.addAuthInfo("digest", "app:secret".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        int createReadDelete = ZooDefs.Perms.CREATE | ZooDefs.Perms.READ | ZooDefs.Perms.DELETE;
        operator.create(
                "/closed",
                new byte[0],
                Collections.singletonList(new ACL(createReadDelete, ZooDefs.Ids.AUTH_IDS)),
                CreateMode.PERSISTENT);
        List<ACL> before = operator.getACL("/", null);
        int read = ZooDefs.Perms.READ | ZooDefs.Perms.ADMIN;
        operator.setACL("/", Collections.singletonList(new ACL(read, ZooDefs.Ids.ANYONE_ID_UNSAFE)), -1);
        try {
            LockClient locks = client("zk://app:secret@" + address + "/closed?tickTime=100ms", Duration.ofSeconds(20));
            assertThat(locks.named("x").acquire().release()).isEqualTo(ReleaseOutcome.RELEASED);
        } finally {
            operator.setACL("/", before, -1);
        }
    }

    @Test
    void aWaiterThatAsksOftenIsWokenOnce() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        open.add(runtime::close);
        ZooKeeperStore store = new ZooKeeperStore(ZooKeeperUri.parse(StoreUri.parse(member.uri(""))), runtime);
        open.add(0, store);
        CountedWakes wakes = new CountedWakes();
        store.listen(wakes);
        LockName lock = LockName.of("often");
        AcquireRequest first = AcquireRequest.exclusive(
                List.of(lock), OwnerToken.draw(runtime), "first", PATIENCE.toNanos(), PATIENCE.toNanos());
        AcquireRequest second = AcquireRequest.exclusive(
                        List.of(lock), OwnerToken.draw(runtime), "second", PATIENCE.toNanos(), PATIENCE.toNanos())
                .waiting(PATIENCE.toNanos());
        assertThat(store.acquire(first).get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
        for (int i = 0; i < 5; i++) {
            assertThat(store.acquire(second).get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Queued.class);
        }
        until(() -> queue("often").size() == 2);
        store.release(new ReleaseRequest(
                        List.of(lock), first.owner(), 0, ReleaseRequest.Kind.RELEASE, PATIENCE.toNanos()))
                .get(60, TimeUnit.SECONDS);
        until(() -> wakes.count.get() > 0);
        assertThat(store.acquire(second).get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(wakes.count).as("times that the waiter was woken").hasValue(1);
    }

    private static final class CountedWakes implements StoreSignals {
        private final AtomicInteger count = new AtomicInteger();

        @Override
        public void wake(LockName name) {
            count.incrementAndGet();
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {}

        @Override
        public void reconnected() {}
    }

    @Test
    void aReleaseByForceIsToldAlsoAfterAStrangerWroteToTheNode() throws Exception {
        // No renewal comes within the test.
        Lease lease = client(Duration.ofMinutes(20)).named("written").acquire();
        until(() -> member.watches() == 1);
        String node = "/tests/written/" + queue("written").get(0);
        ZooKeeper stranger = new ZooKeeper(member.uri("").replaceAll("zk://([^/]*)/.*", "$1"), 30_000, event -> {});
        open.add(stranger);
        stranger.setData(node, new byte[] {1}, -1);
        until(() -> member.watches() == 1);
        stranger.delete(node, -1);
        until(() -> !lease.isValid());
    }
}
