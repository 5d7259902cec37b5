package io.leasehold.spi.toolkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.PermitCountException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the decisions of one request for a permit. */
@Tag("quick")
final class SlotWalkTest {

    private static final LockName PERMITS = LockName.exactly("db").asPermits(3);
    private static final OwnerToken DRAWN = OwnerToken.fromHex("0123456789abcdef0123456789abcdef00000001");

    private final SlotWalk walk = new SlotWalk(PERMITS, "the-store", DRAWN, -1);

    private static AcquireReply busy(@Nullable Holder holder) {
        return new AcquireReply.Busy(holder, 17, List.of(new NodeVote("n", NodeVote.Answer.BUSY, "" + holder)));
    }

    private static Holder holder(String id, @Nullable Duration left) {
        return new Holder(id, left, OptionalLong.empty(), Holder.Ends.BY_TTL);
    }

    private static AcquireReply failed(FailureKind kind) {
        return new AcquireReply.Failed(kind, new StoreUnavailableException("made by the test", null), 17);
    }

    private SlotWalk.Answer answer(AcquireReply reply) {
        SlotWalk.Next next = walk.answered(reply);
        assertThat(next).isInstanceOf(SlotWalk.Answer.class);
        return (SlotWalk.Answer) next;
    }

    private int busyAt() {
        return ((SlotWalk.Ask) walk.answered(busy(null))).lock().slot();
    }

    @Test
    void itAsksEverySlotOnceWithOwnerTokensThatDiffer() {
        SlotWalk.Ask first = walk.begin();
        assertThat(first.lock()).isEqualTo(new SlotLock(PERMITS, 1));
        SlotWalk.Ask second = (SlotWalk.Ask) walk.answered(busy(null));
        SlotWalk.Ask third = (SlotWalk.Ask) walk.answered(busy(null));
        assertThat(List.of(second.lock().slot(), third.lock().slot())).containsExactly(2, 0);
        assertThat(Set.of(first.owner(), second.owner(), third.owner())).hasSize(3);
        assertThat(third.owner()).isEqualTo(third.lock().bound(DRAWN));
        assertThat(answer(busy(null)).reply()).isEqualTo(new AcquireReply.Busy(null, 0, first(walk)));
    }

    private static List<NodeVote> first(SlotWalk walk) {
        return walk.outOfTime().reply().votes();
    }

    @Test
    void walksBeginAtDifferentSlotsUnlessOneIsGiven() {
        Set<Integer> begun = new HashSet<>();
        for (int last = 0; last < 40; last++) {
            OwnerToken drawn = OwnerToken.fromHex(
                    DRAWN.hex().substring(0, 32) + String.format(Locale.ROOT, "%08x", last * 0x31415927));
            begun.add(new SlotWalk(PERMITS, "s", drawn, -1).begin().lock().slot());
            assertThat(new SlotWalk(PERMITS, "s", drawn, 2).begin().lock().slot())
                    .isEqualTo(2);
        }
        assertThat(begun).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(new SlotWalk(PERMITS, "s", DRAWN, 3).begin().lock().slot())
                .as("a slot that these permits do not have")
                .isEqualTo(1);
    }

    @Test
    void aGrantEndsItAndCarriesTheSlot() {
        int slot = busyAt();
        SlotWalk.Ask asked = new SlotWalk.Ask(new SlotLock(PERMITS, slot), new SlotLock(PERMITS, slot).bound(DRAWN));
        Grant grant = new Grant(asked.owner(), TokenRange.of(41, 1), 5, Incarnation.DURABLE);
        SlotWalk.Answer answer = answer(new AcquireReply.Granted(grant, List.of()));
        Grant permit = ((AcquireReply.Granted) answer.reply()).grant();
        assertThat(permit).isEqualTo(new Grant(asked.owner(), TokenRange.of(41, 1), 5, Incarnation.DURABLE, slot));
        assertThat(answer.open()).isEqualTo(asked);
    }

    /** The answer of a walk that has kept nothing has no ballot, so the engine sends no undo. */
    @Test
    void busyNamesTheHolderWhoseHoldEndsFirst() {
        walk.answered(busy(holder("permit of 3: a", null)));
        walk.answered(busy(holder("permit of 3: b", Duration.ofSeconds(2))));
        SlotWalk.Answer answer = answer(busy(holder("c", Duration.ofSeconds(4))));
        assertThat(answer.open()).isNull();
        AcquireReply.Busy busy = (AcquireReply.Busy) answer.reply();
        assertThat(busy.holder()).isEqualTo(holder("b", Duration.ofSeconds(2)));
        assertThat(busy.ballot()).isZero();
        assertThat(busy.votes())
                .singleElement()
                .satisfies(vote -> assertThat(vote.detail()).contains("permit of 3: b"));
    }

