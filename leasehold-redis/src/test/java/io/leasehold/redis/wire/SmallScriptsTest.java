package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.StoredQueue;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of the birth of a member, of the list of waiters, and of the answers to a renewal or a plain request with
 * limited rights.
 */
@Tag("quick")
final class SmallScriptsTest {

    private static final String MARKER = KeyLayout.marker("");
    private static final String LOCK = "lock:{x}";
    private static final String OWNER = "0123456789abcdef0123456789abcdef01234567";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private static List<Object> run(
            RedisCommands<String, String> redis, LuaScript script, List<String> keys, String... arguments) {
        return redis.eval(script.text(), ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments);
    }

    // ---- a member's birth

    private static Object birth(String nonce, String born) {
        return run(redis(), LuaScript.MEMBER_BIRTH, List.of(MARKER), nonce, born, "set")
                .get(0);
    }

    private static String runId() {
        return redis().info("server")
                .lines()
                .filter(line -> line.startsWith("run_id:"))
                .findFirst()
                .orElseThrow()
                .substring("run_id:".length());
    }

    @Test
    void aLifeIsToldItsBirthOnce() {
        redis().set(MARKER, "unborn|n1|" + runId());
        assertThat(birth("n2", "55")).as("the nonce of another life").isEqualTo("refused");
        assertThat(redis().get(MARKER)).isEqualTo("unborn|n1|" + runId());
        assertThat(birth("n1", "55")).isEqualTo("born");
        assertThat(redis().get(MARKER)).isEqualTo("born|55|" + runId() + "|set");
        assertThat(birth("n1", "66")).as("a second time").isEqualTo("refused");
        assertThat(redis().get(MARKER)).isEqualTo("born|55|" + runId() + "|set");
    }

    /** The marker came with the data of another process. */
    @Test
    void aMarkerOfAnotherProcessIsNoBirth() {
        redis().set(MARKER, "unborn|n1|another");
        assertThat(birth("n1", "55")).isEqualTo("refused");
        assertThat(redis().get(MARKER)).isEqualTo("unborn|n1|another");
        redis().del(MARKER);
        assertThat(birth("n1", "55")).isEqualTo("refused");
        assertThat(redis().exists(MARKER)).isZero();
    }

    @Test
    void anOperatorDeclaresAnyLifeNew() {
        assertThat(birth("*", "0")).isEqualTo("born");
        assertThat(redis().get(MARKER)).isEqualTo("born|0|" + runId() + "|set");
        redis().set(MARKER, "unborn|n1|another");
        assertThat(birth("*", "0")).isEqualTo("born");
        assertThat(redis().get(MARKER)).isEqualTo("born|0|" + runId() + "|set");
    }

    // ---- waiters

    private static List<Object> waiters(int limit) {
        return run(redis(), LuaScript.WAITERS, List.of(KeyLayout.queueKeys(LOCK)), Integer.toString(limit));
    }

    private static StoredQueue.Waiter waiter(String owner, long arrival, long alive, String holder) {
        return new StoredQueue.Waiter(owner, arrival, alive, "channel", 3_000, 1, holder);
    }

    @Test
    void waitersAreToldInTheirOrderUpToTheLimitWithoutTheDead() {
        long later = System.currentTimeMillis() * 1_000 + 3_600_000_000L;
        assertThat(waiters(9)).as("no queue").hasSize(1);
        StoredQueue queue = StoredQueue.of(null)
                .and(waiter("a", 10, later, "host/1/a"))
                .and(waiter("dead", 15, 5, "host/9/dead"))
                .and(waiter("b", 20, later, ""))
                .and(waiter("c", 19, later, "host/3/c of: many words"));
        redis().set(KeyLayout.queued(LOCK), queue + "\nlost 17");
        List<String> all = List.of("10", "host/1/a", "20", "", "19", "host/3/c of: many words");
        for (int limit = 0; limit <= 4; limit++) {
            List<Object> reply = waiters(limit);
            assertThat(reply.subList(1, reply.size()))
                    .as("limit %s", limit)
                    .isEqualTo(all.subList(0, Math.min(6, 2 * limit)));
            assertThat((String) reply.get(0)).matches("[0-9]{16}");
        }
    }

    @Test
    void aQueueOfAnotherVersionIsNotRead() {
        redis().set(KeyLayout.queued(LOCK), "1");
        assertThat(waiters(9)).startsWith("version").endsWith(KeyLayout.queued(LOCK), "1", "2");
        redis().set(KeyLayout.queued(LOCK), "");
        assertThat(waiters(9)).startsWith("broken").endsWith(KeyLayout.queued(LOCK), "string");
    }

