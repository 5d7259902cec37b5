package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers and writers at a member of a set: the floors, who keeps out whom, and the end of a wait. */
@Tag("quick")
@SuppressWarnings("FutureReturnValueIgnored") // the nodes answer at once
final class MemberReadersTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final LockName NAME = LockName.of("catalog");
    private static final LockName READ = NAME.asRead();
    private static final String SET = "a, b, c";
    private static final long EARLY = 1_000;
    private static final long LATE = 2_000;

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final List<LockName> woken = new ArrayList<>();
    private long ballot = clock.wallMillis() * 1_000;

    MemberReadersTest() {
        node.birth(Birth.declared(SET, 1));
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
    }

    private OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    private Membership membership() {
        return new Membership(SET, clock.wallMillis() * 1_000, 31_000_000, 7_500_000, Membership.Persistence.VOLATILE);
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/" + owner.attemptId(), 10 * SECOND, SECOND);
    }

    private NodeReply propose(LockName name, OwnerToken owner, long candidate, long place) {
        return node.acquire(new Ballot(request(name, owner), candidate, 1, 0, place), membership())
                .join();
    }

    private NodeReply propose(LockName name, OwnerToken owner) {
        return propose(name, owner, ++ballot, 0);
    }

    private NodeReply wait(LockName name, OwnerToken owner, long place) {
        AcquireRequest waiting = request(name, owner).waiting(3 * SECOND);
        return node.acquire(new Ballot(waiting, ++ballot, 1, 0, place), membership())
                .join();
    }

    private NodeReply downgrade(OwnerToken reader, OwnerToken writer, long candidate) {
        return node.downgrade(new Ballot(request(READ, reader), candidate, 1), writer, membership())
                .join();
    }

    private boolean end(LockName name, OwnerToken owner, long highest, ReleaseRequest.Kind kind) {
        return node.release(new ReleaseRequest(List.of(name), owner, highest, kind, SECOND))
                        .join()
                instanceof ReleaseReply.Released;
    }

    private OwnerToken holds(LockName name) {
        OwnerToken owner = owner();
        assertYes(propose(name, owner));
        return owner;
    }

    private List<String> waiters() {
        return node.waiters(NAME, 10).join().stream()
                .map(QueuedWaiter::holderId)
                .toList();
    }

    private static void assertYes(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
    }

    private static void assertHeld(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Held.class);
    }

    private static void assertStale(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Stale.class);
    }

    @Test
    void readersShareAndExcludeWriters() {
        OwnerToken first = holds(READ);
        OwnerToken second = holds(READ);
        assertHeld(propose(NAME, owner()));
        assertThat(end(READ, first, ballot, ReleaseRequest.Kind.RELEASE)).isTrue();
        assertHeld(propose(NAME, owner()));
        assertThat(end(READ, second, ballot, ReleaseRequest.Kind.RELEASE)).isTrue();
        OwnerToken writer = holds(NAME);
        assertHeld(propose(READ, owner()));
        assertThat(end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE)).isTrue();
        holds(READ);
    }

    @Test
    void aNodeThatKnowsNoBirthGrantsNoReader() {
        InMemoryNode young = new InMemoryNode(clock);
        Ballot proposed = new Ballot(request(READ, owner()), ++ballot, 1);
        assertThat(young.acquire(proposed, membership()).join()).isInstanceOf(NodeReply.Unborn.class);
        assertThat(young.downgrade(proposed, owner(), membership()).join()).isInstanceOf(NodeReply.Unborn.class);
    }

    /** Ballots of readers arrive in any order at the members. */
    @Test
    void aReaderNeedNotExceedOtherReaders() {
        long lower = ++ballot;
        holds(READ);
        assertYes(propose(READ, owner(), lower, 0));
        assertStale(propose(NAME, owner(), lower, 0));
    }

    @Test
    void aReaderMustExceedWritersAndReadersThatHaveEnded() {
        long lower = ++ballot;
        OwnerToken writer = holds(NAME);
        end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE);
        assertStale(propose(READ, owner(), lower, 0));
        long later = ++ballot;
        OwnerToken reader = holds(READ);
        end(READ, reader, ballot, ReleaseRequest.Kind.RELEASE);
        assertStale(propose(READ, reader, later, 0));
    }

    @Test
    void aWaitingWriterKeepsOutLaterReadersOnly() {
        holds(READ);
        assertHeld(wait(NAME, owner(), LATE));
        assertYes(wait(READ, owner(), EARLY));
        assertHeld(wait(READ, owner(), LATE + 1));
        assertHeld(propose(READ, owner()));
    }

    @Test
    void aWaitingReaderKeepsOutLaterWritersOnly() {
        OwnerToken writer = holds(NAME);
        assertHeld(wait(READ, owner(), LATE));
        end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).containsExactly(READ);
        assertHeld(propose(NAME, owner()));
        assertHeld(wait(NAME, owner(), LATE + 1));
        assertYes(wait(NAME, owner(), EARLY));
    }

    /** Otherwise two waiters, each at another member, exclude each other. */
    @Test
    void equalPlacesDoNotKeepOutEachOther() {
        OwnerToken writer = holds(NAME);
        assertHeld(wait(READ, owner(), LATE));
        end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE);
        assertYes(wait(NAME, owner(), LATE));
    }

    @Test
    void holdersAreNotKeptOut() {
        OwnerToken reader = holds(READ);
        assertHeld(wait(NAME, owner(), EARLY));
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(READ, reader, 10 * SECOND, 0)), SECOND);
        assertThat(node.renew(batch).join().items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertYes(propose(READ, reader));
        assertYes(propose(READ, owner(), ++ballot, Ballot.HOLDERS));
    }

    @Test
    void aRenewalMovesTheEndOfItsReaderOnly() {
        OwnerToken renewed = holds(READ);
        OwnerToken other = holds(READ);
        clock.pass(Duration.ofSeconds(6));
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(READ, renewed, 10 * SECOND, 0)), SECOND);
        node.renew(batch);
        clock.pass(Duration.ofSeconds(6));
        ballot = clock.wallMillis() * 1_000;
        assertHeld(propose(NAME, owner()));
        assertThat(end(READ, other, ballot, ReleaseRequest.Kind.RELEASE)).isFalse();
        assertThat(end(READ, renewed, ballot, ReleaseRequest.Kind.RELEASE)).isTrue();
        holds(NAME);
    }

    @Test
    void aCallerWithoutPatienceKeepsOutNobody() {
        holds(READ);
        assertHeld(propose(NAME, owner(), ++ballot, EARLY));
        assertThat(waiters()).isEmpty();
        holds(READ);
    }

    @Test
    void aBallotBelowTheFloorLeavesNoWait() {
        holds(READ);
        AcquireRequest waiting = request(NAME, owner()).waiting(3 * SECOND);
        assertStale(
                node.acquire(new Ballot(waiting, 1, 1, 0, EARLY), membership()).join());
        assertThat(waiters()).isEmpty();
    }

    @Test
    void aGrantEndsTheWait() {
        OwnerToken reader = holds(READ);
        OwnerToken writer = owner();
        assertHeld(wait(NAME, writer, EARLY));
        end(READ, reader, ballot, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).containsExactly(NAME);
        assertYes(wait(NAME, writer, EARLY));
        assertThat(waiters()).isEmpty();
    }

    @Test
    void theEndOfTheOwnerTokenEndsTheWaitUnlessItsAttemptGoesOn() {
        holds(READ);
        OwnerToken writer = owner();
        assertHeld(wait(NAME, writer, EARLY));
        end(NAME, writer, ballot, ReleaseRequest.Kind.SUPERSEDED);
        assertHeld(propose(READ, owner()));
        end(NAME, writer, ballot, ReleaseRequest.Kind.UNDO);
        holds(READ);
        OwnerToken later = owner();
        OwnerToken holder = owner();
        assertHeld(propose(NAME, holder));
        assertHeld(wait(NAME, later, LATE));
        assertHeld(wait(READ, holder, LATE + 1));
        end(READ, holder, ballot, ReleaseRequest.Kind.UNDO);
        assertThat(waiters()).containsExactly("host/1/" + later.attemptId());
    }

    @Test
    void aWaiterThatIsSilentKeepsOutNobody() {
        holds(READ);
        assertHeld(wait(NAME, owner(), EARLY));
        clock.pass(Duration.ofSeconds(7).minusNanos(1));
        ballot = clock.wallMillis() * 1_000;
        assertHeld(propose(READ, owner()));
        clock.pass(Duration.ofNanos(1));
        holds(READ);
    }

    /** The same order at all members: the requests of the waiters arrive at each in another one. */
    @Test
    void waitersStandInTheOrderOfTheirPlaces() {
        OwnerToken writer = holds(NAME);
        OwnerToken first = owner();
        OwnerToken second = owner();
        OwnerToken third = owner();
        wait(READ, third, LATE + 1);
        wait(NAME, first, EARLY);
        wait(NAME, second, LATE);
        wait(NAME, first, EARLY);
        assertThat(waiters())
                .containsExactly(
                        "host/1/" + first.attemptId(), "host/1/" + second.attemptId(), "host/1/" + third.attemptId());
        end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).containsExactly(NAME);
    }

    @Test
    void aClientHasAPlaceOfEachKind() {
        holds(NAME);
        AcquireRequest reader = AcquireRequest.exclusive(List.of(READ), owner(), "host/1/x", 10 * SECOND, SECOND);
        AcquireRequest writer = AcquireRequest.exclusive(List.of(NAME), owner(), "host/1/x", 10 * SECOND, SECOND);
        AcquireRequest again = AcquireRequest.exclusive(List.of(READ), owner(), "host/1/x", 10 * SECOND, SECOND);
        for (AcquireRequest each : List.of(reader, writer, again)) {
            assertHeld(node.acquire(new Ballot(each.waiting(SECOND), ++ballot, 1, 0, EARLY), membership())
                    .join());
        }
        assertThat(waiters()).containsExactly("host/1/x", "host/1/x");
    }

    // ---- downgrade

    @Test
    void aReaderTakesThePlaceOfAWriter() {
        OwnerToken writer = holds(NAME);
        assertHeld(wait(NAME, owner(), EARLY));
        OwnerToken reader = owner();
        assertStale(downgrade(reader, writer, ballot - 1));
        assertYes(downgrade(reader, writer, ++ballot));
        assertYes(downgrade(reader, writer, ++ballot));
        assertThat(node.describe(NAME).join().orElseThrow().holder().isReaders())
                .isTrue();
        assertThat(end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE)).isFalse();
        assertThat(end(READ, reader, ballot, ReleaseRequest.Kind.RELEASE)).isTrue();
        assertStale(downgrade(reader, writer, ballot));
    }

    @Test
    void aDowngradeTakesNoFreeLockAndNoOther() {
        OwnerToken writer = owner();
        assertHeld(downgrade(owner(), writer, ++ballot));
        holds(READ);
        assertHeld(downgrade(owner(), writer, ++ballot));
        assertThat(node.readers(NAME, 10).join()).hasSize(1);
    }

    /** The end of the writer follows at every member. */
    @Test
    void readersThatWaitAreWokenWhenTheWriterHasEnded() {
        OwnerToken writer = holds(NAME);
        OwnerToken waiting = owner();
        assertHeld(wait(READ, waiting, LATE));
        assertYes(downgrade(owner(), writer, ++ballot));
        end(NAME, writer, ballot, ReleaseRequest.Kind.RELEASE);
        assertThat(woken).containsExactly(READ);
        assertYes(wait(READ, waiting, LATE));
    }
}
