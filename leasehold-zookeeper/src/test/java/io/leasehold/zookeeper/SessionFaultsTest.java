package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.testkit.process.ChildJvm;
import io.leasehold.testkit.process.Signal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holders and waiters at the end of their sessions, and the cost of waiting for the server. */
@Tag("full")
class SessionFaultsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private Member member;
    private final List<LockClient> clients = new ArrayList<>();

    @BeforeEach
    void start() {
        member = new Member(directory);
    }

    @AfterEach
    void stop() {
        clients.forEach(LockClient::close);
        member.close();
    }

    private LockClient client(Duration ttl) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client =
                Leasehold.builder().store(member.uri("")).defaults(options).connect();
        clients.add(client);
        return client;
    }

    private String onlyNode(String lock) {
        String path = "/tests/" + lock;
        until(() -> member.children(path).size() == 1);
        return path + "/" + member.children(path).get(0);
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            java.util.concurrent.locks.LockSupport.parkNanos(2_000_000);
        }
    }

    /**
     * The end of a session by an operator is a release by force: its holder is notified, and the next one has a larger
     * token.
     */
    @Test
    void holderOfASessionThatIsEndedByHandIsTold() throws Exception {
        LockClient holder = client(Duration.ofSeconds(20));
        LockClient waiter = client(Duration.ofSeconds(20));
        Lease lease = holder.named("killed").acquire();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        lease.onLost(cause::complete);
        String node = onlyNode("killed");
        CompletableFuture<Lease> next = waiter.named("killed").acquireAsync();
        // The holder watches its node, and the waiter that node and its own.
        until(() -> member.watches() == 3);
        member.killSessionOf(node);
        assertThat(cause.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.SESSION_LOST);
        assertThat(lease.isValid()).isFalse();
        try (Lease later = next.get(60, TimeUnit.SECONDS)) {
            assertThat(later.fencingToken()).isGreaterThan(lease.fencingToken());
        }
        // A client that asks again gets a new session.
        assertThat(holder.named("killed").tryAcquire(PATIENCE)).isNotNull();
    }

    @Test
    void forcedReleaseIsToldAtOnceAndAsWhatItIs() throws Exception {
        LockClient holder = client(Duration.ofSeconds(20));
        Lease lease = holder.named("forced").acquire();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        lease.onLost(cause::complete);
        onlyNode("forced");
        assertThat(client(Duration.ofSeconds(20)).admin().forceRelease(LockName.of("forced"), null))
                .isTrue();
        assertThat(cause.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    void aCutConnectionPutsTheHolderAtRiskAtOnceAndTheLeaseGoesOn() throws Exception {
        Duration ttl = Duration.ofMinutes(5);
        Lease lease = client(ttl).named("cut").acquire();
        CompletableFuture<Duration> atRisk = new CompletableFuture<>();
        lease.onAtRisk(atRisk::complete);
        onlyNode("cut");
        member.cutConnections();
        // The first renewal would come after 90 s at the earliest, and would be at risk after another 60 s.
        assertThat(atRisk.get(60, TimeUnit.SECONDS)).isGreaterThan(Duration.ofMinutes(3));
        until(() -> {
            try {
                lease.renew();
                return true;
            } catch (StoreUnavailableException e) {
                return false;
            }
        });
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void waiterOfAKilledSessionQueuesAgain() throws Exception {
        LockClient holder = client(Duration.ofSeconds(20));
        LockClient waiter = client(Duration.ofSeconds(20));
        Lease lease = holder.named("waiter").acquire();
        String first = onlyNode("waiter");
        CompletableFuture<Lease> next = waiter.named("waiter").acquireAsync();
        until(() -> member.children("/tests/waiter").size() == 2);
        String second = member.children("/tests/waiter").stream()
                .filter(child -> !first.endsWith(child))
                .findFirst()
                .orElseThrow();
        member.killSessionOf("/tests/waiter/" + second);
        until(() -> member.children("/tests/waiter").size() == 2
                && !member.children("/tests/waiter").contains(second));
        assertThat(next).isNotDone();
        lease.release();
        next.get(60, TimeUnit.SECONDS).close();
    }

    @Test
    void processStoppedBeyondItsSessionHasLostWhenItWakes() throws Exception {
        assumeTrue(Signal.areSupported(), "SIGSTOP is needed");
        Duration ttl = Duration.ofSeconds(2);
        LockClient next = client(ttl);
        try (ChildJvm child = ChildJvm.of(StoppedHolderMain.class)
                .jvmArgument("-Xmx64m")
                .arguments(member.uri(""), "stopped", Long.toString(ttl.toMillis()))
                .start()) {
            long token = Long.parseLong(child.awaitLine("HELD ", PATIENCE).substring("HELD ".length()));
            child.freeze();
            try (Lease lease = next.named("stopped").tryAcquire(PATIENCE)) {
                assertThat(lease).isNotNull();
                assertThat(lease.fencingToken()).isGreaterThan(token);
                child.thaw();
                child.send("look");
                assertThat(child.awaitLine("VALID ", PATIENCE)).isEqualTo("VALID false");
                until(() -> child.lines().stream().anyMatch(line -> line.startsWith("LOST ")));
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @Test
    void waitingAsksTheServerNothing() throws Exception {
        LockClient holder = client(Duration.ofMinutes(2));
        LockClient waiting = client(Duration.ofMinutes(2));
        List<CompletableFuture<Lease>> waiters = new ArrayList<>();
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            LockName name = LockName.exactly("quiet-" + i);
            held.add(holder.named(name).acquire());
            waiters.add(waiting.named(name).acquireAsync());
        }
        until(() -> {
            for (int i = 0; i < 20; i++) {
                if (member.children("/tests/quiet-" + i).size() != 2) {
                    return false;
                }
            }
            return true;
        });
        TimeUnit.MILLISECONDS.sleep(500);
        long before = member.packets();
        TimeUnit.SECONDS.sleep(4);
        // Twenty waiters that poll every 250 ms would have sent 320 requests; sessions ping every 10 s.
        assertThat(member.packets() - before).isLessThanOrEqualTo(8);
        held.forEach(Lease::release);
        for (CompletableFuture<Lease> waiter : waiters) {
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void releaseWakesOneWaiterAndNotAll() throws Exception {
        LockClient holder = client(Duration.ofMinutes(2));
        Lease lease = holder.named("herd").acquire();
        List<CompletableFuture<Lease>> waiters = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            waiters.add(client(Duration.ofMinutes(2)).named("herd").acquireAsync());
            int expected = i + 2;
            until(() -> member.children("/tests/herd").size() == expected);
        }
        TimeUnit.MILLISECONDS.sleep(300);
        long before = member.packets();
        lease.release();
        Lease first = waiters.get(0).get(60, TimeUnit.SECONDS);
        TimeUnit.MILLISECONDS.sleep(500);
        assertThat(member.packets() - before).as("packets of one hand-over").isLessThan(12);
        first.close();
        for (CompletableFuture<Lease> waiter : waiters.subList(1, 12)) {
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void closingTheClientEndsItsSessionsAndLeavesNoNodes() throws Exception {
        LockClient one = client(Duration.ofSeconds(20));
        one.named("closed").acquire();
        onlyNode("closed");
        one.close();
        until(() -> member.children("/tests/closed").isEmpty());
        until(() -> member.sessions() == 0);
    }
}
