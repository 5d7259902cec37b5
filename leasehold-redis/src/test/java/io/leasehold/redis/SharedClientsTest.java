package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.StoreUnavailableException;
import io.lettuce.core.KillArgs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that the clients of one server in one process share threads and connections, and do each other no harm. */
@Tag("quick")
@Timeout(120)
final class SharedClientsTest {

    /** Two for connections, two for computations, one timer. */
    private static final int MOST_THREADS = 5;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final List<LockClient> clients = new ArrayList<>();
    private long threadsBefore;
    private long connectionsBefore;

    @BeforeEach
    void count() {
        SERVER.redis().ping();
        threadsBefore = driverThreads();
        connectionsBefore = connections();
    }

    @AfterEach
    void close() {
        clients.forEach(LockClient::close);
        until("all connections end", () -> added() == 0);
        until("all threads end", () -> driverThreads() <= threadsBefore);
    }

    private LockClient client(String options) {
        LockClient client = Leasehold.connect(SERVER.server().uri() + options);
        clients.add(client);
        return client;
    }

    private long added() {
        return connections() - connectionsBefore;
    }

    private static long connections() {
        return SERVER.server().call("CLIENT", "LIST").lines().count();
    }

    private static long driverThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lettuce"))
                .count();
    }

    private static void use(LockClient client, String name) throws InterruptedException {
        try (Lease lease = client.named(name).acquire()) {
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** Holds a lock with one client while the other waits for it, so that the other subscribes. */
    private static void handOver(LockClient from, LockClient to, String name) throws Exception {
        Lease held = from.named(name).acquire();
        CompletableFuture<Lease> waiting = to.named(name).acquireAsync();
        until(
                "it waits",
                () -> SERVER.server()
                        .call("EXISTS", "lock:{" + name + "}:queued")
                        .contains("1"));
        held.close();
        Lease handed = waiting.get(60, TimeUnit.SECONDS);
        assertThat(handed).isNotNull();
        handed.close();
    }

    @Test
    void theSecondClientCostsNoConnectionAndNoThreadOfTheDriver() throws Exception {
        LockClient first = client("");
        use(first, "a");
        assertThat(added()).isOne();
        long threads = driverThreads();
        LockClient second = client("?keys=other:{*}");
        LockClient third = client("");
        use(second, "b");
        use(third, "c");
        assertThat(added()).isOne();
        handOver(first, third, "d");
        handOver(third, first, "e");
        assertThat(added()).as("one for requests, one each for subscriptions").isEqualTo(3);
        assertThat(driverThreads()).isLessThanOrEqualTo(Math.max(threads, threadsBefore + MOST_THREADS));
        assertThat(first.holderId()).isNotEqualTo(third.holderId());
    }

    @Test
    void clientsWithOtherSettingsHaveConnectionsOfTheirOwn() throws Exception {
        use(client(""), "a");
        use(client("/1"), "a");
        use(client("?toldAtOnce=true"), "b");
        until("each has its own, and one that tells", () -> added() == 4);
    }

    @Test
    void whicheverClosesFirstTheOtherGoesOn() throws Exception {
        LockClient first = client("");
        LockClient second = client("");
        LockClient third = client("");
        handOver(first, second, "a");
        first.close();
        handOver(second, third, "b");
        handOver(third, second, "b");
        third.close();
        use(second, "c");
        second.close();
        until("all ends with the last", () -> added() == 0);
        use(client(""), "d");
        assertThat(added()).isOne();
    }

    @Test
    void aCloseLeavesTheConnectionToTheNextClient() throws Exception {
        use(client(""), "a");
        LockClient second = client("");
        use(second, "b");
        second.close();
        use(client(""), "c");
        assertThat(added()).isOne();
    }

    @Test
    void allReconnectAndShareAgain() throws Exception {
        LockClient first = client("");
        LockClient second = client("");
        for (int i = 0; i < 5; i++) {
            use(first, "a");
            use(second, "b");
            SERVER.redis().clientKill(KillArgs.Builder.skipme());
            until("first is connected", () -> holds(first, "a"));
            until("second is connected", () -> holds(second, "b"));
        }
        until("they share", () -> added() == 1);
    }

    private static boolean holds(LockClient client, String name) {
        try {
            use(client, name);
            return true;
        } catch (StoreUnavailableException | InterruptedException notYet) {
            return false;
        }
    }

    @Test
    void aCloseLeavesTheRequestsOfTheOtherInFlight() throws Exception {
        LockClient first = client("");
        LockClient second = client("");
        use(first, "a");
        use(second, "b");
        SERVER.server().call("CLIENT", "PAUSE", "1000", "ALL");
        List<CompletableFuture<Lease>> inFlight = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            inFlight.add(second.named("held" + i).acquireAsync());
        }
        first.close(Duration.ZERO);
        for (CompletableFuture<Lease> one : inFlight) {
            Lease lease = one.get(60, TimeUnit.SECONDS);
            assertThat(lease).isNotNull();
            assertThat(lease.isValid()).isTrue();
            lease.close();
        }
    }
}
