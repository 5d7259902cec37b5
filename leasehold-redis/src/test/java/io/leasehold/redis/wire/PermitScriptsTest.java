package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the scripts for permits: the record, its expiry, waiters, and what other programs write. */
@Tag("quick")
class PermitScriptsTest {

    private static final String HEARD = "lock:wake:0123456789abcdef";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static int names;

    private final String name = "permit-scripts-" + names++;
    private final PermitBench permits = new PermitBench(SERVER, name);
    private long next;

    @BeforeEach
    void readTheClock() {
        List<String> time = SERVER.redis().time();
        next = Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }

    private String[] words(int count, String letter, long candidate) {
        return new String[] {Integer.toString(count), letter, Long.toString(candidate), Long.toString(candidate)};
    }

    private List<Object> acquire(int count, String letter) {
        return permits.acquire(words(count, letter, ++next), "");
    }

    private List<Object> queue(int count, String letter, String channel) {
        return permits.acquire(words(count, letter, ++next), channel);
    }

    /** Requests so many permits at once. */
    private List<Object> several(int count, String letter, int number, String channel) {
        String[] words = words(count, letter, ++next);
        next += number - 1;
        words[3] = Long.toString(next);
        return permits.acquire(words, channel);
    }

    private String tokenOf(int slot) {
        return permits.get(Integer.toString(slot)).split(":", 3)[1];
    }

    private List<Object> release(String letter) {
        return permits.release(letter, Long.toString(++next));
    }

    private void endHold(String field) {
        String[] parts = permits.get(field).split(":", 4);
        permits.set(field, parts[0] + ":" + parts[1] + ":1:" + parts[3]);
    }

    @Test
    void theRecordExpiresAfterItsLastUse() {
        acquire(2, "a");
        assertThat(SERVER.redis().pttl(permits.record)).isBetween(80_000L, 90_100L);
        assertThat(permits.renew("a", "100000")).containsExactly(1L);
        assertThat(SERVER.redis().pttl(permits.record)).isBetween(150_000L, 160_100L);
        assertThat(permits.renew("a", "1000")).containsExactly(1L);
        assertThat(SERVER.redis().pttl(permits.record)).isGreaterThan(150_000L);
        release("a");
        assertThat(SERVER.redis().pttl(permits.record)).isBetween(50_000L, 68_000L);
    }

    /** The fence outlives each hold. */
    @Test
    void aRenewalKeepsTheRecordLongerThanTheHold() {
        acquire(2, "a");
        assertThat(permits.renew("a", "60000")).containsExactly(1L);
        assertThat(SERVER.redis().pttl(permits.record)).isBetween(110_000L, 120_100L);
    }

    private List<Object> acquireAt(int count, String letter, long candidate) {
        return permits.acquire(words(count, letter, candidate), "");
    }

    @Test
    void aHolderThatAsksAgainFindsItsSlot() {
        acquire(3, "a");
        assertThat(acquire(3, "b")).contains("yes", "1");
        assertThat(acquire(3, "a")).contains("yes", "0");
        assertThat(tokenOf(0)).isEqualTo(Long.toString(next));
        assertThat(permits.get("2")).isEqualTo("-");
    }

    @Test
    void aBallotForAFreeSlotExceedsTheFenceAndIsNotFarAheadOfTheClock() {
        acquire(3, "a");
        assertThat(acquireAt(3, "b", next)).startsWith("stale");
        assertThat(acquireAt(3, "b", next + 60_000_000)).startsWith("refused");
        assertThat(permits.get("1")).isEqualTo("-");
        assertThat(permits.release("a", Long.toString(next))).containsExactly("released");
        assertThat(acquireAt(3, "a", next)).as("a late copy").startsWith("stale");
        assertThat(acquireAt(3, "b", next + 1)).contains("yes", "0");
    }

    @Test
    void theRecordLastsAsLongAsTheHoldThatEndsLast() {
        acquire(2, "a");
        assertThat(permits.renew("a", "200000")).containsExactly(1L);
        assertThat(acquire(2, "b")).contains("yes", "1");
        assertThat(SERVER.redis().pttl(permits.record)).isGreaterThan(250_000L);
    }

