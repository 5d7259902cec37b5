package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of a member's scripts for one caller or several: each lock gets the result of the whole script, or none, and the
 * marker is compared each time.
 */
@Tag("quick")
final class MemberManyScriptsTest {

    private static final String ALICE = "a".repeat(40);
    private static final String BOB = "b".repeat(40);
    private static final long SECOND = 1_000_000;
    private static final long BOUND = 2_000_000;
    private static final String SET = "3 nodes [a, b|c, d], maxTtl 8000 ms";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench one = new ScriptBench(SERVER, "one");
    private final ScriptBench two = new ScriptBench(SERVER, "two");
    private final ScriptBench three = new ScriptBench(SERVER, "three");
    private String life = "";
    private String configuration = SET;
    private long latestBirth = 5_000;

    private static RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    private static String runId() {
        return InfoText.fields(redis().info("server")).get("run_id");
    }

    @BeforeEach
    void declareNew() {
        redis().flushall();
        life = runId();
        redis().set(KeyLayout.marker(), "born|5000|" + life + "|" + SET);
    }

    private List<Object> acquire(String owner, long candidate, ScriptBench... locks) {
        List<String> keys = new ArrayList<>(List.of(KeyLayout.marker()));
        List<String> arguments = new ArrayList<>(List.of(configuration, Long.toString(BOUND), life));
        for (ScriptBench lock : locks) {
            keys.addAll(List.of(lock.lock, lock.fence, readersWait(lock)));
            arguments.addAll(List.of(
                    owner + ":" + candidate + ":host/1/x",
                    "30000",
                    Long.toString(candidate),
                    Long.toString(latestBirth)));
        }
        List<Object> reply = eval(LuaScript.MEMBER_ACQUIRE_MANY, keys, arguments);
        assertThat(Long.parseLong(reply.get(0).toString()) * SECOND)
                .isBetween(one.now() - 100 * SECOND, one.now() + 100 * SECOND);
        return reply.subList(2, reply.size());
    }

    private static String watchers(ScriptBench lock) {
        return KeyLayout.watchers(lock.lock);
    }

    private static String readersWait(ScriptBench lock) {
        return KeyLayout.readersWait(lock.lock);
    }

    private static String readWatchers(ScriptBench lock) {
        return KeyLayout.readWatchers(lock.lock);
    }

    private static List<Object> release(String owner, long ballot, ScriptBench... locks) {
        List<String> keys = new ArrayList<>();
        List<String> arguments = new ArrayList<>();
        for (ScriptBench lock : locks) {
            keys.addAll(List.of(lock.lock, watchers(lock), readWatchers(lock)));
            arguments.add(owner + ":" + ballot + ":");
        }
        List<Object> reply = eval(LuaScript.MEMBER_RELEASE_MANY, keys, arguments);
        assertThat(reply.get(0)).isEqualTo("released");
        return reply.subList(1, reply.size());
    }

    private static List<Object> eval(LuaScript script, List<String> keys, List<String> arguments) {
        return redis().eval(
                        script.text(),
                        ScriptOutputType.MULTI,
                        keys.toArray(String[]::new),
                        arguments.toArray(String[]::new));
    }

    @Test
    void freeLocksAreTakenAsByTheWholeScript() {
        long candidate = one.now();
        assertThat(acquire(ALICE, candidate, one, two)).containsExactly(1L, 1L);
        for (ScriptBench lock : List.of(one, two)) {
            assertThat(redis().get(lock.lock)).isEqualTo(ALICE + ":" + candidate + ":host/1/x");
            assertThat(redis().pttl(lock.lock)).isBetween(20_000L, 30_000L);
            assertThat(redis().get(lock.fence)).isEqualTo(Long.toString(candidate));
            assertThat(redis().pttl(lock.fence)).isBetween(50_000L, 62_000L);
        }
        assertThat(release(ALICE, candidate, one, two)).containsExactly(1L, 1L);
        assertThat(redis().exists(one.lock, two.lock)).isZero();
        assertThat(redis().exists(one.fence, two.fence)).isEqualTo(2);
    }

