package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

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
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of readers and of a downgrade, next to clients that know no readers; in the time of the test. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ReaderStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final LockName READ = LOCK.asRead();
    private static final String PATH = "/c/n";
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration WITHIN = Duration.ofSeconds(10);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final long STRANGER = 77;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEnsemble ensemble = new ScriptedEnsemble();
    private final List<String> heard = new ArrayList<>();
    private final ZooKeeperStore store = open();

    private ZooKeeperStore open() {
        ZooKeeperUri uri = ZooKeeperUri.parse(StoreUri.parse("zookeeper://h:2181/c?tickTime=2s&readers=true"));
        ZooKeeperStore opened = new ZooKeeperStore(uri, runtime, ensemble);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + (name.isRead() ? "reader" : "writer"));
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + cause + " " + owner.publicId());
            }

            @Override
            public void reconnected() {}
        });
        return opened;
    }

    @BeforeEach
    void tree() {
        ensemble.put("/c", "", 0);
        ensemble.put(PATH, "", 0);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos());
    }

    private static AcquireRequest waiting(LockName name, OwnerToken owner) {
        return request(name, owner).waiting(RECHECK.toNanos()).provenWithin(WITHIN.toNanos());
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private CompletableFuture<AcquireReply> begin(AcquireRequest request) {
        CompletableFuture<AcquireReply> reply = store.acquire(request);
        ensemble.connect();
        return reply;
    }

    private AcquireReply ask(LockName name, OwnerToken owner) {
        return now(begin(waiting(name, owner)));
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

    private RenewReply.Item renew(LockName name, OwnerToken owner) {
        return renew(store, name, owner);
    }

    private RenewReply.Item renew(ZooKeeperStore at, LockName name, OwnerToken owner) {
        CompletableFuture<RenewReply> reply =
                at.renew(new RenewBatch(List.of(new RenewBatch.Item(name, owner, TTL.toNanos(), 0)), LIMIT.toNanos()));
        ensemble.connect();
        return now(reply).items().get(0);
    }

    private ReleaseReply release(LockName name, OwnerToken owner) {
        return release(store, name, owner);
    }

    private ReleaseReply release(ZooKeeperStore at, LockName name, OwnerToken owner) {
        return now(
                at.release(new ReleaseRequest(List.of(name), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos())));
    }

    private CompletableFuture<AcquireReply> downgrade(OwnerToken reader, OwnerToken writer) {
        return store.downgrade(request(READ, reader), writer);
    }

    private List<String> askedBy(Runnable step) {
        int mark = ensemble.asked.size();
        step.run();
        return ensemble.askedSince(mark).stream()
                .map(call -> call.replaceAll("_c_.*", "NODE"))
                .toList();
    }

    private String pathOf(OwnerToken owner) {
        return ensemble.nodes.keySet().stream()
                .filter(path -> path.contains("_c_" + owner.publicId()))
                .findFirst()
                .orElseThrow();
    }

    private String dataOf(String path) {
        return new String(ensemble.nodes.get(path).data(), StandardCharsets.UTF_8);
    }

    /** The node of a client that knows no readers: Curator's mutex, or an earlier version. */
    private String plain(String data) {
        return ensemble.enqueue(PATH, owner().publicId(), data, STRANGER);
    }

    /** The node of a reader of another client. */
    private String foreignReader() {
        OwnerToken owner = owner();
        String data = new String(EntryData.of(READ, owner, "host/2/y").bytes(), StandardCharsets.UTF_8);
        return ensemble.enqueue(PATH, owner.publicId(), data, STRANGER);
    }

    // ---- turns

    @Test
    void aFreeReaderCostsWhatAWriterCosts() {
        granted(LOCK);
        assertThat(askedBy(() -> now(begin(waiting(LockName.exactly("n").asRead(), owner())))))
                .as("behind a writer, whose node it reads")
                .containsExactly("create NODE", "children n", "read NODE", "watch NODE");
        ensemble.queue(PATH).forEach(node -> ensemble.remove(PATH + "/" + node));
        assertThat(askedBy(() -> granted(READ))).containsExactly("create NODE", "children n", "watch NODE");
        assertThat(askedBy(() -> granted(READ)))
                .as("one read for each reader before it")
                .containsExactly("create NODE", "children n", "read NODE", "watch NODE");
    }

    @Test
    void readersShareAndTheirTokensLeaveRoomForADowngrade() {
        OwnerToken one = owner();
        assertThat(grant(ask(READ, one)).tokens().first())
                .isEqualTo(16 * ensemble.nodes.get(pathOf(one)).czxid());
        foreignReader();
        OwnerToken other = granted(READ);
        assertThat(renew(READ, one)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renew(READ, other)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** A writer of any client waits for each node before its own, whatever it says. */
    @Test
    void aWriterWaitsForEachReaderOneAfterTheOther() {
        String first = foreignReader();
        String second = foreignReader();
        OwnerToken writer = owner();
        assertThat(ask(LOCK, writer))
                .isInstanceOfSatisfying(
                        AcquireReply.Queued.class,
                        queued -> assertThat(queued.holder().id()).isEqualTo(Holder.READERS));
        ensemble.remove(second);
        assertThat(heard).containsExactly("wake writer");
        assertThat(ask(LOCK, writer)).isInstanceOf(AcquireReply.Queued.class);
        ensemble.remove(first);
        grant(ask(LOCK, writer));
    }

    @Test
    void aReaderWaitsForANodeThatDoesNotSayThatItIsAReaders() {
        for (String foreign :
                List.of("", "host/2/y", "127.0.0.1", "reader:0:", "reader:16:" + owner().publicId() + ":x")) {
            String node = plain(foreign);
            OwnerToken reader = queued(READ);
            ensemble.remove(node);
            grant(ask(READ, reader));
            release(READ, reader);
        }
    }

    @Test
    void aReaderThatDoesNotWaitMakesNoNodeBehindAWaitingWriter() {
        granted(READ);
        plain("host/2/y");
        assertThat(askedBy(() -> assertThat(now(begin(request(READ, owner()))))
                        .isInstanceOfSatisfying(
                                AcquireReply.Busy.class,
                                busy -> assertThat(busy.holder().id())
                                        .as("the holder, not the waiter")
                                        .isEqualTo(Holder.READERS))))
                .containsExactly("sync n", "children n", "read NODE", "read NODE", "read NODE");
        ensemble.remove(PATH + "/" + ensemble.queue(PATH).get(1));
        grant(now(begin(request(READ, owner()))));
    }

    /** It watches the last writer before it; when that leaves, another one may be before it. */
    @Test
    void aReaderBehindTwoWritersWaitsForBoth() {
        String holder = plain("host/2/y");
        String waiter = plain("host/3/z");
        foreignReader();
        OwnerToken reader = queued(READ);
        ensemble.remove(waiter);
        assertThat(heard).containsExactly("wake reader");
        assertThat(ask(READ, reader)).isInstanceOf(AcquireReply.Queued.class);
        ensemble.remove(holder);
        grant(ask(READ, reader));
    }

    /** The end of the only node before a reader is no proof that none of a writer is there: it reads the queue. */
    @Test
    void aReaderReadsTheQueueAtItsTurn() {
        String holder = plain("host/2/y");
        OwnerToken reader = queued(READ);
        runtime.runFor(Duration.ofSeconds(8));
        ensemble.remove(holder);
        long made = runtime.nanoTime() - Duration.ofSeconds(8).toNanos();
        assertThat(askedBy(
                        () -> assertThat(grant(ask(READ, reader)).sentAtNanos()).isEqualTo(made)))
                .containsExactly("children n", "watch NODE");
    }

    /** The machine may sleep while the nodes before its own are read. */
    @Test
    void aProofThatHasAgedDuringTheReadsOfAReaderDoesNotCount() {
        foreignReader();
        String holder = plain("host/2/y");
        OwnerToken reader = queued(READ);
        ensemble.remove(holder);
        ensemble.withhold("read");
        CompletableFuture<AcquireReply> reply = begin(waiting(READ, reader));
        runtime.suspend(Duration.ofSeconds(40));
        runtime.runFor(Duration.ofSeconds(40));
        assertThat(askedBy(() -> ensemble.answer("read"))).contains("firstMissing");
        assertThat(reply).isDone();
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
        assertThat(renew(READ, first)).isInstanceOf(RenewReply.Renewed.class);
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

    /** The writer becomes a reader after its node was read, and before it is watched. */
    @Test
    void aReaderThatMissesADowngradeLooksAgain() {
        OwnerToken writer = granted(LOCK);
        ensemble.withhold("read");
        CompletableFuture<AcquireReply> reader = begin(waiting(READ, owner()));
        grant(now(downgrade(owner(), writer)));
        ensemble.answer("read");
        grant(now(reader));
    }

    // ---- a downgrade

    @Test
    void aDowngradeChangesTheNodeInItsPlace() {
        OwnerToken writer = owner();
        Grant held = grant(ask(LOCK, writer));
        OwnerToken reader = owner();
        String path = pathOf(writer);
        long[] token = {0};
        assertThat(askedBy(() -> token[0] =
                        grant(now(downgrade(reader, writer))).tokens().first()))
                .as("the write used up the watch")
                .containsExactly("write NODE", "watch NODE");
        assertThat(token[0]).isEqualTo(held.tokens().last() + 1);
        assertThat(ensemble.queue(PATH)).hasSize(1);
        assertThat(dataOf(path)).isEqualTo("reader:1:" + reader.publicId() + ":host/1/x");
        assertThat(renew(LOCK, writer)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(LOCK, writer)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renew(READ, reader)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(release(READ, reader)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(ensemble.queue(PATH)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    /** The next node may have the next zxid. */
    @Test
    void theTokenOfADowngradedReaderIsBelowThatOfTheWriterBehindIt() {
        OwnerToken writer = granted(LOCK);
        OwnerToken next = queued(LOCK);
        OwnerToken reader = owner();
        long token = grant(now(downgrade(reader, writer))).tokens().first();
        release(READ, reader);
        assertThat(grant(ask(LOCK, next)).tokens().first()).isGreaterThan(token);
    }

    /** The validity counts from the write, which proves the session. */
    @Test
    void aDowngradeIsAProofOfTheSession() {
        OwnerToken writer = granted(LOCK);
        runtime.runFor(Duration.ofSeconds(9));
        long sent = runtime.nanoTime();
        assertThat(grant(now(downgrade(owner(), writer))).sentAtNanos()).isEqualTo(sent);
    }

    @Test
    void aDowngradeLetsReadersInAndNoWriter() {
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

    /** Its watch cannot tell the change from the end, so the next writer looks, and waits on. */
    @Test
    void theWriterBehindADowngradeWaitsOn() {
        OwnerToken writer = granted(LOCK);
        OwnerToken next = queued(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        assertThat(heard).containsExactly("wake writer");
        assertThat(ask(LOCK, next)).isInstanceOf(AcquireReply.Queued.class);
        release(READ, reader);
        assertThat(askedBy(() -> grant(ask(LOCK, next))))
                .as("its event told, as without readers")
                .isEmpty();
    }

    @Test
    void aDowngradeWithoutAReplyIsRepeatedAndFindsItself() {
        OwnerToken writer = granted(LOCK);
        long zxid = ensemble.nodes.get(pathOf(writer)).czxid();
        OwnerToken reader = owner();
        ensemble.loseNext("write");
        assertThat(now(downgrade(reader, writer)))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        long sent = runtime.nanoTime();
        Grant grant = grant(now(downgrade(reader, writer)));
        assertThat(grant.tokens().first()).isEqualTo(16 * zxid + 1);
        assertThat(grant.sentAtNanos()).isEqualTo(sent);
        assertThat(grant(now(downgrade(reader, writer))).tokens()).isEqualTo(grant.tokens());
        assertThat(now(downgrade(owner(), reader))).as("another reader").isInstanceOf(AcquireReply.Busy.class);
        assertThat(ensemble.queue(PATH)).hasSize(1);
        assertThat(release(READ, reader)).isInstanceOf(ReleaseReply.Released.class);
    }

    /** The confirmation proves the session when it is sent; its answer may come much later. */
    @Test
    void aRepeatedDowngradeCountsFromItsSending() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        ensemble.loseNext("write");
        now(downgrade(reader, writer));
        ensemble.withhold("read");
        long sent = runtime.nanoTime();
        CompletableFuture<AcquireReply> repeated = downgrade(reader, writer);
        runtime.runFor(Duration.ofMillis(500));
        ensemble.answer("read");
        assertThat(grant(now(repeated)).sentAtNanos()).isEqualTo(sent);
    }

    @Test
    void aDowngradeThatFailedIsMadeByTheNextRequest() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        ensemble.failNext("write", KeeperException.Code.CONNECTIONLOSS);
        assertThat(now(downgrade(reader, writer))).isInstanceOf(AcquireReply.Failed.class);
        grant(now(downgrade(reader, writer)));
        assertThat(renew(READ, reader)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** The engine ends the writer first, then the reader. */
    @Test
    void aDowngradeThatIsGivenUpLeavesNothing() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        ensemble.withhold("write");
        downgrade(reader, writer);
        runtime.runFor(LIMIT.plusMillis(1));
        CompletableFuture<ReleaseReply> undone =
                store.release(new ReleaseRequest(List.of(LOCK), writer, 0, ReleaseRequest.Kind.UNDO, LIMIT.toNanos()));
        ensemble.answer("write");
        assertThat(undone).isCompleted();
        release(READ, reader);
        assertThat(ensemble.queue(PATH)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aWriterThatIsGoneBecomesNoReader() {
        OwnerToken unheard = granted(LOCK);
        ensemble.removeUnheard(pathOf(unheard));
        assertThat(now(downgrade(owner(), unheard))).isInstanceOf(AcquireReply.Busy.class);
        OwnerToken forced = granted(LOCK);
        ensemble.remove(pathOf(forced));
        assertThat(now(downgrade(owner(), forced))).isInstanceOf(AcquireReply.Busy.class);
        OwnerToken released = granted(LOCK);
        release(LOCK, released);
        assertThat(now(downgrade(owner(), released))).isInstanceOf(AcquireReply.Busy.class);
        OwnerToken expired = granted(LOCK);
        ensemble.clients.get(0).expire();
        assertThat(now(downgrade(owner(), expired))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(ensemble.queue(PATH)).isEmpty();
    }

    @Test
    void aWaiterBecomesNoReader() {
        granted(LOCK);
        OwnerToken waiter = queued(LOCK);
        assertThat(now(downgrade(owner(), waiter))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(dataOf(pathOf(waiter))).isEqualTo("host/1/x");
    }

    @Test
    void theLossOfADowngradedReaderIsToldToTheReader() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        ensemble.remove(pathOf(writer));
        assertThat(heard).containsExactly("lost FORCE_RELEASED " + reader.publicId());
        assertThat(renew(READ, reader)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void theEndOfTheSessionIsToldToEachReader() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        OwnerToken other = granted(READ);
        ensemble.clients.get(0).expire();
        assertThat(heard)
                .hasSize(2)
                .anyMatch(news -> news.startsWith("lost") && news.endsWith(reader.publicId()))
                .anyMatch(news -> news.startsWith("lost") && news.endsWith(other.publicId()));
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aReaderThatIsNotRenewedIsRemovedAfterItsTtl() {
        granted(READ);
        runtime.runFor(TTL.plusSeconds(1));
        assertThat(ensemble.queue(PATH)).isEmpty();
    }

    // ---- the other kind, and other clients

    @Test
    void theOwnerTokenOfOneKindEndsAndRenewsNothingOfTheOther() {
        OwnerToken reader = granted(READ);
        assertThat(renew(LOCK, reader)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(LOCK, reader)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renew(READ, reader)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void anotherClientRenewsAndReleasesReadersByTheirOwnerTokens() {
        OwnerToken writer = granted(LOCK);
        OwnerToken reader = owner();
        grant(now(downgrade(reader, writer)));
        OwnerToken second = granted(READ);
        OwnerToken next = queued(LOCK);
        OwnerToken waiting = queued(READ);
        ZooKeeperStore elsewhere = open();
        assertThat(renew(elsewhere, READ, reader)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renew(elsewhere, READ, second)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renew(elsewhere, LOCK, writer)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(renew(elsewhere, LOCK, next)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(renew(elsewhere, READ, waiting)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(elsewhere, LOCK, reader)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(release(elsewhere, READ, reader)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(release(elsewhere, READ, reader)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(release(elsewhere, READ, waiting)).as("it waited").isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(ensemble.queue(PATH)).hasSize(2);
    }

    // ---- operators

    @Test
    void anOperatorSeesReadersAndWaiters() {
        OwnerToken writer = granted(LOCK);
        long first = ensemble.nodes.get(pathOf(writer)).czxid();
        grant(now(downgrade(owner(), writer)));
        long second = ensemble.nodes.get(foreignReader()).czxid();
        plain("host/3/z");
        queued(READ);
        Holder held = now(store.admin().describe(LOCK)).orElseThrow().holder();
        assertThat(held.isReaders()).isTrue();
        assertThat(held.fencingToken()).hasValue(16 * second);
        assertThat(now(store.admin().readers(LOCK, 10)))
                .extracting(Holder::id, reader -> reader.fencingToken().orElse(0))
                .containsExactly(tuple("host/1/x", 16 * first + 1), tuple("host/2/y", 16 * second));
        assertThat(now(store.admin().readers(LOCK, 1))).hasSize(1);
        assertThat(now(store.admin().waiters(LOCK, 10)))
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/3/z", "host/1/x");
        assertThat(now(store.admin().waiters(LOCK, 1))).hasSize(1);
    }

    @Test
    void manyReadersAreReadInParts() {
        for (int i = 0; i < 250; i++) {
            foreignReader();
        }
        plain("host/3/z");
        assertThat(now(begin(request(READ, owner())))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(now(store.admin().readers(LOCK, 1_000))).hasSize(250);
        assertThat(now(store.admin().waiters(LOCK, 10))).hasSize(1);
    }

    @Test
    void aReleaseByForceEndsOneReaderOrAllAndNoWriter() {
        foreignReader();
        granted(READ);
        granted(READ);
        plain("host/3/z");
        foreignReader();
        assertThat(now(store.admin().forceRelease(LOCK, "host/3/z"))).isFalse();
        assertThat(now(store.admin().forceRelease(LOCK, "host/2/y"))).isTrue();
        assertThat(ensemble.queue(PATH)).hasSize(4);
        assertThat(now(store.admin().forceRelease(LOCK, Holder.READERS))).isTrue();
        assertThat(ensemble.queue(PATH)).hasSize(2);
        assertThat(now(store.admin().forceRelease(LOCK, Holder.READERS))).isFalse();
        assertThat(now(store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(ensemble.queue(PATH)).hasSize(1);
        assertThat(now(store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(now(store.admin().forceRelease(LOCK, null))).isFalse();
    }

    @Test
    void anotherProgramThatWritesToTheNodeOfAWriterPreventsItsDowngrade() {
        OwnerToken writer = granted(LOCK);
        String path = pathOf(writer);
        now(ensemble.clients.get(0).write(path, "x".getBytes(StandardCharsets.UTF_8), 0));
        assertThat(now(downgrade(owner(), writer))).isInstanceOf(AcquireReply.Busy.class);
        ensemble.event(path, Watcher.Event.EventType.NodeDataChanged);
        assertThat(renew(LOCK, writer)).isInstanceOf(RenewReply.Renewed.class);
    }
}
