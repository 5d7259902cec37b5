package io.leasehold.quorum;

import io.leasehold.node.LockNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jetbrains.lincheck.Lincheck;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The answer that decides a release comes in the moment in which its caller's time ends: Lincheck explores the interleavings of
 * the thread of the timer and that of the answer.
 */
@Tag("full")
final class NodeReleaseLincheckTest {

    private static final int INTERLEAVINGS = 500;

    /** Keeps the last timer, for a thread of the test. */
    private static final class LastTimer implements LockRuntime {
        private Runnable task = () -> {};

        @Override
        public Timer schedule(long delayNanos, Runnable scheduled) {
            task = scheduled;
            return () -> {};
        }

        @Override
        public long nanoTime() {
            return 1;
        }

        @Override
        public long wallMillis() {
            return 1;
        }

        @Override
        public void execute(Runnable other) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void randomBytes(byte[] bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long randomBelow(long bound) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void await(CompletableFuture<?> future) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    /** A node that answers a release so. */
    private static LockNode node(CompletableFuture<ReleaseReply> answer) {
        return (LockNode) Proxy.newProxyInstance(
                NodeReleaseLincheckTest.class.getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "release" -> answer;
                    case "hashCode" -> 1;
                    case "equals" -> proxy == arguments[0];
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private static void decideAsTheTimeEnds() {
        LastTimer timers = new LastTimer();
        CompletableFuture<ReleaseReply> last = new CompletableFuture<>();
        List<QuorumMember> members = List.of(
                QuorumMember.of(node(CompletableFuture.completedFuture(new ReleaseReply.Released())), "a"),
                QuorumMember.of(node(last), "b"),
                QuorumMember.of(
                        node(CompletableFuture.completedFuture(ScriptedSet.unreleased(FailureKind.PERMANENT))), "c"));
        NodeSet nodes = new NodeSet(members, QuorumSettings.standard(), timers);
        ReleaseRequest request = new ReleaseRequest(
                ScriptedSet.NAMES, OwnerToken.fromHex("1".repeat(40)), 7, ReleaseRequest.Kind.RELEASE, 1);
        NodeRelease release = new NodeRelease(nodes, request, Long.MAX_VALUE / 4);
        release.begin();
        CompletableFuture<ReleaseReply> reply = release.reply(1);
        Thread timer = new Thread(timers.task);
        timer.start();
        last.complete(new ReleaseReply.Released());
        try {
            timer.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        ReleaseReply told = reply.join();
        boolean wasEarly = told instanceof ReleaseReply.Failed;
        ReleaseReply counts = wasEarly ? release.reply(1).join() : told;
        if (!(counts instanceof ReleaseReply.Released)) {
            throw new IllegalStateException("a quorum has deleted it, and nobody was told so, but " + told);
        }
    }

    @Test
    void whatAQuorumHasDeletedIsToldAsReleasedOnce() {
        Lincheck.runConcurrentTest(INTERLEAVINGS, NodeReleaseLincheckTest::decideAsTheTimeEnds);
    }
}