    @Test
    void aTokenAheadOfTheClockLengthensItsFence() {
        assertThat(acquire(ALICE, one.now() + SECOND, one)).containsExactly(1L);
        assertThat(redis().pttl(one.fence)).isBetween(60_001L, 61_000L);
    }

    /** A node that was restarted from older data has its old marker, with the run id of the former life. */
    @Test
    void anotherLifeGrantsNothing() {
        redis().set(KeyLayout.marker(), "born|5000|" + "0".repeat(40) + "|" + SET);
        assertThat(acquire(ALICE, one.now(), one, two)).containsExactly(0L, 0L);
        life = "volatile";
        assertThat(acquire(ALICE, one.now(), one))
                .as("read by the script itself")
                .containsExactly(0L);
        life = "durable";
        assertThat(acquire(ALICE, one.now(), one)).as("a node that keeps all").containsExactly(1L);
    }

    @Test
    void theRunIdIsAnArgumentOrReadByTheScript() {
        assertThat(acquire(ALICE, one.now(), one)).containsExactly(1L);
        life = "volatile";
        assertThat(acquire(ALICE, one.now(), two)).containsExactly(1L);
        life = "0".repeat(40);
        assertThat(acquire(ALICE, one.now(), three))
                .as("another life than the marker's")
                .containsExactly(0L);
        life = "";
        assertThat(acquire(ALICE, one.now(), three)).as("none").containsExactly(0L);
    }

    /** FLUSHALL and a full resynchronisation keep connections, and with them the run id that the client knows. */
    @Test
    void aMarkerThatIsGoneOrOfAnotherKindGrantsNothing() {
        redis().flushall();
        assertThat(acquire(ALICE, one.now(), one)).as("absent").containsExactly(0L);
        redis().lpush(KeyLayout.marker(), "born|5000|" + life + "|" + SET);
        assertThat(acquire(ALICE, one.now(), one)).as("a list").containsExactly(0L);
        redis().del(KeyLayout.marker());
        for (String other : List.of(
                "unborn|nonce|" + life,
                "unborn|5000|" + life + "|" + SET,
                "born|5000|" + life,
                "born|5000|" + life + "x|" + SET,
                "born|5000|x" + life + "|" + SET,
                "born||" + life + "|" + SET,
                "born|5x|" + life + "|" + SET,
                "born|5000|" + life + SET,
                "x",
                "")) {
            redis().set(KeyLayout.marker(), other);
            assertThat(acquire(ALICE, one.now(), one)).as(other).containsExactly(0L);
            assertThat(redis().get(KeyLayout.marker())).isEqualTo(other);
        }
        assertThat(redis().exists(one.lock, one.fence)).isZero();
    }

    @Test
    void anotherSetGrantsNothing() {
        for (String other : List.of("", "a", SET + " ", SET.substring(1), " " + SET, "|" + SET)) {
            configuration = other;
            assertThat(acquire(ALICE, one.now(), one)).as(other).containsExactly(0L);
        }
        assertThat(redis().exists(one.lock, one.fence)).isZero();
    }

    @Test
    void itGrantsFromTheEndOfItsQuarantineOn() {
        latestBirth = 4_999;
        assertThat(acquire(ALICE, one.now(), one)).containsExactly(0L);
        latestBirth = -1;
        assertThat(acquire(ALICE, one.now(), one)).containsExactly(0L);
        latestBirth = 5_000;
        assertThat(acquire(ALICE, one.now(), one)).containsExactly(1L);
    }

