package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.MemberScriptBench.BOUND;
import static io.leasehold.redis.wire.MemberScriptBench.Caller.PLAIN;
import static io.leasehold.redis.wire.MemberScriptBench.OWN;
import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.MARKER;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the scripts for readers at a member of a set: its checks, both floors, who keeps out whom, and the downgrade. */
@Tag("quick")
class MemberReadScriptsTest {

    private static final long EARLY = 1_000;
    private static final long LATE = 2_000;
    private static final String HEARD = "lock:wake:heard";

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
        listener.sync().subscribe(HEARD, channel(ALICE), channel(BOB), channel(CAROL));
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

    private String read(String owner) {
        return (String) bench.read(owner, token(), PLAIN).get(0);
    }

    private String write(String owner) {
        return (String) bench.write(owner, token(), PLAIN).get(0);
    }

    private String waitToRead(String owner, long place) {
        return (String)
                bench.read(owner, token(), PLAIN.waiting(place, channel(owner))).get(0);
    }

    private String waitToWrite(String owner, long place) {
        return (String) bench.write(owner, token(), PLAIN.waiting(place, channel(owner)))
                .get(0);
    }

    private static String channel(String owner) {
        return "lock:wake:" + owner.charAt(0);
    }

    private String endRead(String owner) {
        return (String) bench.endReader(owner, token(), "leave", channel(owner)).get(0);
    }

    private String endWrite(String owner) {
        return (String) bench.endWriter(owner, token(), "leave", channel(owner)).get(0);
    }

    // ---- the checks of a member

