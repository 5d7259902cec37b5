package io.leasehold.spi.toolkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of permits over the exclusive locks of a store whose replies are lost, late or refused. */
@Tag("quick")
final class PermitsByLocksTest {

    private static final LockName DB = LockName.exactly("db").asPermits(3);
    private static final long TTL = Duration.ofSeconds(30).toNanos();
    private static final long LIMIT = Duration.ofSeconds(2).toNanos();

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final Script script = new Script(new SingleNodeStore(node, clock));
    private final PermitsByLocks store = new PermitsByLocks(script, clock);

    /** A store of locks that records its requests, and whose answers a test replaces. */
    private static final class Script extends PassingKeeper implements LockStore {
        private final LockStore store;
        private final List<AcquireRequest> asked = new ArrayList<>();
        private final List<ReleaseRequest> ended = new ArrayList<>();
        private final List<StoreSignals> listeners = new ArrayList<>();
        private Function<AcquireRequest, CompletableFuture<AcquireReply>> answer;
        private Function<ReleaseRequest, CompletableFuture<ReleaseReply>> ending;

        Script(LockStore store) {
            super(store);
            this.store = store;
            answersItself();
        }

        void answersItself() {
            answer = store::acquire;
            ending = store::release;
        }

        /** Carries out requests, and loses the replies. */
        void losesReplies() {
            answer = request -> store.acquire(request)
                    .thenApply(reply -> new AcquireReply.Failed(FailureKind.UNKNOWN, lost(), reply.ballot()));
        }

        void losesRepliesOfReleases() {
            ending = request -> CompletableFuture.completedFuture(new ReleaseReply.Failed(FailureKind.UNKNOWN, lost()));
        }

        @Override
        public void listen(StoreSignals signals) {
            listeners.add(signals);
            store.listen(signals);
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
            asked.add(request);
            return answer.apply(request);
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            ended.add(request);
            return ending.apply(request);
        }
    }

    private static StoreUnavailableException lost() {
        return new StoreUnavailableException("the reply was lost (made by the test)", null);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/c0ffee", TTL, LIMIT);
    }

    /** Sends the request of an attempt that waits. */
    private AcquireReply acquire(LockName name, OwnerToken owner) {
        return clock.answer(store.acquire(request(name, owner).waiting(LIMIT)));
    }

    private Grant granted(LockName name, OwnerToken owner) {
        return ((AcquireReply.Granted) acquire(name, owner)).grant();
    }

    private ReleaseReply end(ReleaseRequest.Kind kind, LockName name, OwnerToken owner, long ballot) {
        return clock.answer(store.release(new ReleaseRequest(List.of(name), owner, ballot, kind, LIMIT)));
    }

    private ReleaseReply undo(OwnerToken owner, long ballot) {
        return end(ReleaseRequest.Kind.UNDO, DB, owner, ballot);
    }

    private List<String> held() {
        return clock.answer(node.admin().list("*", 100)).stream()
                .map(lock -> lock.name().text())
                .toList();
    }

    private void fill() {
        for (int i = 0; i < 3; i++) {
            granted(DB, owner());
        }
        script.asked.clear();
    }