    @Test
    void aBallotThatIsNoGoodIsLeftToTheWholeScript() {
        long now = one.now();
        redis().set(one.fence, Long.toString(now));
        assertThat(acquire(ALICE, now, one)).as("stale").containsExactly(0L);
        assertThat(acquire(ALICE, now + 1, one)).as("above the fence").containsExactly(1L);
        assertThat(acquire(ALICE, now - 61 * SECOND, two))
                .as("below TIME - retention")
                .containsExactly(0L);
        assertThat(acquire(ALICE, now + 100 * SECOND, two))
                .as("beyond the bound")
                .containsExactly(0L);
        redis().set(three.fence, Long.toString(now + 1_000 * SECOND));
        assertThat(acquire(ALICE, now + 1_000 * SECOND + BOUND + 1, three))
                .as("beyond the bound of the fence")
                .containsExactly(0L);
        assertThat(acquire(ALICE, now + 1_000 * SECOND + BOUND, three)).containsExactly(1L);
        assertThat(redis().exists(two.lock, two.fence)).isZero();
    }

    @Test
    void aHoldOfAnotherOwnerIsToldWithoutItsToken() {
        long candidate = one.now();
        acquire(BOB, candidate, one);
        List<Object> answers = acquire(ALICE, candidate + 1, one, two);
        assertThat(answers.get(1)).isEqualTo(1L);
        List<?> held = (List<?>) answers.get(0);
        assertThat(held.get(0)).isEqualTo(candidate + ":host/1/x");
        assertThat((Long) held.get(1)).isBetween(20_000L, 30_000L);
        assertThat(redis().get(one.lock)).startsWith(BOB);
        assertThat(redis().get(one.fence)).isEqualTo(Long.toString(candidate));
        assertThat(acquire(BOB, candidate + 1, one)).as("its own").containsExactly(0L);
        assertThat(acquire(ALICE, candidate, one)).as("a stale ballot").containsExactly(0L);
    }

    @Test
    void whatIsNoHoldIsLeftToTheWholeScript() {
        for (String value :
                List.of("some-uuid", BOB, BOB + "x1:h", BOB + ":x:h", BOB.toUpperCase(Locale.ROOT) + ":1:h")) {
            redis().set(one.lock, value);
            assertThat(acquire(ALICE, one.now(), one)).as(value).containsExactly(0L);
            assertThat(redis().get(one.lock)).isEqualTo(value);
        }
    }

    @Test
    void keysOfOtherTypesAreLeftAlone() {
        redis().lpush(one.lock, "x");
        redis().lpush(two.fence, "x");
        redis().set(three.fence, "no number");
        assertThat(acquire(ALICE, one.now(), one, two, three)).containsExactly(0L, 0L, 0L);
        assertThat(redis().type(one.lock)).isEqualTo("list");
        assertThat(redis().type(two.fence)).isEqualTo("list");
        assertThat(redis().get(three.fence)).isEqualTo("no number");
        assertThat(redis().exists(two.lock, three.lock)).isZero();
        assertThat(release(ALICE, 5, one)).containsExactly(0L);
        assertThat(redis().type(one.lock)).isEqualTo("list");
    }

    @Test
    void onlyTheHoldersOwnGrantIsDeletedAndOnlyIfNobodyWatches() {
        long candidate = one.now();
        acquire(ALICE, candidate, one, two, three);
        redis().zadd(watchers(three), 500, "qlock:wake:other");
        assertThat(release(BOB, candidate, one)).as("another's").containsExactly(0L);
        assertThat(release(ALICE, candidate + 1, one)).as("a higher ballot").containsExactly(0L);
        assertThat(release(ALICE, candidate, two, three)).as("one is watched").containsExactly(1L, 0L);
        assertThat(redis().exists(one.lock, three.lock)).isEqualTo(2);
        redis().lpush(watchers(one), "x");
        assertThat(release(ALICE, candidate, one))
                .as("watchers of another type")
                .containsExactly(0L);
    }

    /** A reader that waits may come before the caller; the whole script compares their places. */
    @Test
    void aLockThatReadersWantIsLeftToTheWholeScript() {
        long candidate = one.now();
        redis().set(readersWait(two), "1");
        assertThat(acquire(ALICE, candidate, one, two, three)).containsExactly(1L, 0L, 1L);
        assertThat(redis().exists(two.lock, two.fence)).isZero();
        redis().zadd(readWatchers(three), 500, "qlock:wake:other");
        assertThat(release(ALICE, candidate, one, three)).containsExactly(1L, 0L);
        assertThat(redis().exists(three.lock)).isOne();
    }

