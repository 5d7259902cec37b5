package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.Permit;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.admin.Leak;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Administrative operations on a real server: records of clients, a message to a holder whose lock was removed, leaks,
 * a diagnosis.
 */
@Tag("full")
class RedisOperationsTest {

    private static final String STRANGER = "0123456789abcdef0123456789abcdef01234567:5:far/77/cafe";
    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @BeforeEach
    void empty() {
        server.call("FLUSHALL");
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - end).as(what).isNegative();
            Thread.sleep(50);
        }
    }

    @Test
    void aClientThatHoldsForLongTellsOfItself() throws Exception {
        try (LockClient locks =
                        Leasehold.builder().store(server.uri()).label("billing").connect();
                Lease lease = locks.named("long job").acquire()) {
            lease.renew();
            await("a record", () -> locks.admin().client(locks.holderId()).isPresent());
            ClientRecord record = locks.admin().client(locks.holderId()).orElseThrow();
            assertThat(record.pid()).isEqualTo(ProcessHandle.current().pid());
            assertThat(record.application()).isEqualTo("billing");
            ClientRecord.ClientHold hold =
                    record.holdOf(LockName.exactly("long job")).orElseThrow();
            assertThat(hold.thread()).isEqualTo(Thread.currentThread().getName());
            assertThat(hold.renewals()).isEqualTo(1);
            assertThat(Long.parseLong(server.call("PTTL", "lock:client:" + locks.holderId())))
                    .as("it expires with its client")
                    .isBetween(1L, 16_000L);
            assertThat(locks.admin().list("*", 10)).as("it is no lock").hasSize(1);
        }
    }

    @Test
    void aShortHoldCostsNothingMore() throws Exception {
        try (LockClient locks = Leasehold.connect(server.uri())) {
            long before = commands();
            for (int i = 0; i < 20; i++) {
                locks.named("short").acquire().close();
            }
            assertThat(commands() - before)
                    .as("two scripts each, and what INFO costs")
                    .isLessThan(20 * 30);
            assertThat(server.call("KEYS", "lock:client:*")).isEmpty();
        }
    }

    private static long commands() {
        return server.call("INFO", "stats")
                .lines()
                .filter(line -> line.startsWith("total_commands_processed:"))
                .map(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aHolderIsToldAtOnceThatItsLockWasTaken() throws Exception {
        try (LockClient holder = Leasehold.connect(server.uri());
                LockClient operator = Leasehold.connect(server.uri());
                Lease lease = holder.named("stuck").acquire()) {
            await("a record", () -> operator.admin().client(holder.holderId()).isPresent());
            // With the default ttl of 30 s the next renewal would come seconds later.
            long from = System.nanoTime();
            assertThat(operator.admin().forceRelease(LockName.exactly("stuck"), holder.holderId()))
                    .isTrue();
            HoldEnd end = lease.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThat(end).isEqualTo(new HoldEnd.Lost(LossCause.FORCE_RELEASED));
            assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(Duration.ofSeconds(5));
        }
    }

    @Test
    void aFalseWordHarmsNobody() throws Exception {
        try (LockClient holder = Leasehold.connect(server.uri());
                Lease lease = holder.named("kept").acquire()) {
            await("a record", () -> holder.admin().client(holder.holderId()).isPresent());
            String channel = server.call("GET", "lock:client:" + holder.holderId())
                    .lines()
                    .findFirst()
                    .orElseThrow();
            assertThat(server.call("PUBLISH", channel, "taken lock:{kept}")).contains("1");
            lease.renew();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void anOperatorIsRefusedWhenTheLockHasChangedHands() throws Exception {
        try (LockClient locks = Leasehold.connect(server.uri());
                Lease lease = locks.named("moved").acquire()) {
            assertThat(locks.admin().forceRelease(LockName.exactly("moved"), "another/1/client"))
                    .isFalse();
            lease.renew();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void findsEverySortOfLeak() throws Exception {
        server.call("SET", "lock:{endless}", STRANGER);
        server.call("SET", "lock:{gone}", STRANGER, "PX", "600000");
        server.call("SET", "lock:{side}:fence", "12");
        server.call("SET", "lock:{stuck}:queued", "2 1 1 0", "PX", "600000");
        server.call("HSET", "permits:{pool}", "all", "x");
        server.call("SET", "permits:{pool}:queued", "2 1 1 0");
        server.call("SET", "permits:{pool}:behind", "x", "PX", "600000");
        server.call("SET", "permits:of-another-program", "x");
        try (LockClient locks = Leasehold.connect(server.uri());
                Lease lease = locks.named("old").acquire()) {
            await("a record", () -> locks.admin().client(locks.holderId()).isPresent());
            List<Leak> leaks = locks.admin().leaks(Duration.ZERO);
            assertThat(leaks)
                    .extracting(Leak::kind, Leak::subject)
                    .containsExactly(
                            tuple(Leak.Kind.NO_TTL, "endless"),
                            tuple(Leak.Kind.HOLDER_GONE, "gone"),
                            tuple(Leak.Kind.WAITERS_STUCK, "stuck"),
                            tuple(Leak.Kind.SIDE_KEY, "lock:{side}:fence"),
                            tuple(Leak.Kind.SIDE_KEY, "permits:{pool}"),
                            tuple(Leak.Kind.SIDE_KEY, "permits:{pool}:queued"),
                            tuple(Leak.Kind.HELD_TOO_LONG, "old"));
            assertThat(leaks.toString()).doesNotContain("0123456789abcdef0123");
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void findsNoLeakWhereAllIsInOrder() throws Exception {
        try (LockClient locks = Leasehold.connect(server.uri());
                LockClient other = Leasehold.connect(server.uri());
                Lease lease = locks.named("busy").acquire();
                Permit permit = locks.permits("pool", 1).acquire()) {
            var waitingForThePermit = other.permits("pool", 1).attemptAsync(Duration.ofMinutes(1));
            await(
                    "a waiter",
                    () -> !server.call("EXISTS", "permits:{pool}:queued").contains("0"));
            var waiting = other.named("busy").attemptAsync(Duration.ofMinutes(1));
            await("a waiter", () -> !server.call("EXISTS", "lock:{busy}:queued").contains("0"));
            assertThat(locks.admin().leaks(Duration.ofMinutes(15))).isEmpty();
            waiting.cancel(true);
            waitingForThePermit.cancel(true);
            assertThat(permit.isValid()).isTrue();
            assertThat(lease.isValid()).isTrue();
        }
    }

    // ---- doctor

    private static Map<String, Finding> diagnosed(String uri) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.admin().diagnose().stream()
                    .collect(Collectors.toMap(Finding::check, finding -> finding, (one, other) -> one));
        }
    }

    private static Grade grade(Map<String, Finding> findings, String check) {
        return Optional.ofNullable(findings.get(check))
                .map(Finding::grade)
                .orElseThrow(() -> new AssertionError(check));
    }

    @Test
    void staysSilentAtADurableServer() {
        try (RedisServer durable = RedisServer.builder().durable().start()) {
            Map<String, Finding> findings = diagnosed(durable.uri());
            // The server has just started, which is a finding; load on the machine may make answers slow.
            findings.remove("restart");
            findings.remove("latency");
            assertThat(findings.values())
                    .allSatisfy(finding ->
                            assertThat(finding.grade()).as(finding.toString()).isEqualTo(Grade.GOOD));
            assertThat(findings)
                    .containsKeys(
                            "version",
                            "eviction",
                            "persistence",
                            "replicas",
                            "buffers",
                            "idle",
                            "connections",
                            "clock",
                            "wake-ups",
                            "rights",
                            "settings",
                            "promises");
        }
    }

    @Test
    void saysWhatIsWrongWithAServerThatEvictsForgetsAndCuts() {
        try (RedisServer bad = RedisServer.builder()
                .maxMemory("100mb", "allkeys-lru")
                .config("client-output-buffer-limit pubsub 1000 500 1")
                .config("timeout 3")
                .start()) {
            Map<String, Finding> findings = diagnosed(bad.uri());
            assertThat(grade(findings, "eviction")).isEqualTo(Grade.UNSAFE);
            assertThat(findings.get("eviction").remedy())
                    .isEqualTo("CONFIG SET maxmemory-policy noeviction; CONFIG RESETSTAT; CONFIG REWRITE");
            assertThat(grade(findings, "persistence")).isEqualTo(Grade.UNSAFE);
            assertThat(grade(findings, "buffers")).isEqualTo(Grade.WARNING);
            assertThat(grade(findings, "idle")).isEqualTo(Grade.WARNING);
            assertThat(grade(findings, "restart")).isEqualTo(Grade.WARNING);
            bad.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
            bad.call("CONFIG", "SET", "appendonly", "yes");
            bad.call("CONFIG", "SET", "appendfsync", "everysec");
            findings = diagnosed(bad.uri());
            assertThat(grade(findings, "eviction"))
                    .as("the line that was pasted helped")
                    .isEqualTo(Grade.GOOD);
            assertThat(grade(findings, "persistence")).isEqualTo(Grade.WARNING);
        }
    }

    @Test
    void degradesWhereRightsAreMissing() {
        String rules = "on >secret ~lock:* resetchannels +evalsha +eval +time +get +mget +set +del +exists +type +pttl"
                + " +pexpire +zadd +zrem +zrangebyscore +zrevrange +hset +hdel +hmget +setrange +append +ping +info +select +scan +publish";
        try (RedisServer narrow = RedisServer.builder().user("shop", rules).start()) {
            String uri = narrow.uri().replaceFirst("redis://[^/]*@?127", "redis://shop:secret@127");
            Map<String, Finding> findings = diagnosed(uri);
            assertThat(grade(findings, "config")).isEqualTo(Grade.UNKNOWN);
            assertThat(findings.get("config").remedy()).contains("+config|get");
            assertThat(grade(findings, "wake-ups")).isEqualTo(Grade.WARNING);
            assertThat(grade(findings, "rights")).isEqualTo(Grade.GOOD);
            assertThat(findings.toString()).doesNotContain("secret");
        }
    }

    @Test
    void saysWhichRightIsMissingForLocks() {
        try (RedisServer narrow = RedisServer.builder()
                .user("shop", "on >secret ~lock:* &* +info +select +scan +mget +time +config|get +subscribe +ping")
                .start()) {
            String uri = narrow.uri().replaceFirst("redis://[^/]*@?127", "redis://shop:secret@127");
            try (LockClient locks = Leasehold.connect(uri)) {
                // The latency check also runs a script, which is refused; an exception or a finding reports that.
                assertThat(catchMessage(() -> locks.admin().diagnose().toString()))
                        .contains("evalsha");
            }
        }
    }

    private static String catchMessage(java.util.function.Supplier<String> question) {
        try {
            return question.get();
        } catch (RuntimeException e) {
            return String.valueOf(e.getMessage());
        }
    }

    @Test
    void saysThatReplicasAreNotWaitedFor() throws Exception {
        try (RedisServer primary = RedisServer.start();
                RedisServer replica = RedisServer.start()) {
            replica.call("REPLICAOF", "127.0.0.1", Integer.toString(primary.port()));
            await("a replica", () -> primary.call("INFO", "replication").contains("connected_slaves:1"));
            assertThat(grade(diagnosed(primary.uri()), "replicas")).isEqualTo(Grade.WARNING);
            primary.call("CONFIG", "SET", "min-replicas-to-write", "1");
            await("a good replica", () -> grade(diagnosed(primary.uri()), "replicas") == Grade.GOOD);
        }
    }
}
