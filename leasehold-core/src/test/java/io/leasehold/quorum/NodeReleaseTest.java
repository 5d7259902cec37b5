package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the end of an owner token is repeated only at the node that did not answer, until it answers. */
@Tag("quick")
final class NodeReleaseTest {

    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** A node that answers only releases, from this try on. */
    private static LockNode node(int answersFrom, AtomicInteger tries) {
        return (LockNode) Proxy.newProxyInstance(
                NodeReleaseTest.class.getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("release")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    ReleaseReply reply = tries.incrementAndGet() >= answersFrom
                            ? new ReleaseReply.Released()
                            : new ReleaseReply.Failed(
                                    FailureKind.UNKNOWN, new StoreUnavailableException("no answer", null));
                    return CompletableFuture.completedFuture(reply);
                });
    }

    @Test
    void whoDoesNotAnswerIsAskedAgain() {
        List<AtomicInteger> tries = List.of(new AtomicInteger(), new AtomicInteger(), new AtomicInteger());
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < tries.size(); i++) {
            members.add(QuorumMember.of(node(i == 2 ? 3 : 1, tries.get(i)), "node-" + (i + 1)));
        }
        HandClock clock = new HandClock();
        NodeSet nodes = new NodeSet(members, QuorumSettings.standard(), clock);
        ReleaseRequest request = new ReleaseRequest(
                List.of(LockName.exactly("n")),
                OwnerToken.draw(clock),
                1,
                ReleaseRequest.Kind.UNDO,
                TimeUnit.SECONDS.toNanos(1));
        NodeRelease release = new NodeRelease(nodes, request, LONG_NANOS);
        release.begin();
        assertThat(clock.answer(release.reply(LONG_NANOS)))
                .as("two of three have deleted it")
                .isInstanceOf(ReleaseReply.Released.class);
        clock.answer(release.over());
        assertThat(tries.stream().map(AtomicInteger::get)).containsExactly(1, 1, 3);
    }

    // ---- on scripted nodes

    private final HandClock clock = new HandClock();
    private final List<ScriptedNode> scripted =
            List.of(new ScriptedNode(clock), new ScriptedNode(clock), new ScriptedNode(clock));
    private final NodeSet set = ScriptedSet.nodes(scripted, clock);
    private final OwnerToken owner = OwnerToken.draw(clock);

    private NodeRelease release(long forNanos) {
        return new NodeRelease(
                set, new ReleaseRequest(ScriptedSet.NAMES, owner, 7, ReleaseRequest.Kind.RELEASE, SECOND), forNanos);
    }

    private void all(Object reply) {
        scripted.forEach(node -> node.answers("release", reply));
    }

    private List<Long> millisOf(ScriptedNode node, long since) {
        return node.endsAtNanos.stream().map(at -> (at - since) / MILLI).toList();
    }

    @Test
    void thePausesDoubleFromFiftyMillisecondsToASecondUntilItHasEndedByItself() {
        all(new ReleaseReply.Released());
        scripted.get(2).answers("release", ScriptedSet.unreleased(FailureKind.NO_EFFECT));
        long began = clock.nanoTime();
        NodeRelease release = release(5 * SECOND);
        release.begin();
        clock.pass(Duration.ofSeconds(10));
        assertThat(millisOf(scripted.get(2), began))
                .containsExactly(0L, 50L, 150L, 350L, 750L, 1_550L, 2_550L, 3_550L, 4_550L, 5_000L);
        assertThat(release.over()).isDone();
        assertThat(scripted.get(0).ends).hasSize(1);
    }

    @Test
    void aNodeThatNeverCanIsAskedOnce() {
        all(ScriptedSet.unreleased(FailureKind.PERMANENT));
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        assertThat(release.over()).isDone();
        assertThat(clock.armed()).isZero();
        assertThat(clock.answer(release.reply(SECOND))).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.error())
                    .hasMessageContaining("the release of [n] was not confirmed by 2 of 3 nodes; ")
                    .hasMessageContaining("no way (made by the test)");
            assertThat(failed.votes()).hasSize(3);
        });
    }

    @Test
    void whatIsNotDecidedInTimeIsUnknown() {
        all(ScriptedNode.SILENCE);
        scripted.get(0).answers("release", new ReleaseReply.Released());
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        CompletableFuture<ReleaseReply> reply = release.reply(300 * MILLI);
        clock.pass(Duration.ofMillis(299));
        assertThat(reply).isNotDone();
        clock.pass(Duration.ofMillis(1));
        assertThat(reply)
                .isCompletedWithValueMatching(
                        known -> known instanceof ReleaseReply.Failed failed && failed.kind() == FailureKind.UNKNOWN);
        assertThat(release.over()).isNotDone();
        assertThat(release.isFresh()).isTrue();
    }

    @Test
    void aQuorumThatHasDeletedItReleasesItOnce() {
        all(new ReleaseReply.Released());
        scripted.get(1).answers("release", new ReleaseReply.Released(List.of(), true));
        scripted.get(2).answers("release", ScriptedNode.SILENCE);
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        CompletableFuture<ReleaseReply> first = release.reply(SECOND);
        assertThat(first)
                .isCompletedWithValueMatching(
                        known -> known instanceof ReleaseReply.Released released && released.awaited());
        assertThat(first.join().votes()).hasSize(3);
        assertThat(release.reply(SECOND).join()).as("nothing was left").isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(clock.armed()).as("no patience is left behind").isZero();
        assertThat(release.over()).isNotDone();
        assertThat(release.isFresh()).isTrue();
    }

    @Test
    void aReleaseThatNobodyAwaitsSaysSo() {
        all(new ReleaseReply.Released());
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        assertThat(release.reply(SECOND).join())
                .isInstanceOfSatisfying(
                        ReleaseReply.Released.class,
                        released -> assertThat(released.awaited()).isFalse());
    }

    /**
     * Two of three nodes did not hold the lock, so no quorum did. The answer to a second copy proves that only if the
     * first copy had no effect.
     */
    @Test
    void itWasNotOursOnlyIfFirstCopiesSaySo() {
        all(ScriptedNode.SILENCE);
        scripted.get(0).answers("release", new ReleaseReply.NotOurs());
        scripted.get(1).answers("release", ScriptedSet.unreleased(FailureKind.NO_EFFECT));
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        CompletableFuture<ReleaseReply> reply = release.reply(10 * SECOND);
        scripted.get(1).answers("release", new ReleaseReply.NotOurs());
        assertThat(reply).isNotDone();
        clock.pass(Duration.ofMillis(50));
        assertThat(reply).isCompletedWithValueMatching(ReleaseReply.NotOurs.class::isInstance);
        assertThat(reply.join().votes()).hasSize(3);

        scripted.get(1).answers("release", ScriptedSet.unreleased(FailureKind.UNKNOWN));
        NodeRelease doubtful = release(LONG_NANOS);
        doubtful.begin();
        CompletableFuture<ReleaseReply> unknown = doubtful.reply(10 * SECOND);
        scripted.get(1).answers("release", ScriptedSet.unreleased(FailureKind.NO_EFFECT));
        clock.pass(Duration.ofMillis(50));
        scripted.get(1).answers("release", new ReleaseReply.NotOurs());
        clock.pass(Duration.ofSeconds(9));
        assertThat(unknown).as("the first copy may have deleted it").isNotDone();
        clock.pass(Duration.ofSeconds(1));
        assertThat(unknown).isCompletedWithValueMatching(ReleaseReply.Failed.class::isInstance);
    }

    @Test
    void whatWaitsIsSentAtOnceWhenTheNodeCanBeReachedAgainAndOnlyOnce() {
        for (boolean late : new boolean[] {false, true}) {
            clock.cancelsTooLate = late;
            scripted.forEach(node -> node.ends.clear());
            all(new ReleaseReply.Released());
            scripted.get(2).answers("release", ScriptedSet.unreleased(FailureKind.UNKNOWN));
            NodeRelease release = release(LONG_NANOS);
            release.begin();
            clock.pass(Duration.ofMillis(10));
            scripted.get(2).answers("release", new ReleaseReply.Released());
            release.hurry();
            assertThat(scripted.get(2).ends).hasSize(2);
            assertThat(clock.armed()).as("its timer is gone").isEqualTo(late ? 1 : 0);
            assertThat(scripted.get(0).ends).as("it has answered").hasSize(1);
            release.hurry();
            clock.pass(Duration.ofSeconds(5));
            assertThat(scripted.get(2).ends)
                    .as("its timer has nothing left to do")
                    .hasSize(2);
            assertThat(release.over()).isDone();
        }
    }

    @Test
    void nothingIsSentAfterTheClose() {
        all(ScriptedSet.unreleased(FailureKind.UNKNOWN));
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        CompletableFuture<ReleaseReply> reply = release.reply(LONG_NANOS);
        assertThat(reply).isNotDone();
        clock.cancelsTooLate = true;
        release.close();
        assertThat(reply).isDone();
        assertThat(release.over()).isDone();
        clock.pass(Duration.ofMinutes(2));
        assertThat(scripted).allSatisfy(node -> assertThat(node.ends).hasSize(1));
        release.begin();
        assertThat(scripted).allSatisfy(node -> assertThat(node.ends).hasSize(1));

        clock.cancelsTooLate = false;
        NodeRelease other = release(LONG_NANOS);
        other.begin();
        other.close();
        assertThat(clock.armed()).as("timers of the other").isZero();
    }

    @Test
    void anAnswerAfterTheCloseArmsNothing() {
        all(ScriptedSet.unreleased(FailureKind.UNKNOWN));
        scripted.forEach(node -> node.delayNanos.put("release", 10 * MILLI));
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        release.close();
        clock.pass(Duration.ofMillis(10));
        assertThat(clock.armed()).isZero();
    }

    @Test
    void aNodeForWhichNoTimerCanBeHadIsGivenUp() {
        all(new ReleaseReply.Released());
        scripted.get(2).answers("release", ScriptedSet.unreleased(FailureKind.UNKNOWN));
        clock.noTimers = true;
        NodeRelease release = release(LONG_NANOS);
        release.begin();
        assertThat(release.over()).isDone();
    }

    // ---- all of them

    private final NodeReleases releases = new NodeReleases(set);

    private NodeRelease end(OwnerToken one, long ttlNanos) {
        return releases.end(ScriptedSet.NAMES, one, 7, ReleaseRequest.Kind.RELEASE, ttlNanos);
    }

    @Test
    void eachNodeHasATenthOfTheTtlToAnswerWithinBounds() {
        all(new ReleaseReply.Released());
        end(OwnerToken.draw(clock), 20 * SECOND);
        end(OwnerToken.draw(clock), 60 * SECOND);
        end(OwnerToken.draw(clock), 100 * MILLI);
        assertThat(scripted.get(0).ends)
                .extracting(ReleaseRequest::timeoutNanos)
                .containsExactly(2 * SECOND, 3 * SECOND, 50 * MILLI);
    }

    @Test
    void whatIsOverIsNotUnderWay() {
        all(ScriptedNode.SILENCE);
        assertThat(releases.isUnderWay(owner)).isFalse();
        end(owner, SECOND);
        assertThat(releases.isUnderWay(owner)).isTrue();
        OwnerToken other = OwnerToken.draw(clock);
        all(new ReleaseReply.Released());
        NodeRelease ended = end(other, SECOND);
        assertThat(releases.isUnderWay(other)).isFalse();
        assertThat(end(other, SECOND)).as("over, and so begun anew").isNotSameAs(ended);
    }

    @Test
    void theCloseWaitsForFirstAnswersWithinItsPatienceAndForNothingElse() {
        all(new ReleaseReply.Released());
        scripted.get(2).delayNanos.put("release", 30 * MILLI);
        long before = clock.nanoTime();
        end(owner, 20 * SECOND);
        releases.close(100 * MILLI);
        assertThat(clock.nanoTime() - before).as("until the last has answered").isEqualTo(30 * MILLI);
        assertThat(clock.armed()).isZero();

        NodeReleases silent = new NodeReleases(set);
        all(ScriptedNode.SILENCE);
        NodeRelease release = silent.end(ScriptedSet.NAMES, owner, 7, ReleaseRequest.Kind.RELEASE, 20 * SECOND);
        before = clock.nanoTime();
        silent.close(100 * MILLI);
        assertThat(clock.nanoTime() - before).isEqualTo(100 * MILLI);
        assertThat(release.over()).isDone();
        scripted.forEach(node -> node.ends.clear());
        NodeRelease late = silent.end(ScriptedSet.NAMES, owner, 7, ReleaseRequest.Kind.RELEASE, 20 * SECOND);
        assertThat(late.over()).as("after the close").isDone();
        assertThat(scripted).allSatisfy(node -> assertThat(node.ends).isEmpty());

        scripted.get(2).delayNanos.clear();
        NodeReleases failing = new NodeReleases(set);
        all(ScriptedSet.unreleased(FailureKind.UNKNOWN));
        failing.end(ScriptedSet.NAMES, owner, 7, ReleaseRequest.Kind.RELEASE, 20 * SECOND);
        before = clock.nanoTime();
        failing.close(100 * MILLI);
        assertThat(clock.nanoTime()).as("each has answered once").isEqualTo(before);
        assertThat(clock.armed()).isZero();
    }

    @Test
    void anInterruptAtTheCloseIsKeptAndNothingIsLeftUnsent() {
        all(new ReleaseReply.Released());
        scripted.get(2).delayNanos.put("release", 30 * MILLI);
        NodeRelease release = end(owner, 20 * SECOND);
        clock.interruptsNextWait = true;
        releases.close(100 * MILLI);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(release.over()).isDone();
        assertThat(scripted.get(2).ends).hasSize(1);

        NodeReleases more = new NodeReleases(set);
        more.end(ScriptedSet.NAMES, owner, 7, ReleaseRequest.Kind.RELEASE, 20 * SECOND);
        Thread.currentThread().interrupt();
        more.close(100 * MILLI);
        assertThat(Thread.interrupted()).isTrue();
        more.close(100 * MILLI);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aReconnectionHurriesAllOfThem() {
        all(ScriptedSet.unreleased(FailureKind.UNKNOWN));
        end(owner, 20 * SECOND);
        end(OwnerToken.draw(clock), 20 * SECOND);
        all(new ReleaseReply.Released());
        releases.hurry();
        assertThat(releases.isUnderWay(owner)).isFalse();
        assertThat(scripted.get(0).ends).hasSize(4);
    }
}
