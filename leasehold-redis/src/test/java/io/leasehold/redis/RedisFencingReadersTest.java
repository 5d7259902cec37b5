package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.fencing.StaleTokenException;
import io.leasehold.testkit.tck.FencingGuardTck;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of readers of a Redis value on a real server, also together with the former script, which knew no readers. */
@Timeout(120)
@Tag("quick")
class RedisFencingReadersTest implements FencingGuardTck {

    private static final String FENCE = "{x}:fencing-token";
    private static final String WRITER = "{x}:fencing-writer";

    @RegisterExtension
    static final RedisUnderTest REDIS = new RedisUnderTest();

    private final RedisFencingGuard guard = RedisFencingGuard.running(RedisFencingReadersTest::run);

    private static List<?> run(String script, List<String> keys, List<String> arguments) {
        return REDIS.redis()
                .eval(script, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments.toArray(String[]::new));
    }

    @Override
    public FencingGuard guard() {
        return guard;
    }

    @Override
    public FencingGuard olderGuard() {
        String former = former();
        return RedisFencingGuard.running((script, keys, arguments) -> run(former, keys, arguments));
    }

    private static String former() {
        try (InputStream in = RedisFencingReadersTest.class.getResourceAsStream("fenced_one_number.lua")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void readersReadTheValueAndRefuseOlderWriters() {
        guard.write("x", 5, "five");
        assertThat(guard.read("x", 9, Access.READ)).hasValue("five");
        assertThat(guard.read("x", 7, Access.READ)).hasValue("five");
        assertThatThrownBy(() -> guard.write("x", 8, "eight"))
                .isInstanceOfSatisfying(
                        StaleTokenException.class,
                        e -> assertThat(e.rejection().newest()).isEqualTo(9));
        assertThatThrownBy(() -> guard.delete("x", 8)).isInstanceOf(StaleTokenException.class);
        assertThatThrownBy(() -> guard.read("x", 8)).isInstanceOf(StaleTokenException.class);
        guard.write("x", 10, "ten");
        assertThatThrownBy(() -> guard.read("x", 9, Access.READ)).isInstanceOf(StaleTokenException.class);
        assertThat(guard.read("absent", 1, Access.READ)).isEmpty();
        assertThatNullPointerException().isThrownBy(() -> guard.read("x", 11, (Access) null));
    }

    /** A former client reads the number with its mark, and drops the mark when it raises the number. */
    @Test
    void theMarkIsAZeroThatFormerScriptsReadAsPartOfTheNumber() {
        guard.admit("x", 5).orElseThrow();
        guard.admit("x", 9, Access.READ).orElseThrow();
        assertThat(REDIS.redis().get(FENCE)).isEqualTo("09");
        assertThat(REDIS.redis().get(WRITER)).isEqualTo("5");
        FencingGuard older = olderGuard();
        assertThat(older.admit("x", 8)).isEqualTo(new Admission.Rejected("x", 8, 9));
        older.admit("x", 11).orElseThrow();
        assertThat(REDIS.redis().get(FENCE)).isEqualTo("11");
        assertThat(guard.admit("x", 10, Access.READ)).isEqualTo(new Admission.Rejected("x", 10, 11));
        guard.admit("x", 13, Access.READ).orElseThrow();
        guard.admit("x", 12, Access.READ).orElseThrow();
        assertThat(REDIS.redis().get(WRITER)).isEqualTo("11");
    }

    /** Exclusive use sends the same as before, and the script runs no further command. */
    @Test
    void writersRunTheCommandsOfTheFormerScript() {
        List<Map<String, Long>> counts = new ArrayList<>();
        for (FencingGuard one : List.of(olderGuard(), guard)) {
            REDIS.server().call("FLUSHALL");
            REDIS.server().call("CONFIG", "RESETSTAT");
            RedisFencingGuard used = (RedisFencingGuard) one;
            used.write("x", 5, "five");
            used.write("x", 5, "six");
            used.read("x", 6);
            used.admit("x", 6).orElseThrow();
            assertThat(used.admit("x", 5).isAdmitted()).isFalse();
            used.delete("x", 7);
            counts.add(commands());
        }
        assertThat(counts.get(1))
                .isEqualTo(counts.get(0))
                .containsEntry("get", 7L)
                .containsEntry("set", 5L);
    }

    private static Map<String, Long> commands() {
        Map<String, Long> counts = new TreeMap<>();
        for (String line : REDIS.redis().info("commandstats").split("\r\n", -1)) {
            if (line.startsWith("cmdstat_")) {
                String calls = line.substring(line.indexOf("calls=") + 6, line.indexOf(','));
                counts.put(line.substring(8, line.indexOf(':')), Long.parseLong(calls));
            }
        }
        counts.keySet().retainAll(List.of("eval", "get", "set", "mget", "exists", "del"));
        return counts;
    }

    @Test
    void aReaderThatWasHereWritesNothing() {
        guard.admit("x", 5).orElseThrow();
        guard.admit("x", 9, Access.READ).orElseThrow();
        REDIS.server().call("CONFIG", "RESETSTAT");
        guard.admit("x", 7, Access.READ).orElseThrow();
        guard.admit("x", 9, Access.READ).orElseThrow();
        assertThat(commands()).containsEntry("get", 4L).doesNotContainKey("set");
    }

    /** The newest token then counts as a writer's. */
    @ParameterizedTest
    @ValueSource(strings = {"", "rubbish", "-1", "nan", "0x1", "9007199254740992", "99"})
    void aWritersTokenThatIsLostIsTheNewest(String left) {
        guard.admit("x", 5).orElseThrow();
        guard.admit("x", 9, Access.READ).orElseThrow();
        if (left.isEmpty()) {
            REDIS.redis().del(WRITER);
        } else {
            REDIS.redis().set(WRITER, left);
        }
        assertThat(guard.admit("x", 8, Access.READ)).isEqualTo(new Admission.Rejected("x", 8, 9));
        guard.admit("x", 11, Access.READ).orElseThrow();
        guard.admit("x", 10, Access.READ).orElseThrow();
        assertThat(guard.admit("x", 8, Access.READ)).isEqualTo(new Admission.Rejected("x", 8, 9));
    }

    @Test
    void aNumberThatIsNoTokenLetsNoReaderIn() {
        for (String rubbish : List.of("rubbish", "0rubbish", "", "00x")) {
            REDIS.redis().set(FENCE, rubbish);
            assertThatThrownBy(() -> guard.read("x", 5, Access.READ))
                    .isInstanceOf(RedisCommandExecutionException.class)
                    .hasMessageContaining("no fencing token");
        }
    }

    /** A failed use leaves both tokens and the mark unchanged. */
    @Test
    void whatFailsChangesNothing() {
        REDIS.redis().rpush("x", "item");
        guard.admit("x", 5).orElseThrow();
        assertThatThrownBy(() -> guard.read("x", 9, Access.READ)).hasMessageContaining("WRONGTYPE");
        guard.admit("x", 7, Access.READ).orElseThrow();
        assertThat(guard.admit("x", 6).isAdmitted()).isFalse();
        assertThatThrownBy(() -> guard.read("x", 7)).hasMessageContaining("WRONGTYPE");
        assertThat(REDIS.redis().get(FENCE)).isEqualTo("07");
        guard.admit("x", 6, Access.READ).orElseThrow();
    }

    /** A writer whose command is refused restores the mark, even if it brought the newest reader's token. */
    @Test
    void aWriterThatMayNotWriteLeavesTheMark() {
        guard.write("x", 5, "five");
        guard.admit("x", 9, Access.READ).orElseThrow();
        REDIS.server().call("ACL", "SETUSER", "limited", "on", ">secret", "~*", "+eval", "+get", "+set");
        RedisURI uri = RedisURI.create(REDIS.server().uri().replace("//", "//limited:secret@"));
        try (StatefulRedisConnection<String, String> connection = REDIS.client().connect(uri)) {
            RedisFencingGuard limited = RedisFencingGuard.running((script, keys, arguments) -> connection
                    .sync()
                    .eval(
                            script,
                            ScriptOutputType.MULTI,
                            keys.toArray(String[]::new),
                            arguments.toArray(String[]::new)));
            for (long token : new long[] {9, 11}) {
                assertThatThrownBy(() -> limited.delete("x", token)).isInstanceOf(RedisCommandExecutionException.class);
                assertThat(REDIS.redis().get(FENCE)).as("after " + token).isEqualTo("09");
            }
        }
        assertThat(guard.read("x", 7, Access.READ)).hasValue("five");
    }

    /** For callers of the script in other languages. */
    @Test
    void theScriptRefusesAReaderThatWantsToWrite() {
        RedisFencingGuard wrong = RedisFencingGuard.running((script, keys, arguments) -> run(
                script,
                List.of("x", FENCE, WRITER),
                List.of(arguments.get(0), arguments.get(1), arguments.get(2), "read")));
        assertThatThrownBy(() -> wrong.write("x", 5, "five")).hasMessageContaining("a reader only admits and reads");
        assertThatThrownBy(() -> wrong.delete("x", 5)).hasMessageContaining("a reader only admits and reads");
        assertThat(REDIS.redis().exists("x", FENCE, WRITER)).isZero();
    }

    @Test
    void aLeasePresentsItsTokenAndItsKind() throws InterruptedException {
        try (LockClient client = Leasehold.connect("memory:");
                Lease lease = client.named("x").acquire()) {
            assertThat(guard.read("x", lease)).isEmpty();
            assertThat(guard.admit("x", lease.fencingToken() - 1, Access.READ).isAdmitted())
                    .as("the lease is exclusive")
                    .isFalse();
        }
    }

    @Test
    void allKeysAreInTheSlotOfTheValueAndNoneIsAnothers() {
        List<String> all = new ArrayList<>();
        List<String> values = List.of("plain", "{tag}", "{tag}b", "a{b", "x{y}z}", "tag");
        RedisFencingGuard recording = RedisFencingGuard.running((script, keys, arguments) -> {
            assertThat(keys).hasSize(3).allMatch(key -> SlotHash.getSlot(key) == SlotHash.getSlot(keys.get(0)));
            assertThat(arguments).hasSize(4).endsWith("", "read");
            all.addAll(keys);
            return List.of("admitted");
        });
        values.forEach(key -> recording.admit(key, 1, Access.READ));
        assertThat(all).doesNotHaveDuplicates().hasSize(3 * values.size());
    }
}
