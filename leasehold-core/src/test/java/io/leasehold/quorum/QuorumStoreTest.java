package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.NAME;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.QuorumAdmin.Probe;
import io.leasehold.quorum.QuorumAdmin.SetChecks;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.StoreOperations;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of a set of nodes as one store: its guarantees, its administration, its opening and its close. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumStoreTest {

    private final ScriptedSet set = new ScriptedSet(3);

    private void failing(String verb, int... at) {
        for (int node : at) {
            set.nodes.get(node).answers(verb, new IllegalStateException("made by the test"));
        }
    }

    private <T> StoreUnavailableException unavailable(CompletableFuture<T> asked) {
        set.pass(5_000);
        assertThat(asked).isCompletedExceptionally();
        return (StoreUnavailableException) asked.handle((done, error) ->
                        error instanceof java.util.concurrent.CompletionException ? error.getCause() : error)
                .join();
    }

    // ---- properties

    @Test
    void itPromisesTheLeastOfItsMembers() {
        assertThat(set.store.guarantees())
                .as("members of one process")
                .isEqualTo(new Guarantees(
                        Guarantee.Exclusion.WITHIN_DRIFT,
                        Guarantee.Fencing.INCREASING,
                        Guarantee.Queueing.WAKE_UP,
                        Guarantee.Scope.PROCESS));
        List<QuorumMember> members = new ArrayList<>(set.members);
        members.set(
                1,
                new QuorumMember(
                        set.nodes.get(1), "b", Membership.Persistence.VOLATILE, Guarantee.Exclusion.BEST_EFFORT));
        QuorumStore weaker = new QuorumStore(members, QuorumSettings.standard(), set.clock);
        assertThat(weaker.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        assertThat(weaker.guarantees().fencing()).isEqualTo(Guarantee.Fencing.BEST_EFFORT);
        assertThat(set.store.description()).isEqualTo("redlock:[node-0, node-1, node-2]");
        assertThat(set.store.configuration()).isEqualTo("3 nodes [node-0, node-1, node-2], maxTtl 30000 ms");
        assertThat(set.store.maxTtl()).isEqualTo(Duration.ofSeconds(30));
        assertThat(set.store.isOfNodes()).isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QuorumStore.refuseUnfit(List.of("a", "a"), QuorumSettings.standard()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new QuorumStore(List.of(), QuorumSettings.standard(), set.clock));
    }

    @Test
    void theNodesAreCheckedAtTheOpening() {
        assertThat(set.store.checkNodes(SECOND)).isCompleted();
        set.nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        assertThat(set.store.checkNodes(SECOND)).as("a minority may be silent").isCompleted();
        set.nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        assertThat(unavailable(set.store.checkNodes(SECOND)))
                .hasMessageStartingWith("only 1 of 3 nodes answer, and 2 are needed; not: [node-1 (no way")
                .hasMessageContaining("node-2");
        set.nodes.get(0).births.clear();
        unavailable(set.store.declareNew(SECOND));
        assertThat(set.nodes.get(0).births).as("nothing is written").isEmpty();
        NodeReply same = new NodeReply.Stale(0, new Incarnation("same"), set.clock.wallMillis() * 1_000);
        set.nodes.get(1).answers("probe", same);
        set.nodes.get(2).answers("probe", same);
        assertThatThrownBy(() -> set.store.checkNodes(SECOND).join())
                .hasCauseInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("node-2 is the same server as node-1");
    }

    @Test
    void allNodesAreDeclaredNew() {
        set.nodes.get(1).answers("birth", ScriptedSet.failed(FailureKind.NO_EFFECT));
        assertThat(set.store.declareNew(SECOND).join())
                .containsExactly(
                        new NodeVote("node-0", NodeVote.Answer.GRANTED, "grants from now on"),
                        new NodeVote("node-1", NodeVote.Answer.FAILED, "no way (made by the test)"),
                        new NodeVote("node-2", NodeVote.Answer.GRANTED, "grants from now on"));
        assertThat(set.nodes.get(0).births)
                .singleElement()
                .satisfies(birth -> assertThat(birth.configuration()).isEqualTo(set.store.configuration()));
    }

    // ---- signals of nodes

    @Test
    void whatOneNodeTellsIsPassedOn() {
        set.nodes.get(0).ear.wake(NAME);
        assertThat(set.woken).as("a little later").isEmpty();
        set.pass(5);
        assertThat(set.woken).containsExactly(NAME);
        set.nodes.get(1).ear.takenAway(NAME);
        assertThat(set.takenAway).isEqualTo(1);
        set.nodes.get(1).ear.lost(set.owner(), LossCause.FORCE_RELEASED);
        assertThat(set.lost).as("of an owner token that is not known").isEmpty();
        set.nodes.get(1).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        set.store.checkNodes(SECOND);
        assertThat(set.changes).hasSize(1);
    }

    @Test
    void aNodeThatCanBeReachedAgainIsSentWhatWaits() {
        Grant grant = set.granted();
        set.nodes.get(2).answers("release", ScriptedSet.unreleased(FailureKind.NO_EFFECT));
        assertThat(set.released(grant)).isInstanceOf(ReleaseReply.Released.class);
        set.nodes.get(2).answersItself("release");
        assertThat(set.keeps(2)).isTrue();
        set.nodes.get(2).ear.reconnected();
        assertThat(set.keeps(2)).isFalse();
        assertThat(set.reconnections).isEqualTo(1);
    }

    // ---- administration

    @Test
    void heldIsWhatAQuorumKeepsForOneHolder() {
        assertThat(set.store.admin().describe(NAME).join()).isEmpty();
        set.granted();
        assertThat(set.store.admin().describe(NAME).join())
                .hasValueSatisfying(record -> assertThat(record.holder().id()).isEqualTo("host/1/x"));
        failing("describe", 1);
        assertThat(set.store.admin().describe(NAME).join()).isPresent();
        set.nodes.get(0).memory.forceRelease(NAME, null);
        assertThat(set.store.admin().describe(NAME).join())
                .as("one of two answers")
                .isEmpty();
        failing("describe", 2);
        assertThat(unavailable(set.store.admin().describe(NAME)))
                .hasMessage("only 1 of 3 nodes answered, and 2 are needed");
    }

    @Test
    void aNodeThatDoesNotAnswerIsWaitedForFiveSeconds() {
        set.granted();
        set.nodes.get(0).answers("describe", ScriptedNode.SILENCE);
        CompletableFuture<Optional<HeldLock>> asked = set.store.admin().describe(NAME);
        set.pass(4_999);
        assertThat(asked).isNotDone();
        set.pass(1);
        assertThat(asked).isCompletedWithValueMatching(Optional::isPresent);
        set.nodes.get(0).answersItself("describe");
        set.store.admin().describe(NAME);
        assertThat(set.clock.armed()).as("no patience is left behind").isZero();
    }

    private static HeldLock record(String name, String holder) {
        return new HeldLock(LockName.exactly(name), new Holder(holder, null, OptionalLong.empty()));
    }

    @Test
    void aListIsMadeOfWhatQuorumsKeepSortedAndBounded() {
        set.nodes.get(0).answers("list", List.of(record("b", "x"), record("a", "x"), record("d", "x")));
        set.nodes.get(1).answers("list", List.of(record("a", "x"), record("c", "x"), record("d", "y")));
        set.nodes.get(2).answers("list", List.of(record("b", "x"), record("c", "x"), record("d", "z")));
        assertThat(set.store.admin().list("*", 10).join())
                .extracting(HeldLock::name)
                .containsExactly(LockName.exactly("a"), LockName.exactly("b"), LockName.exactly("c"));
        assertThat(set.store.admin().list("*", 2).join()).hasSize(2);
    }

    @Test
    void aForcedReleaseIsOneWhereAnyNodeHeldIt() {
        assertThat(set.store.admin().forceRelease(NAME, null).join()).isFalse();
        set.rival(1);
        assertThat(set.store.admin().forceRelease(NAME, "host/3/other").join()).isFalse();
        assertThat(set.store.admin().forceRelease(NAME, "host/2/rival").join()).isTrue();
        assertThat(set.keeps(1)).isFalse();
    }

    private static final class Operations implements StoreOperations {
        private final List<ClientRecord> announced = new ArrayList<>();
        private long keptNanos;
        private List<Leak> leaks = List.of();
        private CompletableFuture<List<Finding>> findings = CompletableFuture.completedFuture(List.of());
        private LongConsumer progress;
        private RuntimeException thrown;

        @Override
        public boolean keepsClientRecords() {
            return true;
        }

        @Override
        public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
            announced.add(record);
            keptNanos = keepNanos;
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
            return CompletableFuture.completedFuture(announced.stream()
                    .filter(one -> one.holderId().equals(holderId))
                    .findFirst());
        }

        @Override
        public void onProgress(LongConsumer seen) {
            progress = seen;
        }

        @Override
        public CompletableFuture<List<Leak>> leaks() {
            return CompletableFuture.completedFuture(leaks);
        }

        @Override
        public CompletableFuture<List<Finding>> diagnose() {
            if (thrown != null) {
                throw thrown;
            }
            return findings;
        }
    }

    private List<Operations> operations() {
        List<Operations> each = List.of(new Operations(), new Operations(), new Operations());
        for (int node = 0; node < 3; node++) {
            set.nodes.get(node).operations = each.get(node);
            set.nodes.get(node).description = "redis://host-" + node + ":6379/0";
        }
        return each;
    }

    @Test
    void aRecordCountsWhereverItIsFound() {
        assertThat(set.store.operations().keepsClientRecords()).isFalse();
        List<Operations> each = operations();
        StoreOperations all = set.store.operations();
        assertThat(all.keepsClientRecords()).isTrue();
        ClientRecord record = new ClientRecord("host/1/x", "host", 1, "", Instant.EPOCH, List.of());
        assertThat(all.announce(record, 7 * SECOND)).isCompleted();
        assertThat(each).allSatisfy(one -> {
            assertThat(one.announced).containsExactly(record);
            assertThat(one.keptNanos).isEqualTo(7 * SECOND);
        });
        each.get(0).announced.clear();
        each.get(1).announced.clear();
        assertThat(all.client("host/1/x").join()).contains(record);
        assertThat(all.client("host/1/y").join()).isEmpty();
        Leak leak = new Leak(Leak.Kind.NO_TTL, "n", "left");
        each.get(0).leaks = List.of(leak);
        each.get(2).leaks = List.of(leak, new Leak(Leak.Kind.NO_TTL, "m", "left"));
        assertThat(all.leaks().join()).as("each once").hasSize(2);
        List<Long> seen = new ArrayList<>();
        all.onProgress(seen::add);
        each.get(0).progress.accept(3);
        assertThat(seen).containsExactly(3L);
        assertThat(each.get(1).progress).as("the others walk at the same time").isNull();
    }

    @Test
    void theFindingsOfEachNodeAndOfAllTogether() {
        List<Operations> each = operations();
        each.get(0).findings = CompletableFuture.completedFuture(List.of(Finding.good("eviction", "none")));
        each.get(1).findings = CompletableFuture.failedFuture(new StoreUnavailableException("gone", null));
        set.nodes.get(2).answers("probe", ScriptedSet.failed(FailureKind.UNKNOWN));
        assertThat(set.store.operations().diagnose().join())
                .containsExactly(
                        Finding.good("eviction", "none"),
                        Finding.warning("node", "redis://host-1:6379/0 could not be asked: gone", null),
                        Finding.good("independence", "3 different servers on different hosts"),
                        Finding.good("clock", "the clocks of the nodes agree within 1 ms"));
    }

    /**
     * If the driver of one node throws in place of an answer, the operator still gets the answers of the other nodes.
     */
    @Test
    void aNodeThatThrowsIsAFindingOfItsOwn() {
        List<Operations> each = operations();
        each.get(0).findings = CompletableFuture.completedFuture(List.of(Finding.good("eviction", "none")));
        each.get(1).thrown = new IllegalStateException("made by the test");
        failing("probe", 1, 2);
        List<Finding> findings = set.store.operations().diagnose().join();
        assertThat(findings.get(0)).isEqualTo(Finding.good("eviction", "none"));
        assertThat(findings.get(1).reason()).startsWith("redis://host-1:6379/0 could not be asked: ");
        assertThat(findings).hasSize(4);
    }

    @Test
    void theTimeOfTheQuestionIsTakenFromTheDifferenceOfClocks() {
        operations();
        for (int node = 0; node < 3; node++) {
            long ahead = node == 0 ? 0 : 800_000;
            Incarnation life = new Incarnation("life-" + node);
            set.nodes
                    .get(node)
                    .instead
                    .put("probe", () -> new NodeReply.Stale(0, life, set.clock.wallMillis() * 1_000 + ahead));
        }
        assertThat(set.clock.answer(set.store.operations().diagnose()))
                .contains(Finding.warning(
                        "clock",
                        "the clocks of the nodes are at least 800 ms apart",
                        "run chrony or ntpd on every node; slew clocks, never step them"));
        set.nodes.get(1).delayNanos.put("probe", 400 * MILLI);
        set.nodes.get(2).delayNanos.put("probe", 400 * MILLI);
        assertThat(set.clock.answer(set.store.operations().diagnose()))
                .contains(Finding.good("clock", "the clocks of the nodes agree within 401 ms"));
    }

    @Test
    void clocksAreApartByMoreThanHalfASecond() {
        assertThat(SetChecks.clocks(List.of(new Probe("a", "1", 0, 0), new Probe("b", "2", 500_000, 0)))
                        .grade())
                .isEqualTo(Finding.Grade.GOOD);
        assertThat(SetChecks.clocks(List.of(new Probe("a", "1", 0, 0), new Probe("b", "2", 500_001, 0)))
                        .grade())
                .isEqualTo(Finding.Grade.WARNING);
        Finding shared = SetChecks.independence(
                List.of(
                        new Probe("redis://user@a:1/0", "1", 0, 0),
                        new Probe("b:2", "2", 0, 0),
                        new Probe("rediss://a:3?x=y", "3", 0, 0)),
                3);
        assertThat(shared.reason()).contains("user@a:1").contains("rediss://a:3");
        assertThat(shared.grade()).isEqualTo(Finding.Grade.WARNING);
    }

    // ---- patience and the end

    @Test
    void theCloseWaitsForFirstAnswersNotLongAndClosesEveryNode() {
        Grant grant = set.granted();
        set.nodes.get(2).answers("release", ScriptedNode.SILENCE);
        set.released(grant);
        long before = set.clock.nanoTime();
        set.nodes.get(0).failsToClose = true;
        assertThatThrownBy(set.store::close).hasMessageContaining("made by the test");
        assertThat(set.clock.nanoTime() - before).isEqualTo(100 * MILLI);
        assertThat(set.nodes).allSatisfy(node -> assertThat(node.closed).isTrue());
        set.nodes.get(0).ear.wake(NAME);
        set.pass(1_000);
        assertThat(set.woken).as("nothing is reported after the close").isEmpty();
    }

    @Test
    void anErrorAtOneNodesCloseLeavesNoOtherOpen() {
        set.nodes.get(0).errorAtClose = new InternalError("no thread (made by the test)");
        set.nodes.get(1).failsToClose = true;
        assertThatThrownBy(set.store::close).isInstanceOf(InternalError.class);
        assertThat(set.nodes).allSatisfy(node -> assertThat(node.closed).isTrue());
    }

    /** Timers fail: everything that needs no timer is closed, and nothing is repeated. */
    @Test
    void aCloseThatCannotWaitClosesEveryNodeAllTheSame() {
        Grant grant = set.granted();
        set.nodes.get(2).answers("release", ScriptedNode.SILENCE);
        set.released(grant);
        set.clock.noTimers = true;
        assertThatThrownBy(set.store::close).isInstanceOf(InternalError.class);
        assertThat(set.nodes).allSatisfy(node -> assertThat(node.closed).isTrue());
        set.clock.noTimers = false;
        int ends = set.nodes.get(2).ends.size();
        set.nodes.get(2).ear.reconnected();
        set.pass(5_000);
        assertThat(set.nodes.get(2).ends).hasSize(ends);
    }

    @Test
    void thePatienceOfTheCloseIsTwoNodeTimeouts() {
        ScriptedSet slow = new ScriptedSet(3, QuorumSettings.standard().nodeTimeout(Duration.ofMillis(200)));
        Grant grant = slow.granted();
        slow.nodes.get(2).answers("release", ScriptedNode.SILENCE);
        slow.released(grant);
        long before = slow.clock.nanoTime();
        slow.store.close();
        assertThat(slow.clock.nanoTime() - before).isEqualTo(400 * MILLI);
    }

    @Test
    void aCourtesyIsPartOfTheRequest() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("release", new ReleaseReply.Released(List.of(), true)));
        set.released(grant);
        set.nodes.forEach(node -> node.answersItself("release"));
        set.nodes.forEach(node -> node.answers("acquire", ScriptedNode.SILENCE));
        long before = set.clock.nanoTime();
        CompletableFuture<AcquireReply> asked = set.store.acquire(set.request(set.owner()));
        assertThat(set.nodes.get(0).ballots).as("others go first").hasSize(1);
        set.clock.answer(asked);
        assertThat(set.nodes.get(0).ballots).as("then it asks").hasSize(2);
        assertThat(set.clock.nanoTime() - before).as("within its time").isEqualTo(SECOND);
    }

    @Test
    void aCourtesyIsPaidBeforeTheAnswer() {
        Grant grant = set.granted();
        set.nodes.forEach(node -> node.answers("release", new ReleaseReply.Released(List.of(), true)));
        set.released(grant);
        set.nodes.forEach(node -> node.answersItself("release"));
        CompletableFuture<AcquireReply> asked = set.store.acquire(set.request(set.owner()));
        assertThat(asked).as("others go first").isNotDone();
        assertThat(set.clock.answer(asked)).isInstanceOf(AcquireReply.Busy.class);
    }
}
