package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.LockNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the race of the answer that decides a release, on its own thread, with the end of the caller's time limit. */
@Tag("full")
final class NodeReleaseRaceTest {

    /**
     * Both threads spin without a pause, so that either may be delayed anywhere: the critical moment is a few
     * instructions long.
     */
    private static final long SPAN_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** Keeps the last timer, for the thread that fires it. */
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

    private final LastTimer timers = new LastTimer();
    private CompletableFuture<ReleaseReply> deciding = new CompletableFuture<>();
    /** The delay of the timer after the answer. It is adjusted towards the moment in which neither is clearly first. */
    private int timerLater;

    private final NodeSet nodes = new NodeSet(
            List.of(
                    member("first", CompletableFuture.completedFuture(new ReleaseReply.Released())),
                    member("deciding", null),
                    member(
                            "failing",
                            CompletableFuture.completedFuture(ScriptedSet.unreleased(FailureKind.PERMANENT)))),
            QuorumSettings.standard(),
            timers);

    private QuorumMember member(String name, CompletableFuture<ReleaseReply> answer) {
        LockNode node = (LockNode) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> answer == null ? deciding : answer);
        return QuorumMember.of(node, name);
    }

    @Test
    void whatAQuorumHasDeletedIsToldAsReleased() throws Exception {
        AtomicReference<Runnable> due = new AtomicReference<>();
        Thread timer = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Runnable task = due.getAndSet(null);
                if (task == null) {
                    Thread.onSpinWait();
                } else {
                    task.run();
                }
            }
        });
        timer.start();
        try {
            long beganAtNanos = System.nanoTime();
            for (int round = 0; System.nanoTime() - beganAtNanos < SPAN_NANOS; round++) {
                assertThat(decidedAsItsTimeEnds(due))
                        .as("round %d: a quorum has deleted it", round)
                        .isInstanceOf(ReleaseReply.Released.class);
            }
        } finally {
            timer.interrupt();
            timer.join();
        }
    }

    /** The result that the caller gets, in time or by a repeated release. */
    private ReleaseReply decidedAsItsTimeEnds(AtomicReference<Runnable> due) {
        deciding = new CompletableFuture<>();
        NodeRelease release = new NodeRelease(
                nodes,
                new ReleaseRequest(
                        ScriptedSet.NAMES, OwnerToken.fromHex("1".repeat(40)), 7, ReleaseRequest.Kind.RELEASE, 1),
                Long.MAX_VALUE / 4);
        release.begin();
        CompletableFuture<ReleaseReply> reply = release.reply(1);
        CompletableFuture<Void> fired = new CompletableFuture<>();
        Runnable task = timers.task;
        int later = timerLater;
        due.set(() -> {
            spin(later);
            task.run();
            fired.complete(null);
        });
        spin(-later);
        deciding.complete(new ReleaseReply.Released());
        while (!fired.isDone()) {
            Thread.onSpinWait();
        }
        boolean early = reply.join() instanceof ReleaseReply.Failed;
        timerLater += early ? 1 : -1;
        return early ? release.reply(1).join() : reply.join();
    }

    private static void spin(int times) {
        for (int i = 0; i < times; i++) {
            Thread.onSpinWait();
        }
    }
}
