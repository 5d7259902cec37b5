package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.Leak;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.SetArgs;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the duties of a node in addition to its requests: second checks, limits, and wake-ups of its own client. */
@Tag("quick")
final class NodeDutiesTest {

    private static final LockName NAME = LockName.of("x");
    private static final String LOCK = KeyLayout.standard().lock(NAME);
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long SECOND_LOOK_NANOS = TimeUnit.SECONDS.toNanos(4);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime real = new SystemLockRuntime();
    private Runnable beforeTheSecondLook = () -> {};
    private final List<Long> delays = new CopyOnWriteArrayList<>();
    /** The second check runs at once, after the step that the test inserts. */
    private final LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
            NodeDutiesTest.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("schedule") && arguments[0].equals(SECOND_LOOK_NANOS)) {
                    beforeTheSecondLook.run();
                    return real.schedule(0, (Runnable) arguments[1]);
                }
                if (method.getName().equals("schedule")) {
                    delays.add((Long) arguments[0]);
                }
                return method.invoke(real, arguments);
            });

    private final RedisErrors errors = new RedisErrors("the server");
    private final List<LockName> woken = new ArrayList<>();
    private Topology topology;

    @BeforeEach
    void open() throws Exception {
        Deployment where = Deployment.parse(StoreUri.parse(SERVER.server().uri()));
        topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), errors, runtime);
        topology.open().get(60, TimeUnit.SECONDS);
    }

    @AfterEach
    void close() throws Exception {
        topology.close();
        real.close();
    }

    private RedisNode node(boolean member) {
        NodeSettings settings = member
                ? NodeSettings.ofMember(RedisGuarantees.single(false))
                : NodeSettings.standard(RedisGuarantees.single(false));
        RedisNode node = new RedisNode("the server", settings, topology, errors, runtime);
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        return node;
    }

    private List<Leak> leaks(Runnable before) throws Exception {
        beforeTheSecondLook = before;
        SERVER.redis().set(KeyLayout.queued(LOCK), "2 1 1 0", SetArgs.Builder.px(60_000));
        return node(false).operations().leaks().get(60, TimeUnit.SECONDS);
    }

    @Test
    void waitersOfALockThatStaysFreeAreStuck() throws Exception {
        assertThat(leaks(() -> {}))
                .extracting(Leak::kind, Leak::subject)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(Leak.Kind.WAITERS_STUCK, "x"));
    }

    @Test
    void aQueueThatIsEmptyByTheSecondLookIsNoLeak() throws Exception {
        assertThat(leaks(() -> SERVER.redis().del(KeyLayout.queued(LOCK)))).isEmpty();
    }

    @Test
    void aLockThatIsTakenByTheSecondLookIsNoLeak() throws Exception {
        assertThat(leaks(() -> SERVER.redis().set(LOCK, "held"))).isEmpty();
    }

    @Test
    void aListEndsAtItsLimitWithTheNamesThatComeFirst() throws Exception {
        for (String name : List.of("c", "a", "b")) {
            SERVER.redis().set(KeyLayout.standard().lock(LockName.of(name)), "held");
        }
        for (int limit = -1; limit <= 4; limit++) {
            assertThat(node(false).admin().list("*", limit).get(60, TimeUnit.SECONDS))
                    .as("limit %s", limit)
                    .extracting(record -> record.name().text())
                    .containsExactlyElementsOf(List.of("a", "b", "c").subList(0, Math.max(0, Math.min(3, limit))));
        }
    }

    @Test
    void aListOfManyLocksIsWhole() throws Exception {
        List<String> names = IntStream.range(100, 141).mapToObj(i -> "n" + i).toList();
        names.forEach(name -> SERVER.redis().set(KeyLayout.standard().lock(LockName.of(name)), "held"));
        List<Long> seen = new ArrayList<>();
        RedisNode node = node(false);
        node.operations().onProgress(seen::add);
        for (int limit : new int[] {19, 20, 21, 40, 41}) {
            assertThat(node.admin().list("n*", limit).get(60, TimeUnit.SECONDS))
                    .extracting(record -> record.name().text())
                    .containsExactlyElementsOf(names.subList(0, limit));
        }
        assertThat(seen).isNotEmpty().allMatch(keys -> keys > 0 && keys % 100 == 0);
    }

    /** A script blocks all other clients. */
    @Test
    void noMoreThanAHundredLocksAreTakenAtOnce() {
        List<LockName> names =
                IntStream.range(0, 101).mapToObj(i -> LockName.of("n" + i)).toList();
        assertThat(node(false).isAtomicOver(names.subList(0, 100))).isTrue();
        assertThat(node(false).isAtomicOver(names)).isFalse();
    }

    /** The content of a record must not matter, since other clients could write it. */
    @Test
    void nothingIsPublishedButToAChannelOfAClient() throws Exception {
        for (String channel : List.of("news", "", "-")) {
            SERVER.redis().set(LOCK, "01".repeat(OwnerToken.BYTES) + ":5:h");
            SERVER.redis().set(KeyLayout.client("h"), channel + "\nrecord");
            SERVER.redis().configResetstat();
            assertThat(node(false).admin().forceRelease(NAME, null).get(60, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(SERVER.redis().info("commandstats")).as(channel).doesNotContain("cmdstat_publish");
        }
        SERVER.redis().set(LOCK, "01".repeat(OwnerToken.BYTES) + ":5:h");
        SERVER.redis().set(KeyLayout.client("h"), "lock:wake:h\nrecord");
        node(false).admin().forceRelease(NAME, null).get(60, TimeUnit.SECONDS);
        assertThat(SERVER.redis().info("commandstats")).contains("cmdstat_publish");
    }

    private static AcquireRequest waiting(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "h", LIMIT_NANOS, LIMIT_NANOS)
                .waiting(LIMIT_NANOS);
    }

    /** Two requests with a subscription in between form one request. */
    @Test
    void theTimeForAPlaceIsWhatTheFirstAnswerAndTheSubscriptionHaveLeft() throws Exception {
        RedisNode node = node(false);
        SERVER.redis().set(LOCK, "01".repeat(OwnerToken.BYTES) + ":5:h");
        long timeoutNanos = 10 * LIMIT_NANOS;
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(NAME), OwnerToken.draw(real), "h", LIMIT_NANOS, timeoutNanos)
                .waiting(LIMIT_NANOS);
        long ballot = Long.parseLong(SERVER.redis().time().get(0)) * 1_000_000;
        assertThat(node.acquire(new Ballot(request, ballot, 1)).get(60, TimeUnit.SECONDS))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class, held -> assertThat(held.queued()).isTrue());
        List<Long> limits =
                delays.stream().filter(delay -> delay > timeoutNanos / 2).toList();
        assertThat(limits).hasSize(2);
        assertThat(limits.get(0)).isEqualTo(timeoutNanos);
        assertThat(limits.get(1)).isLessThan(timeoutNanos);
    }

    private static ReleaseReply end(RedisNode node, OwnerToken owner, long ballot, ReleaseRequest.Kind kind)
            throws Exception {
        return node.release(new ReleaseRequest(List.of(NAME), owner, ballot, kind, LIMIT_NANOS))
                .get(60, TimeUnit.SECONDS);
    }

    /**
     * A member does not wake the client that sends the release: that client wakes itself while another of its attempts
     * waits.
     */
    @Test
    void aClientTellsItselfOfALockThatItHasGivenBackToAMember() throws Exception {
        RedisNode node = node(true);
        Membership set = new Membership("set", 0, 0, LIMIT_NANOS, Membership.Persistence.DURABLE);
        node.birth(Birth.declared("set", LIMIT_NANOS)).get(60, TimeUnit.SECONDS);
        OwnerToken holder = OwnerToken.draw(real);
        OwnerToken waiter = OwnerToken.draw(real);
        long ballot = Long.parseLong(SERVER.redis().time().get(0)) * 1_000_000;
        assertThat(node.acquire(new Ballot(waiting(holder), ballot, 1), set).get(60, TimeUnit.SECONDS))
                .isInstanceOf(NodeReply.Yes.class);
        // Until it listens.
        long start = System.nanoTime();
        NodeReply reply;
        do {
            assertThat(System.nanoTime() - start).isLessThan(LIMIT_NANOS);
            LockSupport.parkNanos(1_000_000);
            reply = node.acquire(new Ballot(waiting(waiter), ++ballot, 1), set).get(60, TimeUnit.SECONDS);
        } while (!(reply instanceof NodeReply.Held held && held.queued()));

        assertThat(end(node, holder, ++ballot, ReleaseRequest.Kind.SUPERSEDED))
                .isInstanceOf(ReleaseReply.Released.class);
        assertThat(woken).as("its attempt continues").isEmpty();
        assertThat(node.acquire(new Ballot(waiting(holder), ++ballot, 1), set).get(60, TimeUnit.SECONDS))
                .isInstanceOf(NodeReply.Yes.class);

        assertThat(end(node, holder, ++ballot, ReleaseRequest.Kind.RELEASE)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(woken).containsExactly(NAME);

        assertThat(end(node, waiter, ++ballot, ReleaseRequest.Kind.UNDO)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(node.acquire(new Ballot(waiting(holder), ++ballot, 1), set).get(60, TimeUnit.SECONDS))
                .isInstanceOf(NodeReply.Yes.class);
        end(node, holder, ++ballot, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).as("no waiter is left").containsExactly(NAME);
    }
}
