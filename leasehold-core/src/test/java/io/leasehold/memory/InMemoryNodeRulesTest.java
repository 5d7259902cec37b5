// Long because each rule of a node is looked at at both sides of its bound.
package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rules of a node, each at its very bounds, in the time of the test. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class InMemoryNodeRulesTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final LockName OTHER = LockName.exactly("o");
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long TTL = 10 * SECOND;
    private static final long LEAD_MICROS = 7_500_000;
    private static final long RETENTION_MICROS = 60_000_000;

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final List<String> heard = new ArrayList<>();
    private final List<HandOver> handOvers = new ArrayList<>();
    private final StoreSignals ear = new StoreSignals() {
        @Override
        public void wake(LockName name) {
            heard.add("wake " + name);
        }

        @Override
        public void handedOver(HandOver handOver) {
            heard.add("hand-over " + handOver.name());
            handOvers.add(handOver);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            heard.add("lost " + cause);
        }

        @Override
        public void reconnected() {}
    };

    InMemoryNodeRulesTest() {
        node.listen(ear);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    private long micros() {
        return ((NodeReply.Stale) node.probe(SECOND).join()).serverMicros();
    }

    private static AcquireRequest request(OwnerToken owner, LockName... names) {
        return AcquireRequest.exclusive(List.of(names), owner, "host/1/x", TTL, SECOND);
    }

    private NodeReply ask(AcquireRequest request, long candidate) {
        return node.acquire(new Ballot(request, candidate, request.reserve(), request.claimNanos()))
                .join();
    }

    private NodeReply ask(OwnerToken owner, long candidate) {
        return ask(request(owner, NAME), candidate);
    }

    private ReleaseReply end(OwnerToken owner, long ballot, ReleaseRequest.Kind kind, LockName... names) {
        return node.release(new ReleaseRequest(List.of(names), owner, ballot, kind, SECOND))
                .join();
    }

    private ReleaseReply release(OwnerToken owner) {
        return end(owner, 0, ReleaseRequest.Kind.RELEASE, NAME);
    }

    private long floor(LockName name) {
        NodeReply stale = ask(request(owner(), name), 1);
        assertThat(stale).isInstanceOf(NodeReply.Stale.class);
        return ((NodeReply.Stale) stale).floor();
    }

    private void pass(Duration span) {
        clock.pass(span);
    }

    // ---- ballots

    @Test
    void itsClockIsThatOfItsBirthAndWhatHasPassedSince() {
        assertThat(micros()).isEqualTo(clock.wallMillis() * 1_000);
        long before = micros();
        pass(Duration.ofMillis(1_234));
        assertThat(micros()).isEqualTo(before + 1_234_000);
    }

    @Test
    void aBallotBeatsTheFloorAndIsNotTooFarAhead() {
        long now = micros();
        assertThat(floor(NAME)).as("what is not known any more").isEqualTo(now - RETENTION_MICROS);
        assertThat(ask(owner(), now - RETENTION_MICROS)).isInstanceOf(NodeReply.Stale.class);
        NodeReply ahead = ask(owner(), now + LEAD_MICROS + 1);
        assertThat(ahead)
                .isInstanceOfSatisfying(
                        NodeReply.Refused.class,
                        refused -> assertThat(refused.reason()).contains("fencing token " + (now + LEAD_MICROS + 1)));
        OwnerToken owner = owner();
        assertThat(ask(owner, now + LEAD_MICROS)).isInstanceOf(NodeReply.Yes.class);
        release(owner);
        assertThat(floor(NAME)).isEqualTo(now + LEAD_MICROS);
        assertThat(ask(owner(), now + LEAD_MICROS)).isInstanceOf(NodeReply.Stale.class);
        OwnerToken next = owner();
        assertThat(ask(next, now + 2 * LEAD_MICROS)).as("ahead of the fence").isInstanceOf(NodeReply.Yes.class);
        release(next);
        assertThat(ask(owner(), now + 3 * LEAD_MICROS + 1)).isInstanceOf(NodeReply.Refused.class);
    }

    @Test
    void whatIsReservedIsPartOfTheFence() {
        long now = micros();
        OwnerToken owner = owner();
        assertThat(ask(request(owner, NAME).reserve(5), now)).isInstanceOf(NodeReply.Yes.class);
        release(owner);
        assertThat(floor(NAME)).isEqualTo(now + 4);
        assertThat(ask(request(owner, NAME).reserve(5), now + LEAD_MICROS)).isInstanceOf(NodeReply.Yes.class);
        release(owner);
        assertThat(ask(request(owner(), NAME).reserve(6), now + 2 * LEAD_MICROS))
                .as("the last of the range counts")
                .isInstanceOf(NodeReply.Refused.class);
    }

    @Test
    void anEndRaisesTheFenceToItsBallotButNotBeyondTheLead() {
        long now = micros();
        assertThat(end(owner(), now + 5, ReleaseRequest.Kind.UNDO, NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(floor(NAME)).isEqualTo(now + 5);
        end(owner(), now + 4, ReleaseRequest.Kind.UNDO, NAME);
        assertThat(floor(NAME)).as("it never goes down").isEqualTo(now + 5);
        end(owner(), Long.MAX_VALUE, ReleaseRequest.Kind.UNDO, NAME);
        assertThat(floor(NAME)).isEqualTo(now + 5 + LEAD_MICROS);
        end(owner(), Long.MAX_VALUE, ReleaseRequest.Kind.UNDO, OTHER);
        assertThat(floor(OTHER)).isEqualTo(now + LEAD_MICROS);
    }

    @Test
    void severalNamesAreTakenAllOrNone() {
        long now = micros();
        assertThat(node.isAtomicOver(List.of(NAME, OTHER))).isTrue();
        OwnerToken one = owner();
        ask(request(one, OTHER), now + 7);
        OwnerToken both = owner();
        assertThat(ask(request(both, NAME, OTHER), now + 7))
                .as("the highest floor")
                .isInstanceOf(NodeReply.Stale.class);
        assertThat(ask(request(both, NAME, OTHER), now + 8)).isInstanceOf(NodeReply.Held.class);
        assertThat(node.admin().describe(NAME).join()).isEmpty();
        assertThat(end(one, now + 7, ReleaseRequest.Kind.RELEASE, OTHER)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(ask(request(both, NAME, OTHER), now + 8)).isInstanceOf(NodeReply.Yes.class);
        assertThat(end(both, now + 8, ReleaseRequest.Kind.RELEASE, NAME, OTHER))
                .isInstanceOf(ReleaseReply.Released.class);
        assertThat(node.admin().list("*", 10).join()).isEmpty();
    }

    // ---- holds

    @Test
    void aHoldLastsForItsTtlFromTheLatestGrantOrRenewal() {
        OwnerToken owner = owner();
        ask(owner, micros());
        pass(Duration.ofNanos(TTL - 1));
        assertThat(node.admin().describe(NAME).join())
                .contains(new HeldLock(
                        NAME,
                        new Holder("host/1/x", Duration.ofNanos(1), OptionalLong.of(micros() - TTL / 1_000 + 1))));
        assertThat(renew(owner, TTL)).isEqualTo(new RenewReply.Renewed(clock.nanoTime()));
        assertThat(renew(owner, SECOND)).as("a shorter one takes nothing away").isInstanceOf(RenewReply.Renewed.class);
        assertThat(ask(request(owner, NAME), micros())).as("its own").isInstanceOf(NodeReply.Yes.class);
        pass(Duration.ofNanos(TTL - 1));
        assertThat(node.admin().describe(NAME).join()).isPresent();
        assertThat(renew(owner(), TTL)).as("another's").isInstanceOf(RenewReply.NotOurs.class);
        pass(Duration.ofNanos(1));
        assertThat(renew(owner, TTL)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(node.admin().describe(NAME).join()).isEmpty();
        assertThat(release(owner)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(node.renew(new RenewBatch(List.of(new RenewBatch.Item(OTHER, owner, TTL)), SECOND))
                        .join()
                        .items())
                .hasOnlyElementsOfType(RenewReply.NotOurs.class);
    }

    private RenewReply.Item renew(OwnerToken owner, long ttlNanos) {
        return node.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, owner, ttlNanos)), SECOND))
                .join()
                .items()
                .get(0);
    }

    @Test
    void aGrantOfItsOwnNeverShortensAHold() {
        OwnerToken owner = owner();
        ask(owner, micros());
        assertThat(ask(AcquireRequest.exclusive(List.of(NAME), owner, "host/1/x", SECOND, SECOND), micros() + 1))
                .isInstanceOf(NodeReply.Yes.class);
        pass(Duration.ofSeconds(2));
        assertThat(node.admin().describe(NAME).join()).isPresent();
    }

    @Test
    void aRenewalOrAGrantOfItsOwnMakesAHoldLongerAndNeverShorter() {
        assertThat(node.admin().describe(OTHER).join())
                .as("a name that was never used")
                .isEmpty();
        OwnerToken owner = owner();
        ask(owner, micros());
        renew(owner, SECOND);
        pass(Duration.ofSeconds(9));
        assertThat(node.admin().describe(NAME).join()).isPresent();
        ask(owner, micros());
        pass(Duration.ofSeconds(9));
        assertThat(node.admin().describe(NAME).join()).as("granted again").isPresent();
        renew(owner, TTL);
        pass(Duration.ofSeconds(9));
        assertThat(node.admin().describe(NAME).join()).as("renewed").isPresent();
    }

    @Test
    void aWaiterThatIsSilentHoldsUpNobody() {
        OwnerToken holder = owner();
        ask(holder, micros());
        pass(Duration.ofMillis(1));
        waits(owner(), "host/1/silent", 0);
        pass(Duration.ofSeconds(4));
        assertThat(release(holder))
                .isInstanceOfSatisfying(
                        ReleaseReply.Released.class,
                        released -> assertThat(released.awaited()).isFalse());
        assertThat(heard).isEmpty();
        OwnerToken next = owner();
        ask(next, micros());
        pass(Duration.ofMillis(1));
        waits(owner(), "host/1/silent", 0);
        pass(Duration.ofSeconds(11));
        assertThat(ask(owner(), micros())).as("the hold has run out").isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void aBusyAnswerNamesTheHolderAndWhatItHasLeft() {
        OwnerToken owner = owner();
        long token = micros();
        ask(owner, token);
        pass(Duration.ofSeconds(4));
        assertThat(ask(owner(), micros())).isInstanceOfSatisfying(NodeReply.Held.class, held -> {
            assertThat(held.holder()).isEqualTo(new Holder("host/1/x", Duration.ofSeconds(6), OptionalLong.of(token)));
            assertThat(held.queued()).isFalse();
        });
        assertThat(node.admin().waiters(NAME, 10).join()).isEmpty();
    }

    // ---- waiters

    private NodeReply waits(OwnerToken owner, String holderId, long claimNanos) {
        AcquireRequest request = AcquireRequest.exclusive(List.of(NAME), owner, holderId, TTL, SECOND)
                .waiting(SECOND);
        return ask(claimNanos > 0 ? request.claiming(claimNanos).reserve(3) : request, micros());
    }

    @Test
    void waitersStandInLineUntilTheyAreSilentForTwoRechecksAndASecond() {
        ask(owner(), micros());
        pass(Duration.ofMillis(1));
        OwnerToken first = owner();
        assertThat(((NodeReply.Held) waits(first, "host/1/a", 0)).queued()).isTrue();
        pass(Duration.ofSeconds(1));
        waits(owner(), "host/1/b", 0);
        assertThat(node.admin().waiters(NAME, 10).join())
                .containsExactly(
                        new QueuedWaiter("host/1/a", Duration.ofSeconds(1)),
                        new QueuedWaiter("host/1/b", Duration.ZERO));
        assertThat(node.admin().waiters(NAME, 1).join()).hasSize(1);
        assertThat(node.admin().waiters(OTHER, 1).join()).isEmpty();
        pass(Duration.ofSeconds(1));
        waits(first, "host/1/a", 0);
        assertThat(node.admin().waiters(NAME, 10).join().get(0))
                .as("its place is that of its first request")
                .isEqualTo(new QueuedWaiter("host/1/a", Duration.ofSeconds(2)));
        pass(Duration.ofNanos(2 * SECOND - 1));
        assertThat(node.admin().waiters(NAME, 10).join()).hasSize(2);
        pass(Duration.ofNanos(1));
        assertThat(node.admin().waiters(NAME, 10).join())
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/1/a");
        pass(Duration.ofSeconds(1));
        assertThat(node.admin().waiters(NAME, 10).join()).isEmpty();
    }

    @Test
    void aReleaseHandsOverToTheFirstThatClaims() {
        OwnerToken holder = owner();
        ask(holder, micros());
        pass(Duration.ofMillis(1));
        OwnerToken first = owner();
        waits(first, "host/1/a", 2 * SECOND);
        waits(owner(), "host/1/b", 2 * SECOND);
        ReleaseReply reply = release(holder);
        assertThat(reply)
                .isInstanceOfSatisfying(
                        ReleaseReply.Released.class,
                        released -> assertThat(released.awaited()).isTrue());
        assertThat(heard).containsExactly("hand-over n");
        HandOver told = handOvers.get(0);
        assertThat(told.attemptId()).isEqualTo(first.attemptId());
        assertThat(told.tokens().first()).isEqualTo(micros());
        assertThat(told.tokens().last()).isEqualTo(micros() + 2);
        assertThat(told.serverMicros()).isEqualTo(micros());
        assertThat(node.admin().describe(NAME).join().orElseThrow().holder())
                .isEqualTo(new Holder("host/1/a", Duration.ofSeconds(2), OptionalLong.of(micros())));
        assertThat(node.admin().waiters(NAME, 10).join())
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/1/b");
        assertThat(floor(NAME)).isEqualTo(micros() + 2);
        pass(Duration.ofSeconds(2));
        OwnerToken passerBy = owner();
        assertThat(ask(passerBy, micros()))
                .as("the claim is over, and the next is first")
                .isInstanceOfSatisfying(
                        NodeReply.Held.class,
                        held -> assertThat(held.holder().id()).isEqualTo("host/1/b"));
        assertThat(heard).containsExactly("hand-over n", "hand-over n");
    }

    @Test
    void aTokenThatIsHandedOverIsAboveTheFence() {
        OwnerToken holder = owner();
        long ahead = micros() + 1_000_000;
        ask(holder, ahead);
        AcquireRequest waiting = request(owner(), NAME).waiting(SECOND).claiming(SECOND);
        ask(waiting, ahead + 1);
        release(holder);
        assertThat(handOvers.get(0).tokens().first()).isEqualTo(ahead + 1);
    }

    @Test
    void whoDoesNotClaimIsWokenAndServedFirst() {
        OwnerToken holder = owner();
        ask(holder, micros());
        pass(Duration.ofMillis(1));
        OwnerToken first = owner();
        waits(first, "host/1/a", 0);
        release(holder);
        assertThat(heard).containsExactly("wake n");
        NodeReply passing = ask(owner(), micros());
        assertThat(passing)
                .isInstanceOfSatisfying(
                        NodeReply.Held.class,
                        held -> assertThat(held.holder())
                                .as("no client holds it")
                                .isNull());
        assertThat(heard).as("and the first is notified again").containsExactly("wake n", "wake n");
        assertThat(waits(first, "host/1/a", 0)).isInstanceOf(NodeReply.Yes.class);
        assertThat(node.admin().waiters(NAME, 10).join()).isEmpty();
        assertThat(release(first))
                .isInstanceOfSatisfying(
                        ReleaseReply.Released.class,
                        released -> assertThat(released.awaited()).isFalse());
    }

    @Test
    void aWaiterThatLeavesIsForgottenUnlessItGoesOnUnderAnotherOwnerToken() {
        ask(owner(), micros());
        OwnerToken waiter = owner();
        pass(Duration.ofMillis(1));
        waits(waiter, "host/1/a", 0);
        end(waiter, 0, ReleaseRequest.Kind.SUPERSEDED, NAME);
        assertThat(node.admin().waiters(NAME, 10).join()).hasSize(1);
        end(waiter, 0, ReleaseRequest.Kind.UNDO, NAME);
        assertThat(node.admin().waiters(NAME, 10).join()).isEmpty();
        assertThat(heard).as("the lock is held").isEmpty();
    }

    // ---- operators

    @Test
    void aForcedReleaseEndsTheHoldOfThatHolderAndTellsIt() {
        assertThat(node.admin().forceRelease(NAME, null).join()).isFalse();
        OwnerToken owner = owner();
        long before = micros();
        ask(owner, before);
        pass(Duration.ofMillis(5));
        assertThat(node.admin().forceRelease(NAME, "host/1/y").join()).isFalse();
        waits(owner(), "host/1/b", 0);
        assertThat(node.admin().forceRelease(NAME, "host/1/x").join()).isTrue();
        assertThat(heard).containsExactly("lost FORCE_RELEASED", "wake n");
        assertThat(node.admin().describe(NAME).join()).isEmpty();
        assertThat(floor(NAME)).as("above everything that was granted").isEqualTo(before + 5_000);
    }

    @Test
    void theListIsSortedBoundedAndOfWhatMatchesAndIsHeld() {
        for (String name : List.of("c", "a", "b", "x")) {
            ask(request(owner(), LockName.exactly(name)), micros());
        }
        assertThat(node.admin().list("?", 10).join())
                .extracting(record -> record.name().text())
                .containsExactly("a", "b", "c", "x");
        assertThat(node.admin().list("?", 2).join()).hasSize(2);
        assertThat(node.admin().list("a*", 10).join()).hasSize(1);
        pass(Duration.ofSeconds(10));
        assertThat(node.admin().list("*", 10).join()).isEmpty();
        assertThat(node.description()).isEqualTo("memory:");
        assertThat(node.guarantees().queueing()).isEqualTo(Guarantee.Queueing.FIFO);
    }

    @Test
    void namesThatAreNotUsedAnyMoreAreForgottenOnceTheClockHasOvertakenTheirFence() {
        ask(owner(), micros());
        pass(Duration.ofMillis(1));
        waits(owner(), "host/1/silent", 0);
        OwnerToken holder = owner();
        ask(request(holder, OTHER), micros());
        pass(Duration.ofSeconds(61));
        ask(request(holder, OTHER), micros());
        requests(5_000);
        assertThat(remembers(NAME)).as("its fence says no more than the clock").isFalse();
        assertThat(remembers(OTHER)).isTrue();
        pass(Duration.ofSeconds(50));
        requests(5_000);
        assertThat(remembers(OTHER)).as("not held, and its fence still counts").isTrue();
    }

    /** Its fence says no more than the clock, but its queue does. */
    @Test
    void aFreeNameThatIsWaitedForIsNotForgotten() {
        OwnerToken holder = owner();
        ask(holder, micros());
        node.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, holder, 10 * TTL)), SECOND));
        pass(Duration.ofSeconds(61));
        OwnerToken first = owner();
        assertThat(((NodeReply.Held) waits(first, "host/1/a", 0)).queued()).isTrue();
        release(holder);
        requests(5_000);
        assertThat(ask(owner(), micros())).as("the first is ahead").isInstanceOf(NodeReply.Held.class);
        assertThat(waits(first, "host/1/a", 0)).isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void aMemberForgetsThemAsWell() {
        node.birth(Birth.declared(SET, 1));
        vote(request(owner(), NAME), micros());
        pass(Duration.ofSeconds(61));
        for (int i = 0; i < 5_000; i++) {
            vote(request(owner(), OTHER), 1);
        }
        assertThat(remembers(NAME)).isFalse();
    }

    private void requests(int count) {
        LockName busy = LockName.exactly("busy");
        for (int i = 0; i < count; i++) {
            ask(request(owner(), busy), 1);
        }
    }

    @Test
    void aUriOpensAStoreOfItsOwn() {
        InMemoryStoreProvider provider = new InMemoryStoreProvider();
        assertThat(provider.schemes()).containsExactly("memory");
        try (LockStore store = provider.open(StoreUri.parse("memory:"), clock)) {
            assertThat(store.description()).isEqualTo("memory:");
            assertThat(store.guarantees()).isEqualTo(node.guarantees());
            assertThat(store.isAtomicOver(List.of(NAME, OTHER))).isTrue();
            assertThat(store.acquire(request(owner(), NAME)).join()).isInstanceOf(AcquireReply.Granted.class);
            assertThat(store.acquire(request(owner(), NAME)).join()).isInstanceOf(AcquireReply.Busy.class);
            assertThat(store.acquire(request(owner(), NAME).waiting(SECOND)).join())
                    .isInstanceOf(AcquireReply.Queued.class);
            assertThat(store.admin().describe(NAME).join()).isPresent();
            assertThat(store.admin().list("*", 10).join()).hasSize(1);
            assertThat(store.admin().waiters(NAME, 10).join()).hasSize(1);
            assertThat(store.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, owner(), TTL)), SECOND))
                            .join()
                            .items())
                    .hasSize(1);
            assertThat(store.admin().forceRelease(NAME, null).join()).isTrue();
            assertThat(store.operations()).isNotNull();
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> provider.open(StoreUri.parse("memory:x"), clock))
                .withMessageContaining("nothing may follow");
    }

    private boolean remembers(LockName name) {
        return node.image().entries().containsKey(name);
    }

    @Test
    void aClientThatFailsAtASignalKeepsItFromNobody() {
        InMemoryNode shared = new InMemoryNode(clock);
        shared.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                throw new InternalError("made by the test");
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                throw new IllegalStateException("made by the test");
            }

            @Override
            public void reconnected() {}
        });
        shared.listen(ear);
        shared.acquire(new Ballot(request(owner(), NAME), micros(), 1));
        assertThat(shared.forceRelease(NAME, null).join()).isTrue();
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
        shared.unlisten(ear);
        shared.acquire(new Ballot(request(owner(), NAME), micros() + 1, 1));
        shared.forceRelease(NAME, null);
        assertThat(heard).hasSize(1);
    }

    // ---- a member of a set

    private static final String SET = "a, b, c";
    private static final long QUARANTINE_MICROS = 31_000_000;

    private Membership member(String set) {
        return new Membership(set, micros(), QUARANTINE_MICROS, LEAD_MICROS, Membership.Persistence.VOLATILE);
    }

    private NodeReply vote(AcquireRequest request, long candidate) {
        return node.acquire(new Ballot(request, candidate, 1), member(SET)).join();
    }

    @Test
    void aMemberGrantsNothingBeforeItsQuarantineIsOver() {
        NodeReply first = vote(request(owner(), NAME), micros());
        assertThat(first).isInstanceOf(NodeReply.Unborn.class);
        String nonce = ((NodeReply.Unborn) first).nonce();
        assertThat(((NodeReply.Unborn) vote(request(owner(), NAME), micros())).nonce())
                .as("one life has one")
                .isEqualTo(nonce);
        assertThat(node.birth(new Birth("another", micros(), SET, 1)).join()).isInstanceOf(NodeReply.Refused.class);
        assertThat(node.birth(new Birth(nonce, micros(), SET, 1)).join()).isInstanceOf(NodeReply.Stale.class);
        assertThat(node.birth(new Birth(nonce, micros(), SET, 1)).join()).isInstanceOf(NodeReply.Refused.class);
        assertThat(node.acquire(new Ballot(request(owner(), NAME), micros(), 1), member("others"))
                        .join())
                .isInstanceOfSatisfying(
                        NodeReply.OtherSet.class,
                        other -> assertThat(other.configuration()).isEqualTo(SET));
        pass(Duration.ofNanos((QUARANTINE_MICROS - 1) * 1_000));
        assertThat(vote(request(owner(), NAME), micros()))
                .isInstanceOfSatisfying(
                        NodeReply.Quarantined.class,
                        young -> assertThat(young.leftNanos()).isEqualTo(1_000));
        pass(Duration.ofNanos(1_000));
        assertThat(vote(request(owner(), NAME), micros())).isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void atAMemberAFreeLockGoesToWhoeverAsksAndAClientHasOnePlace() {
        node.birth(Birth.declared(SET, 1));
        OwnerToken holder = owner();
        assertThat(vote(request(holder, NAME), micros())).isInstanceOf(NodeReply.Yes.class);
        pass(Duration.ofMillis(1));
        vote(request(owner(), NAME).waiting(SECOND), micros());
        vote(request(owner(), NAME).waiting(SECOND), micros());
        assertThat(node.admin().waiters(NAME, 10).join())
                .as("under whichever owner token")
                .hasSize(1);
        AcquireRequest another = AcquireRequest.exclusive(List.of(NAME), owner(), "host/2/y", TTL, SECOND)
                .waiting(SECOND);
        vote(another, micros());
        assertThat(node.admin().waiters(NAME, 10).join()).hasSize(2);
        release(holder);
        assertThat(heard).containsExactly("wake n");
        assertThat(vote(request(owner(), NAME), micros())).isInstanceOf(NodeReply.Yes.class);
        assertThat(node.admin().waiters(NAME, 10).join())
                .as("who is served waits no more")
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/2/y");
    }

    @Test
    void whatIsSavedIsWhatTheNextLifeKnows() {
        node.birth(Birth.declared(SET, 1));
        OwnerToken holder = owner();
        vote(request(holder, NAME), micros());
        pass(Duration.ofMillis(1));
        vote(
                AcquireRequest.exclusive(List.of(NAME), owner(), "host/2/y", TTL, SECOND)
                        .waiting(SECOND),
                micros());
        NodeImage saved = node.image();
        release(holder);
        InMemoryNode next = new InMemoryNode(clock, saved);
        assertThat(next.describe(NAME).join()).as("as it was when it was saved").isPresent();
        assertThat(next.waiters(NAME, 10).join()).hasSize(1);
        assertThat(((NodeReply.Stale) next.acquire(new Ballot(request(owner(), NAME), 1, 1))
                                .join())
                        .floor())
                .isEqualTo(micros() - 1_000);
        assertThat(next.acquire(new Ballot(request(owner(), NAME), micros(), 1), member(SET))
                        .join())
                .as("another life has to be born again")
                .isInstanceOf(NodeReply.Unborn.class);
        Membership durable =
                new Membership(SET, micros(), QUARANTINE_MICROS, LEAD_MICROS, Membership.Persistence.DURABLE);
        InMemoryNode kept = new InMemoryNode(clock, saved);
        assertThat(kept.acquire(new Ballot(request(owner(), NAME), micros(), 1), durable)
                        .join())
                .as("unless it forgets nothing")
                .isInstanceOf(NodeReply.Held.class);
    }
}
