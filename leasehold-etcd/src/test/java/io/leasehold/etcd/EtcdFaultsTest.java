package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.maintenance.StatusResponse;
import io.etcd.jetcd.options.GetOption;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.testkit.process.ChildJvm;
import io.leasehold.testkit.process.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A cluster of three whose members are killed and frozen, leases that end, and the cost of waiting. */
@Tag("full")
class EtcdFaultsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static List<EtcdServer> members = List.of();
    private final List<LockClient> clients = new ArrayList<>();

    @BeforeAll
    static void start() {
        try {
            members = EtcdServer.startCluster(3);
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        members.forEach(EtcdServer::close);
    }

    @AfterEach
    void closeClients() {
        clients.forEach(LockClient::close);
    }

    private static String uri() {
        return "etcd://"
                + members.stream().map(member -> "127.0.0.1:" + member.port()).collect(Collectors.joining(","))
                + "/faults";
    }

    private LockClient client(Duration ttl) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client = Leasehold.builder().store(uri()).defaults(options).connect();
        clients.add(client);
        return client;
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static List<KeyValue> queue(String lock) {
        try (Client client = Client.builder()
                .endpoints("http://127.0.0.1:" + members.get(0).port())
                .build()) {
            return client.getKVClient()
                    .get(
                            new Keys("faults").queue(LockName.exactly(lock)),
                            GetOption.builder().isPrefix(true).build())
                    .join()
                    .getKvs();
        }
    }

    private static void revoke(long lease) {
        try (Client client = Client.builder()
                .endpoints("http://127.0.0.1:" + members.get(0).port())
                .build()) {
            client.getLeaseClient().revoke(lease).join();
        }
    }

    @Test
    void leaseSurvivesTheDeathOfEachMember() throws Exception {
        LockClient holder = client(Duration.ofSeconds(15));
        LockClient other = client(Duration.ofSeconds(15));
        try (Lease lease = holder.named("member").acquire()) {
            CompletableFuture<Lease> waiter = other.named("member").acquireAsync();
            for (EtcdServer member : members) {
                member.kill();
                until(() -> renews(lease));
                assertThat(lease.isValid()).isTrue();
                member.restart();
                until(() -> renews(lease));
            }
            assertThat(waiter).isNotDone();
            lease.release();
            try (Lease next = waiter.get(60, TimeUnit.SECONDS)) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
    }

    private static boolean renews(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (StoreUnavailableException e) {
            return false;
        }
    }

    private static EtcdServer leader() {
        EtcdServer[] found = new EtcdServer[1];
        until(() -> {
            for (EtcdServer member : members) {
                String address = "http://127.0.0.1:" + member.port();
                try (Client client = Client.builder().endpoints(address).build()) {
                    StatusResponse status =
                            client.getMaintenanceClient().statusMember(address).get(5, TimeUnit.SECONDS);
                    if (status.getLeader() == status.getHeader().getMemberId()) {
                        found[0] = member;
                    }
                } catch (Exception e) {
                    // A member that does not answer does not lead.
                }
            }
            return found[0] != null;
        });
        return found[0];
    }

    @Test
    void aLeaderThatStandsStillAgainAndAgainCostsTimeAndNotTheLease() throws Exception {
        LockClient holder = client(Duration.ofSeconds(30));
        LockClient other = client(Duration.ofSeconds(30));
        try (Lease lease = holder.named("slow").acquire()) {
            CompletableFuture<Lease> waiter = other.named("slow").acquireAsync();
            for (int i = 0; i < 5; i++) {
                EtcdServer leader = leader();
                leader.freeze();
                LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
                leader.thaw();
                until(() -> renews(lease));
                assertThat(lease.isValid()).isTrue();
            }
            assertThat(waiter).isNotDone();
            lease.release();
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aLeaderThatStandsStillForGoodIsReplacedAndTheLeaseGoesOn() throws Exception {
        LockClient holder = client(Duration.ofSeconds(30));
        LockClient other = client(Duration.ofSeconds(30));
        try (Lease lease = holder.named("stopped-leader").acquire()) {
            CompletableFuture<Lease> waiter = other.named("stopped-leader").acquireAsync();
            EtcdServer leader = leader();
            leader.freeze();
            try {
                until(() -> renews(lease));
                assertThat(lease.isValid()).isTrue();
                assertThat(waiter).isNotDone();
            } finally {
                leader.thaw();
            }
            lease.release();
            try (Lease next = waiter.get(60, TimeUnit.SECONDS)) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
    }

    @Test
    void leaseOutlivesARestartOfAllMembersAndItsHolderIsToldAtOnceThatItIsAtRisk() throws Exception {
        LockClient other = client(Duration.ofMinutes(5));
        Lease lease = client(Duration.ofMinutes(5)).named("restarted").acquire();
        CompletableFuture<Duration> atRisk = new CompletableFuture<>();
        lease.onAtRisk(atRisk::complete);
        // Holds of less than 0.2 s are not watched, and a watch has to reach its member.
        LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
        members.forEach(EtcdServer::kill);
        // The first renewal would come after 90 s at the earliest, and would be at risk after another 60 s.
        assertThat(atRisk.get(60, TimeUnit.SECONDS)).isGreaterThan(Duration.ofMinutes(3));
        EtcdServer.restartAll(members);
        until(() -> renews(lease));
        assertThat(lease.isValid()).isTrue();
        until(() -> isBusy(other, "restarted"));
        lease.release();
        assertThat(other.named("restarted").acquire().fencingToken()).isGreaterThan(lease.fencingToken());
    }

    private static boolean isBusy(LockClient client, String lock) {
        try (Lease lease = client.named(lock).tryAcquire(Duration.ZERO)) {
            assertThat(lease).as("two hold at once").isNull();
            return true;
        } catch (StoreUnavailableException notYet) {
            return false;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void forcedReleaseIsToldAtOnceAndAsWhatItIs() throws Exception {
        Lease lease = client(Duration.ofSeconds(60)).named("forced").acquire();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        lease.onLost(cause::complete);
        LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
        assertThat(client(Duration.ofSeconds(60)).admin().forceRelease(LockName.of("forced"), null))
                .isTrue();
        assertThat(cause.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    void releaseWakesOneWaiterAndNotAll() throws Exception {
        LockClient holder = client(Duration.ofMinutes(2));
        Lease lease = holder.named("herd").acquire();
        List<CompletableFuture<Lease>> waiters = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waiters.add(client(Duration.ofMinutes(2)).named("herd").acquireAsync());
            int expected = i + 2;
            until(() -> queue("herd").size() == expected);
        }
        TimeUnit.MILLISECONDS.sleep(500);
        // The waiter before the last one leaves, so that the last one searches once for another to wait for.
        waiters.get(6).cancel(false);
        until(() -> queue("herd").size() == 8);
        TimeUnit.MILLISECONDS.sleep(500);
        long before = requests();
        lease.release();
        Lease first = waiters.get(0).get(60, TimeUnit.SECONDS);
        TimeUnit.SECONDS.sleep(1);
        assertThat(requests() - before).as("requests of one hand-over").isLessThan(16);
        first.close();
        for (CompletableFuture<Lease> waiter : waiters.subList(1, 8)) {
            if (!waiter.isCancelled()) {
                waiter.get(60, TimeUnit.SECONDS).close();
            }
        }
    }

    @Test
    void withoutAQuorumALeaseEndsInTimeAndNobodyElseHolds() throws Exception {
        Duration ttl = Duration.ofSeconds(4);
        LockClient holder = client(ttl);
        LockClient other = client(ttl);
        Lease lease = holder.named("quorum").acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        AtomicReference<Duration> atRisk = new AtomicReference<>();
        lease.onAtRisk(atRisk::set);
        lease.onLost(told::set);
        members.get(0).freeze();
        members.get(1).freeze();
        CompletableFuture<Boolean> next = other.named("quorum").acquireAsync().thenApply(later -> {
            boolean two = lease.isValid();
            later.close();
            return two;
        });
        try {
            until(() -> told.get() != null);
            assertThat(told).hasValue(LossCause.EXPIRED);
            assertThat(atRisk.get()).isNotNull();
            assertThat(lease.isValid()).isFalse();
        } finally {
            members.get(0).thaw();
            members.get(1).thaw();
        }
        assertThat(next.handle((two, error) -> Boolean.TRUE.equals(two)).get(60, TimeUnit.SECONDS))
                .as("two held at once")
                .isFalse();
        until(() -> free("quorum"));
    }

    private boolean free(String lock) {
        try (Lease lease = client(Duration.ofSeconds(10)).named(lock).tryAcquire(Duration.ofSeconds(20))) {
            return lease != null;
        } catch (StoreUnavailableException e) {
            return false;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * The end of a lease by an operator is a release by force: its holder is notified, and the next one has a larger
     * token.
     */
    @Test
    void holderOfALeaseThatIsRevokedByHandIsTold() throws Exception {
        LockClient holder = client(Duration.ofSeconds(30));
        LockClient waiter = client(Duration.ofSeconds(30));
        Lease lease = holder.named("revoked").acquire();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        lease.onLost(cause::complete);
        CompletableFuture<Lease> next = waiter.named("revoked").acquireAsync();
        until(() -> queue("revoked").size() == 2);
        LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
        KeyValue first = queue("revoked").stream()
                .min((a, b) -> Long.compare(a.getCreateRevision(), b.getCreateRevision()))
                .orElseThrow();
        revoke(first.getLease());
        assertThat(cause.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.SESSION_LOST);
        assertThat(lease.isValid()).isFalse();
        try (Lease later = next.get(60, TimeUnit.SECONDS)) {
            assertThat(later.fencingToken()).isGreaterThan(lease.fencingToken());
        }
    }

    @Test
    void waiterWhoseLeaseEndsQueuesAgain() throws Exception {
        LockClient holder = client(Duration.ofSeconds(30));
        LockClient waiter = client(Duration.ofSeconds(3));
        Lease lease = holder.named("waiter").acquire();
        CompletableFuture<Lease> next = waiter.named("waiter").acquireAsync();
        until(() -> queue("waiter").size() == 2);
        KeyValue second = queue("waiter").stream()
                .max((a, b) -> Long.compare(a.getCreateRevision(), b.getCreateRevision()))
                .orElseThrow();
        revoke(second.getLease());
        until(() -> queue("waiter").size() == 2
                && queue("waiter").stream().noneMatch(one -> one.getLease() == second.getLease()));
        assertThat(next).isNotDone();
        lease.release();
        next.get(60, TimeUnit.SECONDS).close();
    }

    @Test
    void processStoppedBeyondItsLeaseHasLostWhenItWakes() throws Exception {
        assumeTrue(Signal.areSupported(), "SIGSTOP is needed");
        Duration ttl = Duration.ofSeconds(2);
        LockClient next = client(ttl);
        try (ChildJvm child = ChildJvm.of(StoppedHolderMain.class)
                .jvmArgument("-Xmx96m")
                .arguments(uri(), "stopped", Long.toString(ttl.toMillis()))
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
    void waitingAsksTheServersNothing() throws Exception {
        LockClient holder = client(Duration.ofMinutes(2));
        LockClient waiting = client(Duration.ofMinutes(2));
        List<CompletableFuture<Lease>> waiters = new ArrayList<>();
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            held.add(holder.named("quiet-" + i).acquire());
            waiters.add(waiting.named("quiet-" + i).acquireAsync());
        }
        for (int i = 0; i < 20; i++) {
            String lock = "quiet-" + i;
            until(() -> queue(lock).size() == 2);
        }
        TimeUnit.SECONDS.sleep(1);
        long before = requests();
        TimeUnit.SECONDS.sleep(4);
        // Twenty waiters that poll every 250 ms would have sent 320 requests; leases are extended every 40 s.
        assertThat(requests() - before).isLessThanOrEqualTo(8);
        held.forEach(Lease::release);
        for (CompletableFuture<Lease> waiter : waiters) {
            waiter.get(60, TimeUnit.SECONDS).close();
        }
    }

    private static long requests() {
        return members.stream().mapToLong(EtcdServer::requests).sum();
    }
}
