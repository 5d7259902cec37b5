package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.NAME;
import static io.leasehold.redis.NodeBench.answer;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreAccessException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the readers of a lock through a node, on a real server. */
@Tag("quick")
class RedisReadersTest {

    private static final long TTL_NANOS = TimeUnit.SECONDS.toNanos(300);
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final LockName READERS = NAME.asRead();

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final NodeBench bench = new NodeBench(SERVER.server().uri());
    private final BlockingQueue<HandOver> handed = new LinkedBlockingQueue<>();
    private final BlockingQueue<LockName> woken = new LinkedBlockingQueue<>();
    private final BlockingQueue<LockName> taken = new LinkedBlockingQueue<>();
    private long next = bench.candidate();

    RedisReadersTest() {
        bench.node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void handedOver(HandOver handOver) {
                handed.add(handOver);
            }

            @Override
            public void takenAway(LockName name) {
                taken.add(name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
    }

    @AfterEach
    void close() {
        bench.close();
    }

    private AcquireRequest request(LockName name, OwnerToken owner, String holder) {
        return AcquireRequest.exclusive(List.of(name), owner, holder, TTL_NANOS, TIMEOUT_NANOS);
    }

    private NodeReply acquire(LockName name, OwnerToken owner) {
        return answer(bench.node.acquire(new Ballot(request(name, owner, "host/1/test"), next += 10, 1)));
    }

    private NodeReply queue(LockName name, OwnerToken owner, long claimNanos) {
        AcquireRequest request = request(name, owner, "host/1/test").waiting(TTL_NANOS);
        return answer(bench.node.acquire(new Ballot(request, next += 10, 4, claimNanos)));
    }

    private ReleaseReply release(LockName name, OwnerToken owner) {
        return answer(bench.node.release(
                new ReleaseRequest(List.of(name), owner, next += 10, ReleaseRequest.Kind.RELEASE, TIMEOUT_NANOS)));
    }

    @Test
    void readersShareALock() {
        OwnerToken one = bench.owner();
        OwnerToken other = bench.owner();
        assertThat(bench.node.keepsReaders()).isTrue();
        assertThat(bench.node.isAtomicOver(List.of(READERS, LockName.exactly("b"))))
                .isFalse();
        assertThat(acquire(READERS, one)).isInstanceOf(NodeReply.Yes.class);
        assertThat(acquire(READERS, other)).isInstanceOf(NodeReply.Yes.class);
        assertThat(acquire(NAME, bench.owner()))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class,
                        held -> assertThat(held.holder()).extracting(Holder::id).isEqualTo("readers"));
        assertThat(answer(bench.node.admin().readers(NAME, 10)))
                .hasSize(2)
                .allMatch(reader -> reader.id().equals("host/1/test")
                        && reader.fencingToken().isPresent());
        assertThat(answer(bench.node.admin().readers(NAME, 1))).hasSize(1);
        assertThat(answer(bench.node.admin().list("*", 10)))
                .extracting(HeldLock::name)
                .containsExactly(NAME);
        assertThat(release(READERS, one)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(release(READERS, one)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(release(READERS, other)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(acquire(NAME, bench.owner())).isInstanceOf(NodeReply.Yes.class);
        assertThat(answer(bench.node.admin().readers(NAME, 10))).isEmpty();
    }

    @Test
    void aBatchOfRenewalsMayHaveEveryKind() {
        OwnerToken reader = bench.owner();
        OwnerToken gone = bench.owner();
        OwnerToken writer = bench.owner();
        LockName other = LockName.exactly("other");
        acquire(READERS, reader);
        acquire(other, writer);
        List<RenewBatch.Item> items = List.of(
                new RenewBatch.Item(READERS, reader, 2 * TTL_NANOS),
                new RenewBatch.Item(other, writer, TTL_NANOS),
                new RenewBatch.Item(READERS, gone, TTL_NANOS),
                new RenewBatch.Item(NAME, reader, TTL_NANOS));
        assertThat(answer(bench.node.renew(new RenewBatch(items, TIMEOUT_NANOS)))
                        .items())
                .extracting(item -> (Object) item.getClass())
                .containsExactly(
                        RenewReply.Renewed.class,
                        RenewReply.Renewed.class,
                        RenewReply.NotOurs.class,
                        RenewReply.NotOurs.class);
        assertThat(SERVER.redis().pttl(NodeBench.LOCK_KEY)).isGreaterThan(500_000L);
    }

    @Test
    void waitingReadersAreHandedTheLockTogether() throws Exception {
        OwnerToken writer = bench.owner();
        OwnerToken one = bench.owner();
        OwnerToken other = bench.owner();
        OwnerToken awake = bench.owner();
        acquire(NAME, writer);
        for (OwnerToken reader : List.of(one, other)) {
            assertThat(queue(READERS, reader, TTL_NANOS))
                    .isInstanceOfSatisfying(
                            NodeReply.Held.class,
                            held -> assertThat(held.queued()).isTrue());
        }
        queue(READERS, awake, 0);
        assertThat(answer(bench.node.admin().waiters(NAME, 10))).hasSize(3);
        release(NAME, writer);
        HandOver first = handed.poll(20, TimeUnit.SECONDS);
        HandOver second = handed.poll(20, TimeUnit.SECONDS);
        assertThat(first.name()).isEqualTo(READERS);
        assertThat(first.attemptId()).isEqualTo(one.attemptId());
        assertThat(first.channel()).as("a lease may begin from it").isNotNull();
        assertThat(second.attemptId()).isEqualTo(other.attemptId());
        assertThat(second.tokens().first()).isGreaterThan(first.tokens().last());
        assertThat(woken.poll(20, TimeUnit.SECONDS)).isEqualTo(READERS);
        assertThat(answer(bench.node.admin().readers(NAME, 10))).hasSize(2);
        assertThat(queue(READERS, awake, 0)).isInstanceOf(NodeReply.Yes.class);
        assertThat(queue(READERS, one, TTL_NANOS)).isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void aWriterBecomesAReader() {
        OwnerToken writer = bench.owner();
        OwnerToken reader = bench.owner();
        assertThat(answer(
                        bench.node.downgrade(new Ballot(request(READERS, reader, "host/1/r"), next += 10, 1), writer)))
                .as("nothing to downgrade")
                .isInstanceOf(NodeReply.Held.class);
        acquire(NAME, writer);
        Ballot ballot = new Ballot(request(READERS, reader, "host/1/r"), next += 10, 1);
        assertThat(answer(bench.node.downgrade(ballot, writer))).isInstanceOf(NodeReply.Yes.class);
        Ballot again = new Ballot(request(READERS, reader, "host/1/r"), next += 10, 1);
        assertThat(answer(bench.node.downgrade(again, writer))).isInstanceOf(NodeReply.Yes.class);
        assertThat(answer(bench.node.admin().readers(NAME, 10)))
                .extracting(Holder::id)
                .containsExactly("host/1/r");
        assertThat(release(NAME, writer)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(acquire(READERS, bench.owner())).isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void anOperatorRemovesReadersAndTheyAreTold() throws Exception {
        ClientRecord record = new ClientRecord("host/1/test", "host", 1, "", Instant.now(), List.of());
        answer(bench.node.operations().announce(record, 60_000_000_000L));
        acquire(READERS, bench.owner());
        acquire(READERS, bench.owner());
        answer(bench.node.acquire(new Ballot(request(READERS, bench.owner(), "host/2/x"), next += 10, 1)));
        assertThat(answer(bench.node.admin().forceRelease(NAME, "host/3/y"))).isFalse();
        assertThat(answer(bench.node.admin().forceRelease(NAME, "host/1/test"))).isTrue();
        assertThat(taken.poll(20, TimeUnit.SECONDS)).isEqualTo(READERS);
        assertThat(answer(bench.node.admin().readers(NAME, 10)))
                .extracting(Holder::id)
                .containsExactly("host/2/x");
        assertThat(answer(bench.node.admin().forceRelease(NAME, null))).isTrue();
        assertThat(answer(bench.node.admin().describe(NAME))).isEmpty();
        next = bench.candidate() + 1_000_000;
        acquire(READERS, bench.owner());
        assertThat(answer(bench.node.admin().forceRelease(READERS, "readers"))).isTrue();
        assertThat(answer(bench.node.admin().forceRelease(READERS, null))).isFalse();
        acquire(NAME, bench.owner());
        assertThat(answer(bench.node.admin().forceRelease(READERS, null)))
                .as("a writer")
                .isFalse();
        assertThat(answer(bench.node.admin().forceRelease(NAME, null))).isTrue();
    }

    @Test
    void theFirstReaderIsToldOfAMissingRight() {
        SERVER.server().call("ACL", "SETUSER", "reader", "on", ">secret", "+@all", "-hgetall", "&*", "~lock:*");
        try (NodeBench user = new NodeBench(
                "redis://reader:secret@127.0.0.1:" + SERVER.server().port())) {
            NodeReply reply =
                    answer(user.node.acquire(new Ballot(request(READERS, user.owner(), "host/1/x"), next += 10, 1)));
            assertThat(reply)
                    .isInstanceOfSatisfying(
                            NodeReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .isInstanceOf(StoreAccessException.class)
                                    .hasMessageContaining("acquire read lock \"order:1\"")
                                    .hasMessageContaining("ACL SETUSER <user> +hgetall"));
        }
        assertThat(SERVER.redis().exists(NodeBench.LOCK_KEY)).isZero();
    }

    /** Opens a node whose user has these rights. */
    private static NodeBench userWith(String rights) {
        List<String> rule =
                new ArrayList<>(List.of("ACL", "SETUSER", "app", "reset", "on", ">secret", "resetchannels"));
        rule.addAll(List.of(rights.split(" ")));
        SERVER.server().call(rule.toArray(String[]::new));
        SERVER.server().call("ACL", "LOG", "RESET");
        return new NodeBench("redis://app:secret@127.0.0.1:" + SERVER.server().port());
    }

    /** Also while memory is full: then other commands precede the writes. */
    @Test
    void aHandOverWithoutMemoryNeedsNoFurtherRight() {
        try (NodeBench user = userWith(RedisErrors.RIGHTS)) {
            OwnerToken holder = user.owner();
            OwnerToken waiter = user.owner();
            answer(user.node.acquire(new Ballot(request(NAME, holder, "host/1/x"), next += 10, 1)));
            AcquireRequest waiting = request(NAME, waiter, "host/1/x").waiting(TTL_NANOS);
            answer(user.node.acquire(new Ballot(waiting, next += 10, 1, TTL_NANOS)));
            SERVER.redis().configSet("maxmemory", "1");
            assertThat(user.release(holder, next)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(SERVER.redis().get(NodeBench.LOCK_KEY)).startsWith(waiter.hex());
        } finally {
            SERVER.redis().configSet("maxmemory", "0");
        }
    }

    @Test
    void theDocumentedRightsSuffice() {
        try (NodeBench user = userWith(RedisErrors.RIGHTS + " " + RedisErrors.RIGHT_OF_READERS)) {
            OwnerToken writer = user.owner();
            OwnerToken reader = user.owner();
            answer(user.node.acquire(new Ballot(request(NAME, writer, "host/1/x"), next += 10, 1)));
            AcquireRequest waiting = request(READERS, user.owner(), "host/1/x").waiting(TTL_NANOS);
            answer(user.node.acquire(new Ballot(waiting, next += 10, 1, TTL_NANOS)));
            SERVER.redis().configSet("maxmemory", "1");
            answer(user.node.downgrade(new Ballot(request(READERS, reader, "host/1/x"), next += 10, 1), writer));
            answer(user.node.renew(
                    new RenewBatch(List.of(new RenewBatch.Item(READERS, reader, 2 * TTL_NANOS)), TIMEOUT_NANOS)));
            assertThat(answer(user.node.admin().readers(NAME, 10))).hasSize(2);
            assertThat(answer(user.node.admin().forceRelease(NAME, null))).isTrue();
        } finally {
            SERVER.redis().configSet("maxmemory", "0");
        }
        assertThat(SERVER.server().call("ACL", "LOG"))
                .as("what was refused in a script")
                .doesNotContain("lua");
    }
}
