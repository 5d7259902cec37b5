package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the commands that a server executes for a hand-over between processes, by the server's own counts. */
@Timeout(120)
@Tag("quick")
final class HandOverCommandsTest {

    private static final int ROUNDS = 20;
    private static final String KEY = "lock:{hot}";

    /**
     * A client that holds a lock for a second writes a record, which is not part of this test: here it lacks the right.
     */
    @RegisterExtension
    static final RedisUnderTest SERVER =
            new RedisUnderTest(b -> b.user("app", "on >secret resetchannels ~lock:{* &lock:wake:* +@all"));

    /** Creates a client whose waiters do not retry by themselves during the test. */
    private static LockClient client() {
        return client(SERVER.server().port());
    }

    private static LockClient client(int port) {
        return Leasehold.builder()
                .store("redis://app:secret@127.0.0.1:" + port)
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMinutes(4)))
                .connect();
    }

    /** The number of commands of the scripts, without other commands and the requests of this test. */
    private static long ofScripts(CommandCounts counts) {
        return counts.calls().entrySet().stream()
                .filter(count -> !List.of("evalsha", "eval", "ping", "get", "auth", "subscribe")
                        .contains(count.getKey()))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    /** The cost of a round, in which the next client gets the lock and then performs this step. */
    private static CommandCounts round(int port, Hold hold) throws Exception {
        try (LockClient one = client(port);
                LockClient other = client(port)) {
            LockClient[] clients = {one, other};
            Lease[] held = {one.named("hot").acquire()};
            // The first rounds subscribe, send the scripts' texts and try the common case.
            for (int i = 0; i < 4; i++) {
                handOver(clients[(i + 1) % 2], held);
            }
            List<CommandCounts> rounds = new ArrayList<>();
            for (int i = 0; i < ROUNDS; i++) {
                LockClient next = clients[(i + 1) % 2];
                rounds.addAll(CommandCounts.during(List.of(SERVER.server()), () -> {
                    handOver(next, held);
                    hold.keep(held[0]);
                }));
            }
            held[0].close();
            // A waiter that is woken before its request was answered retries once, but not in every round.
            return rounds.stream()
                    .min(Comparator.comparingLong(HandOverCommandsTest::ofScripts))
                    .orElseThrow();
        }
    }

    private interface Hold {
        void keep(Lease lease);
    }

    /** The lease begins from the message, and its release comes before the renewal to the full ttl. */
    @Test
    void joiningTheQueueAndReleaseAreElevenCommandsInTwoScripts() throws Exception {
        CommandCounts plain = round(SERVER.server().port(), lease -> {});
        assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(2);
        assertThat(plain.of("mget")).as("%s", plain).isEqualTo(2);
        assertThat(ofScripts(plain)).as("%s", plain).isEqualTo(11);
    }

    /** A proxy may connect an open connection to another server, so the script asks which one it runs at. */
    @Test
    void behindAProxyTheScriptReadsTheRunId() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            CommandCounts plain = round(proxy.port(), lease -> {});
            assertThat(plain.of("info")).as("%s", plain).isEqualTo(1);
            assertThat(ofScripts(plain)).as("%s", plain).isEqualTo(12);
        }
    }

    @Test
    void withTheRenewalToTheFullTtlTheyAreAtMostSixteenInThreeScripts() throws Exception {
        CommandCounts plain = round(
                SERVER.server().port(),
                lease -> until("it is renewed", () -> lease.remainingValidity().compareTo(Duration.ofMinutes(4)) > 0));
        assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(3);
        assertThat(ofScripts(plain)).as("%s", plain).isLessThanOrEqualTo(16);
    }

    /** The requests of the waiter no longer reach the server: it can only receive. */
    @Test
    void theWaiterHoldsBeforeItSendsAnything() {
        try (LockClient one = client();
                TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient other = client(proxy.port())) {
            Lease[] held = {one.named("hot").acquire()};
            handOver(other, held);
            handOver(one, held);
            CompletableFuture<Lease> waiting = waiting(other);
            proxy.toServer().stall();
            held[0].close();
            Lease lease = waiting.orTimeout(3, TimeUnit.SECONDS).join();
            // The default claim for this ttl, a minute's least validity of which a third more is kept.
            assertThat(lease.remainingValidity()).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(40));
            assertThat(SERVER.redis().get(KEY)).contains(":" + lease.fencingToken() + ":");
            proxy.toServer().resume();
            until("it is renewed", () -> lease.remainingValidity().compareTo(Duration.ofMinutes(4)) > 0);
            lease.close();
            assertThat(SERVER.redis().get(KEY)).isNull();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static CompletableFuture<Lease> waiting(LockClient next) {
        CompletableFuture<Lease> waiting = next.named("hot").acquireAsync();
        until(
                "it waits",
                () -> StoredQueue.of(SERVER.redis().get(KEY + ":queued"))
                                .waiters()
                                .size()
                        == 1);
        return waiting;
    }

    private static void handOver(LockClient next, Lease[] held) {
        CompletableFuture<Lease> waiting = waiting(next);
        held[0].close();
        held[0] = waiting.orTimeout(60, TimeUnit.SECONDS).join();
    }
}
