package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The leases that an attempt leaves to the next, those that it revokes, and the trust in a lease that was left; in the
 * time of the test.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class LeaseReuseTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final LockName OTHER = LockName.exactly("other");
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(2);

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final Keys keys = new Keys("p");
    private final List<String> heard = new ArrayList<>();
    private final EtcdStore store = open();

    private EtcdStore open() {
        EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=1s"));
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
            public void suspended(OwnerToken owner) {}

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

    private static AcquireRequest waiting(LockName lock, OwnerToken owner, Duration ttl) {
        return AcquireRequest.exclusive(List.of(lock), owner, "host/1/x", ttl.toNanos(), LIMIT.toNanos())
                .waiting(Duration.ofSeconds(20).toNanos());
    }

    private CompletableFuture<AcquireReply> asking(OwnerToken owner) {
        return store.acquire(waiting(LOCK, owner, TTL));
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private Grant granted(LockName lock, OwnerToken owner, Duration ttl) {
        AcquireReply reply = now(store.acquire(waiting(lock, owner, ttl)));
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private Grant granted(OwnerToken owner) {
        return granted(LOCK, owner, TTL);
    }

    private CompletableFuture<RenewReply> renewal(OwnerToken owner, Duration ttl) {
        return store.renew(
                new RenewBatch(List.of(new RenewBatch.Item(LOCK, owner, ttl.toNanos(), 0)), LIMIT.toNanos()));
    }

    private CompletableFuture<ReleaseReply> release(LockName lock, OwnerToken owner) {
        return store.release(new ReleaseRequest(List.of(lock), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private CompletableFuture<ReleaseReply> release(OwnerToken owner) {
        return release(LOCK, owner);
    }

    private void released(OwnerToken owner) {
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
    }

    private List<String> askedBy(Runnable step) {
        int mark = etcd.asked.size();
        step.run();
        return etcd.askedSince(mark);
    }

    /** An attempt has held and has left lease 1. */
    private void leaveOne() {
        OwnerToken owner = owner();
        granted(owner);
        released(owner);
        assertThat(etcd.leases).containsOnlyKeys(1L);
    }

    private void nextTakesNone() {
        assertThat(askedBy(() -> granted(owner()))).startsWith("lease 31");
    }

    // ---- what is left

    @Test
    void aCleanEndLeavesItsLeaseAndTheNextAttemptWritesItsKeyAlone() {
        OwnerToken first = owner();
        granted(first);
        assertThat(askedBy(() -> released(first))).containsExactly("delete");
        OwnerToken second = owner();
        assertThat(askedBy(() -> granted(second))).containsExactly("make", "keepAlive 1");
        assertThat(askedBy(() -> released(second))).containsExactly("delete");
        assertThat(etcd.leases).containsOnlyKeys(1L);
        assertThat(store.attempts()).isZero();
    }

    @Test
    void oneThatDoesNotWaitTakesALeaseOnlyIfTheLockIsFree() {
        leaveOne();
        OwnerToken holder = owner();
        AcquireRequest request =
                AcquireRequest.exclusive(List.of(LOCK), holder, "host/1/x", TTL.toNanos(), LIMIT.toNanos());
        assertThat(askedBy(() -> assertThat(now(store.acquire(request))).isInstanceOf(AcquireReply.Granted.class)))
                .containsExactly("first", "make", "keepAlive 1");
    }

    /** While one attempt has it, another attempt gets another lease; the loss of one does not affect the other. */
    @Test
    void aLeaseKeepsOneKeyAtATime() {
        leaveOne();
        OwnerToken one = owner();
        OwnerToken two = owner();
        granted(LOCK, one, TTL);
        assertThat(askedBy(() -> granted(OTHER, two, TTL))).containsExactly("lease 31", "make");
        now(release(LOCK, one));
        now(release(OTHER, two));
        now(release(LOCK, one));
        assertThat(askedBy(() -> granted(LOCK, owner(), TTL))).contains("keepAlive 2");
        assertThat(askedBy(() -> granted(OTHER, owner(), TTL))).contains("keepAlive 1");
        assertThat(askedBy(() -> granted(LockName.exactly("third"), owner(), TTL)))
                .as("each was given back once")
                .containsExactly("lease 31", "make");
    }

    @Test
    void anotherTtlTakesAnotherLease() {
        leaveOne();
        OwnerToken shorter = owner();
        assertThat(askedBy(() -> granted(LOCK, shorter, Duration.ofSeconds(10))))
                .containsExactly("lease 11", "make");
        now(release(LOCK, shorter));
        assertThat(askedBy(() -> granted(LOCK, owner(), TTL))).containsExactly("make", "keepAlive 1");
        assertThat(askedBy(() -> granted(OTHER, owner(), Duration.ofSeconds(10))))
                .containsExactly("make", "keepAlive 2");
    }

    @Test
    void anAttemptThatIsTakenBackBeforeItsKeyIsAskedForLeavesItsLease() {
        OwnerToken owner = owner();
        etcd.withhold("lease");
        CompletableFuture<AcquireReply> reply = asking(owner);
        CompletableFuture<ReleaseReply> taken = release(owner);
        assertThat(askedBy(() -> etcd.answer("lease"))).isEmpty();
        assertThat(now(reply)).isInstanceOf(AcquireReply.Failed.class);
        assertThat(now(taken)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 1");
    }

    /** It leaves when the one before it does, and its earlier requests are answered afterwards. */
    @Test
    void aWaiterThatLeavesAtItsTurnLeavesItsLeaseOnce() {
        OwnerToken holder = owner();
        granted(holder);
        OwnerToken waiter = owner();
        assertThat(now(asking(waiter))).isInstanceOf(AcquireReply.Queued.class);
        released(holder);
        assertThat(heard).containsExactly("wake n");
        etcd.withhold("look");
        CompletableFuture<AcquireReply> turn = asking(waiter);
        CompletableFuture<ReleaseReply> left = release(waiter);
        assertThat(left).isNotDone();
        etcd.answer("look");
        assertThat(now(turn)).as("it was taken back").isInstanceOf(AcquireReply.Failed.class);
        now(left);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 2");
        assertThat(askedBy(() -> granted(OTHER, owner(), TTL))).containsExactly("make", "keepAlive 1");
        assertThat(askedBy(() -> granted(LockName.exactly("third"), owner(), TTL)))
                .contains("lease 31");
    }

    // ---- what is believed

    @Test
    void aLeaseThatWasLeftCountsFromItsExtensionByTheNextAttempt() {
        leaveOne();
        runtime.runFor(Duration.ofSeconds(9));
        long before = runtime.nanoTime();
        etcd.withhold("keepAlive");
        CompletableFuture<AcquireReply> reply = asking(owner());
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(reply).as("nothing is believed before").isNotDone();
        etcd.answer("keepAlive");
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().sentAtNanos()).isEqualTo(before));
    }

    /** The clock of the machine stood still as well: by it, the lease has just been left. */
    @Test
    void aLeaseThatEndedWhileTheMachineSleptIsReplaced() {
        leaveOne();
        etcd.put(keys.of(OTHER, owner()), "host/2/other", etcd.newLease(60));
        runtime.suspend(Duration.ofHours(1));
        runtime.runFor(Duration.ofHours(1));
        etcd.expire(1);
        assertThat(askedBy(() -> granted(owner()))).contains("lease 31");
        assertThat(etcd.queue(LOCK, keys)).hasSize(1);
    }

    @Test
    void anAttemptMeetsOneLeaseThatHasEndedAndNotAllOfThem() {
        OwnerToken one = owner();
        OwnerToken two = owner();
        granted(LOCK, one, TTL);
        granted(OTHER, two, TTL);
        now(release(LOCK, one));
        now(release(OTHER, two));
        etcd.expire(1);
        etcd.expire(2);
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 2", "lease 31", "make");
    }

    /** The first request was granted a lease, and the machine slept before the second one put the key under it. */
    @Test
    void aLeaseOfAnEarlierRequestOfTheAttemptIsExtendedBeforeItCounts() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        assertThat(now(asking(owner))).isInstanceOf(AcquireReply.Failed.class);
        etcd.withhold("keepAlive");
        CompletableFuture<AcquireReply> again = asking(owner);
        assertThat(again).isNotDone();
        etcd.answer("keepAlive");
        assertThat(now(again)).isInstanceOf(AcquireReply.Granted.class);
    }

    /** It ended between the making of the key, which went with it, and the extension. */
    @Test
    void aKeyWhoseLeaseIsGoneAtTheExtensionIsMadeUnderANewOne() {
        leaveOne();
        etcd.afterNext("make", () -> etcd.expire(1));
        OwnerToken owner = owner();
        assertThat(askedBy(() -> granted(owner))).containsExactly("make", "keepAlive 1", "lease 31", "make");
        assertThat(etcd.queue(LOCK, keys)).containsExactly(keys.of(LOCK, owner));
    }

    /** That the key could not be made under it tells enough: its extension need not be answered. */
    @Test
    void aLeaseThatHasEndedIsReplacedAlsoIfItsExtensionIsNotAnswered() {
        leaveOne();
        etcd.expire(1);
        etcd.withhold("keepAlive");
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 1", "lease 31", "make");
    }

    // ---- what is in doubt

    @Test
    void aLeaseWhoseKeyWasAskedForInVainIsRevokedAndNotLeft() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        assertThat(now(asking(owner))).isInstanceOf(AcquireReply.Failed.class);
        granted(owner);
        assertThat(askedBy(() -> released(owner)))
                .as("a copy of the first request may still come")
                .containsExactly("delete", "revoke 1");
        nextTakesNone();
    }

    @Test
    void aRemovalIsToldOnlyOnceALatePutMustFail() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        asking(owner);
        granted(owner);
        etcd.failNext("revoke", ScriptedEtcd.broken());
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(store.attempts()).as("its duty is not done").isEqualTo(1);
        assertThat(askedBy(() -> runtime.runFor(Duration.ofSeconds(1)))).containsExactly("revoke 1");
        assertThat(store.attempts()).isZero();
        assertThat(etcd.leases).isEmpty();
    }

    @Test
    void aReleaseThatIsRepeatedUntilTheLeaseIsRevokedTellsOfTheHold() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        asking(owner);
        granted(owner);
        etcd.failNext("revoke", ScriptedEtcd.broken());
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Released.class);
    }

    /** Its answer, that the lease has ended, would meet the next attempt. */
    @Test
    void aLeaseOfWhichAnExtensionIsUnderWayIsRevokedAndNotLeft() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.withhold("keepAlive");
        renewal(owner, TTL);
        assertThat(askedBy(() -> released(owner))).containsExactly("delete", "revoke 1");
        OwnerToken next = owner();
        assertThat(askedBy(() -> granted(next))).containsExactly("lease 31", "make");
        etcd.answer("keepAlive");
        assertThat(askedBy(() -> released(next))).containsExactly("delete");
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 2");
    }

    @Test
    void aLeaseWhoseExtensionFailedIsRevokedAndNotLeft() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("keepAlive", ScriptedEtcd.broken());
        now(renewal(owner, TTL));
        assertThat(askedBy(() -> released(owner))).containsExactly("delete", "revoke 1");
        nextTakesNone();
    }

    /** An extension that comes late puts no key: what was released is free, whatever becomes of the lease. */
    @Test
    void aReleaseAfterALostExtensionIsToldOnceTheKeyIsDeleted() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.failNext("keepAlive", ScriptedEtcd.broken());
        now(renewal(owner, TTL));
        etcd.withhold("revoke");
        assertThat(askedBy(() -> released(owner))).containsExactly("delete", "revoke 1");
        assertThat(store.attempts()).isZero();
        OwnerToken next = owner();
        granted(next);
        etcd.failNext("keepAlive", ScriptedEtcd.broken());
        now(renewal(next, TTL));
        etcd.failNext("revoke", ScriptedEtcd.broken());
        released(next);
        assertThat(askedBy(() -> runtime.runFor(Duration.ofSeconds(5)))).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    /** Each request for the key was answered: nothing makes it anew. */
    @Test
    void aKeyThatAnotherHasDeletedIsToldWithoutItsRevocation() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.removeUnheard(keys.of(LOCK, owner));
        etcd.failNext("revoke", ScriptedEtcd.broken());
        assertThat(askedBy(() -> assertThat(now(release(owner))).isInstanceOf(ReleaseReply.NotOurs.class)))
                .containsExactly("delete", "revoke 1");
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aLeaseThatHasEndedIsNotLeft() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.expire(1);
        now(renewal(owner, TTL));
        release(owner);
        nextTakesNone();
    }

    @Test
    void aLeaseWhoseKeySomebodyElseDeletedIsRevokedAndTheLossIsToldAsForced() {
        leaveOne();
        OwnerToken owner = owner();
        granted(owner);
        runtime.runFor(Duration.ofMillis(200));
        etcd.remove(keys.of(LOCK, owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
        assertThat(etcd.leases).isEmpty();
        OwnerToken unheard = owner();
        granted(unheard);
        etcd.removeUnheard(keys.of(LOCK, unheard));
        assertThat(askedBy(() -> assertThat(now(release(unheard))).isInstanceOf(ReleaseReply.NotOurs.class)))
                .containsExactly("delete", "revoke 2");
        nextTakesNone();
    }

    /** Neither the lease under which the key was nor the longer one is left, and the end waits for both. */
    @Test
    void aKeyThatWasMovedHasBothLeasesRevokedBeforeItsEndIsTold() {
        OwnerToken owner = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        asking(owner);
        granted(owner);
        etcd.failNext("revoke", ScriptedEtcd.broken());
        assertThat(askedBy(() -> now(renewal(owner, Duration.ofSeconds(40))))).contains("move 2", "revoke 1");
        assertThat(etcd.leases)
                .as("a copy of the request for the key may come under the first")
                .containsKey(1L);
        etcd.withhold("revoke");
        CompletableFuture<ReleaseReply> release = release(owner);
        assertThat(release).isNotDone();
        etcd.answer("revoke");
        assertThat(now(release)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.leases).isEmpty();
        nextTakesNone();
    }

    @Test
    void aReleaseThatAnErrorMeetsGoesOnAndLeavesTheLeaseOnce() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.throwNext("delete", new AssertionError("made by the test"));
        assertThat(now(release(owner))).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(store.attempts()).isEqualTo(1);
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(store.attempts()).isZero();
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(askedBy(() -> granted(owner()))).containsExactly("make", "keepAlive 1");
        assertThat(askedBy(() -> granted(OTHER, owner(), TTL))).startsWith("lease 31");
    }

    @Test
    void anErrorOfTheDriverAtTheKeyLeavesTheLeaseInDoubt() {
        OwnerToken owner = owner();
        etcd.throwNext("make", new AssertionError("made by the test"));
        assertThat(now(asking(owner))).isInstanceOf(AcquireReply.Failed.class);
        assertThat(askedBy(() -> now(release(owner)))).containsExactly("revoke 1");
        etcd.throwNext("revoke", new AssertionError("made by the test"));
        OwnerToken second = owner();
        etcd.failNext("make", ScriptedEtcd.broken());
        asking(second);
        assertThat(now(release(second))).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(askedBy(() -> runtime.runFor(Duration.ofSeconds(1)))).containsExactly("revoke 2");
        assertThat(store.attempts()).isZero();
    }

    // ---- idle leases

    @Test
    void anIdleLeaseIsRevokedAfterAThirdOfItsTtl() {
        leaveOne();
        assertThat(askedBy(() -> runtime.runFor(Duration.ofMillis(10_333)))).isEmpty();
        assertThat(askedBy(() -> runtime.runFor(Duration.ofMillis(1)))).containsExactly("revoke 1");
        assertThat(askedBy(() -> runtime.runFor(Duration.ofMinutes(5)))).isEmpty();
        nextTakesNone();
    }

    @Test
    void whatIsUsedAgainInTimeIsNeverRevoked() {
        leaveOne();
        for (int i = 0; i < 20; i++) {
            runtime.runFor(Duration.ofSeconds(9));
            OwnerToken owner = owner();
            assertThat(askedBy(() -> {
                        granted(owner);
                        released(owner);
                    }))
                    .containsExactly("make", "keepAlive 1", "delete");
        }
    }

    /** If an unknown key is under it, that key must end. */
    @Test
    void aLeaseIsNotUsedForLongerThanTenTimesItsTtl() {
        leaveOne();
        for (int i = 0; i < 34; i++) {
            runtime.runFor(Duration.ofSeconds(9));
            OwnerToken owner = owner();
            assertThat(askedBy(() -> granted(owner))).contains("keepAlive 1");
            assertThat(askedBy(() -> released(owner))).isEqualTo(List.of("delete"));
        }
        runtime.runFor(Duration.ofSeconds(4));
        OwnerToken last = owner();
        assertThat(askedBy(() -> granted(last))).contains("keepAlive 1");
        assertThat(askedBy(() -> released(last))).containsExactly("delete", "revoke 1");
        nextTakesNone();
    }

    @Test
    void aClosedStoreRevokesWhatIsIdle() {
        leaveOne();
        assertThat(askedBy(store::close)).containsExactly("revoke 1");
        assertThat(etcd.isClosed).isTrue();
        assertThat(askedBy(() -> runtime.runFor(Duration.ofMinutes(1)))).isEmpty();
    }

    @Test
    void aCloseWaitsForItsRevocationsForASecondAtMost() {
        leaveOne();
        etcd.withhold("revoke");
        long before = runtime.nanoTime();
        store.close();
        assertThat(runtime.nanoTime() - before).isEqualTo(Duration.ofSeconds(1).toNanos());
        assertThat(etcd.isClosed).isTrue();
    }

    @Test
    void aReleaseThatIsAnsweredAfterTheCloseRevokesItsLease() {
        OwnerToken owner = owner();
        granted(owner);
        etcd.withhold("delete");
        release(owner);
        store.close();
        assertThat(askedBy(() -> etcd.answer("delete"))).containsExactly("revoke 1");
    }

    @Test
    void moreThanEnoughAreRevoked() {
        List<OwnerToken> owners = new ArrayList<>();
        for (int i = 0; i < LeasePool.MOST + 2; i++) {
            OwnerToken owner = owner();
            owners.add(owner);
            granted(LockName.exactly("n" + i), owner, TTL);
        }
        assertThat(askedBy(() -> {
                    for (int i = 0; i < owners.size(); i++) {
                        now(release(LockName.exactly("n" + i), owners.get(i)));
                    }
                }))
                .filteredOn(verb -> verb.startsWith("revoke"))
                .hasSize(2);
        assertThat(etcd.leases).hasSize(LeasePool.MOST);
    }

    // ---- other clients

    /**
     * The client that ends an owner token from elsewhere has read the lease. Then the owner's client ends it, and the
     * next attempt has the lease.
     */
    @Test
    void aReleaseFromElsewhereThatComesTooLateLeavesTheLeaseOfTheNextAlone() {
        OwnerToken owner = owner();
        granted(owner);
        EtcdStore elsewhere = open();
        etcd.withhold("get");
        CompletableFuture<ReleaseReply> late = elsewhere.release(
                new ReleaseRequest(List.of(LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        released(owner);
        OwnerToken next = owner();
        granted(next);
        etcd.answer("get");
        assertThat(now(late)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(etcd.leases).containsOnlyKeys(1L);
        assertThat(etcd.queue(LOCK, keys)).containsExactly(keys.of(LOCK, next));
    }

    @Test
    void aRenewalFromElsewhereIsNoneOnceTheKeyIsGoneAndItsLeaseLivesOn() {
        OwnerToken owner = owner();
        ByteSequence key = keys.of(LOCK, owner);
        granted(owner);
        EtcdStore elsewhere = open();
        etcd.withhold("first");
        CompletableFuture<RenewReply> late = elsewhere.renew(
                new RenewBatch(List.of(new RenewBatch.Item(LOCK, owner, TTL.toNanos(), 0)), LIMIT.toNanos()));
        released(owner);
        etcd.answer("first");
        assertThat(etcd.queue(LOCK, keys)).doesNotContain(key);
        assertThat(etcd.leases).containsKey(1L);
        assertThat(now(late).items().get(0)).isInstanceOf(RenewReply.NotOurs.class);
    }

    // ---- the pool where no timer can be had

    @Test
    void aPoolThatGetsNoTimerKeepsTheLeaseAndArmsItselfWithTheNext() {
        TimersThatFail failing = new TimersThatFail(runtime);
        LeasePool pool = new LeasePool(etcd, failing.shown());
        failing.fails = true;
        pool.giveBack(31, left());
        failing.fails = false;
        pool.giveBack(31, left());
        assertThat(askedBy(() -> runtime.runFor(Duration.ofSeconds(11)))).containsExactly("revoke 1", "revoke 2");
        assertThat(pool.take(31)).isNull();
    }

    @Test
    void aLeaseThatIsKeptWithoutATimerIsTakenNoLongerThanItMayBe() {
        TimersThatFail failing = new TimersThatFail(runtime);
        LeasePool pool = new LeasePool(etcd, failing.shown());
        failing.fails = true;
        pool.giveBack(31, left());
        runtime.runFor(Duration.ofSeconds(11));
        assertThat(pool.take(31)).isNull();
    }

    private LeasePool.Left left() {
        return new LeasePool.Left(
                new EtcdCalls.Leased(etcd.newLease(31), Duration.ofSeconds(31).toNanos()), runtime.nanoTime());
    }

    /** A runtime that provides no timer while it {@code fails}. */
    private static final class TimersThatFail {
        private final VirtualRuntime inner;
        private boolean fails;

        TimersThatFail(VirtualRuntime inner) {
            this.inner = inner;
        }

        LockRuntime shown() {
            return (LockRuntime) Proxy.newProxyInstance(
                    LeaseReuseTest.class.getClassLoader(),
                    new Class<?>[] {LockRuntime.class},
                    (proxy, method, arguments) -> {
                        if (fails && method.getName().equals("schedule")) {
                            throw new OutOfMemoryError("no timer (made by the test)");
                        }
                        return method.invoke(inner, arguments);
                    });
        }
    }
}