    @Test
    void aReleaseWithTheBallotOfTheGrantFreesEachSlotAndServesTheWaiters() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        several(2, "a", 2, "");
        assertThat(permits.release("a", Long.toString(next))).containsExactly("released");
        assertThat(permits.get("0") + permits.get("1")).isEqualTo("--");
        acquire(2, "a");
        long granted = next;
        acquire(2, "b");
        assertThat(queue(2, "c", HEARD)).startsWith("queued");
        assertThat(permits.release("a", Long.toString(granted))).containsExactly("released");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("c"));
        listener.close();
    }

    @Test
    void theCountOfAnOperatorIsKeptForAYear() {
        acquire(2, "a");
        assertThat(permits.change("3", "2")).containsExactly("changed");
        release("a");
        assertThat(SERVER.redis().pttl(permits.record)).isGreaterThan(31_000_000_000L);
    }

    @Test
    void anEndedHoldIsFree() {
        assertThat(acquire(1, "a")).contains("yes", "0");
        endHold("0");
        assertThat(permits.renew("a", "1000")).containsExactly(0L, 1L, 0L);
        assertThat(acquire(1, "b")).contains("yes", "0");
        assertThat(release("a")).containsExactly("not-ours");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("b"));
        endHold("0");
        assertThat(release("b")).as("it ended by itself").containsExactly("not-ours");
        assertThat(permits.get("0")).isEqualTo("-");
    }

    @Test
    void severalSlotsAreTakenTogetherWithATokenEach() {
        acquire(5, "a");
        long first = next + 1;
        assertThat(several(5, "b", 3, ""))
                .containsSubsequence("yes", "1", "2", "3")
                .hasSize(5);
        for (int i = 0; i < 3; i++) {
            assertThat(tokenOf(1 + i)).isEqualTo(Long.toString(first + i));
        }
        assertThat(permits.get("fence")).isEqualTo(Long.toString(first + 2));
        assertThat(several(5, "b", 3, ""))
                .as("a second ballot finds its slots")
                .containsSubsequence("yes", "1", "2", "3")
                .hasSize(5);
        assertThat(tokenOf(3)).isEqualTo(Long.toString(next));
        assertThat(several(5, "c", 2, "")).as("one is free").startsWith("held").contains("lock");
        assertThat(permits.get("4")).isEqualTo("-");
        assertThat(permits.renew("b", "100000")).containsExactly(1L);
        long end = Long.parseLong(permits.get("1").split(":", 4)[2]);
        assertThat(permits.get("3")).contains(":" + end + ":");
        assertThat(release("b")).containsExactly("released");
        for (String slot : new String[] {"1", "2", "3"}) {
            assertThat(permits.get(slot)).isEqualTo("-");
        }
        assertThat(permits.renew("b", "100000")).containsExactly(0L, 1L, 0L);
        assertThat(permits.get("0")).startsWith(PermitBench.owner("a"));
    }

    @Test
    void theFirstWaiterBlocksThoseBehindItUntilAllItsSlotsAreFree() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(4, "a");
        acquire(4, "b");
        assertThat(several(4, "c", 3, HEARD)).startsWith("queued").contains("lock");
        assertThat(queue(4, "d", HEARD))
                .as("one is free, but c waits before")
                .startsWith("queued")
                .contains("ahead");
        assertThat(acquire(4, "e")).startsWith("held");
        assertThat(release("a")).containsExactly("released");
        for (int slot : new int[] {0, 2, 3}) {
            assertThat(permits.get(Integer.toString(slot))).startsWith(PermitBench.owner("c"));
        }
        assertThat(Long.parseLong(tokenOf(3)) - Long.parseLong(tokenOf(0))).isEqualTo(2);
        next = Long.parseLong(permits.get("fence"));
        assertThat(several(4, "c", 3, HEARD)).containsSubsequence("yes", "0", "2", "3");
        assertThat(release("b")).containsExactly("released");
        assertThat(permits.get("1")).startsWith(PermitBench.owner("d"));
        listener.close();
    }

    @Test
    void aWaiterThatWantsMoreThanALowerNumberBlocksNoOther() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(3, "a");
        assertThat(several(3, "b", 3, HEARD)).startsWith("queued");
        assertThat(permits.change("2", "3")).containsExactly("changed");
        assertThat(queue(2, "c", HEARD)).contains("yes", "1");
        listener.close();
    }

    @Test
    void severalSlotsEndTogether() {
        several(3, "a", 3, "");
        assertThat(permits.forceRelease("1", "another")).containsExactly("none");
        assertThat(permits.forceRelease("1", "")).startsWith("removed");
        assertThat(permits.renew("a", "1000")).containsExactly(0L, 1L, 0L);
        next = Math.max(next, Long.parseLong(permits.get("fence")));
        assertThat(several(3, "b", 3, "")).containsSubsequence("yes", "0", "1", "2");
        assertThat(permits.releaseKey("b", Long.toString(++next))).containsExactly("released");
        for (String slot : new String[] {"0", "1", "2"}) {
            assertThat(permits.get(slot)).isEqualTo("-");
        }
        several(3, "c", 2, "");
        endHold("0");
        endHold("1");
        assertThat(several(3, "d", 3, "")).containsSubsequence("yes", "0", "1", "2");
    }

    @Test
    void severalSlotsGoToNoWaiterThatHearsNothing() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(2, "a");
        assertThat(several(2, "b", 2, "lock:wake:ffffffffffffffff")).startsWith("queued");
        assertThat(several(2, "c", 2, HEARD)).startsWith("queued");
        assertThat(release("a")).containsExactly("released");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("c"));
        assertThat(permits.get("1")).startsWith(PermitBench.owner("c"));
        listener.close();
    }

    @Test
    void aWaiterThatHearsNothingIsPassedOver() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(1, "a");
        assertThat(queue(1, "b", "lock:wake:ffffffffffffffff")).startsWith("queued");
        assertThat(queue(1, "c", HEARD)).startsWith("queued");
        assertThat(release("a")).containsExactly("released");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("c"));
        listener.close();
    }

    /** The front of the queue is full, so the last waiters stand behind it. */
    @Test
    void aWaiterBehindTheFrontLeavesItsPlace() {
        acquire(1, "a");
        for (char letter : "0123456789bcdef".toCharArray()) {
            assertThat(queue(1, String.valueOf(letter), HEARD)).startsWith("queued");
        }
        assertThat(permits.isBehind("0")).isFalse();
        assertThat(permits.isBehind("d")).isTrue();
        assertThat(permits.isBehind("e")).isTrue();
        assertThat(release("d")).containsExactly("not-ours");
        assertThat(permits.isBehind("d")).isFalse();
        assertThat(permits.isBehind("e")).isTrue();
    }

    @Test
    void aSlotThatNoWaiterTakesIsFree() {
        acquire(1, "a");
        queue(1, "b", "lock:wake:ffffffffffffffff");
        assertThat(release("a")).containsExactly("released");
        assertThat(permits.get("0")).isEqualTo("-");
        next += 1_000_000;
        assertThat(acquire(1, "c")).contains("yes", "0");
    }

    @Test
    void severalFreeSlotsServeSeveralWaiters() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(2, "a");
        acquire(2, "b");
        queue(2, "c", HEARD);
        queue(2, "d", HEARD);
        queue(2, "e", HEARD);
        endHold("0");
        endHold("1");
        assertThat(release("f")).containsExactly("not-ours");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("c"));
        assertThat(permits.get("1")).startsWith(PermitBench.owner("d"));
        assertThat(acquire(2, "g")).startsWith("stale");
        next += 1_000_000;
        assertThat(acquire(2, "g")).startsWith("held");
        assertThat(permits.change("3", "2")).containsExactly("changed");
        assertThat(permits.get("2")).as("the new slot goes to the waiter").startsWith(PermitBench.owner("e"));
        listener.close();
    }

    @Test
    void aWokenWaiterHidesNoFurtherFreeSlot() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(2, "a");
        acquire(2, "b");
        assertThat(permits.acquire(words(2, "c", ++next), HEARD, "0")).startsWith("queued");
        queue(2, "d", HEARD);
        release("a");
        release("b");
        assertThat(permits.get("0")).as("it is woken, and d waits behind it").isEqualTo("-");
        assertThat(acquire(2, "c")).contains("yes", "0");
        assertThat(permits.get("1")).startsWith(PermitBench.owner("d"));
        listener.close();
    }

    @Test
    void aCallerBelowTheTokensOfThoseServedBeforeItIsStale() {
        StatefulRedisPubSubConnection<String, String> listener =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.sync().subscribe(HEARD);
        acquire(2, "a");
        acquire(2, "b");
        queue(2, "c", HEARD);
        endHold("0");
        endHold("1");
        assertThat(acquire(2, "d")).startsWith("stale");
        assertThat(permits.get("0")).startsWith(PermitBench.owner("c"));
        assertThat(permits.get("1")).as("no hold is left of the one that ended").isEqualTo("-");
        next = Long.parseLong(permits.get("fence"));
        assertThat(acquire(2, "d")).contains("yes", "1");
        listener.close();
    }

    @Test
    void anotherCountAndAnotherVersionAreRefused() {
        acquire(2, "a");
        assertThat(acquire(3, "b")).startsWith("count").endsWith("2");
        assertThat(acquire(1, "a")).as("also for a holder").startsWith("count").endsWith("2");
        assertThat(permits.change("3", "0")).containsExactly("kept");
        assertThat(permits.change("3", "3")).containsExactly("kept");
        assertThat(permits.get("count")).isEqualTo("2 2");
    }

    @Test
    void anOperatorsChangeDoesNotMeetACountThatWasSetSinceItWasRead() {
        acquire(5, "a");
        String seen = permits.get("count").split(" ", -1)[1];
        SERVER.redis().del(permits.record);
        acquire(3, "b");
        assertThat(permits.change("8", seen))
                .as("the record was forgotten, and is another now")
                .containsExactly("kept");
        assertThat(permits.get("count")).startsWith("3 ");
        assertThat(permits.change("8", permits.get("count").split(" ", -1)[1])).containsExactly("changed");
        String first = permits.get("count");
        assertThat(permits.change("5", first.split(" ", -1)[1])).containsExactly("changed");
        assertThat(permits.change("8", "5")).as("no client has set this 5").containsExactly("kept");
    }

    @Test
    void theNameOfALockInUseIsRefused() {
        String lock = KeyLayout.standard().lock(LockName.exactly(name));
        SERVER.redis().set(lock, "x");
        assertThat(acquire(1, "a")).startsWith("lock");
        assertThat(permits.change("2", "0"))
                .as("an operator is refused as well")
                .startsWith("lock");
        SERVER.redis().del(lock);
        SERVER.redis().set(KeyLayout.fence(lock), "1");
        assertThat(acquire(1, "a")).startsWith("lock");
        assertThat(permits.change("2", "0")).startsWith("lock");
        assertThat(SERVER.redis().exists(permits.record)).isZero();
        SERVER.redis().del(KeyLayout.fence(lock));
        assertThat(acquire(1, "a")).startsWith("yes");
        SERVER.redis().set(lock, "x");
        assertThat(acquire(1, "a")).as("permits in use stay usable").startsWith("yes");
        assertThat(permits.change("2", "1")).containsExactly("changed");
    }

    @Test
    void anotherProgramsKeyIsNotChanged() {
        SERVER.redis().set(permits.record, "theirs");
        assertThat(acquire(1, "a")).contains("broken", permits.record, "string");
        assertThat(release("a")).contains("broken");
        assertThat(permits.releaseKey("a", "1")).contains("broken");
        assertThat(permits.change("1", "0")).contains("broken");
        assertThat(permits.forceRelease("0", "")).contains("broken");
        assertThat(permits.renew("a", "1000")).containsExactly(0L, 1L, 0L);
        assertThat(SERVER.redis().get(permits.record)).isEqualTo("theirs");
    }

    @Test
    void aRecordWithAnotherProgramsFieldIsNotChanged() {
        acquire(2, "a");
        permits.set("slot", permits.get("0"));
        assertThat(acquire(2, "b")).contains("broken", permits.record, "hash");
        assertThat(permits.release("a", Long.toString(next))).contains("broken");
        assertThat(permits.get("1")).isEqualTo("-");
    }

    @Test
    void theRecordAloneEndsAnOwnerToken() {
        acquire(2, "a");
        assertThat(permits.releaseKey("a", Long.toString(next + 10))).containsExactly("released");
        assertThat(permits.get("0")).isEqualTo("-");
        assertThat(permits.get("fence")).isEqualTo(Long.toString(next + 10));
        assertThat(permits.releaseKey("a", "0")).containsExactly("not-ours");
    }

    @Test
    void anOperatorFreesASlotOfAHolder() {
        acquire(2, "a");
        assertThat(permits.forceRelease("1", "")).containsExactly("none");
        assertThat(permits.forceRelease("0", "other")).containsExactly("none");
        assertThat(permits.forceRelease("0", "vector/2")).containsExactly("removed", "vector/2");
        assertThat(permits.get("0")).isEqualTo("-");
    }
}
