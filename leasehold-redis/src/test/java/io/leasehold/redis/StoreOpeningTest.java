package io.leasehold.redis;

import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of opening a store: its findings and refusals, and that nothing is left of one that was refused. */
@Tag("quick")
@Timeout(120)
final class StoreOpeningTest {

    private static final long OPEN_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final List<ScriptedRedis> servers = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (ScriptedRedis server : servers) {
            server.close();
        }
        runtime.close();
    }

    private ScriptedRedis server() throws IOException {
        ScriptedRedis made = new ScriptedRedis();
        servers.add(made);
        String info = "run_id:life" + made.port()
                + "\r\nredis_version:7.0.9\r\nrole:master\r\ncluster_enabled:0\r\n"
                + "cmdstat_config|get:calls=2,failed_calls=0\r\n";
        made.says("INFO", bulk(info)).says("TIME", command -> {
            long micros = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
            return bulks(Long.toString(micros / 1_000_000), Long.toString(micros % 1_000_000));
        });
        return configured(made, "always", "noeviction");
    }

    private static ScriptedRedis configured(ScriptedRedis server, String fsync, String policy) {
        return server.says(
                "CONFIG",
                command -> command.get(2).contains("append")
                        ? bulks("appendonly", "yes", "appendfsync", fsync, "no-appendfsync-on-rewrite", "no")
                        : bulks("maxmemory-policy", policy, "maxmemory", "1000000"));
    }

    private LockStore open(ScriptedRedis server) {
        return new RedisStoreProvider().open(StoreUri.parse("redis://" + server.address()), runtime);
    }

    private void leavesNothing() {
        until("nothing is left", () -> servers.stream().allMatch(server -> server.open() == 0));
    }

    // ---- one server

    @Test
    void aServerPromisesAsMuchAsItsSettingsDo() throws Exception {
        try (LockStore durable = open(server())) {
            assertThat(durable.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
            assertThat(durable.description()).startsWith("redis://127.0.0.1:");
        }
        try (LockStore store = open(configured(server(), "everysec", "noeviction"))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
        try (LockStore store = open(configured(server(), "always", "allkeys-lru"))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
        leavesNothing();
    }

    @Test
    void forPlainLocksItIsFoundOutHowTheServerDeletes() throws Exception {
        ScriptedRedis server = server();
        try (LockStore plain = RedisStore.at("redis://" + server.address()).openPlain(runtime)) {
            assertThat(server.asked("INFO server"))
                    .as("once, and once before the connection is offered to other clients")
                    .isEqualTo(2);
            assertThat(plain.guarantees().queueing()).isEqualTo(Guarantee.Queueing.POLLING);
        }
        leavesNothing();
    }

    /** A proxy that closes such connections does not prevent locks; a server that answers with another error does. */
    @Test
    void settingsThatCannotBeReadPromiseNothing() throws Exception {
        try (LockStore store = open(server().says("CONFIG", "-NOPERM no\r\n"))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
        try (LockStore store = open(server().says("CONFIG", ScriptedRedis.END))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
        ScriptedRedis loading = server().says("CONFIG", "-LOADING Redis is loading the dataset in memory\r\n");
        assertThatThrownBy(() -> open(loading))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("LOADING");
        leavesNothing();
    }

    @Test
    void whatIsRefusedSaysWhyAndLeavesNothing() throws Exception {
        ScriptedRedis replica = server().is("role:slave", "master_host:h", "master_port:1");
        assertThatThrownBy(() -> open(replica))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("name its primary, h:1");
        assertThatThrownBy(() -> RedisStore.at("redis://" + replica.address()).openPlain(runtime))
                .isInstanceOf(UnsafeStoreException.class);
        leavesNothing();
    }

    @Test
    void aServerThatDoesNotAnswerIsGivenUpAfterFiveSeconds() throws Exception {
        runtime.hurry(TimeUnit.SECONDS.toNanos(3), TimeUnit.MINUTES.toNanos(10));
        ScriptedRedis silent = server().says("CONFIG", ScriptedRedis.SILENCE);
        runtime.changing(delay -> delay == OPEN_NANOS ? TimeUnit.MILLISECONDS.toNanos(300) : delay);
        assertThatThrownBy(() -> open(silent))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("redis://" + silent.address() + " did not answer within 5 s");
        assertThatThrownBy(() -> RedisStore.at("redis://" + silent.address()).openPlain(runtime))
                .isInstanceOf(StoreUnavailableException.class);
        leavesNothing();
    }

    @Test
    void aProviderIsAskedForTheLogin() throws Exception {
        ScriptedRedis server = server();
        StoreUri uri = StoreUri.parse("redis://" + server.address());
        try (LockStore store = new RedisStoreProvider().open(uri, () -> Credentials.of("app", "drawn"), runtime)) {
            assertThat(store.description()).isEqualTo("redis://" + server.address());
        }
        assertThat(server.asked("AUTH app drawn")).isPositive();
        server.says("AUTH", "-WRONGPASS invalid username-password pair\r\n");
        assertThatThrownBy(() -> new RedisStoreProvider().open(uri, () -> Credentials.of("app", "drawn"), runtime))
                .isInstanceOf(StoreAccessException.class);
        leavesNothing();
    }

    @Test
    void aClientThatIsBroughtAlongLivesOn() throws Exception {
        ScriptedRedis server = server();
        RedisClient client = RedisClient.create();
        try {
            RedisStore store = RedisStore.over(client, RedisURI.create("127.0.0.1", server.port()));
            assertThat(store).hasToString("redis://" + server.address());
            assertThat(store.keys("app:{*}")).hasToString("redis://" + server.address());
            try (LockStore opened = store.keys("app:{*}").open(runtime)) {
                assertThat(opened.description()).isEqualTo("redis://" + server.address());
            }
            leavesNothing();
            client.connect(RedisURI.create("127.0.0.1", server.port())).close();
            assertThatThrownBy(() -> RedisStore.over((RedisClient) null, RedisURI.create("h", 1)))
                    .isInstanceOf(NullPointerException.class);
            assertThatThrownBy(() -> store.credentials(null)).isInstanceOf(NullPointerException.class);
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
        RedisClusterClient cluster = RedisClusterClient.create("redis://127.0.0.1");
        try {
            assertThat(RedisStore.over(cluster, RedisURI.create("a", 1), RedisURI.create("b", 2)))
                    .hasToString("redis-cluster://a:1,b:2");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RedisStore.over(cluster))
                    .withMessageContaining("at least one node");
            assertThatThrownBy(() -> RedisStore.over((RedisClusterClient) null, RedisURI.create("h", 1)))
                    .isInstanceOf(NullPointerException.class);
        } finally {
            cluster.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    @Test
    void eachProviderNamesItsSchemes() {
        assertThat(new RedisStoreProvider().schemes()).contains("redis", "rediss-cluster");
        assertThat(new RedlockStoreProvider().schemes()).containsExactly("redlock");
    }

    // ---- a set

    private static String node(ScriptedRedis server, String parameters) {
        return "redis://" + server.address() + parameters;
    }

    private static StoreUri uri(String... nodes) {
        StringBuilder uri = new StringBuilder("redlock:?maxTtl=30s");
        for (String node : nodes) {
            uri.append("&node=").append(URLEncoder.encode(node, StandardCharsets.UTF_8));
        }
        return StoreUri.parse(uri.toString());
    }

    private LockStore set(String... nodes) {
        return new RedlockStoreProvider().open(uri(nodes), runtime);
    }

    @Test
    void aMinorityThatIsAbsentIsTriedAgain() throws Exception {
        ScriptedRedis one = server();
        ScriptedRedis two = server();
        ScriptedRedis late = server().says("INFO", "-LOADING Redis is loading the dataset in memory\r\n");
        try (LockStore store = set(node(one, ""), node(two, ""), node(late, "?name=late"))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
            assertThat(store.description()).contains(one.address(), "late");
            long before = late.asked("INFO");
            until("it is tried again", () -> late.asked("INFO") >= before + 2);
            late.is("role:master");
            until("it is there", () -> {
                long asked = late.asked("INFO");
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(700));
                return late.open() == 1 && late.asked("INFO") == asked;
            });
        }
        leavesNothing();
    }

    @Test
    void aMajorityThatIsAbsentIsTold() throws Exception {
        ScriptedRedis one = server();
        String loading = "-LOADING Redis is loading the dataset in memory\r\n";
        ScriptedRedis two = server().says("INFO", loading);
        ScriptedRedis three = server().says("INFO", loading);
        assertThatThrownBy(() -> set(node(one, ""), node(two, ""), node(three, "")))
                .isInstanceOf(LockStoreException.class);
        leavesNothing();
    }

    @Test
    void aNodeThatRefusesKeepsTheSetFromBeingOpened() throws Exception {
        ScriptedRedis replica = server().is("role:slave", "master_host:h", "master_port:1");
        assertThatThrownBy(() -> set(node(server(), ""), node(server(), ""), node(replica, "")))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("is a replica");
        ScriptedRedis forgetful = configured(server(), "everysec", "noeviction");
        assertThatThrownBy(() -> set(node(server(), ""), node(server(), ""), node(forgetful, "?durable=true&name=f")))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("f");
        leavesNothing();
    }

    @Test
    void aNodeThatEvictsPromisesLess() throws Exception {
        ScriptedRedis evicting = configured(server(), "always", "allkeys-lru");
        try (LockStore store = set(node(server(), ""), node(server(), ""), node(evicting, ""))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        }
        leavesNothing();
    }

    private static String logOf(ThrowingCallable task) throws Throwable {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            task.call();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    /** For each way to open it; the log does not mention a server that evicts nothing. */
    @Test
    void whereHeldLocksMayBeDroppedThatIsSaid() throws Throwable {
        String evicts = "has maxmemory-policy allkeys-lru: it may drop held locks when its memory is full";
        ScriptedRedis evicting = configured(server(), "always", "allkeys-lru");
        String said = evicting.address() + " " + evicts;
        assertThat(logOf(() -> open(evicting).close())).contains(said);
        assertThat(logOf(() -> RedisStore.at("redis://" + evicting.address())
                        .openPlain(runtime)
                        .close()))
                .contains(said);
        assertThat(logOf(() -> set(node(server(), ""), node(server(), ""), node(evicting, ""))
                        .close()))
                .contains(said);
        assertThat(logOf(() -> open(server()).close())).doesNotContain(evicts);
    }

    @Test
    void aSetThatIsNoneIsRefusedBeforeAnybodyIsAsked() throws Exception {
        ScriptedRedis server = server();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> set(node(server, "?name=a"), node(server, "?name=a"), node(server, "?name=b")))
                .withMessageContaining("named twice");
        assertThat(server.asked("INFO")).isZero();
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Redlock.over(node(server, "?name=a"), node(server, "?name=b"), node(server, "?name=c"))
                                .maxTtl(Duration.ofDays(400))
                                .open(runtime))
                .withMessageContaining("maxTtl");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Redlock.over(node(server, "?name=a"), node(server, "?name=b"), node(server, "?name=c"))
                                .nodeTimeout(Duration.ofDays(400))
                                .open(runtime))
                .withMessageContaining("nodeTimeout");
        assertThat(server.asked("INFO")).isZero();
    }

    private AcquireReply asked(LockStore store) throws Exception {
        return store.acquire(AcquireRequest.exclusive(
                                List.of(LockName.of("x")),
                                OwnerToken.draw(runtime),
                                "host/1/x",
                                TimeUnit.SECONDS.toNanos(29),
                                TimeUnit.SECONDS.toNanos(60))
                        .nodeTimeout(TimeUnit.SECONDS.toNanos(9)))
                .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private ScriptedRedis granting(ScriptedRedis server, List<String> persistence) {
        return server.says("EVALSHA", command -> {
            if (!command.get(1).equals(LuaScript.MEMBER_ACQUIRE.sha1())) {
                return bulks("born", "1");
            }
            // With the run id of the connection, if that is already proved to lead to the server itself, or by INFO.
            persistence.add(command.get(command.size() - 1).equals("durable") ? "durable" : "compared");
            return bulks("yes", Long.toString(TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis())));
        });
    }

    /** A member is treated as declared, and a member that may drop locks votes if that was known at the opening. */
    @Test
    void aMemberVotesAsWhatItWasFoundToBe() throws Exception {
        List<String> durable = new CopyOnWriteArrayList<>();
        List<String> forgets = new CopyOnWriteArrayList<>();
        ScriptedRedis kept = granting(server(), durable);
        ScriptedRedis one = configured(granting(server(), forgets), "always", "allkeys-lru");
        ScriptedRedis two = configured(granting(server(), forgets), "always", "allkeys-lru");
        try (LockStore store = set(node(kept, "?durable=true"), node(one, ""), node(two, ""))) {
            assertThat(asked(store)).isInstanceOf(AcquireReply.Granted.class);
            until("all were asked", () -> durable.size() == 1 && forgets.size() == 2);
            assertThat(durable).containsExactly("durable");
            assertThat(forgets).containsExactly("compared", "compared");
        }
        leavesNothing();
    }

    /** The set has promised more than a server keeps whose settings change later. */
    @Test
    void aMemberThatBeginsToDropLocksDoesNotVote() throws Exception {
        List<ScriptedRedis> members = List.of(server(), server(), server());
        List<String> asked = new CopyOnWriteArrayList<>();
        members.forEach(member -> granting(member, asked));
        try (LockStore store = set(node(members.get(0), ""), node(members.get(1), ""), node(members.get(2), ""))) {
            assertThat(asked(store)).isInstanceOf(AcquireReply.Granted.class);
            for (ScriptedRedis member : members) {
                configured(member, "always", "allkeys-lru");
                member.says(
                        "INFO",
                        bulk("run_id:next" + member.port()
                                + "\r\nredis_version:7.0.9\r\nrole:master\r\ncluster_enabled:0\r\n"));
                long before = member.asked("INFO");
                member.endAll();
                until("it is there again", () -> member.asked("INFO") > before);
            }
            until("its configuration is known", () -> {
                try {
                    return asked(store) instanceof AcquireReply.Failed failed
                            && failed.error().getMessage().contains("set noeviction");
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
        }
        leavesNothing();
    }

    @Test
    void aNodeThatIsSilentIsWaitedForFiveSeconds() throws Exception {
        ScriptedRedis silent = server().says("INFO", ScriptedRedis.SILENCE);
        runtime.changing(delay -> delay == OPEN_NANOS ? TimeUnit.MILLISECONDS.toNanos(500) : delay);
        try (LockStore store = set(node(server(), ""), node(server(), ""), node(silent, ""))) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
        }
        leavesNothing();
    }

    /** It may have lost acknowledged writes, so the set promises no more than a member that drops locks can keep. */
    @Test
    void aMemberThatFailsOverPromisesLessAndVotesAlsoWhereItDropsLocks() throws Exception {
        List<ScriptedRedis> members = List.of(server(), server(), server());
        members.forEach(member -> granting(member, new CopyOnWriteArrayList<>()));
        String[] groups = members.stream()
                .map(member -> "redis-replicated://" + member.address())
                .toArray(String[]::new);
        try (LockStore store = set(groups)) {
            assertThat(store.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
            assertThat(asked(store)).isInstanceOf(AcquireReply.Granted.class);
            for (ScriptedRedis member : members) {
                configured(member, "always", "allkeys-lru");
                member.says(
                        "INFO",
                        bulk("run_id:next" + member.port()
                                + "\r\nredis_version:7.0.9\r\nrole:master\r\ncluster_enabled:0\r\n"));
                long before = member.asked("CONFIG");
                member.endAll();
                until("its next life is looked at", () -> {
                    try {
                        AcquireReply reply = asked(store);
                        return member.asked("CONFIG") > before && reply instanceof AcquireReply.Granted;
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                });
            }
            assertThat(asked(store)).isInstanceOf(AcquireReply.Granted.class);
        }
        leavesNothing();
    }

    @Test
    void eachNodeIsLoggedInToWithTheProvider() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        ScriptedRedis one = granting(server(), asked);
        ScriptedRedis two = granting(server(), asked);
        ScriptedRedis three = granting(server(), asked);
        Redlock set = Redlock.over(node(one, "?durable=true"), node(two, ""), node(three, "?name=n"));
        assertThat(set).hasToString("Redlock[redis://" + one.address() + ", redis://" + two.address() + ", n]");
        Redlock drawn = set.credentials(() -> Credentials.ofPassword("drawn"));
        assertThat(drawn).hasToString(set.toString());
        try (LockStore store = drawn.open(runtime)) {
            assertThat(store.guarantees().scope()).isEqualTo(Guarantee.Scope.NETWORK);
            assertThat(asked(store)).isInstanceOf(AcquireReply.Granted.class);
            until("all were asked", () -> asked.size() == 3);
            assertThat(asked).as("as what they are").containsExactlyInAnyOrder("durable", "compared", "compared");
        }
        assertThat(List.of(one, two, three)).allMatch(server -> server.asked("AUTH drawn") > 0);
        try (LockStore store = new RedlockStoreProvider()
                .open(
                        uri(node(one, ""), node(two, ""), node(three, "")),
                        () -> Credentials.ofPassword("provided"),
                        runtime)) {
            assertThat(store.guarantees().scope()).isEqualTo(Guarantee.Scope.NETWORK);
        }
        assertThat(List.of(one, two, three)).allMatch(server -> server.asked("AUTH provided") > 0);
        assertThatThrownBy(() -> set.credentials(null)).isInstanceOf(NullPointerException.class);
        leavesNothing();
    }
}
