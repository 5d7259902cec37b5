package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the limits of a member's grants, and of the clients that it records. */
@Tag("quick")
final class MemberAcquireScriptTest {

    private static final String ALICE = "a".repeat(40);
    private static final String BOB = "b".repeat(40);
    private static final String CHANNEL = "lock:wake:one";
    private static final String OTHER = "lock:wake:other";
    private static final long SECOND = 1_000_000;
    private static final long BOUND = 7_500_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final String lock = KeyLayout.standard().lock(LockName.exactly("order:1"));
    private final String fence = KeyLayout.fence(lock);
    private final String watchers = KeyLayout.watchers(lock);
    private final String readWatchers = KeyLayout.readWatchers(lock);
    private final String readersWait = KeyLayout.readersWait(lock);
    private String configuration = "set";
    private long estimate = 1_000;
    private long order = 1_000;
    private long quarantine;
    private long place;
    private int reserve = 1;
    private String life = "volatile";
    private StatefulRedisPubSubConnection<String, String> listener;

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @AfterEach
    void stop() {
        if (listener != null) {
            listener.close();
        }
    }

    @BeforeEach
    void declareNew() {
        redis().eval(
                        LuaScript.MEMBER_BIRTH.text(),
                        ScriptOutputType.MULTI,
                        new String[] {KeyLayout.marker()},
                        "*",
                        "0",
                        "set");
    }

    private long now() {
        List<String> time = redis().time();
        return Long.parseLong(time.get(0)) * SECOND + Long.parseLong(time.get(1));
    }

    private List<Object> acquire(String owner, long candidate) {
        return ScriptBench.yes(redis().eval(
                        LuaScript.MEMBER_ACQUIRE.text(), ScriptOutputType.MULTI, keys(), arguments(owner, candidate)));
    }

    private String[] keys() {
        return new String[] {
            lock, fence, watchers, KeyLayout.marker(), readWatchers, KeyLayout.readers(lock), readersWait
        };
    }

    private String[] arguments(String owner, long candidate) {
        return new String[] {
            owner + ":" + candidate + ":host/1/x",
            "30000",
            Long.toString(candidate),
            Long.toString(candidate + reserve - 1),
            Long.toString(60 * SECOND),
            Long.toString(BOUND),
            Long.toString(place),
            CHANNEL,
            Long.toString(order),
            configuration,
            Long.toString(estimate),
            Long.toString(quarantine),
            life
        };
    }

    private void watches(String channel, long untilMicros) {
        watches(watchers, 500, channel, untilMicros);
    }

    private void watches(String set, long its, String channel, long untilMicros) {
        redis().zadd(set, (double) its, "q" + channel);
        redis().zadd(set, (double) -untilMicros, "a" + channel);
    }

    private List<String> watching() {
        return redis().zrange(watchers, 0, -1);
    }

    @Test
    void itGrantsFromTheEndOfItsQuarantineOn() {
        quarantine = estimate + 1;
        assertThat(acquire(ALICE, now())).startsWith("young").endsWith("1");
        assertThat(redis().exists(lock)).isZero();
        quarantine = estimate;
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(acquire(BOB, now() + SECOND)).as("of a lock that is held").startsWith("held");
    }

    /** The marker is compared with the run id that the client knows, or with that of INFO. */
    @Test
    void theRunIdIsAnArgumentOrReadByTheScript() {
        String runId = InfoText.fields(redis().info("server")).get("run_id");
        life = runId;
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(acquire(BOB, now() + SECOND)).startsWith("held");
        String marker = "born|5|" + "0".repeat(40) + "|set";
        for (String each : List.of(runId, "volatile")) {
            life = each;
            redis().set(KeyLayout.marker(), marker);
            assertThat(acquire(BOB, now() + SECOND)).as("a former life").startsWith("unborn");
            redis().set(KeyLayout.marker(), marker);
            assertThat(acquire(ALICE, now() + SECOND)).as("also to the holder").startsWith("unborn");
            assertThat(redis().get(KeyLayout.marker())).startsWith("unborn|").endsWith("|" + runId);
        }
        life = "durable";
        redis().set(KeyLayout.marker(), marker);
        assertThat(acquire(BOB, now() + SECOND)).startsWith("held");
    }