    @Test
    void eachPermitIsALockOfTheStore() {
        Set<Integer> slots = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            OwnerToken owner = owner();
            Grant grant = granted(DB, owner);
            slots.add(grant.slot());
            assertThat(SlotLock.boundBy(grant.owner(), DB)).contains(new SlotLock(DB, grant.slot()));
        }
        assertThat(slots).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(held()).containsExactly("db#0", "db#1", "db#2");
        assertThat(script.asked).allSatisfy(request -> {
            assertThat(request.isWaiting()).isFalse();
            assertThat(request.holderId()).isEqualTo("permit of 3: host/1/c0ffee");
            assertThat(request.ttlNanos()).isEqualTo(TTL);
            assertThat(request.reserve()).isEqualTo(1);
        });
        assertThat(granted(LockName.exactly("db"), owner()).slot())
                .as("the lock of that name is another")
                .isZero();
    }

    @Test
    void aPermitIsRenewedAndReleasedByItsOwnerTokenAlone() {
        Grant grant = granted(DB, owner());
        PermitsByLocks other = new PermitsByLocks(new SingleNodeStore(node, clock), clock);
        RenewBatch.Item item = new RenewBatch.Item(DB, grant.owner(), TTL);
        assertThat(clock.answer(other.renew(new RenewBatch(List.of(item), LIMIT)))
                        .items())
                .singleElement()
                .isInstanceOf(RenewReply.Renewed.class);
        ReleaseRequest release = new ReleaseRequest(
                List.of(DB), grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, LIMIT);
        assertThat(clock.answer(other.release(release))).isInstanceOf(ReleaseReply.Released.class);
        assertThat(held()).isEmpty();
    }

    @Test
    void aBatchMixesLocksPermitsAndStrangers() {
        Grant permit = granted(DB, owner());
        Grant lock = granted(LockName.exactly("lock"), owner());
        List<RenewReply.Item> items = clock.answer(store.renew(new RenewBatch(
                        List.of(
                                new RenewBatch.Item(DB, owner(), TTL),
                                new RenewBatch.Item(LockName.exactly("lock"), lock.owner(), TTL),
                                new RenewBatch.Item(DB, permit.owner(), TTL),
                                new RenewBatch.Item(LockName.exactly("lock"), permit.owner(), TTL)),
                        LIMIT)))
                .items();
        assertThat(items.get(0)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(items.get(1)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(items.get(2)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(items.get(3)).isInstanceOf(RenewReply.NotOurs.class);
        RenewBatch strangers = new RenewBatch(List.of(new RenewBatch.Item(DB, owner(), TTL)), LIMIT);
        assertThat(clock.answer(store.renew(strangers)).items()).singleElement().isInstanceOf(RenewReply.NotOurs.class);
    }

    /** Nothing is held while an attempt waits: there is nothing to undo, and nothing is sent for it. */
    @Test
    void aBusyAttemptLeavesNothing() {
        fill();
        OwnerToken owner = owner();
        AcquireReply reply = acquire(DB, owner);
        assertThat(reply).isInstanceOf(AcquireReply.Busy.class);
        assertThat(reply.ballot()).isZero();
        assertThat(((AcquireReply.Busy) reply).holder()).extracting(Holder::id).isEqualTo("host/1/c0ffee");
        assertThat(script.asked).hasSize(3);
        assertThat(undo(owner, 0)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(undo(owner, 12)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(script.ended).isEmpty();
        assertThat(store.remembered())
                .as("three grants, each by two owner tokens")
                .isEqualTo(6);
    }

    /** A store may still be ending an owner token after it has answered busy. */
    @Test
    void noOwnerTokenIsSentAgainAfterBusy() {
        fill();
        OwnerToken owner = owner();
        acquire(DB, owner);
        acquire(DB, owner);
        Set<OwnerToken> sent = new HashSet<>();
        script.asked.forEach(request -> sent.add(request.owner()));
        assertThat(sent).hasSize(6);
    }

    /** The store has granted the slot, and the reply was lost: the attempt must not take a second one. */
    @Test
    void anUnknownSlotIsEndedBeforeAnotherIsAsked() {
        script.losesReplies();
        OwnerToken owner = owner();
        AcquireReply unknown = acquire(DB, owner);
        assertThat(unknown).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) unknown).kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(unknown.ballot()).isPositive();
        String lock = script.asked.get(0).name().text();
        assertThat(held()).containsExactly(lock);
        script.answersItself();
        AcquireRequest again = request(DB, owner).ballotSoFar(unknown.ballot());
        Grant grant = ((AcquireReply.Granted) clock.answer(store.acquire(again))).grant();
        assertThat(script.ended).singleElement().satisfies(sent -> {
            assertThat(sent.names()).containsExactly(LockName.exactly(lock));
            assertThat(sent.kind()).isEqualTo(ReleaseRequest.Kind.UNDO);
            assertThat(sent.ballot()).isEqualTo(unknown.ballot());
            assertThat(sent.owner()).isEqualTo(script.asked.get(0).owner());
        });
        assertThat("db#" + grant.slot()).as("the slot that is free for sure").isEqualTo(lock);
        assertThat(grant.owner()).isNotEqualTo(script.asked.get(0).owner());
        assertThat(held()).containsExactly(lock);
    }

    @Test
    void anUnknownSlotThatCannotBeEndedStaysUnknown() {
        script.losesReplies();
        OwnerToken owner = owner();
        acquire(DB, owner);
        script.answersItself();
        script.losesRepliesOfReleases();
        AcquireReply again = clock.answer(store.acquire(request(DB, owner).ballotSoFar(9)));
        assertThat(again).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) again).kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(again.ballot()).isEqualTo(9);
        assertThat(script.asked).hasSize(1);
        assertThat(undo(owner, 9)).isInstanceOf(ReleaseReply.Failed.class);
        script.answersItself();
        assertThat(undo(owner, 9)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(undo(owner, 9)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(held()).isEmpty();
        assertThat(store.remembered()).isZero();
    }

    @Test
    void anEndThatIsRefusedForGoodEndsTheAttempt() {
        script.losesReplies();
        OwnerToken owner = owner();
        acquire(DB, owner);
        script.ending =
                request -> CompletableFuture.completedFuture(new ReleaseReply.Failed(FailureKind.PERMANENT, lost()));
        assertThat(((AcquireReply.Failed) acquire(DB, owner)).kind()).isEqualTo(FailureKind.PERMANENT);
    }

    /** The engine undoes a late grant by the owner token of its request. */
    @Test
    void anAttemptThatWasWithdrawnDuringTheWalkIsUndone() {
        CompletableFuture<AcquireReply> first = new CompletableFuture<>();
        script.answer = request -> first;
        OwnerToken owner = owner();
        CompletableFuture<AcquireReply> reply = store.acquire(request(DB, owner));
        assertThat(undo(owner, 0)).as("nothing is known to be held yet").isInstanceOf(ReleaseReply.NotOurs.class);
        script.answersItself();
        first.complete(new AcquireReply.Busy(null, 3, List.of()));
        Grant grant = ((AcquireReply.Granted) clock.answer(reply)).grant();
        assertThat(held()).hasSize(1);
        assertThat(undo(owner, grant.tokens().last())).isInstanceOf(ReleaseReply.Released.class);
        assertThat(held()).isEmpty();
        assertThat(store.remembered()).isZero();
    }

    /** The store may have granted the slot: its owner token is ended. */
    @Test
    void anAnswerThatCannotBeProcessedLeavesAnUnknownSlot() {
        for (boolean isLater : new boolean[] {false, true}) {
            CompletableFuture<AcquireReply> first = new CompletableFuture<>();
            script.answer = request -> isLater ? first : CompletableFuture.completedFuture(null);
            script.ended.clear();
            script.asked.clear();
            OwnerToken owner = owner();
            CompletableFuture<AcquireReply> reply = store.acquire(request(DB, owner));
            first.complete(null);
            AcquireReply.Failed failed = (AcquireReply.Failed) clock.answer(reply);
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            script.answersItself();
            clock.answer(store.acquire(request(DB, owner)));
            assertThat(script.ended)
                    .singleElement()
                    .satisfies(sent -> assertThat(sent.owner())
                            .isEqualTo(script.asked.get(0).owner()));
        }
    }

    /** The store spends an owner token that it can no longer grant; the engine ends it and draws another. */
    @Test
    void aSpentOwnerTokenIsEndedAtItsSlot() {
        script.answer = request ->
                CompletableFuture.completedFuture(new AcquireReply.Refused("too far ahead", 5, 77, List.of(), true));
        OwnerToken owner = owner();
        assertThat(acquire(DB, owner).ballot()).isEqualTo(77);
        undo(owner, 77);
        assertThat(script.ended).singleElement().satisfies(sent -> {
            assertThat(sent.owner()).isEqualTo(script.asked.get(0).owner());
            assertThat(sent.names()).isEqualTo(script.asked.get(0).names());
        });
    }

    @Test
    void aStoreThatFailsUnexpectedlyLeavesAnUnknownSlot() {
        List<Function<AcquireRequest, CompletableFuture<AcquireReply>>> failures = List.of(
                request -> {
                    throw new IllegalStateException("made by the test");
                },
                request -> CompletableFuture.failedFuture(new IllegalStateException("made by the test")));
        for (Function<AcquireRequest, CompletableFuture<AcquireReply>> failure : failures) {
            script.answer = failure;
            script.ended.clear();
            OwnerToken owner = owner();
            AcquireReply.Failed failed = (AcquireReply.Failed) acquire(DB, owner);
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error()).hasMessageContaining("made by the test");
            undo(owner, 0);
            assertThat(script.ended).hasSize(1);
        }
    }

    @Test
    void aHolderWithAnotherCountIsMet() {
        fill();
        AcquireReply.Failed failed =
                (AcquireReply.Failed) acquire(LockName.exactly("db").asPermits(2), owner());
        assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(failed.error()).isInstanceOf(PermitCountException.class).hasMessageContainingAll("2", "states 3");
        assertThat(script.asked).hasSize(1);
    }

    /** A lock of a slot's name is not a permit, but keeps its slot. */
    @Test
    void anExclusiveLockOfThatNameIsBusy() {
        granted(LockName.exactly("db#0"), owner());
        assertThat(acquire(LockName.exactly("db").asPermits(1), owner())).isInstanceOf(AcquireReply.Busy.class);
    }

    @Test
    void aWalkEndsWithTheTimeOfItsRequest() {
        script.answer = request -> {
            clock.pass(Duration.ofMillis(1_500));
            return CompletableFuture.completedFuture(new AcquireReply.Busy(null, 0, List.of()));
        };
        assertThat(acquire(DB, owner())).isInstanceOf(AcquireReply.Refused.class);
        assertThat(script.asked).hasSize(2);
        assertThat(script.asked.get(0).timeoutNanos()).isEqualTo(LIMIT);
        assertThat(script.asked.get(1).timeoutNanos()).isEqualTo(LIMIT - 1_500_000_000L);
    }

    /** The answers come at once, so the walk must not nest its steps. */
    @Test
    void aThousandBusySlotsDoNotExhaustTheStack() throws InterruptedException {
        LockName many = LockName.exactly("db").asPermits(1_000);
        script.answer = request -> CompletableFuture.completedFuture(new AcquireReply.Busy(null, 0, List.of()));
        List<AcquireReply> replies = new ArrayList<>();
        Thread small = new Thread(null, () -> replies.add(acquire(many, owner())), "small", 128 * 1_024);
        small.start();
        small.join();
        assertThat(replies).singleElement().isInstanceOf(AcquireReply.Busy.class);
        assertThat(script.asked).hasSize(1_000);
    }

    @Test
    void aNameThatIsTooLongForItsSlotsIsRefused() {
        LockName fits = LockName.exactly("x".repeat(1_020)).asPermits(1);
        assertThat(acquire(fits, owner())).isInstanceOf(AcquireReply.Granted.class);
        script.asked.clear();
        AcquireReply.Failed failed = (AcquireReply.Failed)
                acquire(LockName.exactly("x".repeat(1_021)).asPermits(1), owner());
        assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(failed.error()).hasMessageContaining("at most 1020 bytes");
        assertThat(script.asked).isEmpty();
    }

    /** Holds that were lost are never ended: their entries go when there are many. */
    @Test
    void whatWasNeverEndedIsForgotten() {
        LockName many = LockName.exactly("db").asPermits(1_000);
        for (int i = 0; i < 4_000; i++) {
            granted(many, owner());
            clock.pass(Duration.ofSeconds(31));
        }
        assertThat(store.remembered()).isLessThan(1_100);
    }

    @Test
    void aSignalOfASlotConcernsThePermits() {
        List<String> heard = new ArrayList<>();
        OwnerToken owner = owner();
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + name + name.isPermits());
            }

            @Override
            public void takenAway(LockName name) {
                heard.add("taken " + name + name.isPermits());
            }

            @Override
            public void doubted(List<DoubtedHold> holds) {
                holds.forEach(hold -> heard.add("doubted " + hold.name()
                        + hold.name().isPermits() + hold.owner().equals(owner)));
            }

            @Override
            public void lost(OwnerToken lost, LossCause cause) {
                heard.add("lost " + lost.equals(owner));
            }

            @Override
            public void reconnected() {}
        });
        StoreSignals signals = script.listeners.get(0);
        signals.wake(LockName.exactly("db#1"));
        signals.wake(LockName.exactly("db"));
        signals.takenAway(LockName.exactly("db#1"));
        signals.doubted(List.of(new DoubtedHold(owner, LockName.exactly("db#1"))));
        signals.lost(owner, LossCause.FORCE_RELEASED);
        assertThat(heard)
                .containsExactly(
                        "wake db#1false",
                        "wake dbtrue",
                        "wake dbfalse",
                        "taken db#1false",
                        "taken dbtrue",
                        "doubted db#1falsetrue",
                        "doubted dbtruetrue",
                        "lost true");
    }

    // ---- operations

    private StorePermits operations() {
        return store.permits().orElseThrow();
    }

    private static String shown(PermitsStatus status) {
        return status.name() + " " + status.count() + " " + status.version() + " "
                + status.held().stream()
                        .map(held -> held.slot() + "=" + held.holder().id())
                        .toList();
    }

    @Test
    void theSlotsAreShownWithoutTheirMarks() {
        granted(LockName.exactly("d?").asPermits(1), owner());
        fill();
        granted(LockName.exactly("db#7"), owner());
        granted(LockName.exactly("other").asPermits(1), owner());
        assertThat(operations().keepsCount()).isFalse();
        assertThat(operations().lockOf(DB, 2)).contains(LockName.exactly("db#2"));
        String db = "db 3 0 [0=host/1/c0ffee, 1=host/1/c0ffee, 2=host/1/c0ffee]";
        assertThat(clock.answer(operations().describe(LockName.exactly("db").asPermits())))
                .hasValueSatisfying(status -> assertThat(shown(status)).isEqualTo(db));
        assertThat(clock.answer(operations().describe(LockName.exactly("d?").asPermits())))
                .hasValueSatisfying(status -> assertThat(shown(status)).isEqualTo("d? 1 0 [0=host/1/c0ffee]"));
        assertThat(clock.answer(operations().describe(LockName.exactly("d").asPermits())))
                .isEmpty();
        assertThat(clock.answer(operations().list("d*", 10)))
                .extracting(PermitsByLocksTest::shown)
                .containsExactly("d? 1 0 [0=host/1/c0ffee]", db);
        assertThat(clock.answer(operations().list("*", 1))).hasSize(1);
        assertThat(clock.answer(store.admin().list("db#*", 10)))
                .extracting(held -> held.holder().id())
                .containsOnly("host/1/c0ffee");
        assertThat(clock.answer(store.admin().describe(LockName.exactly("db#1"))))
                .map(HeldLock::holder)
                .map(Holder::id)
                .contains("host/1/c0ffee");
        assertThat(clock.answer(store.admin().waiters(DB, 10))).isEmpty();
        assertThat(clock.answer(store.admin().waiters(LockName.exactly("db#1"), 10)))
                .isEmpty();
    }

    @Test
    void aSlotIsReleasedByForceUnderTheIdThatIsShown() {
        fill();
        StorePermits permits = operations();
        assertThat(clock.answer(permits.forceRelease(DB, 1, "other"))).isFalse();
        assertThat(clock.answer(permits.forceRelease(DB, -1, null))).isFalse();
        assertThat(clock.answer(permits.forceRelease(DB, 1_000, null))).isFalse();
        assertThat(clock.answer(permits.forceRelease(DB, 1, "host/1/c0ffee"))).isTrue();
        assertThat(clock.answer(permits.forceRelease(DB, 1, null))).isFalse();
        assertThat(held()).containsExactly("db#0", "db#2");
        assertThat(clock.answer(permits.forceRelease(DB, 2, null))).isTrue();
        assertThat(clock.answer(store.admin().forceRelease(LockName.exactly("db#0"), "other")))
                .isFalse();
        assertThat(clock.answer(store.admin().forceRelease(LockName.exactly("db#0"), "host/1/c0ffee")))
                .isTrue();
        granted(LockName.exactly("db#0"), owner());
        assertThat(clock.answer(permits.forceRelease(DB, 0, null)))
                .as("a lock that is not a permit")
                .isFalse();
        assertThat(clock.answer(store.admin().forceRelease(LockName.exactly("db#0"), null)))
                .isTrue();
    }

    @Test
    void noCountIsKeptOrChanged() {
        CompletableFuture<Boolean> change =
                operations().change(LockName.exactly("db").asPermits(4), 4, 0);
        assertThatThrownBy(change::join)
                .hasCauseInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("keeps no count", "memory:", "a count of 4");
    }

    @Test
    void theRestIsThatOfTheStore() {
        assertThat(store.isOfNodes()).isEqualTo(script.isOfNodes());
        assertThat(store.maxTtl()).isEqualTo(script.maxTtl());
        assertThat(store.members()).isEmpty();
        assertThat(store.guarantees()).isEqualTo(script.guarantees());
    }
}
