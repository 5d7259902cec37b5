package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rules by which a node puts one waiter before all others. */
@Tag("quick")
final class NamedSuccessorTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long TTL = 10 * SECOND;

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final OwnerToken holder = OwnerToken.draw(clock);

    NamedSuccessorTest() {
        assertThat(ask(AcquireRequest.exclusive(List.of(NAME), holder, "holder", TTL, SECOND)))
                .isInstanceOf(NodeReply.Yes.class);
    }

    private NodeReply ask(AcquireRequest request) {
        clock.pass(Duration.ofMillis(1));
        long micros = ((NodeReply.Stale) node.probe(SECOND).join()).serverMicros();
        return node.acquire(new Ballot(request, micros, request.reserve(), request.claimNanos()))
                .join();
    }

    private OwnerToken queued(LockName name, String holderId) {
        OwnerToken owner = OwnerToken.draw(clock);
        AcquireRequest request = AcquireRequest.exclusive(List.of(name), owner, holderId, TTL, SECOND)
                .waiting(SECOND)
                .claiming(SECOND)
                .reserve(3);
        assertThat(ask(request))
                .isInstanceOfSatisfying(
                        NodeReply.Held.class, held -> assertThat(held.queued()).isTrue());
        return owner;
    }

    private SuccessorReply name(OwnerToken owner, String holderId) {
        return node.nameSuccessor(new SuccessorRequest(NAME, owner, holderId, SECOND))
                .join();
    }

    private void release(OwnerToken owner) {
        node.release(new ReleaseRequest(List.of(NAME), owner, 0, ReleaseRequest.Kind.RELEASE, SECOND))
                .join();
    }

    private List<String> order() {
        return node.admin().waiters(NAME, 10).join().stream()
                .map(QueuedWaiter::holderId)
                .toList();
    }

    private String leader() {
        return node.admin().describe(NAME).join().orElseThrow().holder().id();
    }

    @Test
    void itComesFirstOnceAndTheOthersKeepTheirOrder() {
        queued(NAME, "a");
        queued(NAME, "b");
        OwnerToken heir = queued(NAME, "c");
        queued(NAME, "d");
        assertThat(name(holder, "c")).isInstanceOf(SuccessorReply.First.class);
        assertThat(name(holder, "c")).as("a copy").isInstanceOf(SuccessorReply.First.class);
        assertThat(order()).containsExactly("c", "a", "b", "d");
        release(holder);
        assertThat(leader()).isEqualTo("c");
        assertThat(name(holder, "d")).as("a late copy").isInstanceOf(SuccessorReply.NotOurs.class);
        assertThat(order()).containsExactly("a", "b", "d");
        release(heir);
        assertThat(leader()).isEqualTo("a");
    }

    @Test
    void onlyAWriterThatWaitsIsNamedAndTheFirstOfOneId() {
        queued(NAME, "a");
        queued(NAME.asRead(), "b");
        assertThat(name(holder, "b")).isInstanceOf(SuccessorReply.NotWaiting.class);
        assertThat(name(holder, "holder")).isInstanceOf(SuccessorReply.NotWaiting.class);
        assertThat(order()).containsExactly("a", "b");
        OwnerToken first = queued(NAME, "twice");
        OwnerToken second = queued(NAME, "twice");
        name(holder, "twice");
        release(first);
        assertThat(order()).containsExactly("a", "b", "twice");
        release(second);
        assertThat(order()).containsExactly("a", "b");
    }

    @Test
    void oneThatLeavesOrIsSilentGivesWay() {
        OwnerToken heir = queued(NAME, "heir");
        clock.pass(Duration.ofMillis(2_500));
        queued(NAME, "a");
        assertThat(name(holder, "heir")).isInstanceOf(SuccessorReply.First.class);
        release(heir);
        assertThat(name(holder, "heir")).isInstanceOf(SuccessorReply.NotWaiting.class);
        queued(NAME, "silent");
        clock.pass(Duration.ofMillis(2_500));
        queued(NAME, "b");
        clock.pass(Duration.ofMillis(600));
        assertThat(name(holder, "silent")).isInstanceOf(SuccessorReply.NotWaiting.class);
        release(holder);
        assertThat(leader()).isEqualTo("b");
    }

    /** It hears of its hand-over, and never answers. */
    @Test
    void oneThatIsDeadCostsOneClaim() {
        OwnerToken next = queued(NAME, "next");
        queued(NAME, "dead");
        name(holder, "dead");
        release(holder);
        assertThat(leader()).isEqualTo("dead");
        clock.pass(Duration.ofSeconds(1));
        queuedAgain(next);
        assertThat(leader()).isEqualTo("next");
    }

    private void queuedAgain(OwnerToken owner) {
        assertThat(ask(AcquireRequest.exclusive(List.of(NAME), owner, "next", TTL, SECOND)
                        .waiting(SECOND)))
                .isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void aHoldThatHasEndedNamesNoSuccessor() {
        queued(NAME, "a");
        queued(NAME, "b");
        clock.pass(Duration.ofSeconds(10));
        assertThat(name(holder, "b")).isInstanceOf(SuccessorReply.NotOurs.class);
        assertThat(node.nameSuccessor(new SuccessorRequest(LockName.exactly("other"), holder, "b", SECOND))
                        .join())
                .isInstanceOf(SuccessorReply.NotOurs.class);
    }
}