    @Test
    void aHolderThatIsKnownGoesBeforeOneThatIsNot() {
        walk.answered(busy(null));
        walk.answered(busy(holder("a", null)));
        assertThat(((AcquireReply.Busy) answer(busy(null)).reply()).holder()).isEqualTo(holder("a", null));
    }

    @Test
    void aHolderWithAnotherCountEndsItWithBothNumbers() {
        walk.answered(busy(holder("permit of 3: a", null)));
        SlotWalk.Answer answer = answer(busy(holder("permit of 5: b", null)));
        AcquireReply.Failed failed = (AcquireReply.Failed) answer.reply();
        assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(failed.ballot()).isZero();
        assertThat(answer.open()).isNull();
        PermitCountException error = (PermitCountException) failed.error();
        assertThat(List.of(error.stated(), error.kept())).containsExactly(3, 5);
        assertThat(error).hasMessageContainingAll("\"db\"", "the-store", "a count of 3", "states 5");
    }

    @Test
    void onlyAnUnknownOutcomeIsRemembered() {
        for (FailureKind kind : FailureKind.values()) {
            SlotWalk one = new SlotWalk(PERMITS, "s", DRAWN, 0);
            SlotWalk.Ask asked = one.begin();
            SlotWalk.Answer answer = (SlotWalk.Answer) one.answered(failed(kind));
            boolean unknown = kind == FailureKind.UNKNOWN;
            assertThat(answer.open()).isEqualTo(unknown ? asked : null);
            assertThat(answer.reply().ballot()).isEqualTo(unknown ? 17 : 0);
            assertThat(((AcquireReply.Failed) answer.reply()).kind()).isEqualTo(kind);
        }
    }

    @Test
    void aRefusalEndsItAndOnlyASpentOneIsRemembered() {
        SlotWalk.Ask asked = walk.begin();
        SlotWalk.Answer answer = answer(new AcquireReply.Refused("quarantine", 7, 17, List.of()));
        assertThat(answer)
                .isEqualTo(new SlotWalk.Answer(new AcquireReply.Refused("quarantine", 7, 0, List.of()), null));
        AcquireReply spent = new AcquireReply.Refused("too far", 7, 17, List.of(), true);
        assertThat(answer(spent)).isEqualTo(new SlotWalk.Answer(spent, asked));
        assertThat(answer(new AcquireReply.Refused("too far", 7, 0, List.of(), true))
                        .open())
                .as("without a ballot, nothing was sent")
                .isNull();
    }

    @Test
    void aQueuedRequestIsAnUnknownOutcome() {
        SlotWalk.Answer answer = answer(new AcquireReply.Queued(null, 17, List.of()));
        assertThat(((AcquireReply.Failed) answer.reply()).kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(answer.reply().ballot()).isEqualTo(17);
        assertThat(answer.open()).isEqualTo(walk.begin());
    }

    @Test
    void aWalkOutOfTimeIsNotBusy() {
        busyAt();
        AcquireReply.Refused refused = (AcquireReply.Refused) walk.outOfTime().reply();
        assertThat(refused.reason()).contains("1 of 3");
        assertThat(refused.spent()).isFalse();
        assertThat(refused.retryNanos()).isPositive();
        assertThat(refused.ballot()).isZero();
        assertThat(walk.outOfTime().open()).isNull();
    }

    @Test
    void oneSlotIsAskedOnce() {
        SlotWalk one = new SlotWalk(LockName.exactly("db").asPermits(1), "s", DRAWN, -1);
        assertThat(one.begin().lock().slot()).isZero();
        assertThat(one.answered(busy(null))).isInstanceOf(SlotWalk.Answer.class);
    }

    @Test
    void allOfAThousandSlotsAreAsked() {
        SlotWalk many = new SlotWalk(LockName.exactly("db").asPermits(1_000), "s", DRAWN, -1);
        List<Integer> asked = new ArrayList<>();
        for (SlotWalk.Next next = many.begin(); next instanceof SlotWalk.Ask ask; next = many.answered(busy(null))) {
            asked.add(ask.lock().slot());
        }
        assertThat(asked)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 1_000).boxed().toList());
    }

    @Test
    void theErrorOfAFailureIsKept() {
        LockStoreException error = new LockStoreException("made by the test", null);
        AcquireReply failed =
                answer(new AcquireReply.Failed(FailureKind.PERMANENT, error, 3)).reply();
        assertThat(failed).isEqualTo(new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
    }
}
