package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the tries, ends and repetitions of a subscription, and of the detection of a silent peer; only the test
 * advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillSubscriptionsTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration LONGEST_RETRY = Duration.ofMillis(640);
    private static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final Duration CONNECT = Duration.ofSeconds(3);
    private static final Duration PING = Duration.ofSeconds(5);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://here"));
    private static final RedisUri THERE = RedisUri.parse(StoreUri.parse("redis://there"));
    private final ServerRefusal noPermission =
            new ServerRefusal("NOPERM this user has no permissions to access one of the channels", null);
    private final ServerRefusal loading = new ServerRefusal("LOADING Redis is loading the dataset", null);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final RedisErrors errors = new RedisErrors("node");
    private final List<String> heard = new ArrayList<>();
    private final AtomicInteger resubscribed = new AtomicInteger();
    private RedisUri place = HERE;
    private final Subscriptions subscriptions = new Subscriptions(
            driver,
            new Connections.Locator() {
                @Override
                public CompletableFuture<RedisUri> locate() {
                    return CompletableFuture.completedFuture(place);
                }

                @Override
                public boolean isStill(RedisUri server) {
                    return server.equals(place);
                }
            },
            "channel",
            "wake-ups",
            errors,
            runtime,
            heard::add);

    @AfterEach
    void close() {
        runtime.close();
    }

    private int tries() {
        return driver.askedForPushes.size();
    }

    private StillDriver.Pushes subscribed() {
        subscriptions.onResubscribed(resubscribed::incrementAndGet);
        CompletableFuture<Boolean> started = subscriptions.started("");
        StillDriver.Pushes pushes = driver.pushes().begins();
        assertThat(started).isCompletedWithValue(true);
        assertThat(subscriptions.isLive("")).isTrue();
        return pushes;
    }

    // ---- one channel

    @Test
    void itIsMadeOnceAndWhoAsksLaterIsToldHowItIs() {
        CompletableFuture<Boolean> first = subscriptions.started("");
        CompletableFuture<Boolean> second = subscriptions.started("");
        assertThat(tries()).isOne();
        assertThat(subscriptions.channel("lock")).isEqualTo("channel");
        assertThat(second).isNotDone();
        StillDriver.Pushes pushes = driver.pushes();
        assertThat(pushes.subscribed).extracting(one -> one.channel()).containsExactly("channel");
        assertThat(pushes.subscribed.get(0).sharded()).isFalse();
        assertThat(subscriptions.isLive("")).as("it has not begun").isFalse();
        pushes.begins();
        assertThat(first).isCompletedWithValue(true);
        assertThat(second).isCompletedWithValue(true);
        assertThat(subscriptions.started("")).isCompletedWithValue(true);
        pushes.listener.message("wake");
        assertThat(heard).containsExactly("wake");
        pushes.ends();
        assertThat(subscriptions.started("")).as("it is made again").isCompletedWithValue(false);
        assertThat(resubscribed).hasValue(0);
    }

    @Test
    void eachEndIsFollowedByATryAtOnceAndTold() {
        StillDriver.Pushes pushes = subscribed();
        for (int i = 1; i <= 9; i++) {
            pushes.ends();
            assertThat(pushes.closes)
                    .as("the driver keeps it until it is notified")
                    .isPositive();
            assertThat(subscriptions.isLive("")).isFalse();
            runtime.advance(FIRST_RETRY);
            assertThat(tries()).isEqualTo(i + 1);
            pushes = driver.pushes().begins();
            assertThat(resubscribed).hasValue(i);
            assertThat(subscriptions.isLive("")).isTrue();
        }
    }

    @Test
    void whereNoConnectionComesThePauseGrows() {
        CompletableFuture<Boolean> started = subscriptions.started("");
        Duration least = FIRST_RETRY.dividedBy(2);
        for (int i = 1; i <= 9; i++) {
            driver.askedForPushes.get(i - 1).answer().completeExceptionally(new IllegalStateException("no"));
            assertThat(started).isCompletedWithValue(false);
            runtime.advance(least.minusNanos(1));
            assertThat(tries()).isEqualTo(i);
            runtime.advance(least.plusNanos(1));
            assertThat(tries()).isEqualTo(i + 1);
            least = least.multipliedBy(2);
            if (least.compareTo(LONGEST_RETRY.dividedBy(2)) > 0) {
                least = LONGEST_RETRY.dividedBy(2);
            }
        }
        driver.pushes().begins().ends();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).as("it has begun meanwhile").isEqualTo(11);
    }

    /** The provider of the credentials may never answer; a later connection is closed. */
    @Test
    void aConnectionThatDoesNotComeIsTriedAgain() {
        CompletableFuture<Boolean> started = subscriptions.started("");
        runtime.advance(CONNECT.minus(NANO));
        assertThat(started).isNotDone();
        runtime.advance(NANO);
        assertThat(started).isCompletedWithValue(false);
        StillDriver.Pushes late = driver.pushes();
        assertThat(late.open).isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
    }

    /** As with a frozen process. */
    @Test
    void aSubscriptionThatIsNotAnsweredWithinASecondIsMadeAnew() {
        subscriptions.started("");
        StillDriver.Pushes silent = driver.pushes();
        runtime.advance(PATIENCE.minus(NANO));
        assertThat(silent.open).isTrue();
        runtime.advance(NANO);
        assertThat(silent.open).isFalse();
        silent.refuses(new IllegalStateException("Connection closed"));
        runtime.advance(FIRST_RETRY);
        StillDriver.Pushes next = driver.pushes().begins();
        runtime.advance(PATIENCE);
        assertThat(next.open).as("its second is over").isTrue();
        assertThat(subscriptions.isLive("")).isTrue();
    }

    @Test
    void aRightThatIsMissingIsAskedForOnceAMinute() {
        CompletableFuture<Boolean> started = subscriptions.started("");
        for (int i = 1; i <= 3; i++) {
            StillDriver.Pushes refused = driver.pushes();
            refused.refuses(noPermission);
            assertThat(refused.open).isFalse();
            assertThat(started).isCompletedWithValue(false);
            runtime.advance(Duration.ofMinutes(1).minus(NANO));
            assertThat(tries()).isEqualTo(i);
            runtime.advance(NANO);
            assertThat(tries()).isEqualTo(i + 1);
        }
        driver.pushes().refuses(loading);
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).as("that passes").isEqualTo(5);
    }

    /** As a server that is restarted before its password is set, or a proxy whose servers are away: only a refused subscription waits. */
    @Test
    void aConnectionThatIsRefusedIsTriedAgainSoonWhateverTheWords() {
        subscriptions.started("");
        for (int i = 1; i <= 9; i++) {
            driver.askedForPushes
                    .get(i - 1)
                    .answer()
                    .completeExceptionally(new ServerRefusal("ERR AUTH called without any password configured", null));
            runtime.advance(LONGEST_RETRY);
            assertThat(tries()).isEqualTo(i + 1);
        }
        assertThat(subscriptions.isLive("")).isFalse();
        driver.pushes().begins();
        assertThat(subscriptions.isLive("")).isTrue();
    }

    @Test
    void aConnectionThatEndedBeforeItWasTakenOverIsMadeAgain() {
        subscriptions.started("");
        StillDriver.Pushes pushes = driver.pushes();
        pushes.open = false;
        pushes.begins();
        assertThat(subscriptions.isLive("")).isFalse();
        assertThat(pushes.closes).isPositive();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
    }

    @Test
    void whatWasSubscribedAtAFormerPlaceIsLeft() {
        subscriptions.leaveUnlessStillThere();
        subscriptions.started("");
        StillDriver.Pushes pushes = driver.pushes();
        place = THERE;
        pushes.begins();
        assertThat(pushes.open).as("it moved meanwhile").isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(driver.askedForPushes.get(1).server()).isEqualTo(THERE);
        StillDriver.Pushes there = driver.pushes().begins();
        subscriptions.leaveUnlessStillThere();
        assertThat(there.open).isTrue();
        place = HERE;
        subscriptions.leaveUnlessStillThere();
        assertThat(there.open).isFalse();
    }

    @Test
    void afterTheCloseNothingIsMade() {
        StillDriver.Pushes pushes = subscribed();
        subscriptions.close();
        assertThat(subscriptions.isLive("")).isFalse();
        assertThat(subscriptions.started("")).isCompletedWithValue(false);
        assertThat(pushes.open).as("it ends with the driver").isTrue();
        runtime.advance(PING);
        pushes.ends();
        runtime.advance(Duration.ofMinutes(10));
        assertThat(tries()).isOne();
        assertThat(pushes.pings).isEmpty();
    }

    @Test
    void whatIsUnderWayAtTheCloseComesToNothing() {
        CompletableFuture<Boolean> started = subscriptions.started("");
        StillDriver.Pushes pushes = driver.pushes();
        subscriptions.close();
        assertThat(started).isCompletedWithValue(false);
        pushes.begins();
        assertThat(pushes.open).isFalse();
        assertThat(subscriptions.isLive("")).isFalse();
        runtime.advance(Duration.ofMinutes(10));
        assertThat(tries()).isOne();
    }

    @Test
    void aTryThatIsPutOffIsNotMadeAfterTheClose() {
        subscriptions.started("");
        driver.pushes().refuses(noPermission);
        subscriptions.close();
        runtime.advance(Duration.ofMinutes(10));
        assertThat(tries()).isOne();
        Subscriptions never = new Subscriptions(
                driver, Connections.Locator.fixed(HERE), "channel", "wake-ups", errors, runtime, heard::add);
        never.close();
        assertThat(never.started("")).isCompletedWithValue(false);
        assertThat(tries()).isOne();
    }

    // ---- signs of life

    @Test
    void aPongKeepsIt() {
        StillDriver.Pushes pushes = subscribed();
        for (int i = 1; i <= 3; i++) {
            runtime.advance(PING.minus(NANO));
            assertThat(pushes.pings).hasSize(i - 1);
            runtime.advance(NANO);
            assertThat(pushes.pings).hasSize(i);
            pushes.pings.get(i - 1).complete(null);
        }
        assertThat(pushes.open).isTrue();
    }

    @Test
    void aPingThatIsRefusedIsASignOfLifeToo() {
        StillDriver.Pushes pushes = subscribed();
        for (int i = 1; i <= 3; i++) {
            runtime.advance(PING);
            assertThat(pushes.pings).hasSize(i);
            pushes.pings.get(i - 1).completeExceptionally(noPermission);
        }
        runtime.advance(PING.minus(NANO));
        assertThat(pushes.open).isTrue();
    }

    @Test
    void aPingWithoutAnAnswerEndsIt() {
        StillDriver.Pushes silent = subscribed();
        runtime.advance(PING);
        runtime.advance(PING.minus(NANO));
        assertThat(silent.open).isTrue();
        runtime.advance(NANO);
        assertThat(silent.open).isFalse();
        runtime.advance(FIRST_RETRY);
        StillDriver.Pushes failing = driver.pushes().begins();
        runtime.advance(PING);
        failing.pings.get(0).completeExceptionally(new IllegalStateException("reset"));
        assertThat(failing.open).isFalse();
        runtime.advance(Duration.ofMinutes(1));
        assertThat(failing.pings).hasSize(1);
        assertThat(silent.pings).hasSize(1);
    }

    /** Only the present connection is watched. */
    @Test
    void whatHasEndedIsNotPinged() {
        StillDriver.Pushes former = subscribed();
        former.ends();
        runtime.advance(FIRST_RETRY);
        StillDriver.Pushes present = driver.pushes().begins();
        runtime.advance(PING);
        assertThat(former.pings).isEmpty();
        assertThat(present.pings).hasSize(1);
        present.pings.get(0).complete(null);
        present.open = false;
        runtime.advance(PING);
        assertThat(present.pings).as("it takes no commands any more").hasSize(1);
    }

    // ---- one node's channels

    private final List<String> ended = new ArrayList<>();

    private NodePushes node() {
        NodePushes node = new NodePushes(driver, HERE, errors, runtime, heard::add, new NodePushes.Ends() {
            @Override
            public void unsubscribed(String channel) {
                ended.add(channel);
            }

            @Override
            public void lost(NodePushes all) {
                ended.add("all");
            }
        });
        node.open();
        return node;
    }

    @Test
    void aNodeIsConnectedToOnceForAllItsChannels() {
        NodePushes node = node();
        assertThat(node.address()).isEqualTo("here:6379");
        CompletableFuture<Void> one = node.subscribe("a");
        CompletableFuture<Void> other = node.subscribe("b");
        StillDriver.Pushes pushes = driver.pushes();
        assertThat(tries()).isOne();
        assertThat(pushes.subscribed).extracting(each -> each.channel()).containsExactlyInAnyOrder("a", "b");
        assertThat(pushes.subscribed).allMatch(each -> each.sharded());
        assertThat(one).isNotDone();
        pushes.subscribed.forEach(each -> each.answer().complete(null));
        assertThat(one).isCompleted();
        assertThat(other).isCompleted();
        pushes.listener.message("wake");
        assertThat(heard).containsExactly("wake");
        pushes.listener.unsubscribed("a");
        assertThat(ended).containsExactly("a");
        node.unsubscribe(List.of("b", "c"));
        assertThat(pushes.unsubscribed).containsExactly("b", "c");
        assertThat(pushes.open).isTrue();
        node.close();
        assertThat(pushes.open).isFalse();
        assertThat(ended).containsExactly("a", "all");
    }

    @Test
    void theEndOfItsConnectionIsToldOnce() {
        node();
        StillDriver.Pushes pushes = driver.pushes();
        pushes.ends();
        assertThat(pushes.closes).isPositive();
        pushes.close();
        assertThat(ended).containsExactly("all");
        runtime.advance(PING.multipliedBy(3));
        assertThat(pushes.pings).isEmpty();
    }

    @Test
    void aConnectionOfANodeThatEndedBeforeAnybodyListenedIsLost() {
        CompletableFuture<PushConnection> answer = new CompletableFuture<>();
        NodePushes node = node();
        StillDriver.Pushes pushes = new StillDriver.Pushes();
        pushes.open = false;
        driver.askedForPushes.get(0).answer().complete(pushes);
        assertThat(answer).isNotDone();
        assertThat(pushes.closes).isPositive();
        assertThat(ended).containsExactly("all");
        assertThat(node.address()).isEqualTo("here:6379");
    }

    @Test
    void aNodeThatCannotBeConnectedToIsLostAndItsSubscriptionsFail() {
        NodePushes node = node();
        CompletableFuture<Void> subscription = node.subscribe("a");
        runtime.advance(CONNECT.minus(NANO));
        assertThat(subscription).isNotDone();
        runtime.advance(NANO);
        assertThatThrownBy(subscription::join).hasCauseInstanceOf(StoreUnavailableException.class);
        assertThat(ended).containsExactly("all");
    }

    @Test
    void aSilentNodeIsLost() {
        NodePushes node = node();
        StillDriver.Pushes pushes = driver.pushes();
        runtime.advance(PING);
        pushes.pings.get(0).complete(null);
        runtime.advance(PING);
        assertThat(pushes.pings).hasSize(2);
        runtime.advance(PING);
        assertThat(pushes.open).isFalse();
        assertThat(ended).containsExactly("all");
        assertThat(node.subscribe("a")).isNotDone();
    }

    @Test
    void aSubscriptionThatANodeRefusesFailsAlone() {
        NodePushes node = node();
        StillDriver.Pushes pushes = driver.pushes();
        CompletableFuture<Void> subscription = node.subscribe("a");
        pushes.refuses(noPermission);
        assertThatThrownBy(subscription::join).hasCause(noPermission);
        assertThat(pushes.open).isTrue();
        assertThat(ended).isEmpty();
    }
}