    /** A client that was told another run id than that of the server does not make the server forget. */
    @Test
    void aWrongRunIdLeavesAMarkerOfThePresentLife() {
        String marker = redis().get(KeyLayout.marker());
        for (String wrong : List.of("0".repeat(40), "x", "")) {
            life = wrong;
            redis().del(lock);
            quarantine = 0;
            assertThat(acquire(ALICE, now() + SECOND)).as(wrong).startsWith("yes");
            assertThat(acquire(BOB, now() + 2 * SECOND)).startsWith("held");
            quarantine = estimate + 1;
            assertThat(acquire(ALICE, now() + 2 * SECOND)).startsWith("young");
            assertThat(redis().get(KeyLayout.marker())).isEqualTo(marker);
            redis().del(fence);
        }
    }

    /** A client sends its next request for a wanted lock whole, and for another one only in its common case. */
    @Test
    void aGrantSaysWhetherOthersWantTheLock() {
        List<Object> alone =
                redis().eval(LuaScript.MEMBER_ACQUIRE.text(), ScriptOutputType.MULTI, keys(), arguments(ALICE, now()));
        assertThat(alone).hasSize(2).doesNotContain("yes");
        redis().del(lock);
        watches(OTHER, now() + 600 * SECOND);
        watches(CHANNEL, now() + 600 * SECOND);
        List<Object> wanted = redis().eval(
                        LuaScript.MEMBER_ACQUIRE.text(),
                        ScriptOutputType.MULTI,
                        keys(),
                        arguments(ALICE, now() + SECOND));
        assertThat(wanted).hasSize(2).startsWith("yes");
        assertThat(watching()).containsExactlyInAnyOrder("q" + OTHER, "a" + OTHER);
    }

    /** FLUSHALL keeps the connection, whose run id the client still knows. */
    @Test
    void withoutItsMarkerItGrantsNothing() {
        life = InfoText.fields(redis().info("server")).get("run_id");
        redis().flushall();
        assertThat(acquire(ALICE, now())).startsWith("unborn");
        assertThat(redis().exists(lock)).isZero();
    }

    @Test
    void itAnswersItsOwnSetAlone() {
        configuration = "another";
        assertThat(acquire(ALICE, now())).startsWith("other").endsWith("set");
        assertThat(redis().exists(lock)).isZero();
    }

    /** A nonce names one life of the memory. */
    @Test
    void aNewLifeHasANonceOfItsOwn() {
        redis().set(KeyLayout.marker(), "unborn|former|0123456789");
        List<Object> first = acquire(ALICE, now());
        assertThat(first).startsWith("unborn").doesNotContain("former");
        assertThat(acquire(BOB, now()).get(2)).as("one nonce for all").isEqualTo(first.get(2));
        assertThat(redis().exists(lock)).isZero();
    }

    @Test
    void whatIsNotGrantedForABrokenFenceIsNotTaken() {
        redis().lpush(fence, "x");
        assertThat(acquire(ALICE, now())).startsWith("broken").endsWith(fence, "list");
        assertThat(redis().exists(lock)).isZero();
    }

    /** The fence is so far ahead that the clock has no effect; a free lock, and the caller's own lock. */
    @Test
    void aBallotBeatsTheFenceAndEndsAtItsBound() {
        long floor = now() + 1_000 * SECOND;
        redis().set(fence, Long.toString(floor));
        assertThat(acquire(ALICE, floor)).startsWith("stale");
        reserve = 2;
        assertThat(acquire(ALICE, floor + BOUND)).startsWith("refused").endsWith(Long.toString(floor + BOUND));
        assertThat(acquire(ALICE, floor + BOUND - 1)).startsWith("yes");
        long next = floor + BOUND;
        assertThat(acquire(ALICE, next)).startsWith("stale");
        assertThat(acquire(ALICE, next + BOUND)).startsWith("refused");
        assertThat(acquire(ALICE, next + BOUND - 1)).startsWith("yes");
        assertThat(redis().get(fence)).isEqualTo(Long.toString(next + BOUND));
        assertThat(redis().pttl(fence)).isGreaterThan(1_000_000);
    }

