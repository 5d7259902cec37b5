package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreAccessException;
import io.leasehold.UnsafeStoreException;
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
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The requests of one place to its ensemble, the times from which it counts, and the state that it leaves behind; in
 * the time of the test.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class PlaceStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final String PATH = "/c/n";
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final long STRANGER = 77;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEnsemble ensemble = new ScriptedEnsemble();
    private final List<String> heard = new ArrayList<>();
    private final ZooKeeperStore store = open("");

    private ZooKeeperStore open(String more) {
        ZooKeeperUri uri = ZooKeeperUri.parse(StoreUri.parse("zookeeper://h:2181/c?tickTime=2s" + more));
        ZooKeeperStore opened = new ZooKeeperStore(uri, runtime, ensemble);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + cause);
            }

            @Override
            public void suspended(OwnerToken owner) {
                heard.add("suspended");
            }

            @Override
            public void reconnected() {
                heard.add("reconnected");
            }
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

    private AcquireRequest request(OwnerToken owner) {
        return request(LOCK, owner, TTL);
    }

    private AcquireRequest request(LockName name, OwnerToken owner, Duration ttl) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/x", ttl.toNanos(), LIMIT.toNanos());
    }

    private AcquireRequest waiting(OwnerToken owner) {
        return request(owner).waiting(RECHECK.toNanos());
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private CompletableFuture<AcquireReply> begin(ZooKeeperStore at, AcquireRequest request) {
        CompletableFuture<AcquireReply> reply = at.acquire(request);
        if (!ensemble.connectsLater) {
            ensemble.connect();
        }
        return reply;
    }

    private AcquireReply ask(AcquireRequest request) {
        return now(begin(store, request));
    }

    private Grant granted(OwnerToken owner) {
        AcquireReply reply = ask(waiting(owner));
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private RenewBatch.Item item(LockName name, OwnerToken owner, Duration ttl) {
        return new RenewBatch.Item(name, owner, ttl.toNanos(), 0);
    }

    private CompletableFuture<RenewReply> renewal(RenewBatch.Item... items) {
        return store.renew(new RenewBatch(List.of(items), LIMIT.toNanos()));
    }

    private RenewReply.Item renew(OwnerToken owner, Duration ttl) {
        return now(renewal(item(LOCK, owner, ttl))).items().get(0);
    }

    private CompletableFuture<ReleaseReply> release(OwnerToken owner) {
        return store.release(new ReleaseRequest(List.of(LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private List<String> askedBy(Runnable step) {
        int mark = ensemble.asked.size();
        step.run();
        return ensemble.askedSince(mark).stream()
                .map(call -> call.replaceAll("_c_.*", "NODE"))
                .toList();
    }

    private List<String> queue() {
        return ensemble.queue(PATH);
    }

    private String own(OwnerToken owner) {
        return ensemble.nodes.keySet().stream()
                .filter(path -> path.contains("_c_" + owner.publicId()))
                .findFirst()
                .orElseThrow();
    }

    /** Another client's node, the last of the queue. */
    private String other() {
        return ensemble.enqueue(PATH, owner().publicId(), "host/2/other", STRANGER);
    }

    private ScriptedEnsemble.Client client() {
        return ensemble.clients.get(0);
    }

    private void pass(Duration span) {
        runtime.runFor(span);
    }

    // ---- asking

    @Test
    void theFirstInTheQueueHoldsFromTheSendingOfTheRequest() {
        OwnerToken owner = owner();
        long before = runtime.nanoTime();
        assertThat(askedBy(() -> {
                    Grant grant = granted(owner);
                    assertThat(grant.sentAtNanos()).isEqualTo(before);
                    assertThat(grant.tokens().first()).isEqualTo(ensemble.zxid);
                    assertThat(grant.owner()).isEqualTo(owner);
                }))
                .as("a session of which a whole ttl is sure")
                .containsExactly("open 42000", "create NODE", "children n", "watch NODE");
        assertThat(queue()).hasSize(1);
        assertThat(store.attempts()).isEqualTo(1);
    }

    @Test
    void theNodesAboveAreMadeIfTheyAreMissing() {
        ensemble.nodes.clear();
        assertThat(askedBy(() -> granted(owner())))
                .containsExactly(
                        "open 42000",
                        "create NODE",
                        "children n",
                        "create n",
                        "create c",
                        "create n",
                        "create NODE",
                        "children n",
                        "watch NODE");
    }

    @Test
    void anImpatientAttemptAsksFirstWhetherItIsWorthIt() {
        assertThat(askedBy(() -> assertThat(ask(request(owner()))).isInstanceOf(AcquireReply.Granted.class)))
                .containsExactly("open 42000", "sync n", "children n", "create NODE", "children n", "watch NODE");
        assertThat(askedBy(() -> assertThat(ask(request(owner())))
                        .isInstanceOfSatisfying(
                                AcquireReply.Busy.class,
                                busy -> assertThat(busy.holder().id()).isEqualTo("host/1/x"))))
                .containsExactly("sync n", "children n", "read NODE");
        assertThat(store.attempts()).as("a busy one is not remembered").isEqualTo(1);
    }

    /** Another node was created between its read and its node. */
    @Test
    void anImpatientAttemptThatComesSecondLeavesNothing() {
        ensemble.withhold("sync");
        CompletableFuture<AcquireReply> reply = begin(store, request(owner()));
        String head = other();
        ensemble.answer("sync");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Busy.class);
        assertThat(queue()).hasSize(1);
        assertThat(ensemble.nodes).containsKey(head);
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aTokenThatReachesTheEndOfTokensIsRefusedForGoodAndLeavesNothing() {
        long limit = 1L << 53;
        ZooKeeperStore high = open("&tokenBase=" + (limit - ensemble.zxid - 1));
        assertThat(now(begin(high, waiting(owner())))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.error()).isInstanceOf(UnsafeStoreException.class).hasMessageContaining("2^53");
        });
        assertThat(queue()).isEmpty();
    }

    @Test
    void aSessionThatIsShorterThanTheTtlHoldsNothing() {
        ensemble.longestMillis = 29_999;
        assertThat(ask(waiting(owner())))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("maxSessionTimeout"));
        assertThat(queue()).isEmpty();
    }

    /** A third of the timeout and a tick may pass before the leader hears of the client. */
    @Test
    void whatIsNotSureOfAShorterSessionIsNotCounted() {
        ensemble.longestMillis = 36_000;
        OwnerToken owner = owner();
        long before = runtime.nanoTime();
        assertThat(granted(owner).sentAtNanos())
                .as("36 s − 10 s − 2 s are sure")
                .isEqualTo(before - Duration.ofSeconds(6).toNanos());
        assertThat(renew(owner, Duration.ofSeconds(24))).isEqualTo(new RenewReply.Renewed(before));
        assertThat(renew(owner, Duration.ofSeconds(25)))
                .isEqualTo(new RenewReply.Renewed(before - Duration.ofSeconds(1).toNanos()));
    }

    @Test
    void aThirdOfAShortSessionIsNotSure() {
        ensemble.longestMillis = 18_000;
        long before = runtime.nanoTime();
        AcquireReply reply = ask(request(LOCK, owner(), Duration.ofSeconds(12)).waiting(RECHECK.toNanos()));
        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().sentAtNanos())
                                .as("18 s − 6 s − 2 s are sure")
                                .isEqualTo(before - Duration.ofSeconds(2).toNanos()));
    }

    @Test
    void aCloseWaitsForTheEndOfItsSessions() {
        granted(owner());
        ensemble.toClose = new CompletableFuture<>();
        runtime.schedule(Duration.ofMillis(700).toNanos(), () -> ensemble.toClose.complete(null));
        long before = runtime.nanoTime();
        store.close();
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isEqualTo(Duration.ofMillis(700));
    }

    /** The driver waits for two thirds of the session's timeout, whatever it is told. */
    @Test
    void aCloseWaitsForASilentMemberForABoundedTime() {
        granted(owner());
        ensemble.toClose = new CompletableFuture<>();
        long before = runtime.nanoTime();
        store.close();
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isEqualTo(Duration.ofMillis(2_500));
        ensemble.toClose.complete(null);
    }

    @Test
    void aNodeWhoseMakingWasNotAnsweredIsLookedForAndFound() {
        OwnerToken owner = owner();
        ensemble.loseNext("create");
        assertThat(ask(waiting(owner)))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        assertThat(queue()).hasSize(1);
        assertThat(askedBy(() -> granted(owner)))
                .containsExactly("sync n", "children n", "read NODE", "firstMissing", "children n", "watch NODE");
        assertThat(queue()).hasSize(1);
        assertThat(askedBy(() -> granted(owner)))
                .as("and is certain then")
                .containsExactly("firstMissing", "children n");
        ensemble.removeUnheard(own(owner));
        assertThat(askedBy(() -> granted(owner)))
                .containsExactly("firstMissing", "children n", "create NODE", "children n", "watch NODE");
    }

    @Test
    void aNodeThatWasNotMadeIsMadeAfterTheLook() {
        OwnerToken owner = owner();
        ensemble.failNext("create", KeeperException.Code.CONNECTIONLOSS);
        ask(waiting(owner));
        assertThat(askedBy(() -> granted(owner)))
                .containsExactly("sync n", "children n", "create NODE", "children n", "watch NODE");
        ensemble.removeUnheard(own(owner));
        assertThat(askedBy(() -> granted(owner)))
                .as("it is certain then")
                .containsExactly("firstMissing", "children n", "create NODE", "children n", "watch NODE");
    }

    @Test
    void aRefusedRightLeavesNoDoubtAboutANode() {
        OwnerToken owner = owner();
        ensemble.failNext("create", KeeperException.Code.NOAUTH);
        assertThat(ask(waiting(owner)))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).isInstanceOf(StoreAccessException.class));
        assertThat(askedBy(() -> granted(owner))).containsExactly("create NODE", "children n", "watch NODE");
    }

    /** It goes with its session, and must not be mistaken for the attempt's own node. */
    @Test
    void aNodeOfAnotherSessionOfTheSameOwnerIsRemoved() {
        OwnerToken owner = owner();
        String old = ensemble.enqueue(PATH, owner.publicId(), "host/1/x", STRANGER);
        assertThat(askedBy(() -> assertThat(ask(request(owner))).isInstanceOf(AcquireReply.Granted.class)))
                .containsExactly(
                        "open 42000",
                        "sync n",
                        "children n",
                        "read NODE",
                        "delete NODE",
                        "sync n",
                        "children n",
                        "create NODE",
                        "children n",
                        "watch NODE");
        assertThat(ensemble.nodes).doesNotContainKey(old);
    }

    @Test
    void aNodeThatGoesWhileItIsReadIsNotAdopted() {
        OwnerToken owner = owner();
        String old = ensemble.enqueue(PATH, owner.publicId(), "host/1/x", STRANGER);
        ensemble.withhold("sync");
        CompletableFuture<AcquireReply> reply = begin(store, request(owner));
        ensemble.remove(old);
        ensemble.answer("sync");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(queue()).hasSize(1);
        OwnerToken second = owner();
        ensemble.enqueue(PATH, second.publicId(), "host/1/x", STRANGER);
        ensemble.failNext("read", KeeperException.Code.CONNECTIONLOSS);
        assertThat(ask(request(second))).isInstanceOf(AcquireReply.Failed.class);
    }

    @Test
    void ofTwoNodesOfOneOwnerTheOtherIsRemoved() {
        OwnerToken owner = owner();
        granted(owner);
        String twin = ensemble.enqueue(PATH, owner.publicId(), "host/1/x", STRANGER);
        assertThat(askedBy(() -> granted(owner)))
                .containsExactly("firstMissing", "children n", "delete NODE", "firstMissing", "children n");
        assertThat(ensemble.nodes).doesNotContainKey(twin);
    }

    @Test
    void aNodeThatIsGoneIsMadeAnew() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.removeUnheard(own(owner));
        assertThat(askedBy(() -> assertThat(granted(owner).tokens().first()).isEqualTo(ensemble.zxid)))
                .containsExactly("firstMissing", "children n", "create NODE", "children n", "watch NODE");
    }

    @Test
    void anEnsembleThatKeepsNoNodeIsGivenUp() {
        ensemble.keepsNoNode = true;
        assertThat(ask(waiting(owner()))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).hasMessageContaining("again and again");
        });
        ensemble.keepsNoNode = false;
        ensemble.keepsNoLock = true;
        assertThat(ask(waiting(owner())))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("again and again"));
        ensemble.keepsNoLock = false;
        ensemble.failNext("create", KeeperException.Code.NONODE);
        ensemble.failNext("create", KeeperException.Code.NOAUTH);
        assertThat(ask(waiting(owner())))
                .as("the node of the lock could not be made")
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).isInstanceOf(StoreAccessException.class));
    }

    // ---- waiting

    @Test
    void aWaiterHearsOfTheNodeBeforeItsOwnAndOfNoOther() {
        String head = other();
        OwnerToken second = owner();
        OwnerToken third = owner();
        assertThat(askedBy(() -> assertThat(ask(waiting(second)))
                        .isInstanceOfSatisfying(
                                AcquireReply.Queued.class,
                                queued -> assertThat(queued.holder().id()).isEqualTo("host/2/other"))))
                .containsExactly("open 42000", "create NODE", "children n", "watch NODE", "watch NODE");
        ask(waiting(third));
        assertThat(client().watched).as("its own, too").containsExactlyInAnyOrder(head, own(second));
        ensemble.remove(head);
        assertThat(heard).containsExactly("wake n");
        granted(second);
        assertThat(ask(waiting(third))).isInstanceOf(AcquireReply.Queued.class);
    }

    @Test
    void aNodeThatGoesBeforeItIsWatchedMakesTheNextLook() {
        String head = other();
        OwnerToken owner = owner();
        ensemble.withhold("create");
        CompletableFuture<AcquireReply> reply = begin(store, waiting(owner));
        ensemble.remove(head);
        ensemble.answer("create");
        assertThat(now(reply)).as("its list was older").isInstanceOf(AcquireReply.Granted.class);
        OwnerToken waiter = owner();
        ensemble.failNext("watch", KeeperException.Code.CONNECTIONLOSS);
        assertThat(ask(waiting(waiter))).isInstanceOf(AcquireReply.Failed.class);
        ensemble.remove(own(owner));
        assertThat(heard).as("it had no watch to hear").doesNotContain("wake n");
    }

    @Test
    void aRecheckInTimeIsToldFromMemoryUnlessTheConnectionIsCut() {
        other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(askedBy(() -> ask(waiting(owner)))).as("something was told").isNotEmpty();
        pass(Duration.ofSeconds(10));
        assertThat(askedBy(() -> assertThat(ask(waiting(owner))).isInstanceOf(AcquireReply.Queued.class)))
                .isEmpty();
        pass(Duration.ofSeconds(10));
        client().state(Watcher.Event.KeeperState.Disconnected);
        assertThat(askedBy(() -> ask(waiting(owner)))).isNotEmpty();
    }

    @Test
    void aWaiterThatAskedAgainIsWokenOnce() {
        String head = other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        ask(waiting(owner));
        ensemble.remove(head);
        assertThat(heard).containsExactly("wake n");
    }

    @Test
    void aWaiterThatIsNotHeardOfIsForgotten() {
        other();
        ask(waiting(owner()));
        pass(Duration.ofMillis(3_000 + 2_000 + 30_000 - 1));
        assertThat(queue()).hasSize(2);
        pass(Duration.ofMillis(1));
        assertThat(queue()).hasSize(1);
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aWaiterThatLeavesIsNotWoken() {
        String head = other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        ensemble.withhold("delete");
        CompletableFuture<ReleaseReply> released = release(owner);
        ensemble.remove(head);
        assertThat(heard).isEmpty();
        ensemble.answer("delete");
        assertThat(now(released)).isInstanceOf(ReleaseReply.NotOurs.class);
    }

    // ---- holding

    @Test
    void aHolderIsRemovedAfterTheTtlOfItsLastRenewalAndNotBefore() {
        OwnerToken first = owner();
        granted(first);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofSeconds(20));
        renew(owner, TTL);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
        AcquireRequest again = request(owner()).waiting(Duration.ofSeconds(1).toNanos());
        ask(again);
        pass(Duration.ofSeconds(20));
        assertThat(ask(again)).as("asked again").isInstanceOf(AcquireReply.Granted.class);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
    }

    @Test
    void aHolderIsToldAtOnceThatItsNodeWasRemovedByHand() {
        OwnerToken owner = owner();
        granted(owner);
        assertThat(client().watched).containsExactly(own(owner));
        ensemble.remove(own(owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
        assertThat(store.attempts()).isZero();
    }

    /** Another client has made another node in its place; an answer shows that the session continues. */
    @Test
    void aNodeThatIsThereAgainWasRemovedByHandAllTheSame() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.event(own(owner), Watcher.Event.EventType.NodeDeleted);
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    @Test
    void aNodeThatIsGoneBeforeItIsWatchedWasRemovedByHand() {
        OwnerToken owner = owner();
        ensemble.failNext("watch", KeeperException.Code.NONODE);
        assertThat(ask(waiting(owner))).as("and is not granted").isInstanceOf(AcquireReply.Failed.class);
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    @Test
    void aNodeThatAStrangerWroteToIsWatchedAgain() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.event(own(owner), Watcher.Event.EventType.NodeDataChanged);
        assertThat(heard).isEmpty();
        ensemble.remove(own(owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    /** The connection was cut at that moment, and the session continues. */
    @Test
    void aWatchThatCouldNotBeSetIsSetByTheNextRenewal() {
        OwnerToken owner = owner();
        ensemble.failNext("watch", KeeperException.Code.CONNECTIONLOSS);
        ensemble.failNext("watch", KeeperException.Code.CONNECTIONLOSS);
        granted(owner);
        for (int i = 0; i < 2; i++) {
            assertThat(askedBy(() -> assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.Renewed.class)))
                    .containsExactly("firstMissing", "watch NODE");
        }
        assertThat(askedBy(() -> renew(owner, TTL))).as("once is enough").containsExactly("firstMissing");
        ensemble.remove(own(owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    @Test
    void aWatchThatIsBeingSetIsNotSetTwice() {
        OwnerToken owner = owner();
        ensemble.withhold("watch");
        granted(owner);
        assertThat(askedBy(() -> renew(owner, TTL))).containsExactly("firstMissing");
        ensemble.answer("watch");
        ensemble.event(own(owner), Watcher.Event.EventType.NodeDataChanged);
        assertThat(askedBy(() -> renew(owner, TTL))).containsExactly("firstMissing");
        ensemble.remove(own(owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    @Test
    void whereTheCauseOfALossCannotBeAskedForItIsTheSession() {
        OwnerToken first = owner();
        granted(first);
        ensemble.failNext("read", KeeperException.Code.SESSIONEXPIRED);
        ensemble.remove(own(first));
        assertThat(heard).containsExactly("lost SESSION_LOST");
        heard.clear();
        OwnerToken second = owner();
        granted(second);
        ensemble.withhold("read");
        ensemble.remove(own(second));
        pass(Duration.ofMillis(499));
        assertThat(heard).isEmpty();
        pass(Duration.ofMillis(1));
        assertThat(heard).containsExactly("lost SESSION_LOST");
    }

    @Test
    void aHolderThatHasReleasedHearsNothingOfItsNode() {
        OwnerToken owner = owner();
        granted(owner);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(heard).isEmpty();
    }

    // ---- renewing

    @Test
    void aBatchIsRenewedByOneQuestionThatFindsEachNodeThatIsMissing() {
        List<OwnerToken> owners = new ArrayList<>();
        List<RenewBatch.Item> items = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            LockName name = LockName.exactly("n" + i);
            ensemble.put("/c/n" + i, "", 0);
            OwnerToken owner = owner();
            assertThat(ask(request(name, owner, TTL).waiting(RECHECK.toNanos())))
                    .isInstanceOf(AcquireReply.Granted.class);
            owners.add(owner);
            items.add(item(name, owner, TTL));
        }
        long before = runtime.nanoTime();
        RenewReply.Item renewed = new RenewReply.Renewed(before);
        assertThat(askedBy(() -> assertThat(now(renewal(items.toArray(RenewBatch.Item[]::new)))
                                .items())
                        .containsOnly(renewed)))
                .containsExactly("firstMissing");
        ensemble.removeUnheard(own(owners.get(1)));
        ensemble.removeUnheard(own(owners.get(4)));
        RenewReply.Item gone = new RenewReply.NotOurs();
        assertThat(now(renewal(items.toArray(RenewBatch.Item[]::new))).items())
                .containsExactly(renewed, gone, renewed, renewed, gone);
    }

    @Test
    void aRenewalCountsFromItsSendingAndIsLateAfterItsLimit() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.withhold("firstMissing");
        long sent = runtime.nanoTime();
        CompletableFuture<RenewReply> slow = renewal(item(LOCK, owner, TTL));
        pass(Duration.ofSeconds(1));
        ensemble.answer("firstMissing");
        assertThat(now(slow).items()).containsExactly(new RenewReply.Renewed(sent));
        ensemble.withhold("firstMissing");
        CompletableFuture<RenewReply> late = renewal(item(LOCK, owner, TTL));
        pass(LIMIT);
        assertThat(now(late).items().get(0))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed ->
                                assertThat(failed.error()).hasMessageContainingAll("renewal of \"n\"", "not answered"));
        ensemble.answer("firstMissing");
        ensemble.failNext("firstMissing", KeeperException.Code.CONNECTIONLOSS);
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.Failed.class);
    }

    @Test
    void aWaiterHasNothingToRenew() {
        other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(askedBy(() -> assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class)))
                .isEmpty();
    }

    /** Members accept a megabyte in one request. */
    @Test
    void manyRenewalsAreAskedForInParts() {
        List<RenewBatch.Item> items = new ArrayList<>();
        for (int i = 0; i < 1_500; i++) {
            LockName name = LockName.exactly("%0150d".formatted(i));
            ensemble.put("/c/" + name, "", 0);
            OwnerToken owner = owner();
            ask(request(name, owner, TTL).waiting(RECHECK.toNanos()));
            items.add(item(name, owner, TTL));
        }
        List<String> asked = askedBy(() -> assertThat(
                        now(renewal(items.toArray(RenewBatch.Item[]::new))).items())
                .hasSize(1_500)
                .allMatch(RenewReply.Renewed.class::isInstance));
        assertThat(asked).containsExactly("firstMissing", "firstMissing");
        ensemble.failNext("firstMissing", KeeperException.Code.CONNECTIONLOSS);
        assertThat(now(renewal(items.get(0), items.get(1))).items().get(1))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("and 1 more"));
    }

    // ---- sessions

    @Test
    void whatBecomesOfASessionIsToldToThoseInIt() {
        OwnerToken holder = owner();
        granted(holder);
        OwnerToken waiter = owner();
        ask(waiting(waiter));
        client().state(Watcher.Event.KeeperState.Disconnected);
        client().state(Watcher.Event.KeeperState.Disconnected);
        assertThat(heard).as("of the holder, once").containsExactly("suspended");
        client().state(Watcher.Event.KeeperState.SyncConnected);
        assertThat(heard).containsExactly("suspended", "reconnected");
        heard.clear();
        client().state(Watcher.Event.KeeperState.Expired);
        client().state(Watcher.Event.KeeperState.Expired);
        client().state(Watcher.Event.KeeperState.SyncConnected);
        assertThat(heard).containsExactlyInAnyOrder("lost SESSION_LOST", "wake n");
        assertThat(store.attempts()).isZero();
        assertThat(askedBy(() -> ask(waiting(waiter)))).as("another session").startsWith("open 42000", "create NODE");
    }

    @Test
    void anotherTtlHasAnotherSessionWhoseEndIsNothingToTheFirst() {
        granted(owner());
        LockName name = LockName.exactly("m");
        ensemble.put("/c/m", "", 0);
        ask(request(name, owner(), Duration.ofSeconds(10)).waiting(RECHECK.toNanos()));
        assertThat(ensemble.clients).hasSize(2);
        assertThat(ensemble.clients.get(1).askedMillis).isEqualTo(18_000);
        ensemble.clients.get(1).state(Watcher.Event.KeeperState.Disconnected);
        assertThat(heard).containsExactly("suspended");
        ensemble.clients.get(1).state(Watcher.Event.KeeperState.Expired);
        assertThat(heard).containsExactly("suspended", "lost SESSION_LOST");
        assertThat(store.attempts()).isEqualTo(1);
    }

    @Test
    void ofManySessionsAnIdleOneIsEndedForTheNext() {
        for (int i = 1; i <= 8; i++) {
            OwnerToken owner = owner();
            ask(request(LOCK, owner, Duration.ofSeconds(20 + i)));
            if (i != 1) {
                continue;
            }
            release(owner);
        }
        // Each other attempt is busy, and not remembered; the first has its holder again.
        assertThat(ensemble.clients).hasSize(8).noneMatch(client -> client.closed);
        runtime.runFor(Duration.ofSeconds(10));
        ask(request(LOCK, owner(), Duration.ofSeconds(29)));
        assertThat(ensemble.clients.stream().filter(client -> client.closed)).hasSize(1);
        assertThat(ensemble.clients.get(1).closed).as("where a lease lives").isFalse();
        assertThat(heard).isEmpty();
        assertThat(askedBy(() -> ask(request(LOCK, owner(), Duration.ofSeconds(29)))))
                .as("it is there")
                .doesNotContain("open 41000");
    }

    @Test
    void credentialsThatAreRefusedEndTheSessionForGood() {
        ensemble.connectsLater = true;
        CompletableFuture<AcquireReply> reply = begin(store, waiting(owner()));
        client().state(Watcher.Event.KeeperState.AuthFailed);
        assertThat(now(reply)).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
        });
    }

    @Test
    void anAttemptWithoutASessionIsLateAndForgotten() {
        ensemble.connectsLater = true;
        CompletableFuture<AcquireReply> reply = begin(store, waiting(owner()));
        pass(LIMIT);
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("not answered within 2000 ms"));
        pass(Duration.ofSeconds(33));
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aClosedStoreHasEndedItsSessionsAndGrantsNothing() {
        granted(owner());
        store.admin().list("*", 1);
        ensemble.connect();
        store.close();
        assertThat(ensemble.clients).hasSize(2).allMatch(client -> client.closed);
        assertThat(heard).contains("lost SESSION_LOST");
        assertThat(ask(waiting(owner())))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("closed"));
        assertThat(store.admin().list("*", 1))
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingRootCause()
                .withMessageContaining("closed");
        client().state(Watcher.Event.KeeperState.SyncConnected);
        assertThat(heard).as("it was closed").doesNotContain("reconnected");
    }

    /** For example, no thread can be started for it. */
    @Test
    void aSessionThatCannotBeEndedKeepsNoOtherOpen() {
        granted(owner());
        store.admin().list("*", 1);
        ensemble.connect();
        ensemble.failsToClose = 1;
        store.close();
        assertThat(ensemble.clients).hasSize(2);
        assertThat(ensemble.clients.stream().filter(client -> client.closed)).hasSize(1);
    }

    // ---- ending

    @Test
    void aReleaseDeletesTheNodeAndIsToldOnce() {
        OwnerToken owner = owner();
        granted(owner);
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class)))
                .containsExactly("delete NODE");
        assertThat(store.attempts()).isZero();
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class)))
                .as("it is not known any more")
                .containsExactly("sync n", "children n");
    }

    @Test
    void aRemovalThatFailsIsRepeatedUntilItIsAnsweredOrTheSessionEnds() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.failNext("delete", KeeperException.Code.CONNECTIONLOSS);
        ensemble.failNext("delete", KeeperException.Code.CONNECTIONLOSS);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Failed.class);
        pass(Duration.ofSeconds(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofSeconds(1));
        assertThat(queue()).isEmpty();
        assertThat(store.attempts()).isZero();

        OwnerToken second = owner();
        granted(second);
        for (int i = 0; i < 100; i++) {
            ensemble.failNext("delete", KeeperException.Code.CONNECTIONLOSS);
        }
        release(second);
        pass(Duration.ofSeconds(60));
        assertThat(store.attempts()).isEqualTo(1);
        client().state(Watcher.Event.KeeperState.Expired);
        assertThat(store.attempts()).isZero();
        assertThat(heard).as("it had given it back").doesNotContain("lost SESSION_LOST");
    }

    @Test
    void aReleaseThatIsNotAnsweredInTimeIsToldSo() {
        OwnerToken owner = owner();
        granted(owner);
        ensemble.withhold("delete");
        CompletableFuture<ReleaseReply> late = release(owner);
        pass(LIMIT);
        assertThat(now(late))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
    }

    @Test
    void anAttemptThatIsTakenBackWhileItsNodeIsMadeLeavesNone() {
        OwnerToken owner = owner();
        ensemble.withhold("create");
        CompletableFuture<AcquireReply> reply = begin(store, waiting(owner));
        CompletableFuture<ReleaseReply> released = release(owner);
        ensemble.answer("create");
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("taken back"));
        assertThat(now(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue()).isEmpty();
        assertThat(store.attempts()).isZero();
        OwnerToken lost = owner();
        ensemble.loseNext("create");
        ask(waiting(lost));
        assertThat(askedBy(() -> release(lost))).containsExactly("sync n", "children n", "delete NODE");
        assertThat(queue()).isEmpty();
    }

    @Test
    void anAttemptThatIsTakenBackBeforeItHasASessionLeavesNothing() {
        ensemble.connectsLater = true;
        OwnerToken owner = owner();
        CompletableFuture<AcquireReply> reply = begin(store, waiting(owner));
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class);
        ensemble.connect();
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("taken back"));
        assertThat(queue()).isEmpty();
    }

    // ---- owners of another life

    @Test
    void whatAnotherLifeHoldsIsFoundAndRemovedByItsId() {
        OwnerToken owner = owner();
        ensemble.enqueue(PATH, owner.publicId(), "host/1/x", STRANGER);
        CompletableFuture<RenewReply> renewal = renewal(item(LOCK, owner, TTL));
        ensemble.connect();
        assertThat(now(renewal).items().get(0))
                .as("held, and for how long no session of ours can say")
                .isEqualTo(new RenewReply.Renewed(runtime.nanoTime() - TTL.toNanos()));
        OwnerToken waiter = owner();
        ensemble.enqueue(PATH, waiter.publicId(), "host/1/x", STRANGER);
        assertThat(renew(waiter, TTL)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(now(release(waiter))).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(queue()).isEmpty();
        ensemble.failNext("sync", KeeperException.Code.CONNECTIONLOSS);
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.Failed.class);
        ensemble.withhold("sync");
        CompletableFuture<RenewReply> late = renewal(item(LOCK, owner, TTL));
        pass(LIMIT);
        assertThat(now(late).items().get(0)).isInstanceOf(RenewReply.Failed.class);
    }
}
