package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.LOCK_KEY;
import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of faults of networks and servers at a node; every test checks that its fault took place. */
@Tag("quick")
class RedisNodeFaultTest {

    private RedisServer server;
    private TcpProxy proxy;
    private NodeBench bench;

    @BeforeEach
    void start() {
        server = RedisUnderTest.start(builder -> builder);
        proxy = TcpProxy.to(server.port());
        bench = NodeBench.at(proxy.port());
    }

    @AfterEach
    void stop() {
        if (bench != null) {
            bench.close();
        }
        if (proxy != null) {
            proxy.close();
        }
        if (server != null) {
            server.close();
        }
    }

    private static NodeReply.Failed failed(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Failed.class);
        return (NodeReply.Failed) reply;
    }

    private void untilConnected() {
        until("the node is connected again", () -> bench.probe() instanceof NodeReply.Answered);
    }

    /** The number of scripts that the server has run. */
    private long scriptRuns() {
        Matcher calls =
                Pattern.compile("cmdstat_eval(?:sha)?:calls=(\\d+)").matcher(server.call("INFO", "commandstats"));
        long sum = 0;
        while (calls.find()) {
            sum += Long.parseLong(calls.group(1));
        }
        return sum;
    }

    /** Makes the server know the scripts, so that every later request is one command. */
    private void warmUp() {
        OwnerToken owner = bench.owner();
        long candidate = bench.candidate();
        bench.acquire(owner, candidate);
        bench.renew(owner);
        bench.release(owner, candidate);
        server.call("CONFIG", "RESETSTAT");
    }

    @Test
    void aLostReplyIsUnknownAndItsRetryFindsTheOwnLock() throws InterruptedException {
        warmUp();
        OwnerToken owner = bench.owner();
        ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains(LOCK_KEY));

        NodeReply.Failed first = failed(bench.acquire(owner));
        loss.await(NodeBench.PATIENCE);

        assertThat(first.kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(first.error()).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("order:1");
        assertThat(server.call("GET", LOCK_KEY)).as("the server has acted").startsWith(owner.hex());
        untilConnected();
        assertThat(scriptRuns()).as("nothing was sent again").isEqualTo(1);
        assertThat(bench.acquire(owner)).isInstanceOf(NodeReply.Yes.class);
    }

    @Test
    void aRequestInFlightAtAResetIsNotReplayed() throws InterruptedException {
        warmUp();
        OwnerToken owner = bench.owner();
        ScheduledLoss loss = proxy.loseNextRequest(request -> request.contains(LOCK_KEY));

        NodeReply.Failed reply = failed(bench.acquire(owner));
        loss.await(NodeBench.PATIENCE);

        assertThat(reply.kind()).isEqualTo(FailureKind.UNKNOWN);
        untilConnected();
        bench.renew(bench.owner());
        assertThat(scriptRuns()).as("only the later renewal reached the server").isEqualTo(1);
        assertThat(server.call("EXISTS", LOCK_KEY)).isEqualTo("0");
    }

    @Test
    void requestsHeldBackAtAResetAreNotReplayed() {
        warmUp();
        proxy.toServer().stall();
        List<CompletableFuture<NodeReply>> requests = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            requests.add(bench.send(bench.owner()));
        }
        // Each is longer than 200 bytes.
        until("all of them are held back", () -> proxy.toServer().traffic().stalled() > 50 * 200);
        proxy.resetAll();
        proxy.heal();

        for (CompletableFuture<NodeReply> request : requests) {
            assertThat(failed(NodeBench.answer(request)).kind()).isEqualTo(FailureKind.UNKNOWN);
        }
        untilConnected();
        bench.renew(bench.owner());
        assertThat(scriptRuns()).as("only the later renewal reached the server").isEqualTo(1);
    }

    @Test
    void aReleaseWhoseReplyIsLostIsDoneAndCanBeRepeated() throws InterruptedException {
        OwnerToken owner = bench.owner();
        long candidate = bench.candidate();
        bench.acquire(owner, candidate);
        bench.release(bench.owner(), 0);
        ScheduledLoss loss = proxy.loseNextReplyTo(request -> request.contains(LOCK_KEY));

        ReleaseReply first = bench.release(owner, candidate);
        loss.await(NodeBench.PATIENCE);

        assertThat(first)
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class, f -> assertThat(f.kind()).isEqualTo(FailureKind.UNKNOWN));
        untilConnected();
        assertThat(bench.release(owner, candidate)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(bench.acquire(owner, candidate)).isInstanceOf(NodeReply.Stale.class);
    }

    @Test
    void anUnansweredRequestCompletesWithinItsTimeLimit() {
        warmUp();
        proxy.toClient().stall();
        bench.timeout(Duration.ofMillis(300));
        long start = System.nanoTime();

        NodeReply.Failed acquired = failed(bench.acquire(bench.owner()));
        RenewReply.Item renewed = bench.renew(bench.owner());

        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(600));
        assertThat(acquired.kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(acquired.error()).hasMessageContaining("within 300 ms").hasMessageContaining("order:1");
        assertThat(renewed).isInstanceOf(RenewReply.Failed.class);
        assertThat(proxy.toClient().traffic().stalled()).isPositive();
        bench.timeout(Duration.ofSeconds(20));
        proxy.heal();
        untilConnected();
    }

    @Test
    void aConnectionThatFellSilentIsReplaced() {
        warmUp();
        long before = proxy.connections().accepted();
        proxy.halfOpenForClients();
        assertThat(proxy.connections().halfOpened()).isPositive();
        bench.timeout(Duration.ofMillis(500));

        until("the node opened another connection", () -> {
            bench.probe();
            return proxy.connections().accepted() > before;
        });
        bench.timeout(Duration.ofSeconds(20));
        untilConnected();
    }

    @Test
    void withoutAConnectionNothingIsSentAndThatIsSaid() {
        proxy.refuseConnections();
        proxy.resetAll();
        until("the node knows", () -> failed(bench.probe()).kind() == FailureKind.NO_EFFECT);

        NodeReply.Failed reply = failed(bench.acquire(bench.owner()));

        assertThat(reply.kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(reply.error()).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("not connected");
        proxy.acceptConnections();
        untilConnected();
        assertThat(bench.reconnections).hasPositiveValue();
    }

    @Test
    void aKilledServerIsUsedAgainWhenItIsBack() {
        NodeReply.Answered before = (NodeReply.Answered) bench.probe();
        server.kill();
        until("requests fail", () -> bench.acquire(bench.owner()) instanceof NodeReply.Failed);

        server.restart();
        untilConnected();

        NodeReply.Answered after = (NodeReply.Answered) bench.acquire(bench.owner());
        assertThat(after).isInstanceOf(NodeReply.Yes.class);
        assertThat(after.incarnation()).as("another life").isNotEqualTo(before.incarnation());
    }

    @Test
    void aServerThatForgotTheScriptsGetsTheirTexts() {
        warmUp();
        server.call("SCRIPT", "FLUSH");
        OwnerToken owner = bench.owner();
        long candidate = bench.candidate();

        assertThat(bench.acquire(owner, candidate)).isInstanceOf(NodeReply.Yes.class);
        assertThat(bench.renew(owner)).isInstanceOf(RenewReply.Renewed.class);
        server.call("SCRIPT", "FLUSH");
        assertThat(bench.release(owner, candidate)).isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void aReplicaIsNotWrittenTo() {
        warmUp();
        server.call("REPLICAOF", "127.0.0.1", "1");

        NodeReply.Failed reply = failed(bench.acquire(bench.owner()));

        assertThat(reply.kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(reply.error()).hasMessageContaining("READONLY").hasMessageContaining("primary");
    }

    @Test
    void fullMemoryRefusesAnAcquireButNoRelease() {
        OwnerToken owner = bench.owner();
        long candidate = bench.candidate();
        bench.acquire(owner, candidate);
        server.call("CONFIG", "SET", "maxmemory", "1");

        ReleaseReply released = bench.release(owner, candidate);
        NodeReply.Failed refused = failed(bench.acquire(bench.owner(), candidate + 10));

        assertThat(released).isInstanceOf(ReleaseReply.Released.class);
        assertThat(refused.kind()).isEqualTo(FailureKind.NO_EFFECT);
        assertThat(refused.error()).hasMessageContaining("OOM").hasMessageContaining("noeviction");
    }

    @Test
    void aBusyScriptOfSomebodyElseIsSaidToBeThat() {
        warmUp();
        String threshold = server.version().isAtLeast(7, 0) ? "busy-reply-threshold" : "lua-time-limit";
        server.call("CONFIG", "SET", threshold, "50");
        CompletableFuture<Void> busy = CompletableFuture.runAsync(() -> {
            try {
                server.call("EVAL", "while true do end", "0");
            } catch (RuntimeException killed) {
                // This is the normal end.
            }
        });
        bench.timeout(Duration.ofMillis(200));
        NodeReply.Failed[] last = new NodeReply.Failed[1];
        until("the server says BUSY", () -> {
            NodeReply reply = bench.acquire(bench.owner());
            last[0] = reply instanceof NodeReply.Failed f ? f : null;
            return last[0] != null && last[0].kind() == FailureKind.NO_EFFECT;
        });
        server.call("SCRIPT", "KILL");
        NodeBench.answer(busy);

        assertThat(last[0].error()).hasMessageContaining("BUSY").hasMessageContaining("SCRIPT KILL");
    }

    @Test
    void aFrozenServerDelaysNothingBeyondTheTimeLimits() {
        warmUp();
        server.freeze();
        try {
            bench.timeout(Duration.ofMillis(300));
            assertThat(failed(bench.acquire(bench.owner())).kind()).isEqualTo(FailureKind.UNKNOWN);
        } finally {
            server.thaw();
        }
        bench.timeout(Duration.ofSeconds(20));
        untilConnected();
    }
}
