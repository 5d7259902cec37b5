package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers at a real etcd: next to etcd's own lock, with requests that come late, and the option that all clients share. */
@Tag("full")
class EtcdReadersTest {

    private static final Duration TTL = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(5);
    /** A transaction that writes the value of a reader. */
    private static boolean downgrades(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream()
                        .anyMatch(op -> op.hasRequestPut()
                                && op.getRequestPut().getValue().toStringUtf8().startsWith("reader:1:"));
    }

    /** Whether it is a transaction that puts the key of a writer that is there already. */
    private static boolean moves(Object message) {
        return message instanceof TxnRequest txn
                && txn.getCompareList().stream().anyMatch(compare -> compare.getCreateRevision() > 0)
                && txn.getSuccessList().stream()
                        .anyMatch(op -> op.hasRequestPut()
                                && op.getRequestPut().getValue().toStringUtf8().equals("late"));
    }

    private static EtcdServer server;
    private static Client operator;

    private final LockRuntime runtime = new SystemLockRuntime();

    @BeforeAll
    static void start() {
        server = EtcdTckTest.startOrSkip();
        operator =
                Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            operator.close();
            server.close();
        }
    }

    private static String uri(String prefix) {
        return "etcd://127.0.0.1:" + server.port() + "/" + prefix;
    }

    private static LockClient client() {
        return Leasehold.builder().store(uri("foreign?readers=true")).connect();
    }

    private static List<KeyValue> queue(String prefix, LockName lock) {
        return operator.getKVClient()
                .get(
                        new Keys(prefix).queue(lock),
                        GetOption.builder().isPrefix(true).build())
                .join()
                .getKvs();
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    /** etcd's own lock, which is {@code concurrency.Mutex} at the server, knows no readers. */
    @Test
    void readersAndTheLockOfEtcdExcludeEachOther() throws Exception {
        long lease = operator.getLeaseClient().grant(60).join().getID();
        try (LockClient one = client();
                LockClient other = client()) {
            Lease first = one.readWrite("mutex").read().acquire();
            Lease second = other.readWrite("mutex").read().acquire();
            CompletableFuture<ByteSequence> mutex =
                    operator.getLockClient().lock(bytes("foreign/mutex"), lease).thenApply(locked -> locked.getKey());
            while (one.admin().waiters("mutex", 10).isEmpty()) {
                Thread.sleep(5);
            }
            assertThat(one.readWrite("mutex").read().tryAcquire(Duration.ZERO)).isNull();
            CompletableFuture<Lease> behind = one.readWrite("mutex").read().acquireAsync();
            second.close();
            Thread.sleep(200);
            assertThat(mutex).as("the first reader is still before it").isNotDone();
            first.close();
            ByteSequence key = mutex.get(20, TimeUnit.SECONDS);
            Thread.sleep(200);
            assertThat(behind).isNotDone();
            operator.getLockClient().unlock(key).join();
            behind.get(20, TimeUnit.SECONDS).close();
        } finally {
            operator.getLeaseClient().revoke(lease).join();
        }
    }

    @Test
    void clientsOfAnEarlierVersionAndReadersDoNotOpenOneStore() {
        try (LockClient readers =
                Leasehold.builder().store(uri("agreed?readers=true")).connect()) {
            assertThat(readers.keepsReaders()).isTrue();
            assertThatThrownBy(() -> Leasehold.builder().store(uri("agreed")).connect())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll("without readers=true", "\"tokenBase=0 readers=true\"");
        }
        try (LockClient plain = Leasehold.builder().store(uri("before")).connect()) {
            assertThat(plain.keepsReaders()).isFalse();
            assertThatThrownBy(() -> plain.readWrite("x")).isInstanceOf(UnsafeStoreException.class);
            assertThatThrownBy(() -> Leasehold.builder()
                            .store(uri("before?readers=true"))
                            .connect())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("with readers=true");
        }
    }

    @Test
    void tokensOfManyDowngradesWithWaitersAtTheNextRevisionsIncrease() throws Exception {
        try (LockClient one = client();
                LockClient other = client()) {
            long last = 0;
            WriteLease writer = one.readWrite("next").write().acquire();
            for (int i = 0; i < 20; i++) {
                CompletableFuture<WriteLease> next =
                        (i % 2 == 0 ? other : one).readWrite("next").write().acquireAsync();
                while (one.admin().waiters("next", 10).isEmpty()) {
                    Thread.sleep(1);
                }
                assertThat(writer.fencingToken()).isGreaterThan(last);
                try (Lease reader = writer.downgrade()) {
                    assertThat(reader.fencingToken()).isEqualTo(writer.fencingToken() + 1);
                    last = reader.fencingToken();
                }
                writer = next.get(20, TimeUnit.SECONDS);
            }
            writer.close();
        }
    }

    // ---- requests that come late

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "late", TTL.toNanos(), LIMIT.toNanos());
    }

    private static <T> T answer(CompletableFuture<T> reply) throws Exception {
        return reply.get(30, TimeUnit.SECONDS);
    }

    private static RenewReply.Item renew(EtcdStore store, LockName name, OwnerToken owner, Duration ttl)
            throws Exception {
        return answer(store.renew(
                        new RenewBatch(List.of(new RenewBatch.Item(name, owner, ttl.toNanos(), 0)), LIMIT.toNanos())))
                .items()
                .get(0);
    }

    private static ReleaseReply end(EtcdStore store, LockName name, OwnerToken owner) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(name), owner, 0, ReleaseRequest.Kind.UNDO, LIMIT.toNanos())));
    }

    /** The first copy comes after the second was answered, and after the key has moved to a longer lease. */
    @Test
    void aLateCopyOfADowngradeDoesNotPutTheKeyUnderItsFormerLease() throws Exception {
        LockName lock = LockName.exactly("copy");
        CallFaults faults = new CallFaults();
        try (EtcdStore store =
                new EtcdStore(EtcdUri.parse(StoreUri.parse(uri("late?readers=true"))), runtime, List.of(faults))) {
            OwnerToken writer = OwnerToken.draw(runtime);
            OwnerToken reader = OwnerToken.draw(runtime);
            answer(store.acquire(request(lock, writer)));
            long lease = queue("late", lock).get(0).getLease();
            faults.next(EtcdReadersTest::downgrades, CallFaults.Fault.LATE);
            assertThat(answer(store.downgrade(request(lock.asRead(), reader), writer)))
                    .isInstanceOf(AcquireReply.Failed.class);
            assertThat(answer(store.downgrade(request(lock.asRead(), reader), writer)))
                    .isInstanceOf(AcquireReply.Granted.class);
            assertThat(renew(store, lock.asRead(), reader, TTL.multipliedBy(3))).isInstanceOf(RenewReply.Renewed.class);
            long longer = queue("late", lock).get(0).getLease();
            assertThat(longer).isNotEqualTo(lease);
            faults.deliver();
            Thread.sleep(300);
            assertThat(queue("late", lock)).singleElement().satisfies(key -> {
                assertThat(key.getLease()).isEqualTo(longer);
                assertThat(QueueHeads.data(key).isReader(reader)).isTrue();
            });
            assertThat(end(store, lock.asRead(), reader)).isInstanceOf(ReleaseReply.Released.class);
        }
    }

    /** The move to a longer lease was repeated by the downgrade, and its first copy comes after that. */
    @Test
    void aLateCopyOfAMoveDoesNotMakeTheReaderAWriterAgain() throws Exception {
        LockName lock = LockName.exactly("moved");
        CallFaults faults = new CallFaults();
        try (EtcdStore store =
                new EtcdStore(EtcdUri.parse(StoreUri.parse(uri("late?readers=true"))), runtime, List.of(faults))) {
            OwnerToken writer = OwnerToken.draw(runtime);
            OwnerToken reader = OwnerToken.draw(runtime);
            answer(store.acquire(request(lock, writer)));
            faults.next(EtcdReadersTest::moves, CallFaults.Fault.LATE);
            assertThat(renew(store, lock, writer, TTL.multipliedBy(3))).isInstanceOf(RenewReply.Failed.class);
            assertThat(answer(store.downgrade(request(lock.asRead(), reader), writer)))
                    .isInstanceOf(AcquireReply.Granted.class);
            faults.deliver();
            Thread.sleep(300);
            assertThat(queue("late", lock))
                    .singleElement()
                    .satisfies(key ->
                            assertThat(QueueHeads.data(key).isReader(reader)).isTrue());
            assertThat(end(store, lock.asRead(), reader)).isInstanceOf(ReleaseReply.Released.class);
        }
    }

    /** Neither owner token stays, and a copy that comes later finds nothing. */
    @Test
    void aDowngradeThatIsGivenUpMakesNoKeyLater() throws Exception {
        LockName lock = LockName.exactly("undone");
        CallFaults faults = new CallFaults();
        try (EtcdStore store =
                new EtcdStore(EtcdUri.parse(StoreUri.parse(uri("late?readers=true"))), runtime, List.of(faults))) {
            OwnerToken writer = OwnerToken.draw(runtime);
            OwnerToken reader = OwnerToken.draw(runtime);
            answer(store.acquire(request(lock, writer)));
            faults.next(EtcdReadersTest::downgrades, CallFaults.Fault.LATE);
            assertThat(answer(store.downgrade(request(lock.asRead(), reader), writer)))
                    .isInstanceOf(AcquireReply.Failed.class);
            end(store, lock, writer);
            end(store, lock.asRead(), reader);
            assertThat(queue("late", lock)).isEmpty();
            faults.deliver();
            Thread.sleep(300);
            assertThat(queue("late", lock)).isEmpty();
            assertThat(store.attempts()).isZero();
        }
    }
}
