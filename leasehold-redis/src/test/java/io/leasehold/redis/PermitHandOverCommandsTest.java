package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.PermitCountException;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the requests that a hand-over of permits between processes takes, by the server's own counts. */
@Timeout(120)
@Tag("quick")
final class PermitHandOverCommandsTest {

    private static final int ROUNDS = 15;

    /** Without the right to the record of a client that holds a permit for a second. */
    @RegisterExtension
    static final RedisUnderTest SERVER =
            new RedisUnderTest(b -> b.user("app", "on >secret resetchannels ~lock:{* ~permits:* &lock:wake:* +@all"));

    private static int names;

    private final LockName name = LockName.exactly("pool-" + names++);
    private final String record = "permits:{" + name.text() + "}";

    /** Creates a client whose waiters do not retry by themselves during the test. */
    private static LockClient client(int port) {
        return Leasehold.builder()
                .store("redis://app:secret@127.0.0.1:" + port)
                .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(5)).recheck(Duration.ofMinutes(4)))
                .connect();
    }

    private static LockClient client() {
        return client(SERVER.server().port());
    }

    private <H extends Hold> CompletableFuture<H> waiting(CompletableFuture<H> attempt) {
        until(
                "it waits",
                () -> StoredQueue.of(SERVER.redis().get(record + ":queued"))
                                .waiters()
                                .size()
                        == 1);
        return attempt;
    }

    private <H extends Hold> void handOver(CompletableFuture<H> attempt, List<H> held) {
        CompletableFuture<H> waiting = waiting(attempt);
        held.remove(0).close();
        held.add(waiting.orTimeout(60, TimeUnit.SECONDS).join());
    }

    /** The cost of a hand-over, in which the next client gets the permits and then performs this step. */
    private <H extends Hold> CommandCounts round(
            int port, Function<LockClient, CompletableFuture<H>> wanted, Function<H, Boolean> isKept) throws Exception {
        try (LockClient one = client(port);
                LockClient other = client(port)) {
            LockClient[] clients = {one, other};
            List<H> held = new ArrayList<>(List.of(wanted.apply(one).join()));
            // The first rounds subscribe, send the scripts' texts and try the common case.
            for (int i = 0; i < 4; i++) {
                handOver(wanted.apply(clients[(i + 1) % 2]), held);
            }
            List<CommandCounts> rounds = new ArrayList<>();
            for (int i = 0; i < ROUNDS; i++) {
                LockClient next = clients[(i + 1) % 2];
                rounds.addAll(CommandCounts.during(List.of(SERVER.server()), () -> {
                    handOver(wanted.apply(next), held);
                    until("it is kept", () -> isKept.apply(held.get(0)));
                }));
            }
            held.get(0).close();
            // A waiter that is woken before its request was answered retries once, but not in every round.
            return rounds.stream()
                    .min(Comparator.comparingLong(counts -> counts.of("evalsha")))
                    .orElseThrow();
        }
    }

    private CompletableFuture<Permit> one(LockClient client) {
        return client.permits(name, 1).acquireAsync();
    }

    /** The permit begins from the message, and its release comes before the renewal to the full ttl. */
    @Test
    void joiningTheQueueAndReleaseAreTwoRequests() throws Exception {
        CommandCounts plain = round(SERVER.server().port(), this::one, permit -> true);
        assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(2);
        assertThat(plain.of("info")).as("%s", plain).isZero();
    }

    @Test
    void soTheyAreForSeveralPermits() throws Exception {
        CommandCounts plain = round(
                SERVER.server().port(),
                client -> client.permits(name, 3).several(2).acquireAsync(),
                (MultiPermit permits) -> permits.slots().equals(List.of(0, 1)));
        assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(2);
    }

    /** A proxy may connect an open connection to another server, so the script asks which one it runs at. */
    @Test
    void behindAProxyTheScriptReadsTheRunId() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            CommandCounts plain = round(proxy.port(), this::one, permit -> true);
            assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(2);
            assertThat(plain.of("info")).as("%s", plain).isEqualTo(1);
        }
    }

    @Test
    void withTheRenewalToTheFullTtlTheyAreThree() throws Exception {
        CommandCounts plain = round(
                SERVER.server().port(),
                this::one,
                permit -> permit.remainingValidity().compareTo(Duration.ofMinutes(4)) > 0);
        assertThat(plain.of("evalsha")).as("%s", plain).isEqualTo(3);
    }

    private String ownerOf(int slot) {
        String hold = SERVER.redis().hget(record, Integer.toString(slot));
        return hold == null ? "-" : hold;
    }

    /** The requests of the waiter no longer reach the server: it can only receive. */
    @Test
    void theWaiterHoldsTheSlotsBeforeItSendsAnything() throws Exception {
        try (LockClient one = client();
                TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient other = client(proxy.port())) {
            Permit first = one.permits(name, 3).acquire();
            List<Permit> held = new ArrayList<>(List.of(one.permits(name, 3).acquire()));
            held.add(one.permits(name, 3).acquire());
            handOver(other.permits(name, 3).acquireAsync(), held);
            handOver(one.permits(name, 3).acquireAsync(), held);
            CompletableFuture<MultiPermit> waiting =
                    waiting(other.permits(name, 3).several(2).acquireAsync());
            proxy.toServer().stall();
            first.close();
            held.get(1).close();
            MultiPermit permits = waiting.orTimeout(3, TimeUnit.SECONDS).join();
            // The default claim for this ttl, a minute's least validity of which a third more is kept.
            assertThat(permits.remainingValidity()).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(40));
            assertThat(permits.slots()).containsExactly(0, 2);
            for (int slot : permits.slots()) {
                assertThat(ownerOf(slot)).contains(":" + permits.fencingToken(slot) + ":");
            }
            proxy.toServer().resume();
            until("it is renewed", () -> permits.remainingValidity().compareTo(Duration.ofMinutes(4)) > 0);
            permits.close();
            assertThat(permits.slots()).allMatch(slot -> ownerOf(slot).equals("-"));
        }
    }

    /** The script of an operator names the server, too. */
    @Test
    void aSlotThatAnOperatorFreesBeginsFromItsMessage() throws Exception {
        try (LockClient one = client();
                TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient other = client(proxy.port())) {
            List<Permit> held = new ArrayList<>(List.of(one.permits(name, 1).acquire()));
            handOver(one(other), held);
            handOver(one(one), held);
            CompletableFuture<Permit> waiting = waiting(one(other));
            proxy.toServer().stall();
            assertThat(one.admin().forceReleasePermit(name, 0, null)).isTrue();
            Permit permit = waiting.orTimeout(3, TimeUnit.SECONDS).join();
            assertThat(ownerOf(0)).contains(":" + permit.fencingToken() + ":");
            proxy.toServer().resume();
            permit.close();
        }
    }

    /** The hold has ended by itself, and the next request that waits finds the first waiter. */
    @Test
    void theRequestOfAnotherWaiterNeedsNoLookForTheRunId() throws Exception {
        try (LockClient one = client();
                LockClient other = client();
                LockClient third = client()) {
            List<Permit> held = new ArrayList<>(List.of(one(one).join()));
            handOver(one(other), held);
            handOver(one(third), held);
            handOver(one(one), held);
            handOver(one(other), held);
            CompletableFuture<Permit> waiting = waiting(one(third));
            List<CompletableFuture<Permit>> behind = new ArrayList<>();
            CommandCounts counts = CommandCounts.during(List.of(SERVER.server()), () -> {
                        SERVER.redis().hdel(record, "0");
                        behind.add(one(one));
                        waiting.orTimeout(30, TimeUnit.SECONDS).join();
                    })
                    .get(0);
            assertThat(counts.of("info")).as("%s", counts).isZero();
            waiting.join().close();
            behind.get(0).join().close();
        }
    }

    /** Its message has another count than the waiter states. */
    @Test
    void aWaiterThatStatesTheFormerCountIsRefusedAndLeavesNothing() throws Exception {
        try (LockClient one = client();
                LockClient other = client()) {
            List<Permit> held = new ArrayList<>(List.of(one.permits(name, 1).acquire()));
            handOver(one(other), held);
            handOver(one(one), held);
            CompletableFuture<Permit> waiting = waiting(one(other));
            assertThat(one.admin().changePermits(name, 2, 1)).isTrue();
            assertThatThrownBy(() -> waiting.orTimeout(30, TimeUnit.SECONDS).join())
                    .hasCauseInstanceOf(PermitCountException.class);
            until("its slot is free", () -> ownerOf(1).equals("-"));
            held.get(0).close();
        }
    }
}