    @Test
    void withoutItsMarkerItGrantsNoReader() {
        bench.write(CAROL, token(), PLAIN);
        redis().del(KeyLayout.marker());
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("unborn");
        assertThat(redis().get(KeyLayout.marker())).startsWith("unborn|");
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).startsWith("unborn");
        redis().set(KeyLayout.marker(), "born|5|" + "0".repeat(40) + "|set");
        assertThat(bench.read(ALICE, token(), PLAIN)).as("a former life").startsWith("unborn");
        redis().set(KeyLayout.marker(), "born|5|" + "0".repeat(40) + "|set");
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN))
                .as("a former life")
                .startsWith("unborn");
        assertThat(redis().exists(bench.readers)).isZero();
    }

    @Test
    void itAnswersItsOwnSetAloneAndFromTheEndOfItsQuarantineOn() {
        bench.write(CAROL, token(), PLAIN);
        for (MemberScriptBench.Caller other : List.of(PLAIN.of("other"), PLAIN.young(1))) {
            String answer = other.ageMicros() > 0 ? "young" : "other";
            assertThat(bench.read(ALICE, token(), other)).startsWith(answer);
            assertThat(bench.downgrade(ALICE, token(), CAROL, other)).startsWith(answer);
        }
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).startsWith("yes");
    }

    // ---- readers, writers and floors

    @Test
    void readersShareAndExcludeWriters() {
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(read(BOB)).isEqualTo("yes");
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        assertThat(bench.write(CAROL, token(), PLAIN)).contains("held", "lock", ":readers");
        assertThat(endRead(ALICE)).isEqualTo("released");
        assertThat(endRead(ALICE)).isEqualTo("not-ours");
        assertThat(write(CAROL)).isEqualTo("held");
        assertThat(endRead(BOB)).isEqualTo("released");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(write(CAROL)).isEqualTo("yes");
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("held").contains("lock");
        assertThat(endRead(CAROL)).as("a writer is no reader").isEqualTo("not-ours");
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        assertThat(endWrite(CAROL)).isEqualTo("released");
    }

    /** Ballots of readers arrive in any order at the members. */
    @Test
    void aReaderNeedNotExceedOtherReadersButWritersAndTheEnded() {
        long lower = token();
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(bench.read(BOB, lower, PLAIN)).startsWith("yes");
        assertThat(bench.write(CAROL, lower, PLAIN)).startsWith("stale");
        long ended = token();
        assertThat(bench.endReader(BOB, ended, "leave", OWN)).startsWith("released");
        assertThat(bench.read(BOB, ended, PLAIN)).as("a late copy").startsWith("stale");
        assertThat(bench.write(CAROL, ended, PLAIN)).startsWith("stale");
        assertThat(endRead(ALICE)).isEqualTo("released");
        long ofWriter = token();
        assertThat(bench.write(CAROL, ofWriter, PLAIN)).startsWith("yes");
        assertThat(bench.read(ALICE, ofWriter, PLAIN)).startsWith("stale");
    }

    /** Its request may arrive after its end. */
    @Test
    void theEndOfAReaderThatWasNeverSeenRaisesBothFloors() {
        long ended = token();
        assertThat(bench.endReader(ALICE, ended, "leave", OWN)).startsWith("not-ours");
        assertThat(bench.read(ALICE, ended, PLAIN)).startsWith("stale");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(read(BOB)).isEqualTo("yes");
        long beside = token();
        assertThat(bench.endReader(ALICE, beside, "leave", OWN)).startsWith("not-ours");
        assertThat(bench.read(ALICE, beside, PLAIN)).startsWith("stale");
        assertThat(read(ALICE)).isEqualTo("yes");
    }

    @Test
    void aBallotBeyondTheBoundIsRefusedAndItsEndIsClamped() {
        long fence = bench.now() + 1_000 * SECOND;
        redis().set(bench.fence, Long.toString(fence));
        assertThat(bench.read(ALICE, fence + BOUND + 1, PLAIN))
                .startsWith("refused")
                .endsWith(Long.toString(fence + BOUND));
        assertThat(bench.endReader(ALICE, fence + BOUND + 1, "leave", OWN))
                .containsExactly("clamped", Long.toString(fence + BOUND));
        assertThat(redis().get(bench.fence)).isEqualTo(Long.toString(fence + BOUND));
        assertThat(bench.endReader(ALICE, fence + BOUND + 1, "leave", OWN)).startsWith("not-ours");
        assertThat(redis().get(bench.fence)).isEqualTo(Long.toString(fence + BOUND + 1));
    }

    @Test
    void aReaderEndsWithItsOwnTtl() {
        bench.read(ALICE, token(), PLAIN.ttl(60_000));
        bench.read(BOB, token(), PLAIN.ttl(300_000));
        assertThat(redis().pttl(bench.lock)).isGreaterThan(250_000);
        assertThat(endRead(BOB)).isEqualTo("released");
        assertThat(redis().pttl(bench.lock)).isBetween(30_000L, 60_005L);
        assertThat(bench.read(ALICE, token(), PLAIN.ttl(1_000))).startsWith("yes");
        assertThat(redis().pttl(bench.lock)).as("never earlier").isGreaterThan(30_000);
        assertThat(Long.parseLong(redis().hget(bench.readers, ALICE).split(" ", 2)[0]))
                .as("nor its own end")
                .isGreaterThan(bench.now() + 30 * SECOND);
    }

    // ---- who keeps out whom

    @Test
    void aWriterThatWaitsKeepsOutReadersWithALaterPlace() {
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(waitToWrite(CAROL, LATE)).isEqualTo("queued");
        assertThat(bench.read(BOB, token(), PLAIN)).startsWith("held").contains(":readers");
        assertThat(bench.in(bench.readWatchers))
                .as("who does not wait keeps out no client")
                .isEmpty();
        assertThat(waitToRead(BOB, LATE + 1)).isEqualTo("queued");
        assertThat(bench.in(bench.readWatchers)).containsExactlyInAnyOrder("q" + channel(BOB), "a" + channel(BOB));
        assertThat(waitToRead(BOB, LATE)).as("an equal place").isEqualTo("yes");
        assertThat(bench.in(bench.readWatchers)).as("a grant ends the wait").isEmpty();
        assertThat(endRead(BOB)).isEqualTo("released");
        assertThat(waitToRead(BOB, EARLY)).isEqualTo("yes");
        assertThat(bench.in(bench.watchers)).hasSize(2);
    }

    @Test
    void aWriterThatWaitsKeepsReadersFromAFreeLock() {
        bench.watches(bench.watchers, LATE, HEARD, bench.now() + 600 * SECOND);
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("held").contains("ahead");
        assertThat(bench.in(bench.watchers)).hasSize(2);
        assertThat(-redis().zscore(bench.watchers, "a" + HEARD))
                .as("it was woken")
                .isLessThan(bench.now() + 4.0 * SECOND);
        assertThat(bench.read(ALICE, token(), PLAIN.at(EARLY))).startsWith("yes");
    }

    /** It was killed, or its connection is gone. While readers hold, it may not have the lock, and is not notified. */
    @Test
    void aWriterThatCannotBeReachedKeepsNoReaderFromAFreeLock() {
        bench.watches(bench.watchers, LATE, "lock:wake:x", bench.now() + 600 * SECOND);
        assertThat(bench.read(ALICE, token(), PLAIN.at(1))).startsWith("yes");
        assertThat(bench.read(BOB, token(), PLAIN)).startsWith("held");
        assertThat(bench.in(bench.watchers)).hasSize(2);
        endRead(ALICE);
        bench.watches(bench.watchers, LATE, "lock:wake:x", bench.now() + 600 * SECOND);
        assertThat(bench.read(BOB, token(), PLAIN)).startsWith("yes");
        assertThat(redis().exists(bench.watchers)).isZero();
    }

    @Test
    void holdersAreNotKeptOut() {
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(waitToWrite(CAROL, EARLY)).isEqualTo("queued");
        assertThat(read(ALICE)).as("its own hold").isEqualTo("yes");
        assertThat(bench.read(BOB, token(), PLAIN.at(1)))
                .as("it holds the lock elsewhere")
                .startsWith("yes");
    }

    /** The place at the client's former request would keep out readers that keep out the client now. */
    @Test
    void aWaiterHasThePlaceOfItsLastRequest() {
        assertThat(write(CAROL)).isEqualTo("yes");
        waitToRead(ALICE, EARLY);
        waitToRead(ALICE, LATE);
        assertThat(redis().zscore(bench.readWatchers, "q" + channel(ALICE))).isEqualTo(LATE);
        waitToRead(ALICE, EARLY);
        assertThat(redis().zscore(bench.readWatchers, "q" + channel(ALICE))).isEqualTo(EARLY);
        assertThat(redis().pttl(bench.readWatchers)).isBetween(30_000L, 60_000L);
        assertThat(-redis().zscore(bench.readWatchers, "a" + channel(ALICE)))
                .isBetween(bench.now() + 30.0 * SECOND, bench.now() + 60.0 * SECOND);
    }

    /** Its client still listens. */
    @Test
    void theDeadKeepOutNobodyAndLeave() {
        bench.watches(bench.watchers, EARLY, HEARD, bench.now() - SECOND);
        assertThat(read(ALICE)).isEqualTo("yes");
        assertThat(redis().exists(bench.watchers)).isZero();
    }

    /** A client may wait with several attempts: the end of one that does not wait is none of its wait. */
    @Test
    void onlyAGrantToAWaiterEndsTheWait() {
        bench.watches(bench.readWatchers, LATE, OWN, bench.now() + 600 * SECOND);
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("yes");
        assertThat(bench.read(ALICE, token(), PLAIN.at(1))).startsWith("yes");
        assertThat(bench.in(bench.readWatchers)).hasSize(2);
        assertThat(bench.read(BOB, token(), PLAIN.at(LATE))).startsWith("yes");
        assertThat(bench.in(bench.readWatchers)).isEmpty();
    }

    @Test
    void theEndOfAnOwnerTokenEndsTheWaitOfItsKindUnlessItsAttemptGoesOn() {
        assertThat(write(CAROL)).isEqualTo("yes");
        bench.read(ALICE, token(), PLAIN.waiting(LATE, OWN));
        bench.write(ALICE, token(), PLAIN.waiting(LATE, OWN));
        bench.endReader(ALICE, token(), "stay", OWN);
        bench.endWriter(ALICE, token(), "stay", OWN);
        assertThat(bench.in(bench.readWatchers)).hasSize(2);
        assertThat(bench.in(bench.watchers)).hasSize(2);
        bench.endReader(ALICE, token(), "leave", OWN);
        assertThat(bench.in(bench.readWatchers)).isEmpty();
        assertThat(bench.in(bench.watchers)).hasSize(2);
        bench.endWriter(ALICE, token(), "leave", OWN);
        assertThat(bench.in(bench.watchers)).isEmpty();
    }

    // ---- downgrade

    @Test
    void aReaderTakesThePlaceOfAWriter() {
        long token = token();
        bench.write(CAROL, token, PLAIN.ttl(60_000));
        waitToWrite(BOB, EARLY);
        assertThat(bench.downgrade(ALICE, token, CAROL, PLAIN)).startsWith("stale");
        assertThat(bench.downgrade(ALICE, token + BOUND + 60 * SECOND, CAROL, PLAIN))
                .startsWith("refused");
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        long swapped = token();
        assertThat(bench.downgrade(ALICE, swapped, CAROL, PLAIN.ttl(1_000))).startsWith("yes");
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        assertThat(redis().pttl(bench.lock)).as("not earlier than the writer").isGreaterThan(30_000);
        assertThat(redis().hget(bench.readers, ALICE)).endsWith(" " + swapped + " host/1/a");
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN))
                .as("its own reader")
                .startsWith("yes");
        assertThat(bench.endWriter(CAROL, token(), "leave", OWN)).startsWith("not-ours");
        assertThat(redis().get(bench.lock)).isEqualTo(MARKER);
        long ended = token();
        assertThat(bench.endReader(ALICE, ended, "leave", OWN)).startsWith("released");
        assertThat(bench.downgrade(ALICE, ended, CAROL, PLAIN)).startsWith("stale");
    }

    @Test
    void aNodeWithNeitherMakesNoReader() {
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).contains("not-ours", "free");
        assertThat(redis().exists(bench.lock, bench.readers, bench.fence)).isZero();
        read(BOB);
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).contains("not-ours", ":readers");
        assertThat(redis().hkeys(bench.readers)).containsExactlyInAnyOrder("all", BOB);
        endRead(BOB);
        write(BOB);
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).contains("not-ours", "lock");
        assertThat(redis().get(bench.lock)).startsWith(BOB);
    }

    // ---- errors

    @Test
    void keysOfOtherTypesAreReported() {
        redis().set(bench.readers, "a string");
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("broken").endsWith(bench.readers, "string");
        write(CAROL);
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN))
                .startsWith("broken")
                .endsWith(bench.readers, "string");
        long ended = token();
        assertThat(bench.endReader(ALICE, ended, "leave", OWN))
                .startsWith("broken")
                .endsWith(bench.readers, "string");
        assertThat(redis().get(bench.readers)).isEqualTo("a string");
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        redis().del(bench.readers);
        redis().set(bench.readWatchers, "a string");
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("held");
        assertThat(bench.read(ALICE, token(), PLAIN.waiting(LATE, OWN)))
                .startsWith("broken")
                .endsWith(bench.readWatchers, "string");
        endWrite(CAROL);
        redis().del(bench.fence);
        redis().lpush(bench.fence, "x");
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("broken").endsWith(bench.fence, "list");
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN))
                .startsWith("broken")
                .endsWith(bench.fence, "list");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    /** A lock of another program is busy, and is not changed. */
    @Test
    void aForeignHolderExcludesReaders() {
        redis().set(bench.lock, "theirs");
        assertThat(bench.read(ALICE, token(), PLAIN)).contains("held", "foreign", "string");
        assertThat(endRead(ALICE)).isEqualTo("not-ours");
        redis().del(bench.lock);
        redis().rpush(bench.lock, "x");
        assertThat(bench.read(ALICE, token(), PLAIN)).contains("held", "foreign", "list");
        assertThat(redis().type(bench.lock)).isEqualTo("list");
    }

    @Test
    void aFullServerRefusesNewReadersAndPlacesOnly() {
        write(CAROL);
        redis().configSet("maxmemory", "1");
        assertThat(bench.read(ALICE, token(), PLAIN.waiting(LATE, OWN)))
                .startsWith("held")
                .contains("besides");
        assertThat(redis().exists(bench.readWatchers)).isZero();
        assertThat(bench.downgrade(BOB, token(), CAROL, PLAIN)).startsWith("yes");
        assertThat(bench.read(BOB, token(), PLAIN)).as("its own").startsWith("yes");
        long ended = token();
        assertThat(bench.endReader(ALICE, ended, "leave", OWN)).startsWith("not-ours");
        assertThat(bench.endReader(BOB, ended, "leave", OWN)).startsWith("released");
        assertThat(redis().exists(bench.lock)).isZero();
        assertThat(redis().get(bench.fence)).isEqualTo(Long.toString(ended));
        assertThatThrownBy(() -> bench.read(ALICE, token(), PLAIN)).hasMessageContaining("OOM");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    /** A reader that could not be ended is refused before it holds or waits. */
    @Test
    void aReaderThatLacksARightOfItsEndIsRefused() {
        SERVER.server().call("ACL", "SETUSER", "default", "-hgetall");
        assertThatThrownBy(() -> bench.read(ALICE, token(), PLAIN)).hasMessageContaining("hgetall");
        write(CAROL);
        assertThatThrownBy(() -> bench.downgrade(ALICE, token(), CAROL, PLAIN)).hasMessageContaining("hgetall");
        assertThat(redis().get(bench.lock)).startsWith(CAROL);
        assertThat(bench.endReader(ALICE, token(), "leave", OWN))
                .as("a waiter leaves")
                .startsWith("not-ours");
    }

    /** The places matter for fairness only: without the right to compare them a free lock is granted, and the right is named. */
    @Test
    void withoutTheRightToCompareNobodyIsKeptOut() {
        SERVER.server().call("ACL", "SETUSER", "default", "-zrangebyscore");
        bench.watches(bench.watchers, EARLY, "lock:wake:x", bench.now() + 600 * SECOND);
        bench.watches(bench.readWatchers, EARLY, "lock:wake:y", bench.now() + 600 * SECOND);
        assertThat(bench.read(ALICE, token(), PLAIN)).startsWith("yes").contains("besides");
        assertThat(bench.endReader(ALICE, token(), "leave", OWN))
                .startsWith("released")
                .contains("besides");
        assertThat(bench.write(CAROL, token(), PLAIN)).startsWith("yes").contains("besides");
    }
}
