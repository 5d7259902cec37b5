package io.leasehold.quorum;

import static io.leasehold.quorum.ScriptedSet.MILLI;
import static io.leasehold.quorum.ScriptedSet.SECOND;
import static io.leasehold.quorum.ScriptedSet.TTL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.toolkit.PermitsByLocks;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of permits over nodes of which one is silent, while the votes of the others on a slot are split. */
@Tag("quick")
final class SlotsOverNodesTest {

    private static final int COUNT = 9;
    private static final LockName DB = LockName.exactly("db").asPermits(COUNT);

    private final ScriptedSet set = new ScriptedSet(3);
    private final PermitsByLocks permits = new PermitsByLocks(set.store, set.clock);

    /** The last node is silent, and another client has one of the two other votes on each slot below this one. */
    private void split(int slots) {
        for (int slot = 0; slot < slots; slot++) {
            AcquireRequest rival = AcquireRequest.exclusive(
                    List.of(LockName.exactly("db#" + slot)), set.owner(), "permit of 9: host/2/rival", TTL, SECOND);
            long candidate = set.clock.wallMillis() * 1_000 + 1_000;
            assertThat(set.nodes
                            .get(0)
                            .memory
                            .acquire(new Ballot(rival, candidate, 1))
                            .join())
                    .isInstanceOf(NodeReply.Yes.class);
        }
        set.nodes.get(2).answers("acquire", ScriptedNode.SILENCE);
    }

    private AcquireReply ask(boolean waiting) {
        AcquireRequest request = AcquireRequest.exclusive(List.of(DB), set.owner(), "host/1/x", TTL, SECOND);
        return set.clock.answer(permits.acquire(waiting ? request.waiting(SECOND) : request));
    }

    @Test
    void anAttemptThatWaitsAsksEverySlotThoughANodeIsSilent() {
        split(COUNT - 1);
        long startAtNanos = set.clock.nanoTime();
        assertThat(ask(true)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(set.clock.nanoTime() - startAtNanos)
                .as("the node is waited for until it has owed an answer for longer than the node timeout")
                .isLessThanOrEqualTo(2 * QuorumSettings.standard().nodeTimeoutNanos(TTL));
    }

    @Test
    void anAttemptThatFindsEverySlotSplitIsToldSo() {
        split(COUNT);
        assertThat(ask(true)).isInstanceOf(AcquireReply.Busy.class);
    }

    /** It asks only once, so a distant node gets the time to answer. */
    @Test
    void anAttemptWithoutPatienceWaitsForADistantNode() {
        split(COUNT);
        set.nodes.get(2).answersItself("acquire");
        set.nodes.get(2).delayNanos.put("acquire", 300 * MILLI);
        assertThat(ask(false)).isInstanceOf(AcquireReply.Granted.class);
    }
}