    // ---- inspection

    private static List<Object> inspected(String value) {
        redis().set(LOCK, value, SetArgs.Builder.px(60_000));
        return run(redis(), LuaScript.INSPECT, List.of(LOCK));
    }

    /** Never an owner token, never the text of a foreign client, and no more than the length of a holder id. */
    @Test
    void whatIsToldOfAHold() {
        List<Object> held = inspected(OWNER + ":7:host/1/x");
        assertThat(held.subList(0, 3)).containsExactly("held", "lock", "7:host/1/x");
        assertThat(Long.parseLong((String) held.get(3))).isBetween(50_000L, 60_000L);
        assertThat((String) inspected(OWNER + ":7:" + "h".repeat(1_000)).get(2)).hasSize(559);
        for (String strange : List.of(OWNER, OWNER + "7:h", OWNER + ":x:h", "text")) {
            assertThat(inspected(strange).subList(0, 3)).containsExactly("held", "foreign", "string");
        }
    }

    // ---- rights

    private interface Use {
        void of(RedisCommands<String, String> redis);
    }

    private static void withRights(String rights, Use use) {
        SERVER.server().call(("ACL SETUSER part reset on >secret ~* +eval " + rights).split(" "));
        RedisURI uri = RedisURI.create(SERVER.server().uri().replace("//", "//part:secret@"));
        try (StatefulRedisConnection<String, String> connection =
                SERVER.client().connect(uri)) {
            use.of(connection.sync());
        }
    }

    /** Each of several keys has its own answer. */
    @Test
    void aRenewalThatIsRefusedSaysAtWhichCommand() {
        redis().set(LOCK, OWNER + ":7:h", SetArgs.Builder.px(5_000));
        withRights(
                "+get +pttl",
                part -> assertThat((String) run(part, LuaScript.RENEW, List.of(LOCK), "9000", OWNER + ":")
                                .get(2))
                        .contains("(at the 'pexpire' command)"));
        withRights(
                "+pttl +pexpire",
                part -> assertThat((String) run(part, LuaScript.RENEW, List.of(LOCK), "9000", OWNER + ":")
                                .get(2))
                        .contains("(at the 'get' command)"));
        assertThat(redis().pttl(LOCK)).isLessThanOrEqualTo(5_000);
    }

    /** Only a text with a colon after it is an owner token. */
    @Test
    void aValueThatOnlyBeginsLikeAHoldIsNotRenewed() {
        redis().set(LOCK, OWNER + "0:7:h", SetArgs.Builder.px(5_000));
        assertThat(run(redis(), LuaScript.RENEW, List.of(LOCK), "9000", OWNER + ":"))
                .containsExactly(0L, 1L, 0L);
        assertThat(redis().pttl(LOCK)).isLessThanOrEqualTo(5_000);
    }

    @Test
    void aPlainRequestThatMayNotReadSaysSoAndChangesNothing() {
        redis().set(LOCK, OWNER + "::h", SetArgs.Builder.px(5_000));
        withRights("+set +pttl +pexpire +del", part -> {
            assertThatThrownBy(() -> run(part, LuaScript.PLAIN_ACQUIRE, List.of(LOCK), OWNER + "::h", "9000"))
                    .isInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("(at the 'get' command)");
            assertThatThrownBy(() -> run(part, LuaScript.PLAIN_RELEASE, List.of(LOCK), OWNER + "::h"))
                    .isInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("(at the 'get' command)");
        });
        assertThat(redis().get(LOCK)).isEqualTo(OWNER + "::h");
    }

    /** The ttl of an own key never becomes shorter. */
    @Test
    void aPlainLockThatIsFoundAgainIsNotShortened() {
        redis().set(LOCK, OWNER + "::h", SetArgs.Builder.px(60_000));
        assertThat(run(redis(), LuaScript.PLAIN_ACQUIRE, List.of(LOCK), OWNER + "::h", "9000"))
                .containsExactly(1L);
        assertThat(redis().pttl(LOCK)).isGreaterThan(50_000);
        redis().del(LOCK);
        assertThat(run(redis(), LuaScript.PLAIN_ACQUIRE, List.of(LOCK), OWNER + "::h", "9000"))
                .containsExactly(1L);
        assertThat(redis().pttl(LOCK)).isBetween(1L, 9_000L);
    }
}
