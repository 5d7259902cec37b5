package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The requests of one place to its cluster, the times from which it counts, and the state that it leaves behind; in the
 * time of the test.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class PlaceStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final EtcdUri URI = uri("");

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final Keys keys = new Keys(URI.prefix());
    private final List<String> heard = new ArrayList<>();
    private final EtcdStore store = open(URI);

    private static EtcdUri uri(String more) {
        return EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=1s" + more));
    }

    private EtcdStore open(EtcdUri uri) {
        EtcdStore opened = new EtcdStore(uri, runtime, etcd, false);
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
            public void reconnected() {}

            @Override
            public void nodeChanged(LockListener.NodeChanged event) {}
        });
        return opened;
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos());
    }

    private AcquireRequest waiting(OwnerToken owner) {
        return request(owner).waiting(RECHECK.toNanos());
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private AcquireReply ask(AcquireRequest request) {
        return now(store.acquire(request));
    }

    private Grant granted(OwnerToken owner) {
        AcquireReply reply = ask(waiting(owner));
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private CompletableFuture<RenewReply> renewal(OwnerToken owner, Duration ttl) {
        return store.renew(
                new RenewBatch(List.of(new RenewBatch.Item(LOCK, owner, ttl.toNanos(), 0)), LIMIT.toNanos()));
    }

    private RenewReply.Item renew(OwnerToken owner, Duration ttl) {
        return now(renewal(owner, ttl)).items().get(0);
    }

    private CompletableFuture<ReleaseReply> release(OwnerToken owner) {
        return store.release(new ReleaseRequest(List.of(LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private List<String> askedBy(Runnable step) {
        int mark = etcd.asked.size();
        step.run();
        return etcd.askedSince(mark);
    }

    private List<ByteSequence> queue() {
        return etcd.queue(LOCK, keys);
    }

    /** Another client's key at the head. */
    private ByteSequence other() {
        ByteSequence key = keys.of(LOCK, owner());
        etcd.put(key, "host/2/other", etcd.newLease(60));
        return key;
    }

    private void pass(Duration span) {
        runtime.runFor(span);
    }

    // ---- asking

    @Test
    void theFirstInTheQueueHoldsFromTheSendingOfTheRequestForItsLease() {
        OwnerToken owner = owner();
        long before = runtime.nanoTime();
        assertThat(askedBy(() -> {
                    Grant grant = granted(owner);
                    assertThat(grant.sentAtNanos()).isEqualTo(before);
                    assertThat(grant.tokens().first()).isEqualTo(etcd.revision);
                    assertThat(grant.owner()).isEqualTo(owner);
                }))
                .as("a lease for the ttl and an election timeout")
                .containsExactly("lease 31", "make");
        assertThat(queue()).containsExactly(keys.of(LOCK, owner));
        assertThat(store.attempts()).isEqualTo(1);
    }

    @Test
    void anImpatientAttemptAsksFirstWhetherItIsWorthIt() {
        assertThat(askedBy(() -> assertThat(ask(request(owner()))).isInstanceOf(AcquireReply.Granted.class)))
                .containsExactly("first", "lease 31", "make");
        assertThat(askedBy(() -> assertThat(ask(request(owner())))
                        .isInstanceOfSatisfying(
                                AcquireReply.Busy.class,
                                busy -> assertThat(busy.holder().id()).isEqualTo("host/1/x"))))
                .containsExactly("first");
        assertThat(store.attempts()).as("a busy one is not remembered").isEqualTo(1);
    }

    /** Another key was created between its read and its key. */
    @Test
    void anImpatientAttemptThatComesSecondLeavesNothing() {
        OwnerToken owner = owner();
        etcd.withhold("lease");
        CompletableFuture<AcquireReply> reply = store.acquire(request(owner));
        ByteSequence head = other();
        etcd.answer("lease");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Busy.class);
        assertThat(queue()).containsExactly(head);
        assertThat(store.attempts()).isZero();
        pass(Duration.ofSeconds(11));
        assertThat(etcd.leases).as("that of the other").hasSize(1);
    }

    @Test
    void aTokenThatReachesTheEndOfTokensIsRefusedForGoodAndLeavesNothing() {
        long limit = 1L << 53;
        EtcdStore high = open(uri("&tokenBase=" + (limit - etcd.revision - 1)));
        assertThat(now(high.acquire(waiting(owner())))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.error()).isInstanceOf(UnsafeStoreException.class).hasMessageContaining("2^53");
        });
        assertThat(queue()).isEmpty();
        pass(Duration.ofSeconds(11));
        assertThat(etcd.leases).isEmpty();
        EtcdStore last = open(uri("&tokenBase=" + (limit - etcd.revision - 2)));
        assertThat(now(last.acquire(waiting(owner()))))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().tokens().last()).isEqualTo(limit - 1));
    }

    @Test
    void aRepeatedRequestFindsTheKeyThatALostReplyMade() {
        OwnerToken owner = owner();
        etcd.withhold("make");
        CompletableFuture<AcquireReply> lost = store.acquire(waiting(owner));
        assertThat(queue()).hasSize(1);
        pass(LIMIT);
        assertThat(now(lost))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        etcd.answer("make");
        long before = runtime.nanoTime();
        assertThat(askedBy(() -> assertThat(granted(owner).sentAtNanos()).isEqualTo(before)))
                .containsExactly("keepAlive 1", "look");
        assertThat(queue()).hasSize(1);
    }

    /** A request of the same owner token, by another life of this client, has made the key. */
    @Test
    void aKeyUnderAnotherLeaseOfTheSameOwnerIsTakenOver() {
        OwnerToken owner = owner();
        long theirs = etcd.newLease(60);
        etcd.put(keys.of(LOCK, owner), "host/1/x", theirs);
        long token = etcd.revision;
        assertThat(askedBy(() -> assertThat(granted(owner).tokens().first()).isEqualTo(token)))
                .containsExactly("lease 31", "make", "revoke 2", "keepAlive 1", "look");
        assertThat(etcd.leases).containsOnlyKeys(theirs);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(queue()).isEmpty();
    }

    /** A copy of the request for the key may come under the one that was left. */
    @Test
    void aLeaseThatWasLeftForAnotherIsRevokedUntilThatIsAnswered() {
        OwnerToken owner = owner();
        etcd.put(keys.of(LOCK, owner), "host/1/x", etcd.newLease(60));
        etcd.failNext("make", ScriptedEtcd.broken());
        assertThat(ask(waiting(owner))).isInstanceOf(AcquireReply.Failed.class);
        etcd.failNext("revoke", ScriptedEtcd.broken());
        assertThat(askedBy(() -> granted(owner))).contains("revoke 2");
        assertThat(etcd.leases).containsKey(2L);
        assertThat(askedBy(() -> release(owner))).contains("revoke 2");
        assertThat(etcd.leases).isEmpty();
    }

    @Test
    void aLeaseThatHasEndedBeforeTheKeyIsMadeIsReplaced() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        assertThat(ask(waiting(owner))).isInstanceOf(AcquireReply.Failed.class);
        etcd.expire(1);
        assertThat(askedBy(() -> granted(owner))).containsExactly("make", "keepAlive 1", "lease 31", "make");
    }

    @Test
    void anEntryThatIsRemovedAgainAndAgainIsGivenUp() {
        OwnerToken owner = owner();
        granted(owner);
        for (int i = 0; i < 3; i++) {
            etcd.expire(etcd.leases.keySet().iterator().next());
            granted(owner);
        }
        assertThat(queue()).hasSize(1);
    }

    // ---- waiting

    @Test
    void aWaiterHearsOfTheKeyBeforeItsOwnAndOfNoOther() {
        ByteSequence head = other();
        OwnerToken second = owner();
        OwnerToken third = owner();
        assertThat(askedBy(() -> assertThat(ask(waiting(second)))
                        .isInstanceOfSatisfying(
                                AcquireReply.Queued.class,
                                queued -> assertThat(queued.holder().id()).isEqualTo("host/2/other"))))
                .containsExactly("lease 31", "make", "lastBefore", "watch");
        ask(waiting(third));
        assertThat(etcd.ears).hasSize(2);
        assertThat(etcd.ears.get(0).key).isEqualTo(head);
        assertThat(etcd.ears.get(1).key).isEqualTo(keys.of(LOCK, second));
        assertThat(etcd.ears.get(1).fromRevision).isEqualTo(etcd.revision + 1);
        etcd.remove(head);
        assertThat(heard).containsExactly("wake n");
        granted(second);
        assertThat(etcd.ears.get(0).closed).as("it waits no more").isTrue();
        assertThat(ask(waiting(third))).isInstanceOf(AcquireReply.Queued.class);
    }

    /** Between the making of its key and the read of the one before. */
    @Test
    void aWaiterBeforeWhichNobodyIsLeftLooksAgain() {
        ByteSequence head = other();
        etcd.withhold("make");
        CompletableFuture<AcquireReply> reply = store.acquire(waiting(owner()));
        etcd.remove(head);
        etcd.answer("make");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(etcd.asked).containsExactly("lease 31", "make", "lastBefore", "keepAlive 2", "look");
    }

    @Test
    void aWatchThatEndsByItselfGivesAnotherLook() {
        other();
        ask(waiting(owner()));
        ScriptedEtcd.Ear ear = etcd.ears.get(0);
        ear.told.accept(EtcdCalls.Heard.OVER);
        ear.told.accept(EtcdCalls.Heard.OVER);
        assertThat(heard).as("once for each wait").containsExactly("wake n");
    }

    @Test
    void aRecheckInTimeIsToldFromMemoryAndASoonerOneIsNot() {
        other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(askedBy(() -> ask(waiting(owner)))).as("something was told").isNotEmpty();
        assertThat(etcd.openEars()).as("the watch before is replaced").isEqualTo(1);
        pass(Duration.ofSeconds(10));
        assertThat(askedBy(() -> assertThat(ask(waiting(owner))).isInstanceOf(AcquireReply.Queued.class)))
                .isEmpty();
    }

    @Test
    void aWaiterKeepsItsLeaseUntilItHolds() {
        ByteSequence head = other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(askedBy(() -> pass(Duration.ofSeconds(10)))).isEmpty();
        assertThat(askedBy(() -> pass(Duration.ofMillis(400))))
                .as("a third of 31 s")
                .containsExactly("keepAlive 2");
        etcd.failNext("keepAlive", ScriptedEtcd.broken());
        assertThat(askedBy(() -> pass(Duration.ofSeconds(21)))).containsExactly("keepAlive 2", "keepAlive 2");
        etcd.remove(head);
        granted(owner);
        assertThat(askedBy(() -> pass(Duration.ofSeconds(21))))
                .as("the engine renews it")
                .doesNotContain("keepAlive 2");
    }

    @Test
    void aWaiterWhoseLeaseHasEndedIsWokenAndBeginsAnew() {
        other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        etcd.expire(2);
        heard.clear();
        pass(Duration.ofSeconds(11));
        assertThat(heard).containsExactly("wake n");
        assertThat(askedBy(() -> ask(waiting(owner)))).containsExactly("lease 31", "make", "lastBefore", "watch");
    }

    // ---- holding

    @Test
    void aRenewalCountsFromItsSendingAndLooksWhetherTheKeyIsThere() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofSeconds(5));
        long before = runtime.nanoTime();
        assertThat(askedBy(() -> assertThat(renew(owner, TTL)).isEqualTo(new RenewReply.Renewed(before))))
                .containsExactly("keepAlive 1", "look");
        etcd.withhold("keepAlive");
        CompletableFuture<RenewReply> late = renewal(owner, TTL);
        long sent = runtime.nanoTime();
        pass(Duration.ofSeconds(1));
        etcd.answer("keepAlive");
        assertThat(now(late).items().get(0)).isEqualTo(new RenewReply.Renewed(sent));
        etcd.remove(keys.of(LOCK, owner));
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void aRenewalWhoseLeaseHasEndedOrThatFailsIsToldSo() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("keepAlive", ScriptedEtcd.broken());
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.Failed.class);
        etcd.withhold("look");
        CompletableFuture<RenewReply> late = renewal(owner, TTL);
        pass(LIMIT);
        assertThat(now(late).items().get(0)).isInstanceOf(RenewReply.Failed.class);
        etcd.leases.remove(1L);
        etcd.answer("look");
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void aLongerTtlIsSureForTheElectionTimeoutLessUntilTheKeyIsUnderALongerLease() {
        OwnerToken owner = owner();
        granted(owner);
        long before = runtime.nanoTime();
        Duration longer = Duration.ofSeconds(40);
        assertThat(askedBy(() -> assertThat(renew(owner, longer)).isEqualTo(new RenewReply.Renewed(before))))
                .containsExactly("lease 41", "move 2", "revoke 1", "watch");
        assertThat(etcd.leases).containsOnlyKeys(2L);
        assertThat(askedBy(() -> renew(owner, longer))).containsExactly("keepAlive 2", "look");
        // A leader that is cut off may not know of the second between 41 s and 40 s + 1 s.
        assertThat(renew(owner, Duration.ofMillis(40_500)))
                .isEqualTo(
                        new RenewReply.Renewed(before - Duration.ofMillis(500).toNanos()));
    }

    @Test
    void aMoveWhoseAnswerIsLostIsRepeatedWithTheSameLease() {
        OwnerToken owner = owner();
        granted(owner);
        Duration longer = Duration.ofSeconds(40);
        etcd.failNext("move", ScriptedEtcd.broken());
        assertThat(renew(owner, longer)).isInstanceOf(RenewReply.Failed.class);
        long before = runtime.nanoTime();
        assertThat(askedBy(() -> assertThat(renew(owner, longer)).isEqualTo(new RenewReply.Renewed(before))))
                .containsExactly("keepAlive 2", "move 2", "revoke 1", "watch");
        Duration longest = Duration.ofSeconds(50);
        etcd.failNext("move", ScriptedEtcd.broken());
        assertThat(renew(owner, longest)).isInstanceOf(RenewReply.Failed.class);
        etcd.expire(3);
        assertThat(askedBy(() -> assertThat(renew(owner, longest)).isInstanceOf(RenewReply.Renewed.class)))
                .as("that one has ended")
                .containsExactly("keepAlive 3", "lease 51", "move 4", "revoke 2");
    }

    @Test
    void aReleaseBetweenTwoLeasesEndsBoth() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("move", ScriptedEtcd.broken());
        renew(owner, Duration.ofSeconds(40));
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.leases).isEmpty();
        assertThat(queue()).isEmpty();
    }

    @Test
    void aHolderThatIsNotRenewedIsRemovedAfterItsTtlAndNotBefore() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofSeconds(20));
        renew(owner, TTL);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aWaiterThatIsNotHeardOfIsForgotten() {
        ByteSequence head = other();
        ask(waiting(owner()));
        pass(Duration.ofMillis(3_000 + 2_000 + 30_000 - 1));
        assertThat(queue()).hasSize(2);
        pass(Duration.ofMillis(1));
        assertThat(queue()).containsExactly(head);
        assertThat(store.attempts()).isZero();
        assertThat(etcd.openEars()).isZero();
        assertThat(askedBy(() -> pass(Duration.ofSeconds(60))))
                .as("nor does its heart beat; its lease is left for a while")
                .containsExactly("revoke 2");
    }

    // ---- the watch of a holder

    @Test
    void aHolderIsWatchedAfterAWhileAndToldWhyItLost() {
        OwnerToken owner = owner();
        assertThat(askedBy(() -> {
                    granted(owner);
                    pass(Duration.ofMillis(199));
                }))
                .doesNotContain("watch");
        assertThat(askedBy(() -> pass(Duration.ofMillis(1)))).containsExactly("watch");
        assertThat(etcd.ears.get(0).key).isEqualTo(keys.of(LOCK, owner));
        assertThat(etcd.ears.get(0).fromRevision).isEqualTo(etcd.revision + 1);
        assertThat(askedBy(() -> renew(owner, TTL))).as("one watch is enough").doesNotContain("watch");
        etcd.remove(keys.of(LOCK, owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
        assertThat(etcd.leases).as("nothing is left").isEmpty();
        assertThat(store.attempts()).isZero();
        assertThat(etcd.openEars()).isZero();
    }

    @Test
    void aHolderWhoseLeaseIsRevokedLostItsSession() {
        granted(owner());
        pass(Duration.ofMillis(200));
        etcd.expire(1);
        assertThat(heard).containsExactly("lost SESSION_LOST");
    }

    @Test
    void aLossWhoseCauseIsNotAnsweredIsToldAllTheSame() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        etcd.withhold("remaining");
        etcd.remove(keys.of(LOCK, owner));
        pass(Duration.ofMillis(499));
        assertThat(heard).isEmpty();
        pass(Duration.ofMillis(1));
        assertThat(heard).containsExactly("lost SESSION_LOST");
    }

    @Test
    void aBrokenWatchSuspendsAndOneThatIsOverIsMadeAgainByTheNextRenewal() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        ScriptedEtcd.Ear first = etcd.ears.get(0);
        first.told.accept(EtcdCalls.Heard.BROKEN);
        assertThat(heard).containsExactly("suspended");
        first.told.accept(EtcdCalls.Heard.OVER);
        assertThat(askedBy(() -> renew(owner, TTL))).containsExactly("keepAlive 1", "look", "watch");
        now(release(owner));
        ScriptedEtcd.Ear second = etcd.ears.get(1);
        assertThat(second.closed).isTrue();
        second.told.accept(EtcdCalls.Heard.DELETED);
        second.told.accept(EtcdCalls.Heard.BROKEN);
        assertThat(heard).as("what is closed is not heard").containsExactly("suspended");
    }

    /** A cluster forgets its old history, and refuses to report it: the watch would end each time it is made. */
    @Test
    void aWatchThatIsMadeAgainBeginsWhereTheRenewalSawTheKey() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        etcd.ears.get(0).told.accept(EtcdCalls.Heard.OVER);
        etcd.revision += 10;
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(etcd.ears.get(1).fromRevision).isEqualTo(etcd.revision + 1);
    }

    @Test
    void aHoldThatEndsSoonIsNeverWatched() {
        OwnerToken owner = owner();
        granted(owner);
        now(release(owner));
        assertThat(askedBy(() -> pass(Duration.ofSeconds(1)))).isEmpty();
    }

    @Test
    void aWatchThatCannotBeMadeIsTriedAgainByTheNextRenewal() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("watch", new IllegalStateException("made by the test"));
        try {
            pass(Duration.ofMillis(200));
        } catch (IllegalStateException e) {
            assertThat(e).hasMessage("made by the test");
        }
        assertThat(askedBy(() -> renew(owner, TTL))).contains("watch");
    }

    // ---- ending

    @Test
    void aReleaseDeletesTheKeyAndIsToldOnce() {
        OwnerToken owner = owner();
        granted(owner);
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class)))
                .containsExactly("delete");
        assertThat(store.attempts()).isZero();
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class)))
                .as("it is not known any more")
                .containsExactly("get");
    }

    @Test
    void aRemovalThatFailsIsRepeatedUntilItIsAnswered() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("delete", ScriptedEtcd.broken());
        etcd.failNext("delete", ScriptedEtcd.broken());
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(queue()).hasSize(1);
        pass(Duration.ofSeconds(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofSeconds(1));
        assertThat(queue()).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    /** Its lease lives twice its ttl at most, counted from its last extension. */
    @Test
    void aRemovalThatIsNeverAnsweredEndsWithTheLease() {
        OwnerToken owner = owner();
        granted(owner);
        for (int i = 0; i < 200; i++) {
            etcd.failNext("delete", ScriptedEtcd.broken());
        }
        release(owner);
        pass(Duration.ofSeconds(62));
        assertThat(store.attempts()).isEqualTo(1);
        pass(Duration.ofSeconds(1));
        assertThat(store.attempts()).isZero();
        assertThat(askedBy(() -> pass(Duration.ofSeconds(10)))).isEmpty();
    }

    @Test
    void anAttemptThatIsTakenBackBeforeItsKeyIsMadeLeavesNothingInTheQueue() {
        OwnerToken owner = owner();
        etcd.withhold("lease");
        CompletableFuture<AcquireReply> reply = store.acquire(waiting(owner));
        CompletableFuture<ReleaseReply> released = release(owner);
        assertThat(released).isNotDone();
        etcd.answer("lease");
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("taken back"));
        assertThat(now(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue()).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aWaiterThatLeavesIsNoLongerWokenAndItsHeartStops() {
        ByteSequence head = other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class);
        etcd.remove(head);
        assertThat(heard).isEmpty();
        assertThat(askedBy(() -> pass(Duration.ofSeconds(60))))
                .as("its lease is left for a while")
                .containsExactly("revoke 2");
    }

    private void deletesFail() {
        for (int i = 0; i < 400; i++) {
            etcd.failNext("delete", ScriptedEtcd.broken());
        }
    }

    private void isForgottenAfter(Duration span) {
        pass(span.minusSeconds(2));
        assertThat(store.attempts()).isEqualTo(1);
        pass(Duration.ofSeconds(4));
        assertThat(store.attempts()).isZero();
    }

    /** A copy of an unanswered extension may still have its effect. */
    @Test
    void aLeaseLivesOnFromItsLastExtensionEvenIfThatWasNotAnswered() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofSeconds(20));
        etcd.withhold("keepAlive");
        renewal(owner, TTL);
        deletesFail();
        release(owner);
        isForgottenAfter(Duration.ofSeconds(62));
    }

    @Test
    void aLongerLeaseThatWasBegunLivesOnAsWell() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("move", ScriptedEtcd.broken());
        renew(owner, Duration.ofSeconds(100));
        deletesFail();
        release(owner);
        isForgottenAfter(Duration.ofSeconds(202));
    }

    @Test
    void aLeaseThatWasTakenOverLivesAsLongAsTheClusterSays() {
        OwnerToken owner = owner();
        etcd.put(keys.of(LOCK, owner), "host/1/x", etcd.newLease(60));
        granted(owner);
        deletesFail();
        release(owner);
        isForgottenAfter(Duration.ofMinutes(2));
    }

    @Test
    void aReleaseThatIsNotAnsweredInTimeIsToldSoAndNoWatchIsHeardAnyMore() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        etcd.withhold("delete");
        CompletableFuture<ReleaseReply> late = release(owner);
        assertThat(etcd.ears.get(0).closed).isTrue();
        pass(LIMIT);
        assertThat(now(late))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        etcd.answer("delete");
        assertThat(store.attempts()).isZero();
    }

    // ---- what changes meanwhile

    @Test
    void aHolderThatNobodyRenewedOrAskedForIsRemovedAfterItsTtl() {
        OwnerToken first = owner();
        granted(first);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
        AcquireRequest second = request(owner()).waiting(Duration.ofSeconds(1).toNanos());
        ask(second);
        pass(Duration.ofSeconds(10));
        assertThat(ask(second)).as("asked again").isInstanceOf(AcquireReply.Granted.class);
        pass(TTL.minusMillis(1));
        assertThat(queue()).hasSize(1);
        pass(Duration.ofMillis(1));
        assertThat(queue()).isEmpty();
    }

    @Test
    void aWaiterHasNothingToRenew() {
        other();
        OwnerToken owner = owner();
        ask(waiting(owner));
        assertThat(askedBy(() -> assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class)))
                .isEmpty();
    }

    @Test
    void aRenewalThatIsAnsweredAfterTheReleaseRenewsNothing() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.withhold("look");
        CompletableFuture<RenewReply> late = renewal(owner, TTL);
        release(owner);
        etcd.answer("look");
        assertThat(now(late).items().get(0)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void ofTwoRenewalsThatNeedALongerLeaseTheSecondExtendsTheFirstsOne() {
        OwnerToken owner = owner();
        granted(owner);
        Duration longer = Duration.ofSeconds(40);
        etcd.withhold("lease");
        CompletableFuture<RenewReply> one = renewal(owner, longer);
        CompletableFuture<RenewReply> two = renewal(owner, longer);
        assertThat(askedBy(() -> etcd.answer("lease")))
                .containsExactly("move 2", "revoke 1", "watch", "keepAlive 2", "look");
        assertThat(now(one).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(now(two).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aReleaseOrALossWhileALongerLeaseIsMadeLeavesNeither() {
        OwnerToken released = owner();
        granted(released);
        etcd.withhold("lease");
        CompletableFuture<RenewReply> late = renewal(released, Duration.ofSeconds(40));
        CompletableFuture<ReleaseReply> release = release(released);
        etcd.answer("lease");
        assertThat(now(late).items().get(0)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(now(release)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.leases).isEmpty();

        OwnerToken deleted = owner();
        granted(deleted);
        etcd.withhold("lease");
        CompletableFuture<RenewReply> later = renewal(deleted, Duration.ofSeconds(40));
        etcd.removeUnheard(keys.of(LOCK, deleted));
        etcd.answer("lease");
        assertThat(now(later).items().get(0)).isInstanceOf(RenewReply.NotOurs.class);
    }

    /** The lease outlives the ttl by an election timeout, all of which an exchange may use. */
    @Test
    void aTtlOfTheWholeLeaseNeedsNoLongerOne() {
        OwnerToken owner = owner();
        granted(owner);
        assertThat(askedBy(() -> renew(owner, Duration.ofSeconds(31)))).containsExactly("keepAlive 1", "look", "watch");
        assertThat(askedBy(() -> renew(owner, Duration.ofSeconds(31).plusNanos(1))))
                .contains("lease 33");
    }

    @Test
    void aRecheckIsToldFromMemoryOnlyWhileTheLeaseIsSure() {
        other();
        OwnerToken one = owner();
        OwnerToken two = owner();
        ask(waiting(one));
        ask(waiting(two));
        for (int i = 0; i < 100; i++) {
            etcd.failNext("keepAlive", ScriptedEtcd.broken());
        }
        pass(Duration.ofSeconds(31).minusMillis(1));
        assertThat(askedBy(() -> ask(waiting(one)))).isEmpty();
        pass(Duration.ofMillis(1));
        assertThat(askedBy(() -> ask(waiting(two)))).contains("keepAlive 3");
    }

    /** As if its event had been lost: the next request of the attempt detects it, and makes another key. */
    @Test
    void aKeyThatIsGoneIsMadeAnewAndWatchedAnew() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        etcd.removeUnheard(keys.of(LOCK, owner));
        assertThat(askedBy(() -> assertThat(granted(owner).tokens().first()).isEqualTo(etcd.revision)))
                .containsExactly("keepAlive 1", "look", "make", "keepAlive 1");
        assertThat(etcd.ears.get(0).closed).isTrue();
        pass(Duration.ofMillis(200));
        assertThat(etcd.ears).hasSize(2);
        etcd.leases.clear();
        etcd.removeUnheard(keys.of(LOCK, owner));
        assertThat(askedBy(() -> granted(owner))).containsExactly("keepAlive 1", "look", "lease 31", "make");
        assertThat(etcd.ears.get(1).closed).isTrue();
    }

    @Test
    void aHolderIsWatchedFromTheLastRevisionThatItWasSeenAt() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.revision += 10;
        granted(owner);
        pass(Duration.ofMillis(200));
        assertThat(etcd.ears.get(0).fromRevision).isEqualTo(etcd.revision + 1);
    }

    @Test
    void aClusterThatKeepsNoKeyOrNoLeaseIsGivenUp() {
        etcd.keepsNoKey = true;
        assertThat(ask(waiting(owner()))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).hasMessageContaining("again and again");
        });
        etcd.keepsNoKey = false;
        for (int i = 0; i < 20; i++) {
            etcd.failNext(
                    "make",
                    EtcdExceptionFactory.newEtcdException(
                            ErrorCode.NOT_FOUND, "etcdserver: requested lease not found"));
        }
        assertThat(ask(waiting(owner())))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("again and again"));
    }

    @Test
    void aHolderThatReleasesWhileItsWatchIsMadeIsNotWatched() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.duringWatch = () -> release(owner);
        pass(Duration.ofMillis(200));
        assertThat(etcd.ears.get(0).closed).isTrue();
        assertThat(heard).isEmpty();
    }

    @Test
    void aLossWhoseCauseCannotBeAskedForIsToldAllTheSame() {
        OwnerToken owner = owner();
        granted(owner);
        pass(Duration.ofMillis(200));
        etcd.failNext("remaining", ScriptedEtcd.broken());
        etcd.remove(keys.of(LOCK, owner));
        assertThat(heard).containsExactly("lost SESSION_LOST");
    }

    // ---- owners of another life

    @Test
    void whatAnotherLifeHoldsIsRenewedAndReleasedByItsKey() {
        OwnerToken owner = owner();
        etcd.put(keys.of(LOCK, owner), "host/1/x", etcd.newLease(31));
        long before = runtime.nanoTime();
        assertThat(renew(owner, TTL)).isEqualTo(new RenewReply.Renewed(before));
        assertThat(renew(owner, Duration.ofSeconds(32)))
                .as("the lease is a second shorter, and an election timeout is not sure")
                .isEqualTo(new RenewReply.Renewed(before - Duration.ofSeconds(2).toNanos()));
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class)))
                .containsExactly("get", "first", "delete", "revoke 1");
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void whatAnotherLifeWaitedForIsRemovedAndWasNotHeld() {
        ByteSequence head = other();
        OwnerToken owner = owner();
        etcd.put(keys.of(LOCK, owner), "host/1/x", etcd.newLease(31));
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(queue()).containsExactly(head);
        LockName otherLock = LockName.exactly("other");
        etcd.put(keys.of(otherLock, owner), "host/1/x", etcd.newLease(31));
        ReleaseReply several = now(store.release(
                new ReleaseRequest(List.of(otherLock, LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos())));
        assertThat(several).as("one of them was held").isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void theCallsOfAClosedStoreAreClosed() {
        store.close();
        assertThat(etcd.isClosed).isTrue();
    }
}
