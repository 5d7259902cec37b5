package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the tries for a link, of the choice between several tries, and of the end of the others; only the test
 * advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillConnectionsTest {

    private static final Duration PATIENCE = Duration.ofNanos(Connections.PATIENCE_NANOS);
    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration LONGEST_RETRY = Duration.ofMillis(640);
    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://here"));
    private static final RedisUri THERE = RedisUri.parse(StoreUri.parse("redis://there"));

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final AtomicInteger reconnected = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private RedisUri place = HERE;
    private Connections connections;

    @BeforeEach
    void make() {
        connections = new Connections(
                driver,
                () -> CompletableFuture.completedFuture(place),
                Expectation.SERVER,
                "node",
                new RedisErrors("node"),
                runtime);
        connections.onReconnected(reconnected::incrementAndGet);
        connections.onLost(lost::incrementAndGet);
    }

    @AfterEach
    void close() {
        runtime.close();
    }

    private StillDriver.Connection opened() {
        CompletableFuture<Link> opening = connections.open();
        StillDriver.Connection made = driver.made();
        assertThat(connections.current()).isSameAs(opening.join());
        return made;
    }

    private int tries() {
        return driver.asked.size();
    }

    // ---- the first link

    @Test
    void theFirstLinkIsToldToWhoAskedAlone() {
        opened();
        assertThat(reconnected).hasValue(0);
        assertThat(connections.failure()).isNull();
        assertThat(connections.next().join()).isSameAs(connections.current());
    }

    @Test
    void aReplicaIsRefusedAndItsConnectionEnded() {
        CompletableFuture<Link> opening = connections.open();
        StillDriver.Connection replica = new StillDriver.Connection();
        driver.asked.get(0).answer().complete(replica);
        replica.answers(
                "INFO", StillDriver.MASTER.replace("role:master", "role:slave\r\nmaster_host:h\r\nmaster_port:7"));
        assertThatThrownBy(opening::join).hasCauseInstanceOf(UnsafeStoreException.class);
        assertThat(replica.open).isFalse();
        assertThat(connections.failure()).isInstanceOf(UnsafeStoreException.class);
        assertThat(connections.current()).isNull();
        assertThat(lost).hasValue(0);
    }

    /** As with a member of a set whose opening took too long. */
    @Test
    void ofTwoFirstLinksTheOneThatCameFirstStays() {
        CompletableFuture<Link> opening = connections.open();
        connections.begin();
        assertThat(tries()).isEqualTo(2);
        StillDriver.Connection second = driver.made(1);
        Link link = connections.current();
        assertThat(reconnected).hasValue(1);
        StillDriver.Connection first = driver.made(0);
        assertThat(opening.join()).isSameAs(link);
        assertThat(first.open).isFalse();
        assertThat(second.open).isTrue();
        assertThat(connections.current()).isSameAs(link);
        assertThat(lost).hasValue(0);
    }

    /** The reverse case: tries next to the opening are given up with it. */
    @Test
    void aTryBesideAnOpeningThatSucceedsIsGivenUp() {
        connections.open();
        connections.begin();
        StillDriver.Connection first = driver.made(0);
        StillDriver.Connection second = driver.made(1);
        assertThat(first.open).isTrue();
        assertThat(second.open).isFalse();
        assertThat(reconnected).as("it was the opening's").hasValue(0);
        runtime.advance(PATIENCE.multipliedBy(10));
        assertThat(tries()).isEqualTo(2);
    }

    @Test
    void anOpeningThatFailsIsNotTriedAgainUnlessThatIsWanted() {
        CompletableFuture<Link> waited = connections.next();
        CompletableFuture<Link> opening = connections.open();
        driver.fails(0);
        assertThatThrownBy(opening::join).hasCauseInstanceOf(StoreUnavailableException.class);
        assertThatThrownBy(waited::join).hasCauseInstanceOf(StoreUnavailableException.class);
        assertThat(connections.failure()).hasMessageContaining("no connection");
        assertThat(connections.next()).as("of the next try").isNotDone();
        runtime.advance(PATIENCE.multipliedBy(10));
        assertThat(tries()).isOne();
        connections.keepTrying();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
        CompletableFuture<Link> next = connections.next();
        driver.made();
        assertThat(next.join()).isSameAs(connections.current());
        assertThat(reconnected).hasValue(1);
        assertThat(connections.failure()).isNull();
    }

    // ---- the next one

    @Test
    void aLinkThatEndsIsFollowedByATryAtOnceEachTime() {
        StillDriver.Connection connection = opened();
        for (int i = 1; i <= 9; i++) {
            connection.ends();
            assertThat(connection.closes)
                    .as("the driver keeps it until it is notified")
                    .isPositive();
            assertThat(lost).hasValue(i);
            assertThat(connections.current()).isNull();
            assertThat(connections.failure()).hasMessageContaining("closed the connection");
            runtime.advance(FIRST_RETRY);
            assertThat(tries()).isEqualTo(i + 1);
            connection = driver.made();
            assertThat(runtime.isDueWithin(Duration.ofMinutes(1)))
                    .as("limits and tries that are left")
                    .isFalse();
            assertThat(reconnected).hasValue(i);
            assertThat(connections.failure()).isNull();
        }
    }

    @Test
    void thePauseBetweenTriesGrowsToABoundAndBeginsAnewWithALink() {
        opened().ends();
        Duration least = FIRST_RETRY.dividedBy(2);
        for (int i = 0; i < 9; i++) {
            runtime.advance(least.minusNanos(1));
            assertThat(tries()).as("before pause %s ends", i).isEqualTo(i + 1);
            runtime.advance(least.plusNanos(1));
            assertThat(tries()).as("after pause %s", i).isEqualTo(i + 2);
            driver.fails(i + 1);
            least = least.multipliedBy(2);
            if (least.compareTo(LONGEST_RETRY.dividedBy(2)) > 0) {
                least = LONGEST_RETRY.dividedBy(2);
            }
        }
        runtime.advance(LONGEST_RETRY);
        int before = tries();
        driver.made().ends();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(before + 1);
    }

    /** The try may hang forever; it is not given up, and the first success counts. */
    @Test
    void aTryThatTakesLongGetsCompanyEachSecond() {
        opened().ends();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
        runtime.advance(PATIENCE.minus(FIRST_RETRY).minusNanos(1));
        assertThat(tries()).isEqualTo(2);
        runtime.advance(FIRST_RETRY.plusNanos(1));
        assertThat(tries()).isEqualTo(3);
        runtime.advance(PATIENCE);
        assertThat(tries()).isEqualTo(4);
        StillDriver.Connection slow = driver.made(1);
        assertThat(connections.current()).isNotNull();
        assertThat(reconnected).hasValue(1);
        StillDriver.Connection other = driver.made(3);
        assertThat(other.open).as("the others end").isFalse();
        driver.fails(2);
        assertThat(slow.open).isTrue();
        assertThat(reconnected).hasValue(1);
        assertThat(connections.failure())
                .as("of a try that does not count any more")
                .isNull();
        runtime.advance(PATIENCE.multipliedBy(10));
        assertThat(tries()).as("no company is needed any more").isEqualTo(4);
    }

    /** Otherwise each of them would start its own series of tries. */
    @Test
    void onlyTheLatestOfSeveralTriesIsFollowedByAnother() {
        opened().ends();
        runtime.advance(FIRST_RETRY);
        runtime.advance(PATIENCE);
        assertThat(tries()).isEqualTo(3);
        driver.fails(1);
        runtime.advance(LONGEST_RETRY.dividedBy(2));
        assertThat(tries()).as("after the one before the latest").isEqualTo(3);
        assertThat(connections.failure()).as("it is reported nevertheless").hasMessageContaining("no connection");
        driver.fails(2);
        runtime.advance(FIRST_RETRY.multipliedBy(2));
        assertThat(tries()).isEqualTo(4);
        driver.fails(3);
        runtime.advance(LONGEST_RETRY.dividedBy(8));
        assertThat(tries()).as("one line of tries").isEqualTo(5);
    }

    /** The end of a replaced link does not affect the present one. */
    @Test
    void theEndOfAFormerLinkIsNoLoss() {
        CompletableFuture<Link> opening = connections.open();
        connections.begin();
        driver.made(1);
        StillDriver.Connection former = driver.made(0);
        opening.join();
        former.ends();
        assertThat(lost).hasValue(0);
        assertThat(connections.current()).isNotNull();
        runtime.advance(PATIENCE.multipliedBy(3));
        assertThat(tries()).isEqualTo(2);
    }

    @Test
    void aLinkThatEndedBeforeItWasTakenOverIsLost() {
        CompletableFuture<Link> opening = connections.open();
        StillDriver.Connection connection = new StillDriver.Connection();
        driver.asked.get(0).answer().complete(connection);
        connection.open = false;
        connection.answers("INFO", StillDriver.MASTER);
        assertThat(opening).isCompleted();
        assertThat(connections.current()).isNull();
        assertThat(lost).hasValue(1);
        runtime.advance(FIRST_RETRY);
        driver.made();
        assertThat(connections.current()).isNotNull();
    }

    // ---- another place

    @Test
    void aLinkToAnotherPlaceIsLeft() {
        StillDriver.Connection connection = opened();
        connections.leaveUnlessAt(HERE);
        assertThat(connection.open).isTrue();
        place = THERE;
        connections.leaveUnlessAt(THERE);
        assertThat(connection.open).isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(driver.asked.get(1).server()).isEqualTo(THERE);
    }

    /** A try at a machine that is gone may take as long as its limit. */
    @Test
    void aTryAtAnotherPlaceIsGivenUpForOneAtOnce() {
        opened().ends();
        connections.leaveUnlessAt(THERE);
        assertThat(tries()).as("none is under way").isOne();
        runtime.advance(FIRST_RETRY);
        connections.leaveUnlessAt(HERE);
        assertThat(tries()).as("it leads there").isEqualTo(2);
        place = THERE;
        connections.leaveUnlessAt(THERE);
        assertThat(tries()).isEqualTo(3);
        StillDriver.Connection late = driver.made(1);
        assertThat(late.open).isFalse();
        assertThat(connections.current()).isNull();
        driver.made(2);
        assertThat(connections.current().address()).isEqualTo(THERE);
        assertThat(reconnected).hasValue(1);
    }

    /** The next try locates the server anyway. */
    @Test
    void betweenTwoTriesThereIsNothingToGiveUp() {
        opened().ends();
        runtime.advance(FIRST_RETRY);
        driver.fails(1);
        connections.leaveUnlessAt(THERE);
        assertThat(tries()).isEqualTo(2);
        assertThat(Connections.Locator.fixed(HERE).isStill(THERE))
                .as("one that is always there")
                .isTrue();
    }

    @Test
    void whyTheServerIsNotFoundIsSaidAsItIs() {
        StoreUnavailableException why = new StoreUnavailableException("nobody names it", null);
        Connections lostOnes = new Connections(
                driver,
                () -> CompletableFuture.failedFuture(why),
                Expectation.SERVER,
                "node",
                new RedisErrors("node"),
                runtime);
        assertThatThrownBy(() -> lostOnes.open().join()).hasCause(why);
        assertThat(lostOnes.failure()).isSameAs(why);
    }

    // ---- the end

    @Test
    void afterTheCloseThereIsNoLinkAndNoTry() {
        StillDriver.Connection connection = opened();
        connections.close();
        assertThat(connections.current()).isNull();
        assertThat(connection.open).as("it ends with the driver").isTrue();
        connection.ends();
        connections.keepTrying();
        connections.begin();
        runtime.advance(PATIENCE.multipliedBy(3));
        assertThat(tries()).isOne();
        assertThat(lost).hasValue(0);
    }

    @Test
    void whatComesAfterTheCloseIsEndedAndNotTold() {
        opened().ends();
        runtime.advance(FIRST_RETRY);
        connections.close();
        StillDriver.Connection late = driver.made(1);
        assertThat(late.open).isFalse();
        assertThat(reconnected).hasValue(0);
        assertThat(connections.current()).isNull();
        runtime.advance(PATIENCE.multipliedBy(3));
        assertThat(tries()).isEqualTo(2);
    }

    @Test
    void whatIsRetiredEndsItsLink() {
        StillDriver.Connection connection = opened();
        connections.retire();
        assertThat(connection.open).isFalse();
        assertThat(lost).as("it was meant to end").hasValue(0);
        runtime.advance(PATIENCE.multipliedBy(3));
        assertThat(tries()).isOne();
        connections.retire();
    }
}
