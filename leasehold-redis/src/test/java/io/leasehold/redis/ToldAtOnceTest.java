package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.lettuce.core.RedisURI;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests that the server notifies the client at once when the key of a hold is gone ({@code toldAtOnce}). With the
 * default ttl the next renewal comes after nine seconds at the earliest.
 */
@Tag("quick")
@Timeout(120)
final class ToldAtOnceTest {

    private static final Duration LONG_BEFORE_A_RENEWAL = Duration.ofSeconds(5);
    private static final String STRANGER = "somebody";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static RedisServer server() {
        return SERVER.server();
    }

    private static String told(RedisServer server) {
        return server.uri() + "?toldAtOnce=true";
    }

    private static LockClient client() {
        LockClient client = Leasehold.connect(told(server()));
        until("it is notified", () -> trackers(server()).size() == 1);
        return client;
    }

    /** The ids of the connections that track keys. */
    private static List<String> trackers(RedisServer server) {
        return server.call("CLIENT", "LIST")
                .lines()
                .filter(line -> Pattern.compile(" flags=\\w*t").matcher(line).find())
                .map(line -> line.replaceFirst("^id=(\\d+) .*", "$1"))
                .toList();
    }

    private static long calls(RedisServer server, String command) {
        Matcher calls =
                Pattern.compile("cmdstat_" + command + ":calls=(\\d+)").matcher(server.call("INFO", "commandstats"));
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    private static LossCause lossOf(Hold hold) throws Exception {
        long from = System.nanoTime();
        HoldEnd end = hold.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(LONG_BEFORE_A_RENEWAL);
        assertThat(end).isInstanceOf(HoldEnd.Lost.class);
        return ((HoldEnd.Lost) end).cause();
    }

    @Test
    void ofAKeyThatIsDeleted() throws Exception {
        try (LockClient locks = client();
                Lease lease = locks.named("deleted").acquire()) {
            server().call("DEL", "lock:{deleted}");
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void ofAKeyThatIsOverwritten() throws Exception {
        try (LockClient locks = client();
                Lease lease = locks.named("overwritten").acquire()) {
            server().call("SET", "lock:{overwritten}", STRANGER);
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
            assertThat(server().call("GET", "lock:{overwritten}").strip()).isEqualTo(STRANGER);
        }
    }

    @Test
    void ofALockThatAnOperatorTakes() throws Exception {
        try (LockClient locks = client();
                LockClient operator = Leasehold.connect(server().uri());
                Lease lease = locks.named("taken").acquire()) {
            assertThat(operator.admin().forceRelease(LockName.exactly("taken"), locks.holderId()))
                    .isTrue();
            assertThat(lossOf(lease)).isIn(LossCause.FORCE_RELEASED, LossCause.NOT_OURS);
        }
    }

    @Test
    void ofEveryKeyWhenAllAreFlushedInFewRequests() throws Exception {
        List<Lease> held = new ArrayList<>();
        try (LockClient locks = client()) {
            for (int i = 0; i < 300; i++) {
                held.add(locks.named("flushed " + i).acquire());
            }
            server().call("CONFIG", "RESETSTAT");
            server().call("FLUSHALL");
            for (Lease lease : held) {
                assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
            }
            assertThat(calls(server(), "evalsha")).as("renewed together").isLessThan(30);
            assertThat(calls(server(), "mget")).as("read together").isLessThan(10);
        }
    }

    @Test
    void ofAKeyThatIsEvicted() throws Exception {
        try (RedisServer small = RedisUnderTest.start(builder -> builder.maxMemory("3mb", "allkeys-lru"));
                LockClient locks = Leasehold.connect(told(small));
                Lease lease = locks.named("evicted").acquire()) {
            String filling = "x".repeat(10_000);
            for (int i = 0; i < 5_000 && small.call("EXISTS", "lock:{evicted}").contains("1"); i++) {
                small.call("SET", "filling" + i, filling);
            }
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void ofOnePartOfSeveral() throws Exception {
        try (LockClient locks = client();
                MultiLease lease = locks.all(LockName.exactly("one"), LockName.exactly("other"))
                        .acquire()) {
            server().call("DEL", "lock:{other}");
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void ofAnEfficiencyLock() throws Exception {
        try (EfficiencyLocks locks = EfficiencyLocks.connect(told(server()));
                Hold hold = locks.named("plain").acquire()) {
            server().call("DEL", "lock:{plain}");
            assertThat(lossOf(hold)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void overAClientThatIsBroughtAlong() throws Exception {
        RedisStore store = RedisStore.over(SERVER.client(), RedisURI.create(server().uri()))
                .toldAtOnce();
        try (LockClient locks = Leasehold.builder().store(store::open).connect();
                Lease lease = locks.named("brought").acquire()) {
            server().call("DEL", "lock:{brought}");
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    /** A reading decides whether a renewal follows, so that a key that still exists is not extended. */
    @Test
    void aLeaseOfFixedTtlIsToldAndNotExtended() throws Exception {
        try (LockClient locks = client();
                Lease lease = locks.named("fixed")
                        .with(o -> o.renewal(Renewal.none()).ttl(Duration.ofSeconds(60)))
                        .acquire()) {
            server().call("CONFIG", "RESETSTAT");
            server().call("PEXPIRE", "lock:{fixed}", "50000");
            until("it is read", () -> calls(server(), "mget") > 0);
            assertThat(calls(server(), "evalsha")).isZero();
            assertThat(Long.parseLong(server().call("PTTL", "lock:{fixed}").strip()))
                    .isLessThanOrEqualTo(50_000);
            assertThat(lease.isValid()).isTrue();
            server().call("DEL", "lock:{fixed}");
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    // ---- changes that are not losses

    @Test
    void ourOwnRenewalsAreReadOnceEachAndAskedAboutNever() throws Exception {
        try (LockClient locks = client();
                Lease lease = locks.named("renewed").acquire()) {
            until("it is read", () -> calls(server(), "mget") > 1);
            server().call("CONFIG", "RESETSTAT");
            for (int i = 1; i <= 50; i++) {
                // A renewal extends the ttl only if it has become shorter.
                Thread.sleep(2);
                lease.renew();
            }
            assertThat(calls(server(), "evalsha")).isEqualTo(50);
            // One in each renewal, and one for each message about it.
            assertThat(calls(server(), "mget")).isLessThanOrEqualTo(101);
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void aStrangerThatChangesTheKeyAgainAndAgainTakesNothing() throws Exception {
        try (LockClient locks = client();
                Lease lease = locks.named("touched").acquire()) {
            server().call("CONFIG", "RESETSTAT");
            for (int i = 0; i < 500; i++) {
                server().call("PEXPIRE", "lock:{touched}", "60000");
            }
            assertThat(calls(server(), "mget")).isLessThanOrEqualTo(501);
            assertThat(calls(server(), "evalsha")).isZero();
            assertThat(lease.isValid()).isTrue();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void releasesAreNoLosses() throws Exception {
        try (LockClient locks = client()) {
            for (int i = 0; i < 500; i++) {
                Lease lease = locks.named("again").acquire();
                assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
                assertThat(lease.whenEnded().toCompletableFuture().join()).isInstanceOf(HoldEnd.Released.class);
            }
        }
    }

    // ---- the connection

    /** Reports of the meantime were lost, so every hold is checked. */
    @Test
    void aConnectionThatEndsIsMadeAgainAndAllIsReadAgain() throws Exception {
        try (LockClient locks = client();
                Lease lost = locks.named("lost meanwhile").acquire();
                Lease kept = locks.named("kept").acquire()) {
            for (int i = 0; i < 3; i++) {
                String id = trackers(server()).get(0);
                server().call("CLIENT", "KILL", "ID", id);
                until("it is notified again", () -> {
                    List<String> now = trackers(server());
                    return now.size() == 1 && !now.contains(id);
                });
            }
            server().call("CLIENT", "KILL", "ID", trackers(server()).get(0));
            server().call("DEL", "lock:{lost meanwhile}");
            assertThat(lossOf(lost)).isEqualTo(LossCause.NOT_OURS);
            assertThat(kept.isValid()).isTrue();
            until("it is notified again", () -> trackers(server()).size() == 1);
            server().call("DEL", "lock:{kept}");
            assertThat(lossOf(kept)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void withoutTheOptionThereIsNoSuchConnectionAndNothingIsRead() throws Exception {
        try (LockClient locks = Leasehold.connect(server().uri());
                Lease lease = locks.named("as ever").acquire()) {
            server().call("CONFIG", "RESETSTAT");
            lease.renew();
            assertThat(trackers(server())).isEmpty();
            assertThat(calls(server(), "mget")).as("that of the renewal").isOne();
            assertThat(calls(server(), "client\\|tracking")).isZero();
        }
    }

    // ---- rights

    private static final String USER = "on >secret resetchannels " + RedisErrors.RIGHTS;

    private static String as(String user, RedisServer server) {
        return told(server).replace("//", "//" + user + ":secret@");
    }

    @Test
    void theRightsThatAreDocumentedSuffice() throws Exception {
        try (RedisServer guarded =
                        RedisUnderTest.start(builder -> builder.user("app", USER + Deployment.RIGHTS_TO_BE_TOLD));
                LockClient locks = Leasehold.connect(as("app", guarded));
                Lease lease = locks.named("guarded").acquire()) {
            until("it is notified", () -> trackers(guarded).size() == 1);
            guarded.call("DEL", "lock:{guarded}");
            assertThat(lossOf(lease)).isEqualTo(LossCause.NOT_OURS);
        }
    }

    @Test
    void withoutThemItIsWarnedOfOnceAndAllIsAsWithoutTheOption() throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (RedisServer guarded = RedisUnderTest.start(builder -> builder.user("app", USER));
                LockClient locks = Leasehold.connect(as("app", guarded));
                Lease lease = locks.named("guarded").acquire()) {
            until("it is warned of", () -> log.toString(StandardCharsets.UTF_8).contains("changes of held locks"));
            assertThat(log.toString(StandardCharsets.UTF_8).split("not subscribed to changes of held locks", -1))
                    .hasSize(2);
            assertThat(log.toString(StandardCharsets.UTF_8)).contains("client|tracking");
            lease.renew();
            guarded.call("DEL", "lock:{guarded}");
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        } finally {
            System.setErr(before);
        }
    }

    @Test
    void aReadingThatIsRefusedIsWarnedOfOnceAndSeldomRepeated() throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        String rules = USER + Deployment.RIGHTS_TO_BE_TOLD;
        try (RedisServer guarded = RedisUnderTest.start(builder -> builder.user("app", rules));
                LockClient locks = Leasehold.connect(as("app", guarded));
                Lease lease = locks.named("guarded").acquire()) {
            until("it is read", () -> calls(guarded, "mget") > 1);
            guarded.call("ACL", "SETUSER", "app", "-mget");
            guarded.call("CONFIG", "RESETSTAT");
            guarded.call("PEXPIRE", "lock:{guarded}", "60000");
            until("it is warned of", () -> log.toString(StandardCharsets.UTF_8).contains("read held locks"));
            Thread.sleep(2_500);
            assertThat(log.toString(StandardCharsets.UTF_8).split("read held locks", -1))
                    .hasSize(2);
            assertThat(guarded.call("INFO", "commandstats"))
                    .containsPattern("cmdstat_mget:calls=0,.*rejected_calls=1,");
            assertThat(lease.isValid()).isTrue();
        } finally {
            System.setErr(before);
        }
    }
}
