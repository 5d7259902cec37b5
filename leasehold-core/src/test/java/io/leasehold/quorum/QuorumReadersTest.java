package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers and writers at a set of three nodes, with answers that the test chooses. */
@Tag("quick")
@SuppressWarnings("FutureReturnValueIgnored") // what these requests leave is asked of the nodes
final class QuorumReadersTest {

    private static final LockName READ = NAME.asRead();

    private final ScriptedSet set = new ScriptedSet(3);

    private AcquireRequest request(LockName name, OwnerToken owner, String holderId) {
        return AcquireRequest.exclusive(List.of(name), owner, holderId, TTL, SECOND);
    }

    private AcquireReply ask(LockName name, String holderId) {
        return set.ask(request(name, set.owner(), holderId));
    }

    private Grant won(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private Grant reader(String holderId) {
        return won(ask(READ, holderId));
    }

    private ReleaseReply released(LockName name, Grant grant) {
        return set.clock.answer(set.store.release(new ReleaseRequest(
                List.of(name), grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, SECOND)));
    }

    private RenewReply.Item renewed(Grant reader) {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(READ, reader.owner(), TTL)), SECOND);
        return set.clock.answer(set.store.renew(batch)).items().get(0);
    }

    private AcquireReply downgraded(OwnerToken reader, Grant writer) {
        AcquireRequest request =
                request(READ, reader, "host/1/x").ballotSoFar(writer.tokens().last());
        return set.clock.answer(set.store.downgrade(request, writer.owner()));
    }

    private List<Holder> readersAt(int node) {
        return set.nodes.get(node).memory.readers(NAME, 10).join();
    }

    private int writersKept() {
        int kept = 0;
        for (int node = 0; node < 3; node++) {
            kept += set.keeps(node) && readersAt(node).isEmpty() ? 1 : 0;
        }
        return kept;
    }

    private void silence(String verb, int... nodes) {
        for (int node : nodes) {
            set.nodes.get(node).answers(verb, ScriptedNode.SILENCE);
        }
    }

    @Test
    void readersShareAndWritersComeBetween() {
        Grant first = reader("host/1/a");
        Grant second = reader("host/2/b");
        assertThat(ask(NAME, "host/3/c")).isInstanceOf(AcquireReply.Busy.class);
        assertThat(released(READ, first)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(ask(NAME, "host/3/c")).isInstanceOf(AcquireReply.Busy.class);
        assertThat(renewed(second)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(released(READ, second)).isInstanceOf(ReleaseReply.Released.class);
        Grant writer = won(ask(NAME, "host/3/c"));
        assertThat(writer.tokens().first())
                .isGreaterThan(first.tokens().last())
                .isGreaterThan(second.tokens().last());
        assertThat(ask(READ, "host/1/a")).isInstanceOf(AcquireReply.Busy.class);
        assertThat(released(NAME, writer)).isInstanceOf(ReleaseReply.Released.class);
        Grant third = reader("host/1/a");
        assertThat(third.tokens().first()).isGreaterThan(writer.tokens().last());
        assertThat(renewed(first)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void aReaderWithAMinorityIsUndone() {
        set.rival(0, 1);
        assertThat(ask(READ, "host/1/a")).isInstanceOf(AcquireReply.Busy.class);
        set.pass(100);
        assertThat(readersAt(2)).isEmpty();
    }

    @Test
    void aMemberWithoutReadersIsEnoughToRefuse() {
        assertThat(set.store.keepsReaders()).isTrue();
        set.nodes.get(1).keepsReaders = false;
        assertThat(set.store.keepsReaders()).isFalse();
        LockClient client =
                Leasehold.builder().store(set.store).runtime(set.clock).connect();
        assertThatThrownBy(() -> client.readWrite(NAME)).isInstanceOf(UnsafeStoreException.class);
    }

    @Test
    void theEndOfAReaderIsNoneOfAWriter() {
        Grant writer = set.granted();
        assertThat(released(READ, writer)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renewed(writer)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(set.renewed(writer)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** A waiter has one place at all nodes, from its first ballot on; other callers have none. */
    @Test
    void theFirstBallotIsThePlaceOfTheWaiter() {
        set.rival(0, 1, 2);
        AcquireRequest waiting = request(READ, set.owner(), "host/1/a")
                .waiting(Duration.ofSeconds(3).toNanos());
        assertThat(set.ask(waiting)).isInstanceOf(AcquireReply.Queued.class);
        set.pass(1_000);
        assertThat(set.ask(waiting)).isInstanceOf(AcquireReply.Queued.class);
        Set<Long> places = new HashSet<>();
        set.nodes.forEach(node -> node.ballots.forEach(ballot -> places.add(ballot.place())));
        assertThat(places).hasSize(1).doesNotContain(0L, Ballot.HOLDERS);
        set.nodes.forEach(node -> node.ballots.clear());
        ask(READ, "host/1/b");
        set.nodes.forEach(node ->
                node.ballots.forEach(ballot -> assertThat(ballot.place()).isZero()));
    }

    /** Otherwise a writer that waits keeps the reader from a node that has lost its entry. */
    @Test
    void aRepairIsNotKeptOut() {
        Grant reader = reader("host/1/a");
        AcquireRequest waiting = request(NAME, set.owner(), "host/2/b").waiting(3 * SECOND);
        assertThat(set.ask(waiting)).isInstanceOf(AcquireReply.Queued.class);
        set.nodes.get(2).memory.forceRelease(READ, null);
        assertThat(renewed(reader)).isInstanceOf(RenewReply.Renewed.class);
        set.pass(100);
        assertThat(set.nodes.get(2).ballots)
                .last()
                .satisfies(ballot -> assertThat(ballot.place()).isEqualTo(Ballot.HOLDERS));
        assertThat(readersAt(2)).hasSize(1);
    }

    // ---- downgrade

    @Test
    void aReaderTakesThePlaceOfTheWriterAtEveryNode() {
        Grant writer = set.granted(set.request(set.owner()).reserve(5));
        Grant reader = won(downgraded(set.owner(), writer));
        assertThat(reader.tokens().first()).isGreaterThan(writer.tokens().last());
        set.pass(100);
        assertThat(writersKept()).isZero();
        for (int node = 0; node < 3; node++) {
            assertThat(readersAt(node)).hasSize(1);
        }
        assertThat(ask(NAME, "host/2/b")).isInstanceOf(AcquireReply.Busy.class);
        Grant other = reader("host/2/b");
        assertThat(renewed(reader)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(released(READ, reader)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(released(READ, other)).isInstanceOf(ReleaseReply.Released.class);
        won(ask(NAME, "host/2/b"));
    }

    /** The node that did not answer has the writer until its owner token is ended there, and then the reader. */
    @Test
    void aNodeThatWasNotReachedIsRepaired() {
        Grant writer = set.granted();
        silence("downgrade", 2);
        Grant reader = won(downgraded(set.owner(), writer));
        set.pass(100);
        assertThat(writersKept()).isZero();
        assertThat(readersAt(2)).isEmpty();
        assertThat(renewed(reader)).isInstanceOf(RenewReply.Renewed.class);
        set.pass(100);
        assertThat(readersAt(2)).hasSize(1);
    }

    /** The caller may repeat it with the same owner token: nothing proves that the writer was lost. */
    @Test
    void withoutAQuorumOfAnswersNothingIsDecided() {
        Grant writer = set.granted();
        silence("downgrade", 1, 2);
        OwnerToken owner = set.owner();
        AcquireReply reply = downgraded(owner, writer);
        assertThat(reply).isInstanceOf(AcquireReply.Failed.class);
        assertThat(((AcquireReply.Failed) reply).kind()).isNotEqualTo(FailureKind.PERMANENT);
        assertThat(writersKept()).as("no end is sent").isEqualTo(2);
        set.nodes.forEach(node -> node.answersItself("downgrade"));
        Grant reader = won(downgraded(owner, writer));
        assertThat(reader.owner()).isEqualTo(owner);
        set.pass(100);
        assertThat(writersKept()).isZero();
    }

    /** One node has neither of them, and one does not answer: a quorum may have kept the writer. */
    @Test
    void oneNodeWithoutTheWriterProvesNoLoss() {
        Grant writer = set.granted();
        set.nodes.get(0).memory.forceRelease(NAME, null);
        set.nodes.get(1).answers("downgrade", ScriptedSet.failed(FailureKind.UNKNOWN));
        OwnerToken owner = set.owner();
        assertThat(downgraded(owner, writer)).isInstanceOf(AcquireReply.Failed.class);
        set.nodes.get(1).answersItself("downgrade");
        won(downgraded(owner, writer));
    }

    /** Nothing is left behind: the engine ends neither owner token after a loss that is proved. */
    @Test
    void aWriterThatNoQuorumKeptHasEndedEverywhere() {
        Grant writer = set.granted();
        set.nodes.get(0).memory.forceRelease(NAME, null);
        set.nodes.get(1).memory.forceRelease(NAME, null);
        assertThat(downgraded(set.owner(), writer)).isInstanceOf(AcquireReply.Busy.class);
        set.pass(100);
        for (int node = 0; node < 3; node++) {
            assertThat(set.keeps(node)).isFalse();
        }
        assertThat(set.store.remembered()).isZero();
    }

    /** A late copy must not make a reader of an owner token that has ended. */
    @Test
    void aLateDowngradeGrantsNothing() {
        Grant writer = set.granted();
        silence("downgrade", 2);
        Grant reader = won(downgraded(set.owner(), writer));
        Ballot late = set.nodes.get(2).downgrades.get(0);
        set.pass(100);
        released(READ, reader);
        set.pass(100);
        NodeReply reply = set.nodes
                .get(2)
                .memory
                .downgrade(late, writer.owner(), set.nodes.get(2).memberships.get(0))
                .join();
        assertThat(reply).isInstanceOf(NodeReply.Stale.class);
        assertThat(set.keeps(2)).isFalse();
    }

    /** The repair of a writer that is not repaired any more would keep readers out. */
    @Test
    void aWriterThatIsDowngradedIsNotRepaired() {
        Grant writer = set.granted();
        set.nodes.get(2).memory.forceRelease(NAME, null);
        set.nodes.forEach(node -> node.delayNanos.put("renew", 5 * ScriptedSet.MILLI));
        set.renewing(writer);
        won(downgraded(set.owner(), writer));
        int before = set.nodes.get(2).ballots.size();
        set.pass(200);
        assertThat(set.nodes.get(2).ballots).hasSize(before);
        assertThat(writersKept()).isZero();
    }

    @Test
    void aClientDowngrades() {
        LockClient client =
                Leasehold.builder().store(set.store).runtime(set.clock).connect();
        WriteLease writer = set.clock.answer(client.readWrite(NAME).write().acquireAsync());
        Lease reader = set.clock.answer(writer.downgradeAsync());
        assertThat(writer.isValid()).isFalse();
        assertThat(reader.isValid()).isTrue();
        assertThat(reader.fencingToken()).isGreaterThan(writer.fencingToken());
        set.clock.answer(reader.releaseAsync());
        set.pass(100);
        assertThat(set.keeps(0) || set.keeps(1) || set.keeps(2)).isFalse();
    }

    // ---- operators

    @Test
    void readersOfAQuorumAreListed() {
        reader("host/1/a");
        reader("host/1/a");
        reader("host/2/b");
        set.nodes.get(0).memory.forceRelease(READ, "host/2/b");
        assertThat(set.clock.answer(set.store.admin().readers(NAME, 10)))
                .extracting(Holder::id)
                .containsExactly("host/1/a", "host/1/a", "host/2/b");
        assertThat(set.clock.answer(set.store.admin().readers(NAME, 1))).hasSize(1);
        set.nodes.get(1).memory.forceRelease(READ, "host/2/b");
        assertThat(set.clock.answer(set.store.admin().readers(NAME, 10))).hasSize(2);
        assertThat(set.clock
                        .answer(set.store.admin().describe(NAME))
                        .orElseThrow()
                        .holder()
                        .isReaders())
                .isTrue();
        assertThat(set.clock.answer(set.store.admin().forceRelease(READ, "host/1/a")))
                .isTrue();
        assertThat(set.clock.answer(set.store.admin().readers(NAME, 10))).isEmpty();
        assertThat(set.lost).isNotEmpty();
    }

    @Test
    void differentReadersAtTheNodesHoldNothing() {
        for (int node = 0; node < 2; node++) {
            Ballot ballot = new Ballot(
                    request(READ, set.owner(), "host/" + node + "/x"), set.clock.wallMillis() * 1_000 + node, 1);
            set.nodes.get(node).memory.acquire(ballot).join();
        }
        assertThat(set.clock.answer(set.store.admin().describe(NAME))).isEmpty();
    }
}
