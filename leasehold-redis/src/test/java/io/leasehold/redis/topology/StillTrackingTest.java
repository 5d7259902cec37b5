package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the connection on which a master reports changes of held locks: when it is made, left and retried. Only the
 * test advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillTrackingTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration LONGEST_RETRY = Duration.ofMillis(640);
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final List<String> told = new ArrayList<>();
    private final ServerRefusal noHello = new ServerRefusal("ERR unknown command 'HELLO'", null);
    private final Deployment where = Deployment.parse(StoreUri.parse("redis://a"));
    private final MasterTopology topology = new MasterTopology(where, driver, where.errors(), runtime);
    private final Tracking tracking = topology.tracking(new Tracking.Listener() {
        @Override
        public void began() {
            told.add("began");
        }

        @Override
        public void ended() {
            told.add("ended");
        }

        @Override
        public void changed(@Nullable String key) {
            told.add("changed");
        }
    });
    private StillDriver.@Nullable Connection link;

    @BeforeEach
    void open() {
        topology.open();
        link = driver.made();
        tracking.start();
    }

    @AfterEach
    void close() {
        runtime.close();
    }

    private int tries() {
        return driver.askedForTracking.size();
    }

    private void linkIsMadeAgain() {
        link.ends();
        runtime.advance(FIRST_RETRY);
        link = driver.made();
    }

    // ---- with the link

    /** The same name may lead to another server now, while the former one still answers. */
    @Test
    void aNewLinkIsFollowedByANewConnectionWhateverItsName() {
        StillDriver.Tracked former = driver.tracked().begins();
        assertThat(told).containsExactly("began");
        linkIsMadeAgain();
        assertThat(former.open).isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
        StillDriver.Tracked present = driver.tracked().begins();
        assertThat(told).containsExactly("began", "ended", "began");
        runtime.advance(MINUTE);
        assertThat(present.open).isTrue();
    }

    @Test
    void alsoOneThatWasBeingMadeIsLeft() {
        linkIsMadeAgain();
        assertThat(tries()).isOne();
        StillDriver.Tracked former = driver.tracked().begins();
        assertThat(former.open).as("requested before the link").isFalse();
        runtime.advance(FIRST_RETRY);
        StillDriver.Tracked half = driver.tracked();
        linkIsMadeAgain();
        half.begins();
        assertThat(half.open).as("half made").isFalse();
        assertThat(told).as("nothing is read there").isEmpty();
        runtime.advance(FIRST_RETRY);
        assertThat(driver.tracked().begins().open).isTrue();
    }

    @Test
    void aConnectionThatEndedBeforeItWasTakenOverTellsNothing() {
        StillDriver.Tracked tracked = driver.tracked();
        tracked.open = false;
        tracked.begins();
        assertThat(told).doesNotContain("began");
        runtime.advance(FIRST_RETRY);
        driver.tracked().begins();
        assertThat(told).endsWith("began");
    }

    // ---- refusals

    @Test
    void whereHelloIsRefusedItIsAskedForOnceAMinute() {
        for (int i = 1; i <= 3; i++) {
            driver.askedForTracking.get(i - 1).answer().completeExceptionally(noHello);
            runtime.advance(MINUTE.minusNanos(1));
            assertThat(tries()).isEqualTo(i);
            runtime.advance(Duration.ofNanos(1));
            assertThat(tries()).isEqualTo(i + 1);
        }
    }

    /** The rights of a user, and the version, are those of each server. */
    @Test
    void whatOneServerRefusedTheNextMayAccept() {
        driver.askedForTracking.get(0).answer().completeExceptionally(noHello);
        runtime.advance(Duration.ofSeconds(1));
        assertThat(tries()).isOne();
        linkIsMadeAgain();
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
        driver.tracked().begins();
        assertThat(told).containsExactly("began");
        runtime.advance(MINUTE.multipliedBy(2));
        assertThat(tries()).as("the try after the refusal is void").isEqualTo(2);
    }

    @Test
    void aRefusalThatArrivesAfterItsServerWasLeftIsNotThatOfTheNext() {
        StillDriver.Tracked former = driver.tracked();
        linkIsMadeAgain();
        former.tracks.completeExceptionally(noHello);
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
    }

    @Test
    void aLoginThatIsRefusedIsTriedAgainSoon() {
        driver.askedForTracking
                .get(0)
                .answer()
                .completeExceptionally(new ServerRefusal("WRONGPASS invalid username-password pair", null));
        runtime.advance(FIRST_RETRY);
        assertThat(tries()).isEqualTo(2);
    }

    /** A proxy may close the connection after a command that it does not know. */
    @Test
    void whoEndsItAgainAndAgainWhileTheLinkIsUpHasRefusedIt() {
        for (int i = 1; i <= 4; i++) {
            endsAtHello(i);
            runtime.advance(LONGEST_RETRY);
            assertThat(tries()).isEqualTo(i + 1);
        }
        for (int i = 5; i <= 7; i++) {
            endsAtHello(i);
            runtime.advance(MINUTE.minusNanos(1));
            assertThat(tries()).isEqualTo(i);
            runtime.advance(Duration.ofNanos(1));
            assertThat(tries()).isEqualTo(i + 1);
        }
        StillDriver.Tracked tracked = driver.tracked().begins();
        tracked.ends();
        runtime.advance(FIRST_RETRY);
        endsAtHello(tries());
        runtime.advance(LONGEST_RETRY);
        assertThat(tries()).as("it has told meanwhile").isEqualTo(10);
    }

    @Test
    void aServerThatIsAwayIsTriedForAtFullRate() {
        link.ends();
        for (int i = 1; i <= 9; i++) {
            endsAtHello(i);
            runtime.advance(LONGEST_RETRY);
            assertThat(tries()).isEqualTo(i + 1);
        }
    }

    /** An outage, and a try that was under way at its end, are not refusals of the present server. */
    @Test
    void whatFailedBeforeTheLinkWasMadeIsNoRefusal() {
        link.ends();
        for (int i = 1; i <= 6; i++) {
            endsAtHello(i);
            runtime.advance(LONGEST_RETRY);
        }
        link = driver.made();
        endsAtHello(7);
        runtime.advance(LONGEST_RETRY);
        assertThat(tries()).isEqualTo(8);
        for (int i = 8; i <= 10; i++) {
            endsAtHello(i);
            runtime.advance(LONGEST_RETRY);
            assertThat(tries()).as("counted from the link on").isEqualTo(i + 1);
        }
    }

    private void endsAtHello(int number) {
        driver.askedForTracking.get(number - 1).answer().completeExceptionally(new IllegalStateException("closed"));
    }
}
