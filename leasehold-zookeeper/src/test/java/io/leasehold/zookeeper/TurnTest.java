package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
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
 * A waiter's turn: its requests, the time from which it counts, and when it is not believed; in the time of the test.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class TurnTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final String PATH = "/c/n";
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(3);
    private static final Duration WITHIN = Duration.ofSeconds(10);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final Duration MOMENT = Duration.ofMillis(50);
    private static final long STRANGER = 77;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEnsemble ensemble = new ScriptedEnsemble();
    private final List<String> heard = new ArrayList<>();
    private final ZooKeeperStore store = new ZooKeeperStore(
            ZooKeeperUri.parse(StoreUri.parse("zookeeper://h:2181/c?tickTime=2s")), runtime, ensemble);
    private final OwnerToken owner = OwnerToken.draw(runtime);
    private String head = "";
    private String between = "";

    @BeforeEach
    void tree() {
        ensemble.put("/c", "", 0);
        ensemble.put(PATH, "", 0);
        head = ensemble.enqueue(PATH, OwnerToken.draw(runtime).publicId(), "host/2/other", STRANGER);
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + name);
            }

            @Override
            public void lost(OwnerToken of, LossCause cause) {
                heard.add("lost " + cause);
            }

            @Override
            public void suspended(OwnerToken of) {
                heard.add("suspended");
            }

            @Override
            public void reconnected() {
                heard.add("reconnected");
            }
        });
    }

    private static AcquireRequest waiting(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(LOCK), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos())
                .waiting(RECHECK.toNanos())
                .provenWithin(WITHIN.toNanos());
    }

    private CompletableFuture<AcquireReply> begin(AcquireRequest request) {
        CompletableFuture<AcquireReply> reply = store.acquire(request);
        ensemble.connect();
        return reply;
    }

    /**
     * Two nodes are before it. The end of the second of them shows nothing about the first, so the queue is read at its
     * turn.
     */
    private void queueBehindTwo() {
        between = ensemble.enqueue(PATH, OwnerToken.draw(runtime).publicId(), "host/3/other", STRANGER);
        queue(owner);
    }

    private void bothGo() {
        ensemble.remove(head);
        ensemble.remove(between);
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private void queue(OwnerToken one) {
        assertThat(now(begin(waiting(one)))).isInstanceOf(AcquireReply.Queued.class);
    }

    private static Grant granted(CompletableFuture<AcquireReply> reply) {
        assertThat(now(reply)).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) now(reply)).grant();
    }

    private Grant turn() {
        return granted(begin(waiting(owner)));
    }

    private CompletableFuture<ReleaseReply> release() {
        return store.release(new ReleaseRequest(List.of(LOCK), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private List<String> askedBy(Runnable step) {
        int mark = ensemble.asked.size();
        step.run();
        return ensemble.askedSince(mark).stream()
                .map(call -> call.replaceAll("_c_.*", "NODE"))
                .toList();
    }

    private String own() {
        return ensemble.nodes.keySet().stream()
                .filter(path -> path.contains("_c_" + owner.publicId()))
                .findFirst()
                .orElseThrow();
    }

    private ScriptedEnsemble.Client client() {
        return ensemble.clients.get(0);
    }

    private void sleep(Duration span) {
        runtime.suspend(span);
        runtime.runFor(span);
    }

    private long nanosAgo(Duration span) {
        return runtime.nanoTime() - span.toNanos();
    }

    // ---- what it asks for, and from when it counts

    @Test
    void aTurnIsTakenFromItsEventAndCountsFromTheMakingOfItsNode() {
        queue(owner);
        long made = ensemble.nodes.get(own()).czxid();
        runtime.runFor(Duration.ofSeconds(8));
        ensemble.remove(head);
        assertThat(heard).containsExactly("wake n");
        assertThat(askedBy(() -> {
                    Grant grant = turn();
                    assertThat(grant.sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(8)));
                    assertThat(grant.tokens().first()).isEqualTo(made);
                }))
                .as("nothing: the event told")
                .isEmpty();
    }

    @Test
    void aTurnBehindSeveralIsReadAndCountsFromTheMakingOfItsNode() {
        queueBehindTwo();
        runtime.runFor(Duration.ofSeconds(8));
        bothGo();
        assertThat(askedBy(() -> assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(8)))))
                .containsExactly("children n", "watch NODE");
    }

    @Test
    void anEventAfterAReconnectionIsNotEnough() {
        queue(owner);
        client().state(Watcher.Event.KeeperState.Disconnected);
        client().state(Watcher.Event.KeeperState.SyncConnected);
        ensemble.remove(head);
        assertThat(askedBy(this::turn)).as("events may come in any order then").containsExactly("children n");
    }

    @Test
    void anEventIsNotEnoughWhereItsOwnNodeCouldNotBeWatched() {
        ensemble.withhold("watch");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        ensemble.remove(head);
        ensemble.answer("watch");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Queued.class);
        assertThat(askedBy(this::turn)).contains("children n");
    }

    @Test
    void aConnectionThatIsCutAfterTheEventLeavesTheTurnToARead() {
        queue(owner);
        ensemble.remove(head);
        client().state(Watcher.Event.KeeperState.Disconnected);
        ensemble.failNext("children", KeeperException.Code.CONNECTIONLOSS);
        assertThat(now(begin(waiting(owner)))).isInstanceOf(AcquireReply.Failed.class);
    }

    @Test
    void itCountsFromTheSendingOfTheLastProofAndNotFromItsAnswer() {
        queue(owner);
        ensemble.withhold("create");
        CompletableFuture<AcquireReply> third = begin(waiting(OwnerToken.draw(runtime)));
        runtime.runFor(Duration.ofMillis(700));
        ensemble.answer("create");
        assertThat(now(third)).isInstanceOf(AcquireReply.Queued.class);
        runtime.runFor(Duration.ofMillis(200));
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofMillis(900)));
    }

    @Test
    void aProofThatIsTooOldIsReplacedByAnExchange() {
        queue(owner);
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(askedBy(() -> queue(owner))).as("a read proves nothing").contains("children n");
        runtime.runFor(Duration.ofSeconds(4));
        ensemble.remove(head);
        AcquireRequest strict =
                waiting(owner).provenWithin(Duration.ofSeconds(5).toNanos() - 1);
        assertThat(askedBy(
                        () -> assertThat(granted(begin(strict)).sentAtNanos()).isEqualTo(runtime.nanoTime())))
                .containsExactly("firstMissing", "children n");
    }

    @Test
    void aLeaseThatNothingRenewsBeginsAtItsTurn() {
        assertThat(now(begin(waiting(owner).provenWithin(0)))).isInstanceOf(AcquireReply.Queued.class);
        runtime.runFor(Duration.ofSeconds(1));
        ensemble.remove(head);
        assertThat(askedBy(() -> assertThat(
                                granted(begin(waiting(owner).provenWithin(0))).sentAtNanos())
                        .isEqualTo(runtime.nanoTime())))
                .contains("firstMissing");
    }

    @Test
    void waitersOfOneSessionAreProvenTogetherAndOnceForEachPeriod() {
        OwnerToken other = OwnerToken.draw(runtime);
        queue(owner);
        queue(other);
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(owner))).as("enough for another recheck").isEmpty();
        runtime.runFor(RECHECK);
        ensemble.withhold("firstMissing");
        assertThat(askedBy(() -> {
                    queue(owner);
                    queue(other);
                }))
                .as("one that is under way is not asked for again")
                .containsExactly("firstMissing");
        ensemble.answer("firstMissing");
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(other))).isEmpty();
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(RECHECK));
    }

    @Test
    void aProofThatFailsIsAskedForAgain() {
        queue(owner);
        runtime.runFor(RECHECK.multipliedBy(2));
        ensemble.failNext("firstMissing", KeeperException.Code.CONNECTIONLOSS);
        assertThat(askedBy(() -> queue(owner))).containsExactly("firstMissing");
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(owner))).as("once in 5 s").isEmpty();
        runtime.runFor(RECHECK);
        ensemble.throwNext("firstMissing", new IllegalStateException("made by the test"));
        assertThat(askedBy(() -> queue(owner))).containsExactly("firstMissing");
        runtime.runFor(RECHECK.multipliedBy(2));
        assertThat(askedBy(() -> queue(owner))).containsExactly("firstMissing");
    }

    @Test
    void aProofThatIsNeverAnsweredIsAskedForAgain() {
        queue(owner);
        ensemble.withhold("firstMissing");
        runtime.runFor(RECHECK.multipliedBy(2));
        assertThat(askedBy(() -> queue(owner))).containsExactly("firstMissing");
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(owner))).as("once in 5 s").isEmpty();
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(owner))).containsExactly("firstMissing");
    }

    /** The allowed age of a proof is so short that each recheck finds it too old for the next one. */
    @Test
    void waitersWithAShortTimeForTheirProofDoNotProveItEach() {
        long withinNanos = Duration.ofSeconds(3).toNanos();
        AcquireRequest one = waiting(owner).provenWithin(withinNanos);
        AcquireRequest two = waiting(OwnerToken.draw(runtime)).provenWithin(withinNanos);
        now(begin(one));
        now(begin(two));
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> now(begin(one)))).containsExactly("firstMissing");
        runtime.runFor(MOMENT);
        assertThat(askedBy(() -> now(begin(two)))).as("half of its time").isEmpty();
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> {
                    now(begin(two));
                    now(begin(one));
                }))
                .containsExactly("firstMissing");
    }

    @Test
    void aTurnCountsFromARenewalOfAnotherLockOfTheSession() {
        LockName other = LockName.exactly("m");
        ensemble.put("/c/m", "", 0);
        OwnerToken holder = OwnerToken.draw(runtime);
        granted(begin(AcquireRequest.exclusive(List.of(other), holder, "host/1/x", TTL.toNanos(), LIMIT.toNanos())));
        queue(owner);
        runtime.runFor(Duration.ofSeconds(8));
        RenewBatch batch =
                new RenewBatch(List.of(new RenewBatch.Item(other, holder, TTL.toNanos(), 0)), LIMIT.toNanos());
        assertThat(now(store.renew(batch)).items()).hasOnlyElementsOfType(RenewReply.Renewed.class);
        runtime.runFor(Duration.ofSeconds(1));
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(1)));
    }

    @Test
    void anOlderProofThatIsAnsweredLaterDoesNotReplaceANewerOne() {
        queue(owner);
        runtime.runFor(MOMENT);
        ensemble.withhold("create");
        CompletableFuture<AcquireReply> third = begin(waiting(OwnerToken.draw(runtime)));
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(askedBy(() -> now(begin(waiting(owner).provenWithin(0))))).contains("firstMissing");
        ensemble.answer("create");
        assertThat(now(third)).isInstanceOf(AcquireReply.Queued.class);
        runtime.runFor(Duration.ofSeconds(1));
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(1)));
    }

    // ---- a machine that sleeps

    @Test
    void aTurnAfterASleepIsNotBelievedBeforeTheSessionIsProvenAgain() {
        queue(owner);
        ensemble.remove(head);
        sleep(Duration.ofHours(1));
        client().expire();
        assertThat(askedBy(() -> assertThat(turn().sentAtNanos()).isEqualTo(runtime.nanoTime())))
                .as("in another session")
                .contains("open 42000", "create NODE");
    }

    @Test
    void aSleepWhileTheQueueIsReadIsNoticed() {
        queueBehindTwo();
        bothGo();
        ensemble.withhold("children");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        sleep(Duration.ofSeconds(20));
        assertThat(askedBy(() -> ensemble.answer("children")))
                .containsExactly("firstMissing", "children n", "watch NODE");
        assertThat(granted(reply).sentAtNanos()).isEqualTo(runtime.nanoTime());
    }

    /** Each of them is too short to be distinguished from a correction of the wall clock. */
    @Test
    void manyShortSleepsAddUp() {
        queue(owner);
        for (int i = 0; i < 40; i++) {
            sleep(MOMENT);
            runtime.runFor(MOMENT);
        }
        ensemble.remove(head);
        Duration passed = MOMENT.multipliedBy(80);
        assertThat(runtime.nanoTime() - turn().sentAtNanos())
                .isBetween(passed.minusMillis(2).toNanos(), passed.toNanos());
    }

    @Test
    void aSleepThatEndsInTimeCostsItsLength() {
        queue(owner);
        runtime.runFor(Duration.ofSeconds(1));
        sleep(Duration.ofSeconds(8));
        ensemble.remove(head);
        assertThat(askedBy(() -> assertThat(runtime.nanoTime() - turn().sentAtNanos())
                        .isBetween(
                                Duration.ofMillis(8_998).toNanos(),
                                Duration.ofSeconds(9).toNanos())))
                .doesNotContain("firstMissing");
    }

    /** From the request on, its sender detects a sleep. */
    @Test
    void aStepOfTheWallClockWhileTheNodeIsMadeTakesNothingOfTheLease() {
        ensemble.remove(head);
        ensemble.withhold("create");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        runtime.stepWallClock(Duration.ofSeconds(40));
        runtime.runFor(Duration.ofSeconds(1));
        ensemble.answer("create");
        assertThat(granted(reply).sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(1)));
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(ensemble.queue(PATH)).hasSize(1);
    }

    @Test
    void aStepOfTheWallClockWhileTheSessionIsProvenTakesNothingOfTheLease() {
        AcquireRequest request = waiting(owner).provenWithin(0);
        now(begin(request));
        ensemble.remove(head);
        ensemble.withhold("firstMissing");
        CompletableFuture<AcquireReply> reply = begin(request);
        runtime.stepWallClock(Duration.ofSeconds(40));
        ensemble.answer("firstMissing");
        assertThat(granted(reply).sentAtNanos()).isEqualTo(runtime.nanoTime());
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(ensemble.queue(PATH)).hasSize(1);
    }

    // ---- taken away, and given up

    @Test
    void aWaiterWhoseNodeWasTakenAwayIsNotGrantedWithIt() {
        queueBehindTwo();
        ensemble.removeUnheard(own());
        String other = ensemble.enqueue(PATH, OwnerToken.draw(runtime).publicId(), "host/3/other", STRANGER);
        bothGo();
        assertThat(askedBy(() -> queue(owner))).as("behind the other").contains("create NODE");
        ensemble.remove(other);
        assertThat(turn().tokens().first()).isEqualTo(ensemble.nodes.get(own()).czxid());
    }

    @Test
    void aWaiterThatHasHeardThatItsNodeWasTakenAwayIsNotGrantedByTheEventThatFollows() {
        queue(owner);
        String taken = own();
        ensemble.remove(taken);
        ensemble.remove(head);
        assertThat(askedBy(() -> assertThat(ensemble.nodes).doesNotContainKey(taken)))
                .isEmpty();
        assertThat(askedBy(this::turn)).as("with another").contains("children n", "create NODE");
        assertThat(heard).doesNotContain("lost FORCE_RELEASED");
    }

    @Test
    void aNodeThatIsTakenAwayBetweenItsEventAndItsTurnIsNotGranted() {
        queue(owner);
        ensemble.remove(head);
        ensemble.remove(own());
        ensemble.withhold("read");
        assertThat(now(begin(waiting(owner))))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
        assertThat(heard).as("nothing was held").containsExactly("wake n");
        ensemble.answer("read");
        assertThat(now(release())).isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void aNodeThatIsTakenAwayAtItsTurnIsNotGranted() {
        queueBehindTwo();
        bothGo();
        ensemble.withhold("children");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        ensemble.remove(own());
        ensemble.answer("children");
        assertThat(now(reply))
                .as("what was heard before the grant was heard of no hold")
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
        assertThat(heard).as("what was read was older").containsExactly("wake n", "lost FORCE_RELEASED");
        assertThat(now(release())).isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void aHolderByAReadIsToldOfAReleaseByForceAndNotOfItsOwn() {
        queue(owner);
        ensemble.remove(head);
        turn();
        assertThat(now(release())).isInstanceOf(ReleaseReply.Released.class);
        assertThat(heard).containsExactly("wake n");
    }

    @Test
    void aWaiterThatLeavesAtItsTurnIsNotGrantedAndLeavesNothing() {
        queueBehindTwo();
        bothGo();
        ensemble.withhold("children");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        CompletableFuture<ReleaseReply> released = release();
        ensemble.answer("children");
        assertThat(now(reply)).isInstanceOf(AcquireReply.Failed.class);
        assertThat(now(released)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(ensemble.queue(PATH)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aReleasedLockIsAcquiredAgainBehindTheOthersWithALargerToken() {
        queue(owner);
        String other = ensemble.enqueue(PATH, OwnerToken.draw(runtime).publicId(), "host/3/other", STRANGER);
        ensemble.remove(head);
        long token = turn().tokens().first();
        release();
        OwnerToken again = OwnerToken.draw(runtime);
        queue(again);
        long others = ensemble.nodes.get(other).czxid();
        ensemble.remove(other);
        assertThat(List.of(
                        token, others, granted(begin(waiting(again))).tokens().first()))
                .isSorted()
                .doesNotHaveDuplicates();
    }

    // ---- the session

    @Test
    void aSessionThatEndsWhileTheQueueIsReadGrantsNothing() {
        queueBehindTwo();
        bothGo();
        ensemble.withhold("children");
        CompletableFuture<AcquireReply> reply = begin(waiting(owner));
        client().expire();
        ensemble.answer("children");
        assertThat(now(reply))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
    }

    @Test
    void aConnectionThatIsCutWhileTheQueueIsReadLeavesTheTurnForTheNextQuestion() {
        queueBehindTwo();
        bothGo();
        ensemble.failNext("children", KeeperException.Code.CONNECTIONLOSS);
        assertThat(now(begin(waiting(owner)))).isInstanceOf(AcquireReply.Failed.class);
        client().state(Watcher.Event.KeeperState.Disconnected);
        client().state(Watcher.Event.KeeperState.SyncConnected);
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(1)));
    }

    @Test
    void aMemberThatGrantsLessShortensWhatWasProvenBefore() {
        queue(owner);
        ensemble.longestMillis = 36_000;
        client().state(Watcher.Event.KeeperState.Disconnected);
        client().state(Watcher.Event.KeeperState.SyncConnected);
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).as("36 s − 10 s − 2 s are sure").isEqualTo(nanosAgo(Duration.ofSeconds(6)));
    }

    /**
     * A lease counts the age of its proof and the time that its member did not grant: together they must not exceed the
     * allowed age.
     */
    @Test
    void aProofIsTooOldSoonerWhereTheMemberGrantsLess() {
        ensemble.longestMillis = 36_000;
        queue(owner);
        runtime.runFor(Duration.ofSeconds(9));
        ensemble.remove(head);
        assertThat(askedBy(() -> assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(6)))))
                .contains("firstMissing");
    }

    @Test
    void aSessionIsProvenSoonerWhereTheMemberGrantsLess() {
        ensemble.longestMillis = 36_000;
        queue(owner);
        runtime.runFor(RECHECK);
        assertThat(askedBy(() -> queue(owner)))
                .as("of 10 s, 4 s are left, and half of them have passed")
                .containsExactly("firstMissing");
        runtime.runFor(Duration.ofSeconds(4));
        ensemble.remove(head);
        assertThat(askedBy(() -> assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(WITHIN))))
                .isEmpty();
    }

    @Test
    void aSessionIsNotProvenForAWaiterThatCannotUseIt() {
        ensemble.longestMillis = 30_000;
        queue(owner);
        for (int i = 0; i < 4; i++) {
            runtime.runFor(RECHECK);
            assertThat(askedBy(() -> queue(owner))).as("12 s are not sure").isEmpty();
        }
        ensemble.remove(head);
        assertThat(askedBy(this::turn)).contains("firstMissing");
    }

    @Test
    void theProofOfOneSessionIsNoneOfTheNext() {
        queue(owner);
        client().expire();
        assertThat(askedBy(() -> queue(owner))).contains("open 42000", "create NODE");
        runtime.runFor(Duration.ofSeconds(2));
        ensemble.remove(head);
        assertThat(turn().sentAtNanos()).isEqualTo(nanosAgo(Duration.ofSeconds(2)));
    }
}
