package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of readers and of a downgrade, next to clients that know no readers; in the time of the test. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ReaderStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final LockName READ = LOCK.asRead();
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final EtcdUri URI = EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=1s&readers=true"));

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final Keys keys = new Keys(URI.prefix());
    private final List<String> heard = new ArrayList<>();
    private final EtcdStore store = open();

    private EtcdStore open() {
        EtcdStore opened = new EtcdStore(URI, runtime, etcd, false);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + (name.isRead() ? "reader" : "writer"));
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + owner.publicId());
            }

            @Override
            public void reconnected() {}
        });
        return opened;
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos());
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private AcquireReply ask(LockName name, OwnerToken owner) {
        return now(store.acquire(request(name, owner).waiting(RECHECK.toNanos())));
    }

    private static Grant grant(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private OwnerToken granted(LockName name) {
        OwnerToken owner = owner();
        assertThat(grant(ask(name, owner)).owner()).isEqualTo(owner);
        return owner;
    }

    private OwnerToken queued(LockName name) {
        OwnerToken owner = owner();
        assertThat(ask(name, owner)).isInstanceOf(AcquireReply.Queued.class);
        return owner;
    }

    private RenewReply.Item renew(LockName name, OwnerToken owner, Duration ttl) {
        return now(store.renew(
                        new RenewBatch(List.of(new RenewBatch.Item(name, owner, ttl.toNanos(), 0)), LIMIT.toNanos())))
                .items()
                .get(0);
    }

    private ReleaseReply release(LockName name, OwnerToken owner) {
        return now(store.release(
                new ReleaseRequest(List.of(name), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos())));
    }

    private CompletableFuture<AcquireReply> downgrade(OwnerToken reader, OwnerToken writer) {
        return store.downgrade(request(READ, reader), writer);
    }

    private List<String> askedBy(Runnable step) {
        int mark = etcd.asked.size();
        step.run();
        return etcd.askedSince(mark);
    }

    /** The key of a client that knows no readers: etcd's own mutex, or an earlier version. */
    private ByteSequence plain(String value) {
        ByteSequence key = keys.of(LOCK, owner());
        etcd.put(key, value, etcd.newLease(60));
        return key;
    }

    /** The key of a reader of another client. */
    private ByteSequence foreignReader() {
        OwnerToken owner = owner();
        ByteSequence key = keys.of(LOCK, owner);
        etcd.put(
                key,
                new String(EntryData.of(READ, owner, "host/2/y").bytes(), StandardCharsets.UTF_8),
                etcd.newLease(60));
        return key;
    }

    // ---- turns

    @Test
    void aFreeReaderCostsWhatAWriterCosts() {
        assertThat(askedBy(() -> granted(READ))).containsExactly("lease 31", "make");
        assertThat(askedBy(() -> now(store.acquire(request(READ, owner())))))
                .containsExactly("inOrder 500", "lease 31", "make");
    }

    @Test
    void readersShareAndTheirTokensLeaveRoomForADowngrade() {
        OwnerToken one = owner();
        Grant first = grant(ask(READ, one));
        assertThat(first.tokens().first()).isEqualTo(16 * etcd.revision);
        foreignReader();
        Grant second = grant(ask(READ, owner()));
        assertThat(second.tokens().first()).isEqualTo(16 * etcd.revision);
        assertThat(renew(READ, one, TTL)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** A writer of any client waits for each key before its own, whatever it says. */
    @Test
    void aWriterWaitsForEachReaderOneAfterTheOther() {
        ByteSequence first = foreignReader();
        ByteSequence second = foreignReader();
        OwnerToken writer = owner();
        AcquireReply reply = ask(LOCK, writer);
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Queued.class,
                        queued -> assertThat(queued.holder().id()).isEqualTo(Holder.READERS));
        assertThat(etcd.ears.get(0).key).isEqualTo(second);
        etcd.remove(second);
        assertThat(heard).containsExactly("wake writer");
        assertThat(ask(LOCK, writer)).isInstanceOf(AcquireReply.Queued.class);
        assertThat(etcd.ears.get(1).key).isEqualTo(first);
        etcd.remove(first);
        grant(ask(LOCK, writer));
    }

    @Test
    void aReaderWaitsForAKeyThatDoesNotSayThatItIsAReaders() {
        for (String foreign :
                List.of("", "host/2/y", "reader", "reader:0:", "reader:16:" + owner().publicId() + ":x")) {
            ByteSequence key = plain(foreign);
            OwnerToken reader = queued(READ);
            etcd.remove(key);
            grant(ask(READ, reader));
            release(READ, reader);
        }
    }

    @Test
    void aReaderThatDoesNotWaitWritesNothingBehindAWaitingWriter() {
        granted(READ);
        plain("host/2/y");
        assertThat(askedBy(() -> assertThat(now(store.acquire(request(READ, owner()))))
                        .isInstanceOfSatisfying(
                                AcquireReply.Busy.class,
                                busy -> assertThat(busy.holder().id())
                                        .as("the holder, not the waiter")
                                        .isEqualTo(Holder.READERS))))
                .containsExactly("inOrder 500");
    }

    /** It watches the last writer before it; when that leaves, another one may be before it. */
    @Test
    void aReaderBehindTwoWritersWaitsForBoth() {
        ByteSequence holder = plain("host/2/y");
        ByteSequence waiter = plain("host/3/z");
        foreignReader();
        OwnerToken reader = queued(READ);
        assertThat(etcd.ears.get(0).key).isEqualTo(waiter);
        etcd.remove(waiter);
        assertThat(heard).containsExactly("wake reader");
        assertThat(ask(READ, reader)).isInstanceOf(AcquireReply.Queued.class);
        assertThat(etcd.ears.get(1).key).isEqualTo(holder);
        etcd.remove(holder);
        grant(ask(READ, reader));
    }

    @Test
    void aWriterThatLeavesTheMiddleLetsAllReadersBehindItIn() {
        OwnerToken first = granted(READ);
        OwnerToken writer = queued(LOCK);
        OwnerToken one = queued(READ);
        OwnerToken other = queued(READ);
        release(LOCK, writer);
        assertThat(heard).containsExactly("wake reader", "wake reader");
        grant(ask(READ, one));
        grant(ask(READ, other));
        assertThat(renew(READ, first, TTL)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aReaderThatLeavesTheMiddleWakesOnlyAWriterBehindIt() {
        granted(READ);
        OwnerToken middle = granted(READ);
        queued(LOCK);
        queued(READ);
        release(READ, middle);
        assertThat(heard).containsExactly("wake writer");
    }

    @Test
    void aWriterBehindManyReadersIsFoundOnALaterPage() {
        for (int i = 0; i < 600; i++) {
            foreignReader();
        }
        OwnerToken one = granted(READ);
        plain("host/3/z");
        OwnerToken reader = queued(READ);
        assertThat(askedBy(() ->
                        assertThat(now(store.acquire(request(READ, owner())))).isInstanceOf(AcquireReply.Busy.class)))
                .containsExactly("inOrder 500", "inOrder 500");
        release(READ, reader);
        assertThat(renew(READ, one, TTL)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(now(store.admin().readers(LOCK, 1_000))).hasSize(601);
        assertThat(now(store.admin().waiters(LOCK, 10))).hasSize(1);
    }

    // ---- a downgrade

    @Test
    void aDowngradeChangesTheKeyInItsPlace() {
        OwnerToken writer = owner();
        Grant held = grant(ask(LOCK, writer));
        OwnerToken reader = owner();
        ByteSequence key = keys.of(LOCK, writer);
        long[] token = {0};
        assertThat(askedBy(() -> token[0] =
                        grant(now(downgrade(reader, writer))).tokens().first()))
                .containsExactly("keepAlive 1", "change 1");
        assertThat(token[0]).isEqualTo(held.tokens().last() + 1);
        assertThat(etcd.queue(LOCK, keys)).containsExactly(key);
        assertThat(etcd.valueOf(key)).isEqualTo("reader:1:" + reader.publicId() + ":host/1/x");
        assertThat(renew(LOCK, writer, TTL)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(LOCK, writer)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renew(READ, reader, TTL)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(release(READ, reader)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    /** The next key may have the next revision. */
    @Test
    void theTokenOfADowngradedReaderIsBelowThatOfTheWriterBehindIt() {
        OwnerToken writer = granted(LOCK);
        OwnerToken next = queued(LOCK);
        OwnerToken reader = owner();
        long token = grant(now(downgrade(reader, writer))).tokens().first();
        release(READ, reader);
        assertThat(grant(ask(LOCK, next)).tokens().first()).isGreaterThan(token);
    }

    @Test
    void aDowngradeWakesReadersAndNoWriter() {
        OwnerToken writer = granted(LOCK);
        OwnerToken waiting = queued(READ);
        OwnerToken next = queued(LOCK);
        OwnerToken behind = queued(READ);
        grant(now(downgrade(owner(), writer)));
        assertThat(heard).containsExactly("wake reader");
        grant(ask(READ, waiting));
        assertThat(ask(LOCK, next)).isInstanceOf(AcquireReply.Queued.class);
        assertThat(ask(READ, behind)).isInstanceOf(AcquireReply.Queued.class);
    }

    @Test
    void aDowngradeWithoutAReplyIsRepeatedAndFindsItself() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        etcd.withhold("change");
        CompletableFuture<AcquireReply> first = downgrade(reader, writer);
        runtime.runFor(LIMIT.plusMillis(1));
        assertThat(now(first))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        etcd.answer("change");
        Grant grant = grant(now(downgrade(reader, writer)));
        assertThat(grant.tokens().first()).isEqualTo(16 * 101 + 1);
        assertThat(etcd.queue(LOCK, keys)).hasSize(1);
        assertThat(release(READ, reader)).isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void aDowngradeThatFailedIsMadeByTheNextRequest() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        etcd.failNext("change", ScriptedEtcd.broken());
        assertThat(now(downgrade(reader, writer))).isInstanceOf(AcquireReply.Failed.class);
        grant(now(downgrade(reader, writer)));
        release(READ, reader);
        assertThat(etcd.leases).as("a copy may still put the key under it").isEmpty();
    }

    /** The engine ends the writer first, then the reader. */
    @Test
    void aDowngradeThatIsGivenUpLeavesNothing() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        etcd.withhold("change");
        downgrade(reader, writer);
        runtime.runFor(LIMIT.plusMillis(1));
        CompletableFuture<ReleaseReply> undone =
                store.release(new ReleaseRequest(List.of(LOCK), writer, 0, ReleaseRequest.Kind.UNDO, LIMIT.toNanos()));
        etcd.answer("change");
        assertThat(undone).isCompleted();
        release(READ, reader);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aWriterThatIsGoneBecomesNoReader() {
        OwnerToken forced = granted(LOCK);
        etcd.remove(keys.of(LOCK, forced));
        assertThat(now(downgrade(owner(), forced))).isInstanceOf(AcquireReply.Busy.class);
        OwnerToken released = granted(LOCK);
        release(LOCK, released);
        assertThat(now(downgrade(owner(), released))).isInstanceOf(AcquireReply.Busy.class);
        OwnerToken expired = granted(LOCK);
        etcd.expire(1);
        etcd.expire(2);
        etcd.expire(3);
        assertThat(now(downgrade(owner(), expired))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
    }

    @Test
    void aWaiterBecomesNoReader() {
        granted(LOCK);
        OwnerToken waiter = queued(LOCK);
        assertThat(now(downgrade(owner(), waiter))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(etcd.valueOf(keys.of(LOCK, waiter))).isEqualTo("host/1/x");
    }

    /** A key whose move to a longer lease is unanswered may be under either lease. */
    @Test
    void aMoveToALongerLeaseIsFinishedBeforeADowngrade() {
        OwnerToken writer = granted(LOCK);
        ByteSequence key = keys.of(LOCK, writer);
        etcd.failNext("move", ScriptedEtcd.broken());
        assertThat(renew(LOCK, writer, Duration.ofSeconds(60))).isInstanceOf(RenewReply.Failed.class);
        OwnerToken reader = owner();
        assertThat(askedBy(() -> grant(now(downgrade(reader, writer)))))
                .containsExactly("keepAlive 2", "move 2", "revoke 1", "watch", "keepAlive 2", "change 2");
        assertThat(now(etcd.move(key, 101, Keys.bytes("host/1/x"), 2)).isThere())
                .as("a late copy finds a reader")
                .isFalse();
        assertThat(renew(READ, reader, Duration.ofSeconds(90))).isInstanceOf(RenewReply.Renewed.class);
        assertThat(etcd.valueOf(key)).startsWith("reader:1:");
    }

    @Test
    void theLossOfADowngradedReaderIsToldToTheReader() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        runtime.runFor(Duration.ofMillis(300));
        etcd.remove(keys.of(LOCK, writer));
        assertThat(heard).containsExactly("lost " + reader.publicId());
        assertThat(renew(READ, reader, TTL)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void aReaderThatIsNotRenewedIsRemovedAfterItsTtl() {
        granted(READ);
        runtime.runFor(TTL.plusSeconds(1));
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
    }

    // ---- the other kind, and other clients

    @Test
    void theOwnerTokenOfOneKindEndsAndRenewsNothingOfTheOther() {
        OwnerToken reader = granted(READ);
        assertThat(renew(LOCK, reader, TTL)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(LOCK, reader)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renew(READ, reader, TTL)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void anotherClientRenewsAndReleasesReadersByTheirOwnerTokens() {
        EtcdStore elsewhere = open();
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        OwnerToken second = granted(READ);
        OwnerToken next = queued(LOCK);
        OwnerToken waiting = queued(READ);
        for (OwnerToken holds : List.of(reader, second)) {
            RenewBatch batch =
                    new RenewBatch(List.of(new RenewBatch.Item(READ, holds, TTL.toNanos(), 0)), LIMIT.toNanos());
            assertThat(now(elsewhere.renew(batch)).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        }
        for (RenewBatch.Item item : List.of(
                new RenewBatch.Item(LOCK, writer, TTL.toNanos(), 0),
                new RenewBatch.Item(LOCK, next, TTL.toNanos(), 0),
                new RenewBatch.Item(READ, waiting, TTL.toNanos(), 0))) {
            assertThat(now(elsewhere.renew(new RenewBatch(List.of(item), LIMIT.toNanos())))
                            .items()
                            .get(0))
                    .isInstanceOf(RenewReply.NotOurs.class);
        }
        ReleaseRequest ended =
                new ReleaseRequest(List.of(READ), reader, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos());
        assertThat(now(elsewhere.release(ended))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(now(elsewhere.release(ended))).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(etcd.queue(LOCK, keys)).hasSize(3);
    }

    // ---- operators

    @Test
    void anOperatorSeesReadersAndWaiters() {
        OwnerToken writer = granted(LOCK);
        grant(now(downgrade(owner(), writer)));
        foreignReader();
        plain("host/3/z");
        queued(READ);
        Holder held = now(store.admin().describe(LOCK)).orElseThrow().holder();
        assertThat(held.isReaders()).isTrue();
        assertThat(held.fencingToken()).hasValue(16 * 103);
        assertThat(held.remainingTtl()).as("that of the last one").isEqualTo(Duration.ofSeconds(30));
        assertThat(now(store.admin().readers(LOCK, 10)))
                .extracting(Holder::id, reader -> reader.fencingToken().orElse(0))
                .containsExactly(tuple("host/1/x", 16L * 101 + 1), tuple("host/2/y", 16L * 103));
        assertThat(now(store.admin().readers(LOCK, 1))).hasSize(1);
        assertThat(now(store.admin().waiters(LOCK, 10)))
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/3/z", "host/1/x");
    }

    @Test
    void aReleaseByForceEndsOneReaderOrAllAndNoWriter() {
        ByteSequence one = foreignReader();
        granted(READ);
        granted(READ);
        ByteSequence writer = plain("host/3/z");
        ByteSequence behind = foreignReader();
        assertThat(now(store.admin().forceRelease(LOCK, "host/3/z"))).isFalse();
        assertThat(now(store.admin().forceRelease(LOCK, "host/2/y"))).isTrue();
        assertThat(etcd.queue(LOCK, keys)).doesNotContain(one).hasSize(4);
        assertThat(now(store.admin().forceRelease(LOCK, Holder.READERS))).isTrue();
        assertThat(etcd.queue(LOCK, keys)).containsExactly(writer, behind);
        assertThat(now(store.admin().forceRelease(LOCK, Holder.READERS))).isFalse();
        assertThat(now(store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(etcd.queue(LOCK, keys)).containsExactly(behind);
        assertThat(now(store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(now(store.admin().forceRelease(LOCK, null))).isFalse();
    }
}
