package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the subscription to the channel of each slot of a Cluster: its master and its duration; only the test
 * advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillWakeUpsTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration IDLE = Duration.ofMinutes(10);
    private static final Duration NANO = Duration.ofNanos(1);
    /** Keys of slots 0, 1 and the last one. */
    private static final String LOW = "lock:{" + SlotTags.of(0) + "}";

    private static final String NEAR = "lock:{" + SlotTags.of(1) + "}";
    private static final String HIGH = "lock:{" + SlotTags.of(16_383) + "}";
    private static final String OLD = "run_id:old\r\nredis_version:6.2.7\r\nrole:master\r\ncluster_enabled:1\r\n";
    private final ServerRefusal noPermission =
            new ServerRefusal("NOPERM this user has no permissions to access one of the channels", null);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final RedisErrors errors = new RedisErrors("cluster");
    private final Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one,two"));
    private final ClusterMembers members = new ClusterMembers(where, driver, errors, runtime, () -> {});
    private final AtomicInteger looks = new AtomicInteger();
    private final AtomicInteger resubscribed = new AtomicInteger();
    private final List<String> heard = new ArrayList<>();
    private final ClusterWakeUps wakeUps =
            new ClusterWakeUps(members, looks::incrementAndGet, driver, errors, runtime, heard::add);

    @BeforeEach
    void start() {
        driver.pongs = true;
        wakeUps.onResubscribed(resubscribed::incrementAndGet);
        serves(5, "one", "two");
    }

    @AfterEach
    void close() {
        runtime.close();
    }

    /** Sets the masters of the lower and the upper half; an empty text means none. */
    private void serves(long epoch, String low, String high) {
        List<Object> ranges = new ArrayList<>();
        if (!low.isEmpty()) {
            ranges.add(List.of(0L, 8_191L, List.of(low, 6379L, "id")));
        }
        if (!high.isEmpty()) {
            ranges.add(List.of(8_192L, 16_383L, List.of(high, 6379L, "id")));
        }
        members.adopt(SlotTable.parse("one", ranges, "cluster_current_epoch:" + epoch));
    }

    private int connections() {
        return driver.askedForPushes.size();
    }

    private String place(int number) {
        return driver.askedForPushes.get(number).server().host();
    }

    private static List<String> channels(StillDriver.Pushes pushes) {
        return pushes.subscribed.stream().map(one -> one.channel()).toList();
    }

    private StillDriver.Pushes listening(String key) {
        CompletableFuture<Boolean> started = wakeUps.started(key);
        StillDriver.Pushes pushes = driver.pushes().begins();
        assertThat(started).isCompletedWithValue(true);
        assertThat(wakeUps.isLive(key)).isTrue();
        return pushes;
    }

    // ---- one channel for each slot

    @Test
    void theChannelsOfOneMasterShareAConnection() {
        assertThat(wakeUps.isLive(LOW)).isFalse();
        StillDriver.Pushes one = listening(LOW);
        assertThat(place(0)).isEqualTo("one");
        assertThat(one.subscribed.get(0).sharded()).isTrue();
        CompletableFuture<Boolean> near = wakeUps.started(NEAR);
        assertThat(connections()).isOne();
        assertThat(wakeUps.isLive(NEAR)).isFalse();
        one.begins();
        assertThat(near).isCompletedWithValue(true);
        assertThat(channels(one)).containsExactly(wakeUps.channel(LOW), wakeUps.channel(NEAR));
        assertThat(wakeUps.started(LOW)).isCompletedWithValue(true);
        assertThat(one.subscribed).as("it is subscribed to already").hasSize(2);
        listening(HIGH);
        assertThat(place(1)).isEqualTo("two");
        one.listener.message("wake");
        assertThat(heard).containsExactly("wake");
        assertThat(resubscribed).as("none has ended").hasValue(0);
        assertThat(looks).hasValue(0);
    }

    @Test
    void whoAsksDuringATryBeginsNoOther() {
        CompletableFuture<Boolean> first = wakeUps.started(LOW);
        CompletableFuture<Boolean> second = wakeUps.started(LOW);
        StillDriver.Pushes pushes = driver.pushes();
        assertThat(pushes.subscribed).hasSize(1);
        assertThat(second).isNotDone();
        pushes.begins();
        assertThat(first).isCompletedWithValue(true);
        assertThat(second).isCompletedWithValue(true);
    }

    @Test
    void aChannelThatTheServerEndsIsSubscribedToAgainAlone() {
        StillDriver.Pushes pushes = listening(LOW);
        wakeUps.started(NEAR);
        pushes.begins();
        for (int i = 1; i <= 9; i++) {
            pushes.listener.unsubscribed(wakeUps.channel(LOW));
            assertThat(wakeUps.isLive(LOW)).isFalse();
            assertThat(wakeUps.isLive(NEAR)).isTrue();
            assertThat(looks).as("it may be served elsewhere").hasValue(i);
            assertThat(wakeUps.started(LOW)).as("after its first try").isCompletedWithValue(false);
            runtime.advance(FIRST_RETRY);
            assertThat(pushes.subscribed).hasSize(i + 2);
            pushes.begins();
            assertThat(wakeUps.isLive(LOW)).isTrue();
            assertThat(resubscribed).hasValue(i);
        }
        assertThat(connections()).isOne();
        pushes.listener.unsubscribed("another");
        assertThat(wakeUps.isLive(LOW)).isTrue();
    }

    @Test
    void withAConnectionAllItsChannelsEndAndAreMadeAgainOnAnother() {
        StillDriver.Pushes pushes = listening(LOW);
        wakeUps.started(NEAR);
        pushes.begins();
        StillDriver.Pushes two = listening(HIGH);
        pushes.ends();
        assertThat(wakeUps.isLive(LOW)).isFalse();
        assertThat(wakeUps.isLive(NEAR)).isFalse();
        assertThat(wakeUps.isLive(HIGH)).isTrue();
        runtime.advance(FIRST_RETRY);
        assertThat(connections()).isEqualTo(3);
        StillDriver.Pushes next = driver.pushes();
        assertThat(channels(next)).containsExactlyInAnyOrder(wakeUps.channel(LOW), wakeUps.channel(NEAR));
        next.subscribed.forEach(one -> one.answer().complete(null));
        assertThat(resubscribed).hasValue(2);
        assertThat(wakeUps.isLive(NEAR)).isTrue();
        assertThat(two.subscribed).hasSize(1);
    }

    /** The end may be reported between the answer and its check. */
    @Test
    void whatBeginsOnAConnectionThatHasEndedIsMadeAgain() {
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        StillDriver.Pushes pushes = driver.pushes();
        pushes.ends();
        pushes.begins();
        assertThat(started).isCompletedWithValue(false);
        assertThat(wakeUps.isLive(LOW)).isFalse();
        runtime.advance(FIRST_RETRY);
        driver.pushes().begins();
        assertThat(connections()).isEqualTo(2);
        assertThat(wakeUps.isLive(LOW)).isTrue();
        assertThat(resubscribed)
                .as("a caller with a negative answer is notified")
                .hasValue(1);
    }

    // ---- what fails

    @Test
    void aRightThatIsMissingIsAskedForOnceAMinuteAndIsNoReasonToLook() {
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        StillDriver.Pushes pushes = driver.pushes();
        for (int i = 1; i <= 3; i++) {
            pushes.refuses(noPermission);
            assertThat(started).isCompletedWithValue(false);
            assertThat(wakeUps.started(LOW)).isCompletedWithValue(false);
            runtime.advance(Duration.ofMinutes(1).minus(NANO));
            assertThat(pushes.subscribed).hasSize(i);
            runtime.advance(NANO);
            assertThat(pushes.subscribed).hasSize(i + 1);
        }
        assertThat(looks).hasValue(0);
    }

    @Test
    void whatFailsOtherwiseIsTriedAgainWithAGrowingPauseOnceForAllThatAsk() {
        wakeUps.started(LOW);
        StillDriver.Pushes pushes = driver.pushes();
        Duration least = FIRST_RETRY.dividedBy(2);
        for (int i = 1; i <= 4; i++) {
            pushes.refuses(new ServerRefusal("LOADING Redis is loading the dataset in memory", null));
            assertThat(looks).hasValue(i);
            wakeUps.started(LOW);
            runtime.advance(least.minusNanos(1));
            assertThat(pushes.subscribed).hasSize(i);
            runtime.advance(least.plusNanos(1));
            assertThat(pushes.subscribed).hasSize(i + 1);
            least = least.multipliedBy(2);
        }
        pushes.begins();
        assertThat(wakeUps.isLive(LOW)).isTrue();
        pushes.listener.unsubscribed(wakeUps.channel(LOW));
        runtime.advance(FIRST_RETRY);
        assertThat(pushes.subscribed).as("the pause begins anew").hasSize(6);
    }

    @Test
    void aSlotWithoutAMasterIsLookedForAndListenedToOnceItHasOne() {
        serves(6, "one", "");
        assertThat(wakeUps.started(HIGH)).isCompletedWithValue(false);
        assertThat(looks).hasValue(1);
        assertThat(connections()).isZero();
        serves(7, "one", "two");
        runtime.advance(FIRST_RETRY);
        driver.pushes().begins();
        assertThat(wakeUps.isLive(HIGH)).isTrue();
    }

    @Test
    void aMasterThatTakesNoConnectionIsTriedAgain() {
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        driver.askedForPushes.get(0).answer().completeExceptionally(new IllegalStateException("refused"));
        assertThat(started).isCompletedWithValue(false);
        runtime.advance(FIRST_RETRY);
        assertThat(connections()).isEqualTo(2);
    }

    // ---- slots that move

    @Test
    void aChannelFollowsItsSlot() {
        StillDriver.Pushes one = listening(LOW);
        StillDriver.Pushes two = listening(HIGH);
        wakeUps.follow();
        assertThat(one.subscribed).as("nothing has moved").hasSize(1);
        serves(6, "three", "two");
        assertThat(wakeUps.isLive(LOW))
                .as("nothing is published there any more")
                .isFalse();
        wakeUps.follow();
        assertThat(place(2)).isEqualTo("three");
        assertThat(two.subscribed).hasSize(1);
        driver.pushes().begins();
        assertThat(wakeUps.isLive(LOW)).isTrue();
        assertThat(resubscribed).hasValue(1);
        // The end at the former master does not count.
        one.listener.unsubscribed(wakeUps.channel(LOW));
        assertThat(wakeUps.isLive(LOW)).isTrue();
    }

    @Test
    void aSlotThatMovesDuringATryIsListenedToWhereItIsThen() {
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        StillDriver.Pushes former = driver.pushes();
        serves(6, "three", "two");
        wakeUps.follow();
        assertThat(connections()).as("one try at a time").isOne();
        former.begins();
        assertThat(started).isCompletedWithValue(true);
        assertThat(wakeUps.isLive(LOW)).isFalse();
        assertThat(place(1)).isEqualTo("three");
        driver.pushes().begins();
        assertThat(wakeUps.isLive(LOW)).isTrue();
    }

    // ---- unused channels

    @Test
    void aChannelIsGivenUpTenMinutesAfterTheLastQuestion() {
        StillDriver.Pushes one = listening(LOW);
        wakeUps.started(NEAR);
        one.begins();
        StillDriver.Pushes two = listening(HIGH);
        runtime.advance(Duration.ofMinutes(5));
        assertThat(wakeUps.started(LOW)).isCompletedWithValue(true);
        runtime.advance(Duration.ofMinutes(5).minus(NANO));
        assertThat(one.unsubscribed).isEmpty();
        runtime.advance(NANO);
        assertThat(one.unsubscribed).containsExactly(wakeUps.channel(NEAR));
        assertThat(two.open).as("it has no channel left").isFalse();
        assertThat(one.open).isTrue();
        assertThat(wakeUps.isLive(NEAR)).isFalse();
        runtime.advance(IDLE);
        assertThat(one.open).isFalse();
        assertThat(wakeUps.isLive(LOW)).isFalse();
        runtime.advance(IDLE);
        assertThat(runtime.isDueWithin(IDLE)).as("there is nothing to look at").isFalse();
        assertThat(resubscribed).hasValue(0);
        listening(LOW);
        assertThat(connections()).isEqualTo(3);
        assertThat(runtime.isDueWithin(IDLE)).isTrue();
    }

    /** The waiter relies on the channel without a new request. */
    @Test
    void aChannelIsKeptForAsLongAsThePlaceOfAWaiter() {
        StillDriver.Pushes one = listening(LOW);
        assertThat(wakeUps.channel(LOW, Duration.ofMinutes(35).toNanos())).isEqualTo(wakeUps.channel(LOW));
        wakeUps.channel(LOW, 1);
        assertThat(wakeUps.channel(HIGH, 1)).as("it has no subscriber").isEqualTo(wakeUps.channel(HIGH));
        runtime.advance(Duration.ofMinutes(30));
        assertThat(one.open).as("who has a shorter place takes nothing from it").isTrue();
        runtime.advance(IDLE);
        assertThat(one.open).isFalse();
    }

    @Test
    void whatIsUnderWayOrPutOffIsNotGivenUp() {
        wakeUps.started(LOW);
        StillDriver.Pushes one = driver.pushes();
        runtime.advance(IDLE);
        assertThat(one.open).as("it has not answered yet").isTrue();
        one.refuses(noPermission);
        runtime.advance(Duration.ofSeconds(59));
        assertThat(wakeUps.started(LOW)).isCompletedWithValue(false);
        assertThat(one.subscribed).hasSize(1);
    }

    /** Otherwise each slot that ever had a waiter would be tried once a minute for the life of the client. */
    @Test
    void whatIsRefusedAgainAndAgainIsGivenUpOnceNoWaiterIsLeft() {
        wakeUps.started(LOW);
        StillDriver.Pushes one = driver.pushes();
        int answered = 0;
        int sinceWhen = 0;
        for (int minute = 0; minute < 40; minute++) {
            while (answered < one.subscribed.size()) {
                answered = one.subscribed.size();
                sinceWhen = minute;
                one.refuses(noPermission);
            }
            runtime.advance(Duration.ofMinutes(1));
        }
        assertThat(answered).as("it was tried more than once").isGreaterThan(2);
        assertThat(sinceWhen).as("the last try").isLessThan(25);
    }

    /** Each refusal is a line in the log of the server. */
    @Test
    void aChannelThatIsMadeAgainIsTriedOnceAMinuteToo() {
        wakeUps.started(LOW);
        runtime.advance(Duration.ofSeconds(1));
        refusals(IDLE.minusSeconds(1));
        // The channel was given up with its waiter, and its next try is due.
        wakeUps.started(LOW);
        assertThat(refusals(Duration.ofMinutes(5)))
                .as("one at once, and one a minute")
                .isBetween(4, 6);
    }

    /** Refuses each subscription within a second, and returns how many there were. */
    private int refusals(Duration span) {
        int refused = 0;
        int known = connections();
        StillDriver.Pushes one = driver.pushes();
        for (long second = 0; second < span.toSeconds(); second++) {
            if (connections() > known) {
                known = connections();
                one = driver.pushes();
            }
            List<StillDriver.Pushes.Subscribed> requested = one.subscribed;
            if (!requested.isEmpty()
                    && !requested.get(requested.size() - 1).answer().isDone()) {
                refused++;
                one.refuses(noPermission);
            }
            runtime.advance(Duration.ofSeconds(1));
        }
        return refused;
    }

    @Test
    void aSlotWhoseMasterRefusedFollowsItToAnotherOneAtOnce() {
        wakeUps.started(LOW);
        driver.pushes().refuses(noPermission);
        runtime.advance(Duration.ofSeconds(1));
        wakeUps.follow();
        assertThat(connections()).as("the same master has refused").isOne();
        serves(6, "three", "two");
        wakeUps.follow();
        assertThat(connections()).isEqualTo(2);
        assertThat(place(1)).isEqualTo("three");
        driver.pushes().begins();
        assertThat(wakeUps.isLive(LOW)).isTrue();
    }

    @Test
    void aRefusalThatArrivesAfterTheMoveIsNotThatOfTheNewMaster() {
        wakeUps.started(LOW);
        StillDriver.Pushes one = driver.pushes();
        serves(6, "three", "two");
        wakeUps.follow();
        one.refuses(noPermission);
        runtime.advance(FIRST_RETRY);
        assertThat(connections()).isEqualTo(2);
        assertThat(place(1)).isEqualTo("three");
    }

    // ---- the end

    @Test
    void afterTheCloseNothingIsSubscribedTo() {
        CompletableFuture<Boolean> waited = wakeUps.started(LOW);
        StillDriver.Pushes one = driver.pushes();
        wakeUps.close();
        assertThat(waited).isCompletedWithValue(false);
        assertThat(wakeUps.started(HIGH)).isCompletedWithValue(false);
        one.begins();
        assertThat(wakeUps.isLive(LOW)).isFalse();
        one.ends();
        runtime.advance(IDLE.multipliedBy(2));
        assertThat(connections()).isOne();
        assertThat(one.subscribed).hasSize(1);
        assertThat(looks).hasValue(0);
    }

    @Test
    void whatIsPutOffIsNotTriedAfterTheClose() {
        wakeUps.started(LOW);
        StillDriver.Pushes one = driver.pushes();
        one.refuses(noPermission);
        wakeUps.close();
        runtime.advance(Duration.ofMinutes(2));
        assertThat(one.subscribed).hasSize(1);
    }

    // ---- servers before Redis 7

    private StillDriver.Connection connectsAsOld(String master) {
        int number = driver.asked.size();
        members.connect(master);
        StillDriver.Connection link = new StillDriver.Connection();
        driver.asked.get(number).answer().complete(link);
        link.answers("INFO", OLD);
        return link;
    }

    @Test
    void olderServersHaveOneChannelAtAnyMasterOfTheCluster() {
        StillDriver.Connection link = connectsAsOld("two:6379");
        assertThat(members.hasShardedChannels()).isFalse();
        assertThat(wakeUps.channel(LOW)).isEqualTo(wakeUps.channel(HIGH)).endsWith("~");
        assertThat(wakeUps.isLive(LOW)).isFalse();
        StillDriver.Pushes pushes = listening(LOW);
        assertThat(place(0)).isEqualTo("two");
        assertThat(channels(pushes)).containsExactly(wakeUps.channel(LOW));
        assertThat(pushes.subscribed.get(0).sharded()).isFalse();
        assertThat(wakeUps.isLive(HIGH)).isTrue();
        wakeUps.follow();
        assertThat(pushes.open).isTrue();

        connectsAsOld("one:6379");
        serves(6, "one", "one");
        assertThat(link.open).isFalse();
        wakeUps.follow();
        assertThat(pushes.open).as("it has left the Cluster").isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(place(1)).isEqualTo("one");
        driver.pushes().begins();
        assertThat(resubscribed).hasValue(1);
        wakeUps.close();
        assertThat(wakeUps.isLive(LOW)).isFalse();
    }

    @Test
    void whileNoOlderServerIsLinkedToItIsTriedAgain() {
        StillDriver.Connection link = connectsAsOld("two:6379");
        StillDriver.Pushes pushes = listening(LOW);
        link.ends();
        connectsAsOld("one:6379").ends();
        pushes.ends();
        runtime.advance(FIRST_RETRY.multipliedBy(3));
        assertThat(connections()).as("no server can be asked").isOne();
        connectsAsOld("one:6379");
        runtime.advance(Duration.ofSeconds(1));
        assertThat(place(1)).isEqualTo("one");
    }
}
