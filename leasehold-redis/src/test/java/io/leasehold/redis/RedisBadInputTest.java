package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.servers.RedisServer;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that odd names work, and that invalid input causes one clear error without losses. */
@Tag("quick")
class RedisBadInputTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static LockClient connect() {
        return Leasehold.connect(SERVER.server().uri());
    }

    static List<String> oddNames() {
        return List.of(
                "{a}",
                "a{b}c",
                "}",
                "}x",
                "{}",
                "%7Dx",
                " leading and trailing ",
                "two  blanks",
                "zürich/☂/🔒",
                "quote\"back\\slash'",
                "*",
                "a?[b]^-",
                "é".repeat(512),
                "x".repeat(1024));
    }

    @ParameterizedTest
    @MethodSource("oddNames")
    void oddNamesAreLocksLikeAnyOther(String name) throws Exception {
        try (LockClient one = connect();
                LockClient other = connect()) {
            Lease lease = one.named(name).acquire();
            CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
            NodeBench.until("queued", () -> SERVER.redis().keys("*:queued").size() == 1);
            assertThat(other.admin().list("*", 10))
                    .extracting(LockAdmin.HeldLock::name)
                    .containsExactly(LockName.exactly(name));
            lease.release();
            try (Lease next = waiting.get(60, TimeUnit.SECONDS)) {
                assertThat(next.lockName()).isEqualTo(LockName.exactly(name));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"4096, 1024", "1025, 1024"})
    void aNameThatIsTooLongIsRefusedWithTheRule(int length, int most) {
        try (LockClient locks = connect()) {
            assertThatThrownBy(() -> locks.named("x".repeat(length)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(Integer.toString(length))
                    .hasMessageContaining(Integer.toString(most));
            assertThat(SERVER.redis().keys("*")).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"hash", "list", "set", "zset", "stream"})
    void aKeyOfAnotherTypeIsBusyAndStays(String type) throws InterruptedException {
        String key = "lock:{order:1}";
        put(type, key);
        try (LockClient locks = connect()) {
            assertThat(locks.named("order:1").attempt(Duration.ZERO))
                    .isInstanceOfSatisfying(
                            Attempt.Busy.class,
                            busy -> assertThat(String.valueOf(busy.holder()))
                                    .contains("foreign client")
                                    .contains("the key holds a " + type));
            assertThatThrownBy(() -> locks.admin().forceRelease(LockName.exactly("order:1"), null))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining(key)
                    .hasMessageContaining(type);
            assertThat(SERVER.redis().type(key)).isEqualTo(type);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"hash", "list", "set", "zset", "stream"})
    void aFenceOfAnotherTypeIsOneErrorAndStays(String type) {
        String key = "lock:{order:1}:fence";
        put(type, key);
        try (LockClient locks = connect()) {
            assertThatThrownBy(() -> locks.named("order:1").acquire())
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining(key)
                    .hasMessageContaining(type)
                    .hasMessageContaining("order:1");
            assertThat(SERVER.redis().type(key)).isEqualTo(type);
            assertThat(SERVER.redis().exists("lock:{order:1}")).isZero();
        }
    }

    private static void put(String type, String key) {
        switch (type) {
            case "hash" -> SERVER.redis().hset(key, "f", "v");
            case "list" -> SERVER.redis().rpush(key, "v");
            case "set" -> SERVER.redis().sadd(key, "v");
            case "zset" -> SERVER.redis().zadd(key, 1, "v");
            default -> SERVER.redis().xadd(key, "f", "v");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "-evalsha -eval, EVAL,    +eval",
        "-set,           SET,     +set",
        "-time,          TIME,    +time",
        "-mget,          MGET,    +mget"
    })
    void aMissingRightIsNamedWithItsRule(String missing, String command, String rule) {
        missingRight(RedisUnderTest.start(b -> b.user("app", "on >secret ~lock:* &* +@all " + missing)), command, rule);
    }

    @ParameterizedTest
    @CsvSource({"-set, SET, +set", "-time, TIME, +time"})
    void aMissingRightIsNamedByTheOldestServerToo(String missing, String command, String rule) {
        missingRight(
                RedisUnderTest.start(b ->
                        b.binary(BundledBinaries.oldestServer()).user("app", "on >secret ~lock:* &* +@all " + missing)),
                command,
                rule);
    }

    private static void missingRight(RedisServer server, String command, String rule) {
        try (server;
                LockClient locks = Leasehold.connect("redis://app:secret@127.0.0.1:" + server.port())) {
            assertThatThrownBy(() -> locks.named("order:1").acquire())
                    .isInstanceOf(StoreAccessException.class)
                    // The clock is read before the first candidate is made.
                    .hasMessageContaining(command.equals("TIME") ? "read the clock" : "acquire lock \"order:1\"")
                    .hasMessageContaining("The right to run " + command)
                    .hasMessageContaining("ACL SETUSER <user> " + rule);
            assertThat(server.call("EXISTS", "lock:{order:1}")).isEqualTo("0");
        }
    }

    @Test
    void anEvictingPolicyIsWarnedOfOnce() throws InterruptedException {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        try (RedisServer server = RedisUnderTest.start(b -> b.maxMemory("100mb", "allkeys-lru"))) {
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            try (LockClient locks = Leasehold.connect(server.uri())) {
                locks.named("a").acquire().close();
                server.stop();
                server.restart();
                NodeBench.until("connected again", () -> {
                    try (Lease lease = locks.named("a").tryAcquire(Duration.ofSeconds(5))) {
                        return lease != null;
                    } catch (LockStoreException | InterruptedException e) {
                        return false;
                    }
                });
            }
        } finally {
            System.setErr(before);
        }
        assertThat(log.toString(StandardCharsets.UTF_8).lines().filter(line -> line.contains("maxmemory-policy")))
                .singleElement()
                .asString()
                .contains("allkeys-lru")
                .contains("noeviction");
    }
}
