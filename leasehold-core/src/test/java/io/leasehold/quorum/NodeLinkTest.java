package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.FailureKind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the limit on requests to a node that does not answer. */
@Tag("quick")
final class NodeLinkTest {

    @Test
    void whatPilesUpIsCapped() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (InMemoryNode node = new InMemoryNode(runtime)) {
            NodeLink link = new NodeLink(node, "node-1");
            List<CompletableFuture<String>> sent = new ArrayList<>();
            List<CompletableFuture<String>> answers = new ArrayList<>();
            for (int i = 0; i < NodeLink.MAX_UNANSWERED + 100; i++) {
                answers.add(link.ask(
                        target -> {
                            sent.add(new CompletableFuture<>());
                            return sent.get(sent.size() - 1);
                        },
                        NodeLinkTest::said));
            }
            assertThat(sent).hasSize(NodeLink.MAX_UNANSWERED);
            assertThat(answers.stream().filter(CompletableFuture::isDone)).hasSize(100);
            assertThat(answers.get(answers.size() - 1).join())
                    .contains("NO_EFFECT")
                    .contains("node-1")
                    .contains("1024 unanswered requests");
            sent.get(0).complete("yes");
            CompletableFuture<String> one =
                    link.ask(target -> CompletableFuture.completedFuture("heard"), NodeLinkTest::said);
            assertThat(one.join()).as("an answer makes room").isEqualTo("heard");
        } finally {
            runtime.close();
        }
    }

    @Test
    void anAnswerIsOwedSinceTheFirstRequestAfterTheLastAnswer() {
        NodeLink link = new NodeLink(new ScriptedNode(new HandClock()), "node-1");
        assertThat(link.silentNanos(1_000)).as("nothing was asked").isZero();
        for (long start : new long[] {5_000, -5_000, Long.MAX_VALUE - 1}) {
            link.asks(start);
            link.asks(start + 40);
            assertThat(link.silentNanos(start + 100)).isBetween(99L, 100L);
            link.heard();
            assertThat(link.silentNanos(start + 200)).isZero();
        }
        link.asks(0);
        assertThat(link.silentNanos(100)).as("a clock that shows zero").isBetween(99L, 100L);
        long second = 1_000_000_000L;
        link.asks(10 * second);
        assertThat(link.silentNanos(10 * second)).isBetween(10 * second - 1, 10 * second);
        link.asks(20 * second + 1);
        assertThat(link.silentNanos(20 * second + 101))
                .as("what is owed for long to a client that asked nothing is forgotten")
                .isBetween(99L, 100L);
    }

    @Test
    void whatTheNodeSaysIsToldAsItSaysItAndNotItsCause() {
        UnsafeStoreException refused =
                new UnsafeStoreException("the server evicts keys", new IllegalStateException("a request failed"));
        NodeLink link = new NodeLink(new ScriptedNode(new HandClock()), "node-1");
        for (Throwable wrapped : List.of(refused, new CompletionException(new ExecutionException(refused)))) {
            CompletableFuture<LockStoreException> told =
                    link.ask(target -> CompletableFuture.failedFuture(wrapped), (kind, error) -> error);
            assertThat(told).isCompletedWithValue(refused);
        }
        CompletableFuture<LockStoreException> thrown = link.ask(
                target -> {
                    throw refused;
                },
                (kind, error) -> error);
        assertThat(thrown).isCompletedWithValue(refused);
    }

    /**
     * A driver cannot start a thread: this is an answer, and none of any number of such requests counts as unanswered.
     */
    @Test
    void anErrorThatADriverThrowsIsAnAnswer() {
        NodeLink link = new NodeLink(new ScriptedNode(new HandClock()), "node-1");
        for (int i = 0; i <= NodeLink.MAX_UNANSWERED; i++) {
            CompletableFuture<String> told = link.ask(
                    target -> {
                        throw new InternalError("no thread (made by the test)");
                    },
                    NodeLinkTest::said);
            assertThat(told.join())
                    .startsWith("UNKNOWN: a request to node-1 failed")
                    .contains("no thread");
        }
    }

    private static String said(FailureKind kind, LockStoreException error) {
        return kind + ": " + error.getMessage();
    }
}
