package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.MemberScriptBench.Caller.PLAIN;
import static io.leasehold.redis.wire.MemberScriptBench.OWN;
import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the text by which the common case of a writer learns that a reader waits at a member. */
@Tag("quick")
final class ReadersWaitScriptsTest {

    private static final long EARLY = 1_000;
    private static final long LATE = 2_000;
    private static final String HEARD = "lock:wake:heard";
    private static final String OTHER = "lock:wake:other";
    private static final String DEAF = "lock:wake:nobody-listens";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final MemberScriptBench bench = new MemberScriptBench(SERVER, "catalog");
    private StatefulRedisPubSubConnection<String, String> listener;
    private long next;

    @BeforeEach
    void declareNew() {
        bench.declareNew();
        next = bench.now();
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD, OTHER);
    }

    @AfterEach
    void restore() {
        listener.close();
        redis().configSet("maxmemory", "0");
        SERVER.server().call("ACL", "SETUSER", "default", "+@all");
    }

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    /** A larger token than all before. */
    private long token() {
        return next += 10;
    }

    private List<Object> waitToRead(String owner, long place, String channel) {
        return bench.read(owner, token(), PLAIN.waiting(place, channel));
    }

    /** A reader waits on this channel, and the writer that kept it out holds the lock. */
    private void readerWaits(String channel) {
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes");
        assertThat(waitToRead(ALICE, EARLY, channel)).startsWith("queued").doesNotContain("besides");
        assertThat(redis().get(bench.readersWait)).isEqualTo("1");
    }

    private void noReaderWaits() {
        assertThat(redis().exists(bench.readWatchers, bench.readersWait)).isZero();
    }

    private void theCommonCaseIsBack() {
        noReaderWaits();
        redis().del(bench.lock);
        assertThat(bench.writeCommonly(BOB, token())).isEqualTo(1L);
    }

    // ---- the order of readers and writers

    @Test
    void theCommonCaseLeavesALockThatAReaderWantsToTheWholeScript() {
        readerWaits(HEARD);
        assertThat(bench.endWriter(CAROL, token(), "leave", OWN)).containsExactly("released", "woken");
        assertThat(bench.writeCommonly(BOB, token())).isEqualTo(0L);
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(bench.write(BOB, token(), PLAIN)).startsWith("held").contains("ahead");
        assertThat(redis().get(bench.readersWait)).isEqualTo("1");
        assertThat(bench.write(BOB, token(), PLAIN.at(EARLY - 1)))
                .as("an earlier place")
                .startsWith("yes");
        assertThat(redis().get(bench.readersWait)).as("it still waits").isEqualTo("1");
    }

    @Test
    void aWriterThatWaitsDoesNotSendOthersToTheWholeScript() {
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes");
        assertThat(bench.write(BOB, token(), PLAIN.waiting(EARLY, HEARD))).startsWith("queued");
        assertThat(redis().exists(bench.watchers)).isOne();
        theCommonCaseIsBack();
    }

    /** It ends with the set, whose ttl is that of the longest wait. */
    @Test
    void itHasTheTtlOfTheSet() throws InterruptedException {
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes");
        assertThat(bench.read(ALICE, token(), PLAIN.waiting(EARLY, HEARD).patience(2_000)))
                .startsWith("queued");
        assertThat(redis().pttl(bench.readersWait)).isBetween(1L, 2_000L);
        waitToRead(ALICE, EARLY, HEARD);
        assertThat(redis().pttl(bench.readersWait)).isBetween(30_000L, 60_000L);
        bench.read(BOB, token(), PLAIN.waiting(LATE, OTHER).patience(1_000));
        assertThat(redis().pttl(bench.readersWait))
                .isBetween(redis().pttl(bench.readWatchers) - 1_000, 60_000L)
                .isGreaterThan(30_000);
        redis().del(bench.readWatchers);
        bench.read(BOB, token(), PLAIN.waiting(LATE, OTHER).patience(1));
        for (int i = 0; i < 500 && redis().exists(bench.readersWait) == 1; i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        theCommonCaseIsBack();
    }

    // ---- the end of the last wait

    @Test
    void aGrantEndsIt() {
        readerWaits(HEARD);
        waitToRead(BOB, LATE, OTHER);
        bench.endWriter(CAROL, token(), "leave", "lock:wake:none");
        assertThat(waitToRead(ALICE, EARLY, HEARD)).startsWith("yes");
        assertThat(redis().get(bench.readersWait)).as("the other waits").isEqualTo("1");
        assertThat(waitToRead(BOB, LATE, OTHER)).startsWith("yes");
        theCommonCaseIsBack();
    }

    @Test
    void theLastThatLeavesEndsIt() {
        readerWaits(HEARD);
        waitToRead(BOB, LATE, OTHER);
        bench.endReader(ALICE, token(), "stay", HEARD);
        bench.endReader(ALICE, token(), "leave", HEARD);
        assertThat(redis().get(bench.readersWait)).as("the other waits").isEqualTo("1");
        assertThat(bench.in(bench.readWatchers)).hasSize(2);
        assertThat(bench.endReader(BOB, token(), "leave", OTHER)).containsExactly("not-ours");
        theCommonCaseIsBack();
    }

    /** It was killed: a writer that comes drops it, and so does an end of either kind. */
    @Test
    void whoDropsTheLastThatCannotBeReachedEndsIt() {
        readerWaits(DEAF);
        redis().del(bench.lock);
        assertThat(bench.write(BOB, token(), PLAIN)).startsWith("yes");
        theCommonCaseIsBack();
        bench.endWriter(BOB, token(), "leave", OWN);

        readerWaits(DEAF);
        assertThat(bench.endWriter(CAROL, token(), "leave", OWN)).containsExactly("released");
        theCommonCaseIsBack();
        bench.endWriter(BOB, token(), "leave", OWN);

        readerWaits(DEAF);
        redis().del(bench.lock);
        assertThat(bench.endReader(BOB, token(), "leave", OWN)).containsExactly("not-ours");
        theCommonCaseIsBack();
    }

    @Test
    void whoDropsTheLastThatIsDeadEndsIt() {
        for (Runnable drops : List.<Runnable>of(
                () -> bench.write(BOB, token(), PLAIN),
                () -> bench.endWriter(CAROL, token(), "leave", OWN),
                () -> bench.endReader(BOB, token(), "leave", OWN))) {
            readerWaits(HEARD);
            redis().del(bench.lock);
            redis().zadd(bench.readWatchers, -1, "a" + HEARD);
            assertThat(bench.writeCommonly(BOB, token())).isEqualTo(0L);
            drops.run();
            theCommonCaseIsBack();
            redis().del(bench.lock);
        }
    }

    // ---- a text without a set, or a set without a text

    @Test
    void aTextWithoutASetEndsWithTheNextScript() {
        for (Runnable script : List.<Runnable>of(
                () -> assertThat(bench.write(BOB, token(), PLAIN)).startsWith("yes"),
                () -> bench.endWriter(BOB, token(), "leave", OWN),
                () -> bench.endReader(BOB, token(), "leave", OWN),
                () -> assertThat(bench.read(BOB, token(), PLAIN.at(EARLY))).startsWith("yes"))) {
            redis().del(bench.lock, bench.readers);
            redis().set(bench.readersWait, "1");
            assertThat(bench.writeCommonly(BOB, token())).isEqualTo(0L);
            script.run();
            theCommonCaseIsBack();
        }
    }

    /** Without the text, the common case may pass a reader; the whole script does not. */
    @Test
    void aSetWithoutATextStillKeepsOutWritersOfTheWholeScript() {
        readerWaits(HEARD);
        redis().del(bench.lock, bench.readersWait);
        assertThat(bench.write(BOB, token(), PLAIN)).startsWith("held").contains("ahead");
        waitToRead(ALICE, EARLY, HEARD);
        bench.endReader(ALICE, token(), "stay", HEARD);
        assertThat(bench.write(CAROL, token(), PLAIN.at(1))).startsWith("yes");
        waitToRead(ALICE, EARLY, HEARD);
        assertThat(redis().get(bench.readersWait)).as("its next request").isEqualTo("1");
    }

    /** A key of another program, of any type, costs the order only, and is not changed. */
    @Test
    void theKeyOfAnotherProgramIsNotChanged() {
        for (String type : List.of("string", "list")) {
            redis().flushall();
            declareNew();
            if (type.equals("list")) {
                redis().lpush(bench.readersWait, "x");
            } else {
                redis().set(bench.readersWait, "theirs");
            }
            assertThat(bench.writeCommonly(CAROL, token())).isEqualTo(1L);
            assertThat(waitToRead(ALICE, EARLY, HEARD)).startsWith("queued").doesNotContain("besides");
            assertThat(bench.endWriter(CAROL, token(), "leave", OWN)).containsExactly("released", "woken");
            assertThat(bench.write(BOB, token(), PLAIN)).startsWith("held").contains("ahead");
            assertThat(waitToRead(ALICE, EARLY, HEARD)).startsWith("yes").doesNotContain("besides");
            assertThat(bench.in(bench.readWatchers)).isEmpty();
            assertThat(bench.endReader(ALICE, token(), "leave", HEARD)).containsExactly("released");
            assertThat(redis().type(bench.readersWait)).isEqualTo(type);
            assertThat(redis().pttl(bench.readersWait)).as("it has no ttl").isEqualTo(-1);
            if (type.equals("string")) {
                assertThat(redis().get(bench.readersWait)).isEqualTo("theirs");
            }
        }
    }

    // ---- what the server refuses

    @Test
    void aFullServerHasNeitherTheSetNorTheText() {
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes");
        redis().configSet("maxmemory", "1");
        assertThat(waitToRead(ALICE, EARLY, HEARD)).startsWith("held").contains("besides");
        noReaderWaits();
    }

    /** A wait that is over ends also while memory is full. */
    @Test
    void aFullServerLosesTheTextWithTheSet() {
        readerWaits(HEARD);
        redis().configSet("maxmemory", "1");
        assertThat(waitToRead(ALICE, LATE, HEARD)).startsWith("held").contains("besides");
        assertThat(bench.endReader(ALICE, token(), "leave", HEARD)).containsExactly("not-ours");
        noReaderWaits();
    }

    /** The answers stay those of a server that refuses nothing. */
    @Test
    void aRefusedTextIsReportedAndChangesNoAnswer() {
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes");
        SERVER.server().call("ACL", "SETUSER", "default", "-set");
        assertThat(waitToRead(ALICE, EARLY, HEARD).toString())
                .startsWith("[queued")
                .contains("besides", "'set' command");
        SERVER.server().call("ACL", "SETUSER", "default", "+set", "-del");
        assertThat(redis().exists(bench.readWatchers)).isOne();
        assertThat(redis().exists(bench.readersWait)).isZero();
        waitToRead(ALICE, EARLY, HEARD);
        assertThat(redis().get(bench.readersWait)).isEqualTo("1");
        assertThat(bench.endReader(ALICE, token(), "leave", HEARD).toString())
                .startsWith("[not-ours")
                .contains("besides", "'del' command");
        SERVER.server().call("ACL", "SETUSER", "default", "+del");
        redis().del(bench.lock);
        SERVER.server().call("ACL", "SETUSER", "default", "-del");
        assertThat(bench.write(BOB, token(), PLAIN).toString())
                .startsWith("[yes")
                .contains("besides", "'del' command");
        assertThat(redis().get(bench.lock)).startsWith(BOB);
    }
}
