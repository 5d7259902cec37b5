package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.PutOption;
import io.leasehold.LockName;
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
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A renewal for longer than the lease of etcd can keep the key puts the key under another lease: done, not done, or
 * unknown.
 */
@Tag("full")
class LongerLeaseTest {

    private static final long SHORT_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long LONG_NANOS = Duration.ofSeconds(60).toNanos();
    private static final long LIMIT_NANOS = Duration.ofSeconds(20).toNanos();
    private static final LockName LOCK = LockName.of("longer");

    private static EtcdServer server;

    private final CallFaults faults = new CallFaults();
    private LockRuntime runtime;
    private EtcdStore store;
    private OwnerToken owner;

    @BeforeAll
    static void startServer() {
        server = EtcdTckTest.startOrSkip();
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void hold() throws Exception {
        runtime = new SystemLockRuntime();
        EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/longer"));
        store = new EtcdStore(uri, runtime, List.of(faults));
        owner = OwnerToken.draw(runtime);
        AcquireReply reply = store.acquire(
                        AcquireRequest.exclusive(List.of(LOCK), owner, "tester", SHORT_NANOS, LIMIT_NANOS))
                .get(60, TimeUnit.SECONDS);
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
    }

    @AfterEach
    void close() throws Exception {
        release();
        assertThat(key()).isEmpty();
        store.close();
        runtime.close();
    }

    private ReleaseReply release() throws Exception {
        return store.release(new ReleaseRequest(List.of(LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS))
                .get(60, TimeUnit.SECONDS);
    }

    private RenewReply.Item renew(long ttlNanos) throws Exception {
        return store.renew(new RenewBatch(List.of(new RenewBatch.Item(LOCK, owner, ttlNanos)), LIMIT_NANOS))
                .get(60, TimeUnit.SECONDS)
                .items()
                .get(0);
    }

    private static boolean writes(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream().anyMatch(one -> one.hasRequestPut());
    }

    private static Client client() {
        return Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    }

    private Optional<KeyValue> key() {
        try (Client client = client()) {
            ByteSequence key = new Keys("longer").of(LOCK, owner);
            return client.getKVClient().get(key).join().getKvs().stream().findFirst();
        }
    }

    private static LeaseTimeToLiveResponse lease(long id) {
        try (Client client = client()) {
            return client.getLeaseClient().timeToLive(id, LeaseOption.DEFAULT).join();
        }
    }

    private void isKeptForLong() {
        LeaseTimeToLiveResponse lease = lease(key().orElseThrow().getLease());
        assertThat(lease.getGrantedTTL())
                .as("seconds for which the key was put under its lease")
                .isGreaterThanOrEqualTo(60);
    }

    private static void isOver(long lease) {
        long start = System.nanoTime();
        while (lease(lease).getTTL() >= 0) {
            assertThat(System.nanoTime() - start)
                    .as("the lease is left behind")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    @Test
    void done() throws Exception {
        long before = key().orElseThrow().getLease();
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Renewed.class);
        isKeptForLong();
        isOver(before);
        assertThat(release()).isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void notDoneSinceTheKeyIsGone() throws Exception {
        KeyValue before = key().orElseThrow();
        try (Client client = client()) {
            client.getKVClient().delete(before.getKey()).join();
        }
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void notDoneSinceTheRequestWasLost() throws Exception {
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.REQUEST_LOST);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        assertThat(faults.happened()).isTrue();
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Renewed.class);
        isKeptForLong();
    }

    @Test
    void doneAndTheReplyWasLost() throws Exception {
        long before = key().orElseThrow().getLease();
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.REPLY_LOST);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        assertThat(faults.happened()).isTrue();
        isKeptForLong();
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Renewed.class);
        isKeptForLong();
        isOver(before);
        long after = key().orElseThrow().getLease();
        assertThat(release()).isInstanceOf(ReleaseReply.Released.class);
        isOver(after);
    }

    @Test
    void aCopyThatComesLateDoesNoHarm() throws Exception {
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.LATE);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Renewed.class);
        isKeptForLong();
        faults.deliver();
        LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
        isKeptForLong();
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aCopyThatComesAfterTheReleaseDoesNotBringTheKeyBack() throws Exception {
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.LATE);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        assertThat(release()).isInstanceOf(ReleaseReply.Released.class);
        faults.deliver();
        LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
        assertThat(key()).isEmpty();
    }

    @Test
    void aShorterRenewalMeanwhileIsNotToldForLongerThanTheKeyIsKept() throws Exception {
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.REQUEST_LOST);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        long askedAtNanos = System.nanoTime();
        RenewReply.Item item = renew(SHORT_NANOS);
        if (item instanceof RenewReply.Renewed renewed) {
            long keptSeconds = lease(key().orElseThrow().getLease()).getTTL();
            long toldNanos = renewed.sentAtNanos() + SHORT_NANOS - System.nanoTime();
            assertThat(toldNanos)
                    .as("told, against what the lease of the key has left, %d s", keptSeconds)
                    .isLessThanOrEqualTo(Duration.ofSeconds(keptSeconds + 1).toNanos());
            assertThat(renewed.sentAtNanos() - askedAtNanos).isLessThan(LIMIT_NANOS);
        } else {
            assertThat(item).isInstanceOf(RenewReply.Failed.class);
        }
    }

    private static boolean deletes(Object message) {
        return message instanceof TxnRequest txn
                && txn.getSuccessList().stream().anyMatch(one -> one.hasRequestDeleteRange());
    }

    private void isGoneLongBeforeItsLeaseEnds() {
        long start = System.nanoTime();
        while (key().isPresent()) {
            assertThat(System.nanoTime() - start)
                    .as("the key that was given back stays until its lease of a minute ends")
                    .isLessThan(Duration.ofSeconds(25).toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    @Test
    void theRemovalIsRepeatedForAsLongAsTheLongerLeaseMayKeepTheKey() throws Exception {
        long shorterSeconds = lease(key().orElseThrow().getLease()).getGrantedTTL();
        faults.next(LongerLeaseTest::writes, CallFaults.Fault.REPLY_LOST);
        assertThat(renew(LONG_NANOS)).isInstanceOf(RenewReply.Failed.class);
        isKeptForLong();
        faults.each(LongerLeaseTest::deletes, CallFaults.Fault.REQUEST_LOST);
        assertThat(release()).isInstanceOf(ReleaseReply.Failed.class);
        // By then, the shorter lease, which no longer keeps the key, has ended in every case.
        LockSupport.parkNanos(Duration.ofSeconds(2 * shorterSeconds + 2).toNanos());
        faults.heal();
        isGoneLongBeforeItsLeaseEnds();
    }

    @Test
    void theRemovalIsRepeatedIfTheKeyIsUnderALeaseThatWasTakenOver() throws Exception {
        assertThat(release()).isInstanceOf(ReleaseReply.Released.class);
        owner = OwnerToken.draw(runtime);
        try (Client client = client()) {
            long kept = client.getLeaseClient().grant(60).join().getID();
            ByteSequence key = new Keys("longer").of(LOCK, owner);
            PutOption under = PutOption.builder().withLeaseId(kept).build();
            client.getKVClient().put(key, Keys.bytes("tester"), under).join();
        }
        faults.each(message -> message instanceof LeaseKeepAliveRequest, CallFaults.Fault.REQUEST_LOST);
        assertThat(store.acquire(AcquireRequest.exclusive(List.of(LOCK), owner, "tester", SHORT_NANOS, LIMIT_NANOS))
                        .get(60, TimeUnit.SECONDS))
                .isInstanceOf(AcquireReply.Failed.class);
        faults.heal();
        faults.next(LongerLeaseTest::deletes, CallFaults.Fault.REQUEST_LOST);
        assertThat(release()).isInstanceOf(ReleaseReply.Failed.class);
        isGoneLongBeforeItsLeaseEnds();
    }
}
