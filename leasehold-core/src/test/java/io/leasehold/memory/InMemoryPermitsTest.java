package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.PermitCountException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the rule of permits, by the formal model's broken variants and by hand. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class InMemoryPermitsTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final LockName NAME = LockName.exactly("pool");
    private static final LockName PAIR = NAME.asPermits(2);

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final List<HandOver> handed = new ArrayList<>();
    private final List<LockName> woken = new ArrayList<>();
    private final List<OwnerToken> lost = new ArrayList<>();
    private long ballot = clock.wallMillis() * 1_000;

    InMemoryPermitsTest() {
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void handedOver(HandOver handOver) {
                handed.add(handOver);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                lost.add(owner);
            }

            @Override
            public void reconnected() {}
        });
    }

    private OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    private AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/" + owner.attemptId(), 10 * SECOND, SECOND);
    }

    private NodeReply propose(InMemoryNode at, LockName name, OwnerToken owner, long candidate) {
        return at.acquire(new Ballot(request(name, owner), candidate, 1)).join();
    }

    private NodeReply propose(LockName name, OwnerToken owner) {
        return propose(node, name, owner, ++ballot);
    }

    private NodeReply queue(LockName name, OwnerToken owner, Duration claim) {
        AcquireRequest waiting = request(name, owner).waiting(3 * SECOND);
        return node.acquire(new Ballot(waiting, ++ballot, 1, claim.toNanos())).join();
    }

    private NodeReply several(LockName name, OwnerToken owner, int number) {
        ballot += number;
        return node.acquire(new Ballot(request(name, owner), ballot - number + 1, number))
                .join();
    }

    private NodeReply queueForSeveral(LockName name, OwnerToken owner, int number, Duration claim) {
        ballot += number;
        AcquireRequest waiting = request(name, owner).waiting(3 * SECOND);
        return node.acquire(new Ballot(waiting, ballot - number + 1, number, claim.toNanos()))
                .join();
    }

    private static List<Integer> slots(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
        return ((NodeReply.Yes) reply).slots();
    }

    private List<Long> tokens() {
        return status().held().stream()
                .map(held -> held.holder().fencingToken().orElseThrow())
                .toList();
    }

    private static int slot(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
        return ((NodeReply.Yes) reply).slots().get(0);
    }

    private boolean end(LockName name, OwnerToken owner, long highest) {
        return node.release(new ReleaseRequest(List.of(name), owner, highest, ReleaseRequest.Kind.UNDO, SECOND))
                        .join()
                instanceof ReleaseReply.Released;
    }

    private boolean renew(OwnerToken owner) {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(PAIR, owner, 10 * SECOND)), SECOND);
        return node.renew(batch).join().items().get(0) instanceof RenewReply.Renewed;
    }

    private PermitsStatus status() {
        return node.permits().orElseThrow().describe(NAME.asPermits()).join().orElseThrow();
    }

    private List<Integer> heldSlots() {
        return status().held().stream().map(PermitsStatus.HeldPermit::slot).toList();
    }

    @Test
    void severalSlotsAreTakenTogetherWithATokenEach() {
        LockName five = NAME.asPermits(5);
        OwnerToken one = owner();
        OwnerToken owner = owner();
        propose(five, one);
        long before = ballot;
        assertThat(slots(several(five, owner, 3))).containsExactly(1, 2, 3);
        assertThat(tokens()).containsExactly(before, before + 1, before + 2, before + 3);
        end(five, one, before);
        assertThat(slots(several(five, owner, 3))).as("a second ballot").containsExactly(1, 2, 3);
        assertThat(tokens()).containsExactly(ballot - 2, ballot - 1, ballot);
        assertThat(several(five, owner(), 3)).as("two are free").isInstanceOf(NodeReply.Held.class);
        assertThat(heldSlots()).containsExactly(1, 2, 3);
        clock.pass(Duration.ofSeconds(8));
        assertThat(renew(owner)).isTrue();
        clock.pass(Duration.ofSeconds(8));
        assertThat(heldSlots()).containsExactly(1, 2, 3);
        assertThat(end(five, owner, ballot)).isTrue();
        assertThat(heldSlots()).isEmpty();
        assertThat(renew(owner)).isFalse();
    }

    @Test
    void theFirstWaiterBlocksThoseBehindItUntilAllItsSlotsAreFree() {
        LockName four = NAME.asPermits(4);
        OwnerToken first = owner();
        OwnerToken second = owner();
        OwnerToken large = owner();
        OwnerToken small = owner();
        propose(four, first);
        propose(four, second);
        Duration claim = Duration.ofSeconds(2);
        assertThat(queueForSeveral(four, large, 3, claim)).isInstanceOf(NodeReply.Held.class);
        assertThat(queue(four, small, claim)).as("two are free").isInstanceOf(NodeReply.Held.class);
        assertThat(propose(four, owner())).isInstanceOf(NodeReply.Held.class);
        assertThat(handed).isEmpty();
        end(four, second, ballot);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(large.attemptId());
        assertThat(handed.get(0).tokens().last() - handed.get(0).tokens().first())
                .isEqualTo(2);
        assertThat(handed.get(0).slots()).containsExactly(1, 2, 3);
        assertThat(handed.get(0).name().permitCount()).isEqualTo(4);
        assertThat(heldSlots()).containsExactly(0, 1, 2, 3);
        ballot = handed.get(0).tokens().last();
        assertThat(slots(several(four, large, 3))).containsExactly(1, 2, 3);
        end(four, first, ballot);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(large.attemptId(), small.attemptId());
    }

    @Test
    void anOperatorWhoFreesOneOfSeveralSlotsEndsAll() {
        OwnerToken owner = owner();
        assertThat(slots(several(PAIR, owner, 2))).containsExactly(0, 1);
        assertThat(node.permits()
                        .orElseThrow()
                        .forceRelease(NAME.asPermits(), 1, null)
                        .join())
                .isTrue();
        assertThat(heldSlots()).isEmpty();
        assertThat(renew(owner)).isFalse();
        assertThat(lost).containsExactly(owner);
    }

    @Test
    void aWaiterThatWantsMoreThanALoweredCountBlocksNoOther() {
        LockName three = NAME.asPermits(3);
        OwnerToken holder = owner();
        OwnerToken large = owner();
        propose(three, holder);
        queueForSeveral(three, large, 3, Duration.ofSeconds(2));
        assertThat(node.permits().orElseThrow().change(NAME.asPermits(), 2, 3).join())
                .isTrue();
        assertThat(woken).as("it is refused when it asks again").containsExactly(NAME.asPermits());
        assertThat(slot(queue(PAIR, owner(), Duration.ofSeconds(2)))).isEqualTo(1);
        assertThat(several(three, large, 3)).isInstanceOf(NodeReply.Failed.class);
    }

    @Test
    void aSecondBallotOfAnOwnerTakesNoSecondSlot() {
        OwnerToken first = owner();
        OwnerToken owner = owner();
        assertThat(slot(propose(PAIR, first))).isZero();
        assertThat(slot(propose(PAIR, owner))).isEqualTo(1);
        end(PAIR, first, ballot);
        assertThat(slot(propose(PAIR, owner)))
                .as("its own, although slot 0 is free")
                .isEqualTo(1);
        assertThat(heldSlots()).containsExactly(1);
    }

    @Test
    void oneFenceGuardsAllSlots() {
        OwnerToken owner = owner();
        assertThat(slot(propose(PAIR, owner))).isZero();
        long copied = ballot;
        OwnerToken other = owner();
        assertThat(end(PAIR, owner, copied)).isTrue();
        assertThat(slot(propose(PAIR, other))).isZero();
        assertThat(propose(node, PAIR, owner, copied)).as("the late copy").isInstanceOf(NodeReply.Stale.class);
        assertThat(renew(owner)).isFalse();
        assertThat(heldSlots()).containsExactly(0);
    }

    @Test
    void theEndOfARequestThatHasNotArrivedKeepsItOut() {
        OwnerToken owner = owner();
        long late = ballot + 100;
        assertThat(end(PAIR, owner, late)).isFalse();
        assertThat(propose(node, PAIR, owner, late)).isInstanceOf(NodeReply.Stale.class);
        assertThat(slot(propose(node, PAIR, owner(), late + 1))).isZero();
    }

    @Test
    void theCountIsSetByTheFirstAndKept() {
        propose(PAIR, owner());
        for (int other : new int[] {1, 3}) {
            NodeReply.Failed refused = (NodeReply.Failed) propose(NAME.asPermits(other), owner());
            PermitCountException error = (PermitCountException) refused.error();
            assertThat(error.stated()).isEqualTo(other);
            assertThat(error.kept()).isEqualTo(2);
        }
        assertThat(slot(propose(PAIR, owner()))).isEqualTo(1);
        assertThat(status().version()).isEqualTo(2);
    }

    @Test
    void slotsBeyondALowerCountAreRenewedAndNotGranted() {
        OwnerToken low = owner();
        OwnerToken high = owner();
        propose(PAIR, low);
        propose(PAIR, high);
        assertThat(node.permits().orElseThrow().change(PAIR, 1, 3).join()).isFalse();
        assertThat(node.permits().orElseThrow().change(PAIR, 1, 2).join()).isTrue();
        assertThat(renew(high)).isTrue();
        assertThat(heldSlots()).containsExactly(0, 1);
        assertThat(end(PAIR, high, ballot)).isTrue();
        assertThat(propose(NAME.asPermits(1), owner())).isInstanceOf(NodeReply.Held.class);
        assertThat(status().version()).isEqualTo(1_001);
    }

    @Test
    void aHigherCountServesWaiters() {
        propose(NAME.asPermits(1), owner());
        OwnerToken waiter = owner();
        queue(NAME.asPermits(1), waiter, Duration.ofSeconds(3));
        node.permits().orElseThrow().change(PAIR, 2, 1).join();
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(waiter.attemptId());
        assertThat(heldSlots()).containsExactly(0, 1);
    }

    @Test
    void anEndServesWaitersInTheirOrderAndCallersBehindThemWait() {
        OwnerToken holder = owner();
        OwnerToken first = owner();
        OwnerToken second = owner();
        propose(PAIR, holder);
        propose(PAIR, owner());
        queue(PAIR, first, Duration.ofSeconds(3));
        queue(PAIR, second, Duration.ofSeconds(3));
        assertThat(node.waiters(NAME.asPermits(), 10).join())
                .extracting(QueuedWaiter::holderId)
                .containsExactly("host/1/" + first.attemptId(), "host/1/" + second.attemptId());
        end(PAIR, holder, ballot);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(first.attemptId());
        long past = handed.get(0).tokens().last();
        assertThat(past).isGreaterThan(ballot);
        ballot = past;
        assertThat(propose(PAIR, owner())).isInstanceOf(NodeReply.Held.class);
        assertThat(slot(propose(PAIR, first))).isZero();
    }

    @Test
    void anExpiredPermitIsHandedOverByTheNextRequest() {
        propose(PAIR, owner());
        propose(PAIR, owner());
        clock.pass(Duration.ofSeconds(9));
        ballot += 9_000_000;
        OwnerToken waiter = owner();
        queue(PAIR, waiter, Duration.ofSeconds(3));
        clock.pass(Duration.ofSeconds(2));
        ballot += 1_000_000;
        OwnerToken caller = owner();
        assertThat(propose(PAIR, caller))
                .as("the waiter was served first, with a larger token")
                .isInstanceOf(NodeReply.Stale.class);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(waiter.attemptId());
        ballot = handed.get(0).tokens().last();
        assertThat(slot(propose(PAIR, caller))).isEqualTo(1);
    }

    @Test
    void aWaiterWithoutHandOverIsOnlyWoken() {
        OwnerToken holder = owner();
        OwnerToken waiter = owner();
        propose(NAME.asPermits(1), holder);
        queue(NAME.asPermits(1), waiter, Duration.ZERO);
        end(NAME.asPermits(1), holder, ballot);
        assertThat(woken).containsExactly(NAME.asPermits());
        assertThat(propose(NAME.asPermits(1), owner())).isInstanceOf(NodeReply.Held.class);
        assertThat(slot(propose(NAME.asPermits(1), waiter))).isZero();
    }

    @Test
    void aWokenWaiterHidesNoFurtherFreeSlot() {
        OwnerToken one = owner();
        OwnerToken two = owner();
        OwnerToken behind = owner();
        OwnerToken waiter = owner();
        propose(PAIR, one);
        propose(PAIR, two);
        queue(PAIR, waiter, Duration.ZERO);
        queue(PAIR, behind, Duration.ofSeconds(3));
        end(PAIR, one, ballot);
        end(PAIR, two, ballot);
        assertThat(handed).as("the first waiter is only woken").isEmpty();
        assertThat(slot(propose(PAIR, waiter))).isZero();
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(behind.attemptId());
        assertThat(heldSlots()).containsExactly(0, 1);
    }

    @Test
    void aForcedReleaseRaisesTheFenceAndTellsTheHolder() {
        OwnerToken holder = owner();
        propose(PAIR, holder);
        assertThat(node.permits()
                        .orElseThrow()
                        .forceRelease(NAME.asPermits(), 1, null)
                        .join())
                .isFalse();
        assertThat(node.permits()
                        .orElseThrow()
                        .forceRelease(NAME.asPermits(), 0, "other")
                        .join())
                .isFalse();
        assertThat(node.permits()
                        .orElseThrow()
                        .forceRelease(NAME.asPermits(), 0, null)
                        .join())
                .isTrue();
        assertThat(lost).containsExactly(holder);
        assertThat(renew(holder)).isFalse();
        assertThat(status().held()).isEmpty();
    }

    @Test
    void aRestartKeepsPermits() {
        OwnerToken holder = owner();
        propose(PAIR, holder);
        InMemoryNode next = new InMemoryNode(clock, node.image());
        assertThat(propose(next, PAIR, owner(), ballot)).isInstanceOf(NodeReply.Stale.class);
        assertThat(slot(propose(next, PAIR, owner(), ++ballot))).isEqualTo(1);
        assertThat(propose(next, PAIR, owner(), ++ballot)).isInstanceOf(NodeReply.Held.class);
        end(PAIR, holder, ballot);
        assertThat(heldSlots()).as("the first node is another").isEmpty();
    }

    @Test
    void aNodeOfOneProcessForgetsWhatAClientCounted() {
        InMemoryNode forgetful = InMemoryNode.ofOneProcess(clock);
        OwnerToken holder = owner();
        propose(forgetful, PAIR, holder, ++ballot);
        clock.pass(Duration.ofSeconds(1));
        forgetful.release(new ReleaseRequest(List.of(PAIR), holder, ballot, ReleaseRequest.Kind.RELEASE, SECOND));
        assertThat(forgetful.permits().orElseThrow().describe(NAME.asPermits()).join())
                .isEqualTo(Optional.empty());
        assertThat(propose(forgetful, PAIR, owner(), ballot))
                .as("its fence is the floor of all permits")
                .isInstanceOf(NodeReply.Stale.class);
        assertThat(forgetful.permits().orElseThrow().change(PAIR, 2, 0).join()).isTrue();
        assertThat(forgetful.permits().orElseThrow().describe(NAME.asPermits()).join())
                .isPresent();
    }

    @Test
    void anOperatorsChangeDoesNotMeetACountThatWasSetSinceItWasRead() {
        InMemoryNode forgetful = InMemoryNode.ofOneProcess(clock);
        StorePermits permits = forgetful.permits().orElseThrow();
        OwnerToken holder = owner();
        propose(forgetful, PAIR, holder, ++ballot);
        long seen = permits.describe(NAME.asPermits()).join().orElseThrow().version();
        clock.pass(Duration.ofSeconds(1));
        forgetful.release(new ReleaseRequest(List.of(PAIR), holder, ballot, ReleaseRequest.Kind.RELEASE, SECOND));
        propose(forgetful, NAME.asPermits(3), owner(), ++ballot);
        assertThat(permits.change(NAME.asPermits(), 8, seen).join()).isFalse();
        assertThat(permits.describe(NAME.asPermits()).join().orElseThrow().count())
                .isEqualTo(3);
    }

    @Test
    void permitsAndALockOfOneNameAreTwoThings() {
        assertThat(propose(NAME, owner())).isInstanceOf(NodeReply.Yes.class);
        assertThat(slot(propose(NAME.asPermits(1), owner()))).isZero();
        assertThat(node.list("*", 10).join()).hasSize(1);
        assertThat(node.permits().orElseThrow().list("p*", 10).join()).hasSize(1);
        assertThat(node.permits().orElseThrow().list("x*", 10).join()).isEmpty();
    }
}
