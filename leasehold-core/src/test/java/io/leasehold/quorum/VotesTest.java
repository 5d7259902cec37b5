package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.NodeVote;
import io.leasehold.NodeVote.Answer;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the human-readable form of each answer. */
@Tag("quick")
final class VotesTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private final StoreUnavailableException gone = new StoreUnavailableException("gone", null);
    private final StoreUnavailableException wordless = new StoreUnavailableException(null, new IllegalStateException());

    private static NodeVote vote(Answer answer, String detail) {
        return new NodeVote("a", answer, detail);
    }

    @Test
    void eachAnswerToABallotHasItsName() {
        Holder holder = new Holder("host/1/x", null, OptionalLong.empty());
        assertThat(Votes.of("a", new NodeReply.Yes(LIFE, 1))).isEqualTo(vote(Answer.GRANTED, ""));
        assertThat(Votes.of("a", new NodeReply.Held(holder, true, LIFE, 1)))
                .isEqualTo(vote(Answer.BUSY, "held by host/1/x"));
        assertThat(Votes.of("a", new NodeReply.Held(null, true, LIFE, 1))).isEqualTo(vote(Answer.BUSY, ""));
        assertThat(Votes.of("a", new NodeReply.Stale(7, LIFE, 1))).isEqualTo(vote(Answer.REFUSED, "its fence is at 7"));
        assertThat(Votes.of("a", new NodeReply.Refused("too young", 0, LIFE, 1)))
                .isEqualTo(vote(Answer.REFUSED, "too young"));
        assertThat(Votes.of("a", new NodeReply.Quarantined(4_000_000, LIFE, 1)))
                .isEqualTo(vote(
                        Answer.REFUSED, "it may have forgotten what it granted, and grants nothing for 5 ms more"));
        assertThat(Votes.of("a", new NodeReply.Unborn("n", LIFE, 1)))
                .isEqualTo(vote(Answer.REFUSED, "may have forgotten what it granted"));
        assertThat(Votes.of("a", new NodeReply.OtherSet("a, b", LIFE, 1)))
                .isEqualTo(vote(Answer.REFUSED, "is a member of a, b"));
        assertThat(Votes.of("a", new NodeReply.Failed(FailureKind.UNKNOWN, gone)))
                .isEqualTo(vote(Answer.FAILED, "gone"));
        assertThat(Votes.of("a", (NodeReply) null)).isEqualTo(vote(Answer.FAILED, "has not answered in time"));
    }

    @Test
    void eachAnswerToARenewalHasItsName() {
        assertThat(Votes.of("a", new RenewReply.Renewed(1))).isEqualTo(vote(Answer.GRANTED, ""));
        assertThat(Votes.of("a", new RenewReply.NotOurs()))
                .isEqualTo(vote(Answer.REFUSED, "does not hold the lock for this lease"));
        assertThat(Votes.of("a", new RenewReply.Failed(gone))).isEqualTo(vote(Answer.FAILED, "gone"));
        assertThat(Votes.of("a", new RenewReply.Failed(wordless)).detail())
                .as("an error without a text is named by its type")
                .contains("StoreUnavailableException");
        assertThat(Votes.of("a", (RenewReply.Item) null)).isEqualTo(vote(Answer.FAILED, "has not answered in time"));
    }

    @Test
    void eachAnswerToAReleaseHasItsName() {
        assertThat(Votes.of("a", new ReleaseReply.Released())).isEqualTo(vote(Answer.GRANTED, ""));
        assertThat(Votes.of("a", new ReleaseReply.NotOurs()))
                .isEqualTo(vote(Answer.REFUSED, "did not hold the lock for this lease"));
        assertThat(Votes.of("a", new ReleaseReply.Failed(FailureKind.UNKNOWN, gone)))
                .isEqualTo(vote(Answer.FAILED, "gone"));
        assertThat(Votes.of("a", (ReleaseReply) null)).isEqualTo(vote(Answer.FAILED, "has not answered in time"));
    }

    @Test
    void votesAreOneLine() {
        List<NodeVote> votes = List.of(vote(Answer.FAILED, "gone"), new NodeVote("b", Answer.GRANTED, ""));
        assertThat(Votes.line(votes)).isEqualTo(votes.get(0) + "; " + votes.get(1));
    }
}