    @Test
    void aClientHasThePlaceOfItsLastRequestAndTheDeadLeave() {
        acquire(ALICE, now());
        watches("dead", now() - SECOND);
        watches(OTHER, now() + 600 * SECOND);
        redis().pexpire(watchers, 600_000);
        place = 60_000;

        assertThat(acquire(BOB, now() + SECOND)).startsWith("queued");
        assertThat(watching()).containsExactlyInAnyOrder("q" + OTHER, "a" + OTHER, "q" + CHANNEL, "a" + CHANNEL);
        Double until = redis().zscore(watchers, "a" + CHANNEL);
        order += 7;
        assertThat(acquire(BOB, now() + 2 * SECOND)).startsWith("queued");
        assertThat(redis().zscore(watchers, "q" + CHANNEL)).isEqualTo(1_007);
        assertThat(redis().zscore(watchers, "a" + CHANNEL)).isLessThan(until);
        assertThat(redis().pttl(watchers)).as("the longest place").isGreaterThan(300_000);
    }

    /** Both kinds would starve each other, or readers in turn a writer, without the comparison of places. */
    @Test
    void aReaderThatWaitsKeepsOutWritersWithALaterPlace() {
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(OTHER);
        watches(readWatchers, 2_000, OTHER, now() + 600 * SECOND);
        for (long later : List.of(0L, 2_001L)) {
            order = later;
            assertThat(acquire(ALICE, now()))
                    .as("place %d", later)
                    .hasSize(5)
                    .startsWith("held")
                    .contains("ahead");
        }
        assertThat(redis().exists(lock, fence, watchers)).as("it did not wait").isZero();
        place = 60_000;
        assertThat(acquire(ALICE, now())).startsWith("queued").contains("ahead");
        assertThat(watching()).containsExactlyInAnyOrder("q" + CHANNEL, "a" + CHANNEL);
        order = 2_000;
        assertThat(acquire(ALICE, now())).as("an equal place").startsWith("yes");
        assertThat(watching()).as("a grant ends the wait").isEmpty();
        assertThat(redis().get(lock)).startsWith(ALICE);
        assertThat(redis().pttl(lock)).isBetween(20_000L, 30_000L);
        assertThat(redis().get(fence)).isEqualTo(redis().get(lock).split(":", 3)[1]);
        redis().del(lock);
        order = 1;
        place = 0;
        assertThat(acquire(BOB, now() + SECOND))
                .as("it holds the lock elsewhere")
                .startsWith("yes");
    }

    /** It was killed, or its connection is gone. */
    @Test
    void aReaderThatCannotBeReachedKeepsOutNobody() {
        watches(readWatchers, 2_000, OTHER, now() + 600 * SECOND);
        watches(readWatchers, 2_001, OTHER + "2", now() + 600 * SECOND);
        order = 0;
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(redis().exists(readWatchers)).isZero();
    }

    @Test
    void aReaderThatIsDeadKeepsOutNobody() {
        watches(readWatchers, 2_000, OTHER, now() - SECOND);
        order = 0;
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(redis().exists(readWatchers)).isZero();
    }

    @Test
    void aForeignKeyOfReadersThatWaitKeepsOutNobody() {
        redis().set(readWatchers, "a string");
        order = 0;
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(redis().get(readWatchers)).isEqualTo("a string");
    }

    @Test
    void aRaisedFenceThatIsForeignIsNotOverwrittenForAWaitingReader() {
        watches(readWatchers, 2_000, OTHER, now() + 600 * SECOND);
        redis().lpush(fence, "x");
        assertThat(acquire(ALICE, now())).startsWith("broken").endsWith(fence, "list");
        assertThat(redis().exists(lock)).isZero();
    }

    @Test
    void whoHasTheLockIsNotToldOfIt() {
        watches(CHANNEL, now() + 60 * SECOND);
        assertThat(acquire(ALICE, now())).startsWith("yes");
        assertThat(watching()).isEmpty();
        watches(CHANNEL, now() + 60 * SECOND);
        assertThat(acquire(ALICE, now() + SECOND)).startsWith("yes");
        assertThat(watching()).isEmpty();
    }

    @Test
    void forLackOfMemoryThereIsNoPlaceAndStillAnAnswer() {
        acquire(ALICE, now());
        place = 60_000;
        redis().configSet("maxmemory", "1");
        try {
            assertThat(acquire(BOB, now() + SECOND)).startsWith("held").contains("besides");
        } finally {
            redis().configSet("maxmemory", "0");
        }
        assertThat(redis().exists(watchers)).isZero();
    }
}
