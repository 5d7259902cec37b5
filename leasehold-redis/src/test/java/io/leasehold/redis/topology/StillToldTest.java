package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the notifications about links and subscriptions: without a held monitor, independent of each other, and for
 * each of several listeners. A listener may call any method, and a caller may do anything with its future.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillToldTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://here"));
    private static final String LOW = "lock:{" + SlotTags.of(0) + "}";
    private static final String NEAR = "lock:{" + SlotTags.of(1) + "}";

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final RedisErrors errors = new RedisErrors("node");
    private final List<String> told = new ArrayList<>();

    private final Connections connections =
            new Connections(driver, Connections.Locator.fixed(HERE), Expectation.SERVER, "node", errors, runtime);
    private final Subscriptions subscriptions = new Subscriptions(
            driver, Connections.Locator.fixed(HERE), "channel", "wake-ups", errors, runtime, message -> {});
    private final Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one"));
    private final ClusterMembers members = new ClusterMembers(where, driver, errors, runtime, () -> {});
    private final ClusterWakeUps wakeUps =
            new ClusterWakeUps(members, () -> told("look"), driver, errors, runtime, message -> {});

    @AfterEach
    void close() {
        runtime.close();
    }

    private void told(String of) {
        for (Object lock : List.of(connections, subscriptions, members, wakeUps)) {
            assertThat(Thread.holdsLock(lock))
                    .as("%s is notified with the lock of %s", of, lock)
                    .isFalse();
        }
        told.add(of);
    }

    private void serves(long epoch, String master) {
        members.adopt(SlotTable.parse(
                "one", List.of(List.of(0L, 16_383L, List.of(master, 6379L, "id"))), "cluster_current_epoch:" + epoch));
    }

    // ---- without a held monitor

    @Test
    void theEndOfALinkAndTheNextOneAreToldWithNoLockHeld() {
        connections.onLost(() -> told("lost"));
        connections.onReconnected(() -> told("reconnected"));
        connections.open();
        connections.next().whenComplete((link, error) -> told("first"));
        driver.made().ends();
        connections.next().whenComplete((link, error) -> told(error == null ? "next" : "failed"));
        runtime.advance(FIRST_RETRY);
        driver.fails(1);
        connections.next().whenComplete((link, error) -> told(error == null ? "next" : "failed"));
        runtime.advance(FIRST_RETRY.multipliedBy(2));
        driver.made();
        assertThat(told).containsExactly("first", "lost", "failed", "next", "reconnected");
    }

    @Test
    void aSubscriptionIsToldWithNoLockHeld() {
        subscriptions.onResubscribed(() -> told("again"));
        subscriptions.started("").thenRun(() -> told("first"));
        driver.pushes().begins().ends();
        runtime.advance(FIRST_RETRY);
        driver.pushes().begins();
        subscriptions.close();
        assertThat(told).containsExactly("first", "again");
    }

    @Test
    void theChannelOfASlotIsToldWithNoLockHeld() {
        serves(5, "one");
        wakeUps.onResubscribed(() -> told("again"));
        wakeUps.started(LOW).thenRun(() -> told("first"));
        StillDriver.Pushes pushes = driver.pushes().begins();
        pushes.listener.unsubscribed(wakeUps.channel(LOW));
        runtime.advance(FIRST_RETRY);
        pushes.begins();
        wakeUps.started(NEAR).thenRun(() -> told("closed"));
        wakeUps.close();
        assertThat(told).containsExactly("first", "look", "again", "closed");
    }

    @Test
    void aChannelThatIsRefusedIsToldWithNoLockHeld() {
        serves(5, "one");
        wakeUps.started(LOW).thenRun(() -> told("refused"));
        driver.pushes().refuses(new IllegalStateException("made by the test"));
        assertThat(told).containsExactly("refused", "look");
    }

    // ---- independent of each other

    /** A request does so after its time limit. */
    @Test
    void whoGivesUpTheWaitForALinkKeepsNobodyFromIt() {
        CompletableFuture<Link> first = connections.next();
        CompletableFuture<Link> second = connections.next();
        first.cancel(true);
        assertThat(second).isNotDone();
        connections.open();
        driver.made();
        assertThat(second.join()).isSameAs(connections.current());
    }

    /**
     * A request does so after half of its time limit: the others get the result, and no second subscription is made.
     */
    @Test
    void whoGivesUpTheWaitForASubscriptionSaysNothingToOthers() {
        subscriptions.onResubscribed(() -> told("again"));
        CompletableFuture<Boolean> first = subscriptions.started("");
        CompletableFuture<Boolean> second = subscriptions.started("");
        CompletableFuture<Boolean> third = subscriptions.started("");
        first.complete(false);
        assertThat(second).isNotDone();
        second.complete(false);
        assertThat(third).isNotDone();
        driver.pushes().begins();
        assertThat(third).isCompletedWithValue(true);
        assertThat(told).isEmpty();
    }

    @Test
    void whoGivesUpTheWaitForAChannelSaysNothingToOthers() {
        serves(5, "one");
        wakeUps.onResubscribed(() -> told("again"));
        CompletableFuture<Boolean> first = wakeUps.started(LOW);
        CompletableFuture<Boolean> second = wakeUps.started(LOW);
        first.complete(false);
        assertThat(second).isNotDone();
        driver.pushes().begins();
        assertThat(second).isCompletedWithValue(true);
        assertThat(told).isEmpty();
    }

    // ---- for each of several

    @Test
    void theCloseIsToldToAllThatWaitForAChannel() {
        serves(5, "one");
        CompletableFuture<Boolean> low = wakeUps.started(LOW);
        CompletableFuture<Boolean> near = wakeUps.started(NEAR);
        wakeUps.close();
        assertThat(low).isCompletedWithValue(false);
        assertThat(near).isCompletedWithValue(false);
    }

    @Test
    void allChannelsFollowAMasterThatIsReplaced() {
        driver.pongs = true;
        serves(5, "one");
        wakeUps.started(LOW);
        StillDriver.Pushes former = driver.pushes().begins();
        wakeUps.started(NEAR);
        former.begins();
        serves(6, "two");
        wakeUps.follow();
        StillDriver.Pushes present = driver.pushes();
        assertThat(driver.askedForPushes.get(1).server().host()).isEqualTo("two");
        assertThat(present.subscribed)
                .extracting(StillDriver.Pushes.Subscribed::channel)
                .containsExactlyInAnyOrder(wakeUps.channel(LOW), wakeUps.channel(NEAR));
        present.subscribed.forEach(one -> one.answer().complete(null));
        assertThat(wakeUps.isLive(LOW)).isTrue();
        assertThat(wakeUps.isLive(NEAR)).isTrue();
    }

    @Test
    void allMastersThatAreAbsentAtTheStartAreTriedAgain() {
        String info = StillDriver.MASTER.replace("cluster_enabled:0", "cluster_enabled:1");
        ClusterTopology topology = new ClusterTopology(where, driver, where.errors(), runtime);
        CompletableFuture<Void> opening = topology.open();
        StillDriver.Connection visit = new StillDriver.Connection();
        driver.asked.get(0).answer().complete(visit);
        visit.answers("INFO", info);
        visit.answers(
                "CLUSTER SLOTS",
                List.of(0L, 99L, List.of("one", 6379L, "id")),
                List.of(100L, 199L, List.of("two", 6379L, "id")),
                List.of(200L, 16_383L, List.of("three", 6379L, "id")));
        visit.answers("CLUSTER INFO", "cluster_current_epoch:5");
        for (int i = 1; i <= 3; i++) {
            if (driver.asked.get(i).server().host().equals("one")) {
                StillDriver.Connection link = new StillDriver.Connection();
                driver.asked.get(i).answer().complete(link);
                link.answers("INFO", info);
            } else {
                driver.fails(i);
            }
        }
        assertThat(opening).isCompletedWithValue(null);
        assertThat(driver.asked).hasSize(4);
        runtime.advance(FIRST_RETRY);
        assertThat(driver.asked.subList(4, driver.asked.size()))
                .extracting(one -> one.server().host())
                .containsExactlyInAnyOrder("two", "three");
    }

    /** Pushes of two masters reach one listener, and the client leaves a master without listeners. */
    @Test
    void allMastersThatTheTableDoesNotNameAnyMoreAreLeft() {
        String info = StillDriver.MASTER.replace("cluster_enabled:0", "cluster_enabled:1");
        members.adopt(SlotTable.parse(
                "one",
                List.of(
                        List.of(0L, 99L, List.of("one", 6379L, "id")),
                        List.of(100L, 199L, List.of("two", 6379L, "id")),
                        List.of(200L, 16_383L, List.of("three", 6379L, "id"))),
                "cluster_current_epoch:5"));
        List<StillDriver.Connection> links = new ArrayList<>();
        for (String master : List.of("one:6379", "two:6379", "three:6379")) {
            members.connect(master);
            StillDriver.Connection link = new StillDriver.Connection();
            driver.asked.get(driver.asked.size() - 1).answer().complete(link);
            link.answers("INFO", info);
            links.add(link);
        }
        serves(6, "four");
        assertThat(links).allMatch(link -> !link.open);
        assertThat(members.live()).isEmpty();
        members.connect("four:6379");
        members.linkTo("five:6379", true);
        int asked = driver.asked.size();
        members.close();
        for (int i = asked - 2; i < asked; i++) {
            StillDriver.Connection late = new StillDriver.Connection();
            driver.asked.get(i).answer().complete(late);
            late.answers("INFO", info);
            assertThat(late.open)
                    .as("what comes after the close, of member %s", i)
                    .isFalse();
        }
    }
}
