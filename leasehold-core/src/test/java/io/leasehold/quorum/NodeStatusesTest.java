package io.leasehold.quorum;

import static io.leasehold.LockListener.NodeStanding.EXCLUDED;
import static io.leasehold.LockListener.NodeStanding.OTHER_CONFIGURATION;
import static io.leasehold.LockListener.NodeStanding.QUARANTINED;
import static io.leasehold.LockListener.NodeStanding.TRUSTED;
import static io.leasehold.LockListener.NodeStanding.UNREACHABLE;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockListener.NodeChanged;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the reported standings of the nodes of a set. */
@Tag("quick")
final class NodeStatusesTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private static final NodeReply YES = new NodeReply.Yes(LIFE, 1);
    private static final NodeReply CLOCK = new NodeReply.Stale(0, LIFE, 1);
    private static final NodeReply NO_WAY = ScriptedSet.failed(FailureKind.UNKNOWN);

    private final NodeStatuses statuses = new NodeStatuses(List.of("a", "b"), 4_000);
    private final List<NodeChanged> told = new ArrayList<>();
    private final Distrust[] distrusted = new Distrust[2];

    private void vote(int node, NodeReply reply) {
        statuses.heard(node, reply, true, distrusted.clone());
    }

    private void clock(int node) {
        statuses.heard(node, CLOCK, false, distrusted.clone());
    }

    private List<NodeChanged> news() {
        List<NodeChanged> news = List.copyOf(told);
        told.clear();
        return news;
    }

    @Test
    void aNodeThatFailsIsUnreachableUntilItAnswers() {
        statuses.listen(told::add);
        vote(0, YES);
        assertThat(news()).as("it was trusted before").isEmpty();
        vote(0, NO_WAY);
        vote(0, NO_WAY);
        assertThat(news()).containsExactly(new NodeChanged("a", TRUSTED, UNREACHABLE, "no way (made by the test)"));
        clock(0);
        assertThat(news()).containsExactly(new NodeChanged("a", UNREACHABLE, TRUSTED, ""));
        vote(1, NO_WAY);
        assertThat(news()).singleElement().extracting(NodeChanged::node).isEqualTo("b");
    }

    @Test
    void whatAVoteSaysOfTheMemoryHoldsUntilTheNextVote() {
        statuses.listen(told::add);
        String quarantined = "it may have forgotten what it granted, and grants nothing for 4000 ms more";
        vote(0, new NodeReply.Unborn("n", LIFE, 1));
        assertThat(news()).containsExactly(new NodeChanged("a", TRUSTED, QUARANTINED, quarantined));
        clock(0);
        assertThat(news()).as("its clock says nothing of its memory").isEmpty();
        vote(0, NO_WAY);
        assertThat(news()).extracting(NodeChanged::now).containsExactly(UNREACHABLE);
        clock(0);
        assertThat(news())
                .as("neither does a failure")
                .containsExactly(new NodeChanged("a", UNREACHABLE, QUARANTINED, quarantined));
        vote(0, new NodeReply.Quarantined(1_000_000, LIFE, 1));
        assertThat(news()).isEmpty();
        vote(0, new NodeReply.OtherSet("b, c", LIFE, 1));
        assertThat(news())
                .containsExactly(new NodeChanged("a", QUARANTINED, OTHER_CONFIGURATION, "is a member of b, c"));
        vote(0, YES);
        assertThat(news()).containsExactly(new NodeChanged("a", OTHER_CONFIGURATION, TRUSTED, ""));
        vote(1, new NodeReply.Quarantined(1_000_000, LIFE, 1));
        assertThat(news())
                .containsExactly(new NodeChanged(
                        "b",
                        TRUSTED,
                        QUARANTINED,
                        "it may have forgotten what it granted, and grants nothing for 2 ms more"));
    }

    @Test
    void theAnswerOfOneNodeMayExcludeAnother() {
        statuses.listen(told::add);
        distrusted[1] = Distrust.sameServer("a");
        vote(0, YES);
        assertThat(news())
                .containsExactly(
                        new NodeChanged("b", TRUSTED, EXCLUDED, "is the same server as a: one server has one vote"));
        distrusted[1] = null;
        vote(0, YES);
        assertThat(news()).containsExactly(new NodeChanged("b", EXCLUDED, TRUSTED, ""));
    }

    @Test
    void whoListensLaterIsToldOfEveryNodeThatDoesNotCount() {
        vote(0, NO_WAY);
        vote(1, NO_WAY);
        statuses.listen(told::add);
        assertThat(news())
                .containsExactly(
                        new NodeChanged("a", TRUSTED, UNREACHABLE, "no way (made by the test)"),
                        new NodeChanged("b", TRUSTED, UNREACHABLE, "no way (made by the test)"));
    }

    private static String logged(Runnable step) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    /**
     * An unreachable node is ordinary and is reported only to listeners; the log has only what an operator must know.
     */
    @Test
    void theLogSaysWhatDoesNotCountAndWhatCountsAgain() {
        assertThat(logged(() -> vote(0, NO_WAY))).isEmpty();
        assertThat(logged(() -> vote(0, YES))).isEmpty();
        assertThat(logged(() -> vote(0, new NodeReply.OtherSet("b, c", LIFE, 1))))
                .contains("WARN", "a does not count: is a member of b, c");
        assertThat(logged(() -> vote(0, YES)))
                .contains("INFO", "a counts again")
                .doesNotContain("WARN");
        assertThat(logged(() -> vote(0, NO_WAY))).isEmpty();
        assertThat(logged(() -> vote(0, new NodeReply.OtherSet("b, c", LIFE, 1))))
                .as("also after it was out of reach")
                .contains("WARN", "a does not count: is a member of b, c");
        assertThat(logged(() -> vote(0, NO_WAY))).isEmpty();
    }
}