    /** Each lock has its own owner, token, ttl and birth: none gets those of another. */
    @Test
    void eachLockHasTheArgumentsOfItsOwnCaller() {
        long now = one.now();
        List<ScriptBench> locks = List.of(one, two, three);
        List<String> owners = List.of(ALICE, BOB, "c".repeat(40));
        List<String> ttls = List.of("30000", "90000", "10000");
        List<String> births = List.of("5000", "4999", "5001");
        List<String> keys = new ArrayList<>(List.of(KeyLayout.marker()));
        List<String> arguments = new ArrayList<>(List.of(SET, Long.toString(BOUND), life));
        for (int i = 0; i < 3; i++) {
            keys.addAll(List.of(locks.get(i).lock, locks.get(i).fence, readersWait(locks.get(i))));
            arguments.addAll(List.of(
                    owners.get(i) + ":" + (now + i) + ":host/" + i + "/x",
                    ttls.get(i),
                    Long.toString(now + i),
                    births.get(i)));
        }
        List<Object> reply = eval(LuaScript.MEMBER_ACQUIRE_MANY, keys, arguments);
        assertThat(reply.subList(2, 5)).as("the second is young").containsExactly(1L, 0L, 1L);
        assertThat(redis().exists(two.lock)).isZero();
        arguments.set(3 + 4 + 3, "5000");
        assertThat(eval(LuaScript.MEMBER_ACQUIRE_MANY, keys, arguments).get(3)).isEqualTo(1L);
        for (int i = 0; i < 3; i++) {
            assertThat(redis().get(locks.get(i).lock)).isEqualTo(owners.get(i) + ":" + (now + i) + ":host/" + i + "/x");
            assertThat(redis().get(locks.get(i).fence)).isEqualTo(Long.toString(now + i));
            long ttl = Long.parseLong(ttls.get(i));
            assertThat(redis().pttl(locks.get(i).lock)).isBetween(ttl - 9_000, ttl);
        }
        List<Object> released = eval(
                LuaScript.MEMBER_RELEASE_MANY,
                List.of(
                        one.lock,
                        watchers(one),
                        readWatchers(one),
                        two.lock,
                        watchers(two),
                        readWatchers(two),
                        three.lock,
                        watchers(three),
                        readWatchers(three)),
                List.of(ALICE + ":" + now + ":", ALICE + ":" + now + ":", owners.get(2) + ":" + (now + 2) + ":"));
        assertThat(released.subList(1, 4)).containsExactly(1L, 0L, 1L);
        assertThat(redis().get(two.lock)).startsWith(BOB);
    }

    /** A right that is missing for what is only told does not end a script that has written. */
    @Test
    void withoutTheRightToReadATtlTheFreeLocksAreTaken() {
        long candidate = one.now();
        acquire(BOB, candidate, two);
        SERVER.server().call("ACL", "SETUSER", "default", "-pttl");
        try {
            assertThat(acquire(ALICE, candidate + 1, one, two)).containsExactly(1L, 0L);
            assertThat(acquire(BOB, candidate + 1, one, three)).containsExactly(0L, 1L);
        } finally {
            SERVER.server().call("ACL", "SETUSER", "default", "+pttl");
        }
    }

    @Test
    void aFullServerTakesNoneAndReleasesAll() {
        long candidate = one.now();
        acquire(ALICE, candidate, one, two);
        redis().configSet("maxmemory", "1");
        try {
            assertThat(acquire(ALICE, candidate + 1, three)).containsExactly(0L);
            assertThat(redis().exists(three.lock, three.fence)).isZero();
            assertThat(release(ALICE, candidate, one, two)).containsExactly(1L, 1L);
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }

    @Test
    void aServerThatDoesNotKnowTheScriptSaysSo() {
        redis().scriptFlush();
        assertThatThrownBy(() -> redis().evalsha(LuaScript.MEMBER_ACQUIRE_MANY.sha1(), ScriptOutputType.MULTI, "k"))
                .hasMessageContaining("NOSCRIPT");
    }
}
