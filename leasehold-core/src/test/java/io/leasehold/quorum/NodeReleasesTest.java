package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of ends at a set of nodes: places, holds that never end, and holds whose loss nodes report. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class NodeReleasesTest {

    private static final List<LockName> NAMES = List.of(LockName.exactly("n"));
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final HandClock clock = new HandClock();

    // ---- a waiter that leaves

    /** A node that records the ends that it receives, and answers them or does not. */
    private static LockNode noting(List<ReleaseRequest.Kind> kinds, boolean answers) {
        return (LockNode) Proxy.newProxyInstance(
                NodeReleasesTest.class.getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> {
                    kinds.add(((ReleaseRequest) arguments[0]).kind());
                    return answers
                            ? CompletableFuture.completedFuture(new ReleaseReply.Released())
                            : new CompletableFuture<>();
                });
    }

    @Test
    void aPlaceIsGivenUpAtTheHealthyNodesThoughAFrozenOneHasNotAnsweredTheEndThatKeptIt() {
        List<List<ReleaseRequest.Kind>> kinds = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < kinds.size(); i++) {
            members.add(QuorumMember.of(noting(kinds.get(i), i < 2), "node-" + i));
        }
        NodeReleases releases = new NodeReleases(new NodeSet(members, QuorumSettings.standard(), clock));
        OwnerToken owner = OwnerToken.draw(clock);
        List<String> over = new ArrayList<>();
        releases.end(NAMES, owner, 7, ReleaseRequest.Kind.SUPERSEDED, SECOND)
                .over()
                .thenRun(() -> over.add("superseded"));
        assertThat(releases.isUnderWay(owner)).isTrue();

        NodeRelease undo = releases.end(NAMES, owner, 5, ReleaseRequest.Kind.UNDO, SECOND);

        assertThat(undo.ballot()).as("the highest that was ever proposed").isEqualTo(7);
        assertThat(kinds)
                .allSatisfy(sent ->
                        assertThat(sent).containsExactly(ReleaseRequest.Kind.SUPERSEDED, ReleaseRequest.Kind.UNDO));
        assertThat(over).containsExactly("superseded");
        assertThat(releases.isUnderWay(owner)).as("the undo is").isTrue();
        assertThat(releases.end(NAMES, owner, 5, ReleaseRequest.Kind.UNDO, SECOND))
                .isSameAs(undo);
        assertThat(releases.end(NAMES, owner, 5, ReleaseRequest.Kind.SUPERSEDED, SECOND))
                .isSameAs(undo);
    }

    /** The ballot of a repair is above the token of the grant, and a copy of it may come late. */
    @Test
    void aReleaseThatIsRepeatedWhenANodeWasGivenUpNamesTheHighestBallotAgain() {
        QuorumStore store = store();
        Grant grant = ((AcquireReply.Granted) acquire(store, "n", 5 * SECOND)).grant();
        long repair = repairedAtTheSecondNode(store, grant);
        cutOff = nodes.get(2);
        ReleaseRequest release = release(grant);
        clock.answer(store.release(release));
        clock.pass(Duration.ofSeconds(10));
        cutOff = null;

        clock.answer(store.release(release));

        assertThat(lateCopyAtTheThirdNode(grant, repair)).isInstanceOf(NodeReply.Stale.class);
        store.close();
    }

    /** The second release is under way when the first one would be forgotten. */
    @Test
    void soDoesAThirdOne() {
        QuorumStore store = store();
        Grant grant = ((AcquireReply.Granted) acquire(store, "n", 5 * SECOND)).grant();
        long repair = repairedAtTheSecondNode(store, grant);
        cutOff = nodes.get(2);
        clock.answer(store.release(release(grant)));
        clock.pass(Duration.ofSeconds(10));
        clock.answer(store.release(release(grant)));
        clock.pass(Duration.ofSeconds(10));
        cutOff = null;

        clock.answer(store.release(release(grant)));

        assertThat(lateCopyAtTheThirdNode(grant, repair)).isInstanceOf(NodeReply.Stale.class);
        store.close();
    }

    /** The store has not confirmed the export; then the client releases the lock. */
    @Test
    void aReleaseAfterAnExportAtWhichANodeWasGivenUpNamesTheHighestBallotAgain() {
        QuorumStore store = store();
        Grant grant = ((AcquireReply.Granted) acquire(store, "n", 5 * SECOND)).grant();
        long repair = repairedAtTheSecondNode(store, grant);
        cutOff = nodes.get(2);
        clock.answer(store.export(new ExportRequest(
                NAMES.get(0),
                grant.owner(),
                grant.tokens().last(),
                OwnerToken.fromHex("7".repeat(40)),
                grant.tokens().last(),
                "host/1/x",
                SECOND,
                SECOND)));
        clock.pass(Duration.ofSeconds(10));
        cutOff = null;

        clock.answer(store.release(release(grant)));

        assertThat(lateCopyAtTheThirdNode(grant, repair)).isInstanceOf(NodeReply.Stale.class);
        store.close();
    }

    private static ReleaseRequest release(Grant grant) {
        return new ReleaseRequest(NAMES, grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, SECOND);
    }

    /** Returns the ballot with which a node that has lost the lock got it back: the highest one of the owner token. */
    private long repairedAtTheSecondNode(QuorumStore store, Grant grant) {
        nodes.get(1).forceRelease(NAMES.get(0), null).join();
        clock.pass(Duration.ofSeconds(1));
        assertThat(renew(store, grant)).isInstanceOf(RenewReply.Renewed.class);
        clock.pass(Duration.ofSeconds(1));
        long repair = nodes.get(1)
                .describe(NAMES.get(0))
                .join()
                .orElseThrow()
                .holder()
                .fencingToken()
                .orElseThrow();
        assertThat(repair).isGreaterThan(grant.tokens().last());
        return repair;
    }

    private NodeReply lateCopyAtTheThirdNode(Grant grant, long ballot) {
        AcquireRequest late = AcquireRequest.exclusive(NAMES, grant.owner(), "host/1/x", 5 * SECOND, SECOND);
        return nodes.get(2).acquire(new Ballot(late, ballot, 1)).join();
    }

    /** A node that does not answer after it is frozen, nor an end while it is cut off. */
    private LockNode freezable(LockNode node) {
        return (LockNode) Proxy.newProxyInstance(
                NodeReleasesTest.class.getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> {
                    if (cutOff == node && arguments != null && arguments[0] instanceof ReleaseRequest) {
                        return CompletableFuture.completedFuture(new ReleaseReply.Failed(
                                FailureKind.UNKNOWN, new StoreUnavailableException("cut off", null)));
                    }
                    if (cutOff == node && arguments != null && arguments[0] instanceof ExportRequest) {
                        return CompletableFuture.completedFuture(new ExportReply.Failed(
                                FailureKind.UNKNOWN, new StoreUnavailableException("cut off", null)));
                    }
                    boolean silent = frozen == node && method.getReturnType() == CompletableFuture.class;
                    return silent ? new CompletableFuture<>() : method.invoke(node, arguments);
                });
    }

    /** A waiter leaves between two owner tokens while one node is frozen: it is gone from the queues of the others. */
    @Test
    void aWaiterThatLeavesBetweenTwoOwnerTokensLeavesNoPlaceBehind() {
        QuorumStore store = store();
        assertThat(acquire(store, "n", 20 * SECOND)).isInstanceOf(AcquireReply.Granted.class);
        nodes.get(1).forceRelease(NAMES.get(0), null).join();
        frozen = nodes.get(2);
        OwnerToken waiter = OwnerToken.draw(clock);
        CompletableFuture<AcquireReply> asked =
                store.acquire(AcquireRequest.exclusive(NAMES, waiter, "host/1/w", 20 * SECOND, SECOND)
                        .waiting(3 * SECOND));
        clock.pass(Duration.ofMillis(500));
        assertThat(asked).isDone();
        assertThat(nodes.get(0).waiters(NAMES.get(0), 10).join())
                .as("waits, by %s", asked.join())
                .hasSize(1);
        store.release(new ReleaseRequest(NAMES, waiter, asked.join().ballot(), ReleaseRequest.Kind.UNDO, SECOND));
        assertThat(nodes.get(0).waiters(NAMES.get(0), 10).join()).isEmpty();
        store.close();
    }

    // ---- holds that never end

    private final List<InMemoryNode> nodes = new ArrayList<>();
    private InMemoryNode frozen;
    private InMemoryNode cutOff;
    private final List<LossCause> lost = new ArrayList<>();

    private QuorumStore store() {
        return store(this::freezable);
    }

    private QuorumStore store(UnaryOperator<LockNode> made) {
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            InMemoryNode node = new InMemoryNode(clock);
            nodes.add(node);
            members.add(QuorumMember.of(made.apply(node), "node-" + i));
        }
        QuorumStore store = new QuorumStore(members, QuorumSettings.standard(), clock);
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                lost.add(cause);
            }

            @Override
            public void reconnected() {}
        });
        clock.answer(store.declareNew(SECOND));
        return store;
    }

    private AcquireReply acquire(QuorumStore store, String name, long ttlNanos) {
        return clock.answer(store.acquire(AcquireRequest.exclusive(
                List.of(LockName.exactly(name)), OwnerToken.draw(clock), "host/1/x", ttlNanos, SECOND)));
    }

    @Test
    void nothingIsRememberedOfHoldsThatRanOut() {
        QuorumStore store = store();
        for (int i = 0; i < 5_000; i++) {
            assertThat(acquire(store, "n-" + i, SECOND)).isInstanceOf(AcquireReply.Granted.class);
            clock.pass(Duration.ofMillis(100));
        }
        assertThat(store.remembered()).isLessThan(2_500);
        store.close();
    }

    @Test
    void nothingIsRememberedOfARefusedTtl() {
        QuorumStore store = store();
        for (int i = 0; i < 100; i++) {
            assertThat(acquire(store, "n-" + i, 40 * SECOND)).isInstanceOf(AcquireReply.Failed.class);
        }
        assertThat(store.remembered()).isZero();
        store.close();
    }

    /** A node that answers the ends of owner tokens a little later. */
    private LockNode slowToEnd(LockNode node) {
        return (LockNode) Proxy.newProxyInstance(
                NodeReleasesTest.class.getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> {
                    Object answer = method.invoke(node, arguments);
                    if (!method.getName().equals("release")) {
                        return answer;
                    }
                    CompletableFuture<Object> later = new CompletableFuture<>();
                    clock.schedule(1_000_000, () -> later.complete(((CompletableFuture<?>) answer).join()));
                    return later;
                });
    }

    @Test
    void nothingIsRememberedOfAnUndoThatIsAnsweredLater() {
        QuorumStore store = store(this::slowToEnd);
        assertThat(acquire(store, "n", 20 * SECOND)).isInstanceOf(AcquireReply.Granted.class);
        nodes.get(0).forceRelease(NAMES.get(0), null).join();
        for (int i = 0; i < 100; i++) {
            // The store undoes the one vote that it gets.
            assertThat(acquire(store, "n", SECOND)).isInstanceOf(AcquireReply.Busy.class);
            clock.pass(Duration.ofMillis(100));
        }
        assertThat(store.remembered()).as("the hold").isEqualTo(1);
        store.close();
    }

    /** Other threads see the session before its first request; a sweep in between must not remove it. */
    @Test
    void whatHasNotBegunYetIsNotDeserted() {
        clock.pass(Duration.ofHours(1));
        NodeSet set = new NodeSet(
                List.of(QuorumMember.of(new InMemoryNode(clock), "node-0")), QuorumSettings.standard(), clock);
        QuorumSession session = new QuorumSession(
                QuorumSessionTest.shared(set, new ContentionBackoff(clock, name -> {})),
                NAMES,
                OwnerToken.draw(clock),
                OwnerToken.draw(clock));
        assertThat(session.isAbandoned(clock.nanoTime())).isFalse();
        clock.pass(Duration.ofHours(1));
        assertThat(session.isAbandoned(clock.nanoTime())).isTrue();
    }

    /** A hold that is renewed stays recorded at any age. */
    @Test
    void whatIsRenewedIsNotForgotten() {
        QuorumStore store = store();
        Grant grant = ((AcquireReply.Granted) acquire(store, "n", 10 * SECOND)).grant();
        for (int i = 0; i < 3_000; i++) {
            acquire(store, "other-" + i, SECOND);
            clock.pass(Duration.ofMillis(100));
            if (i % 30 == 0) {
                assertThat(renew(store, grant)).isInstanceOf(RenewReply.Renewed.class);
            }
        }
        assertThat(clock.answer(store.release(new ReleaseRequest(
                        NAMES, grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE, SECOND))))
                .isInstanceOf(ReleaseReply.Released.class);
        store.close();
    }

    private RenewReply.Item renew(QuorumStore store, Grant grant) {
        return clock.answer(store.renew(
                        new RenewBatch(List.of(new RenewBatch.Item(NAMES.get(0), grant.owner(), 10 * SECOND)), SECOND)))
                .items()
                .get(0);
    }

    // ---- signals of nodes

    @Test
    void aLossThatWasRepairedDoesNotCountWithTheNextOne() {
        QuorumStore store = store();
        Grant grant = ((AcquireReply.Granted) acquire(store, "n", 10 * SECOND)).grant();
        nodes.get(0).forceRelease(NAMES.get(0), null).join();
        clock.pass(Duration.ofSeconds(2));
        assertThat(renew(store, grant)).isInstanceOf(RenewReply.Renewed.class);
        clock.pass(Duration.ofSeconds(2));
        assertThat(nodes.get(0).describe(NAMES.get(0)).join()).as("repaired").isPresent();
        nodes.get(1).forceRelease(NAMES.get(0), null).join();
        assertThat(lost).as("two of three hold it").isEmpty();
        nodes.get(2).forceRelease(NAMES.get(0), null).join();
        assertThat(lost).as("one of three holds it").containsExactly(LossCause.FORCE_RELEASED);
        store.close();
    }
}
