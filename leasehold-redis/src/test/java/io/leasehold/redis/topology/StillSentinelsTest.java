package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the master that Sentinels name and of the times of the questions; only the test advances the time. */
@Tag("quick")
@Timeout(120)
final class StillSentinelsTest {

    private static final Duration GRACE = Duration.ofMillis(300);
    private static final Duration ANSWER = Duration.ofSeconds(2);
    private static final Duration NANO = Duration.ofNanos(1);
    /** The upper bound of the first pause; the lower bound is half of it. */
    private static final Duration PAUSE = Duration.ofMillis(80);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final Deployment where = Deployment.parse(StoreUri.parse("redis-sentinel://a,b/shop"));
    private final List<String> named = new ArrayList<>();
    private @Nullable RuntimeException thrown;
    private final Sentinels sentinels = new Sentinels(where, driver, where.errors(), runtime, master -> {
        named.add(master.address());
        if (thrown != null) {
            throw thrown;
        }
    });

    @AfterEach
    void close() {
        runtime.close();
    }

    private StillDriver.Connection connected(int number) {
        StillDriver.Connection connection = new StillDriver.Connection();
        driver.asked.get(number).answer().complete(connection);
        return connection;
    }

    private static void names(StillDriver.Connection sentinel, String host, String... facts) {
        sentinel.answers("SENTINEL", host, "6379");
        sentinel.answers("SENTINEL", (Object[]) facts);
    }

    private static void names(StillDriver.Connection sentinel, String host, long epoch) {
        names(sentinel, host, "name", "shop", "config-epoch", Long.toString(epoch));
    }

    /** The two Sentinels of the last question name this master. */
    private void bothName(String host) {
        int last = driver.asked.size();
        names(connected(last - 2), host, 5);
        names(connected(last - 1), host, 5);
    }

    private int questions() {
        return driver.asked.size() / 2;
    }

    // ---- one question

    @Test
    void allAreAskedAtOnceAndTheLatestEpochCounts() {
        CompletableFuture<RedisUri> master = sentinels.locate();
        assertThat(driver.asked).extracting(one -> one.server().address()).containsExactly("a:26379", "b:26379");
        StillDriver.Connection one = connected(0);
        names(one, "former", 4);
        assertThat(one.open).as("the question is answered").isFalse();
        assertThat(master).isNotDone();
        names(connected(1), "present", 5);
        assertThat(master.join().address()).isEqualTo("present:6379");
        CompletableFuture<RedisUri> again = sentinels.locate();
        names(connected(2), "present", 5);
        names(connected(3), "former", 4);
        assertThat(again.join().address()).isEqualTo("present:6379");
        CompletableFuture<RedisUri> equal = sentinels.locate();
        names(connected(4), "first", 5);
        names(connected(5), "second", 5);
        assertThat(equal.join().address()).isEqualTo("first:6379");
        CompletableFuture<RedisUri> without = sentinels.locate();
        names(connected(6), "nameless", "name", "shop");
        names(connected(7), "counted", 1);
        assertThat(without.join().address()).isEqualTo("counted:6379");
    }

    /** The driver may report a connection a moment before it accepts commands. */
    @Test
    void aSentinelWhoseConnectionTakesNoCommandYetIsAskedAgain() {
        CompletableFuture<RedisUri> master = sentinels.locate();
        StillDriver.Connection one = new StillDriver.Connection();
        one.takesNone = 2;
        driver.asked.get(0).answer().complete(one);
        driver.fails(1);
        runtime.advance(Duration.ofMillis(5));
        names(one, "present", 5);
        assertThat(master.join().address()).isEqualTo("present:6379");
    }

    @Test
    void whoIsSilentIsWaitedForAMomentOnceAnotherHasAnswered() {
        CompletableFuture<RedisUri> master = sentinels.locate();
        StillDriver.Connection silent = connected(0);
        runtime.advance(Duration.ofSeconds(1));
        names(connected(1), "present", 5);
        runtime.advance(GRACE.minus(NANO));
        assertThat(master).isNotDone();
        runtime.advance(NANO);
        assertThat(master.join().address()).isEqualTo("present:6379");
        assertThat(silent.open).isTrue();
        runtime.advance(ANSWER);
        assertThat(silent.open).as("its time is over").isFalse();
    }

    @Test
    void whereNoneAnswersInTimeThatIsSaidOfEach() {
        CompletableFuture<RedisUri> master = sentinels.locate();
        connected(0);
        runtime.advance(ANSWER.minus(NANO));
        assertThat(master).isNotDone();
        runtime.advance(NANO);
        assertThatThrownBy(master::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("has no Sentinel that names its master")
                .hasMessageContaining("Sentinel a:26379 did not answer in time; ")
                .hasMessageContaining("Sentinel b:26379 did not answer in time");
        StillDriver.Connection late = connected(1);
        assertThat(late.open).as("no client asks it").isFalse();
    }

    @Test
    void whoKnowsNoSuchMasterSaysWhichItKnows() {
        CompletableFuture<RedisUri> master = sentinels.locate();
        StillDriver.Connection one = connected(0);
        one.answers("SENTINEL");
        one.answers("SENTINEL");
        one.answers("SENTINEL", Arrays.asList("name", "z"), Arrays.asList("name", "b"));
        assertThat(one.open).isFalse();
        driver.fails(1);
        assertThatThrownBy(master::join)
                .hasCauseInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("Sentinel a:26379 knows no master named \"shop\"; it knows \"b\", \"z\"");
        CompletableFuture<RedisUri> none = sentinels.locate();
        for (int i = 2; i < 4; i++) {
            StillDriver.Connection sentinel = connected(i);
            sentinel.answers("SENTINEL", "host without a port");
            sentinel.answers("SENTINEL");
            sentinel.answers("SENTINEL");
        }
        assertThatThrownBy(none::join).hasMessageContaining("it knows none");
    }

    @Test
    void aRefusalIsToldBeforeAFailureAndAFailureInItsWords() {
        CompletableFuture<RedisUri> refused = sentinels.locate();
        driver.fails(0);
        connected(1).fails("SENTINEL", new ServerRefusal("NOPERM this user has no permissions", null));
        assertThatThrownBy(refused::join).hasCauseInstanceOf(StoreAccessException.class);
        CompletableFuture<RedisUri> failed = sentinels.locate();
        driver.fails(2);
        connected(3).fails("SENTINEL", new IOException("reset"));
        assertThatThrownBy(failed::join)
                .hasMessageContaining("Sentinel a:26379 cannot be reached: no connection; ")
                .hasMessageContaining("Sentinel b:26379 cannot be reached: reset");
    }

    /** The first reason is the cause, and equal reasons appear once. */
    @Test
    void whereNobodyHasAnsweredThatIsSaidWithItsReasons() {
        List<@Nullable Throwable> causes = new ArrayList<>();
        Poll.Rules<String> rules = new Poll.Rules<>((one, other) -> one, any -> true, 1, (reasons, cause) -> {
            causes.add(cause);
            return new StoreUnavailableException("nobody: " + reasons, cause);
        });
        assertThatThrownBy(() -> Poll.of(List.of(), rules, runtime).getNow("none"))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("nobody: ");
        IOException first = new IOException("reset");
        assertThatThrownBy(() -> Poll.of(
                                List.of(
                                        CompletableFuture.failedFuture(first),
                                        CompletableFuture.failedFuture(new IOException("reset"))),
                                rules,
                                runtime)
                        .getNow("none"))
                .hasMessageEndingWith("nobody: reset");
        assertThat(causes).containsExactly(null, first);
    }

    // ---- the times of the questions

    @Test
    void whoeverAsksDuringAQuestionOrItsPauseIsAnsweredByOneMore() {
        sentinels.ask();
        sentinels.ask();
        assertThat(questions()).isEqualTo(1);
        bothName("one");
        assertThat(named).containsExactly("one:6379");
        sentinels.ask();
        assertThat(questions()).isEqualTo(1);
        runtime.advance(PAUSE.dividedBy(2).minus(NANO));
        assertThat(questions()).isEqualTo(1);
        runtime.advance(PAUSE.dividedBy(2).plus(NANO));
        assertThat(questions()).as("one for both").isEqualTo(2);
        bothName("two");
        assertThat(named).containsExactly("one:6379", "two:6379");
        runtime.advance(Duration.ofMinutes(1));
        assertThat(questions()).as("no client has asked").isEqualTo(2);
        sentinels.ask();
        assertThat(questions()).as("the pause is over").isEqualTo(3);
    }

    @Test
    void thePauseGrowsWhileThereIsReasonToAsk() {
        sentinels.ask();
        Duration least = PAUSE.dividedBy(2);
        for (int i = 1; i <= 4; i++) {
            bothName("one");
            sentinels.ask();
            runtime.advance(least.minus(NANO));
            assertThat(questions()).isEqualTo(i);
            runtime.advance(least.plus(NANO));
            assertThat(questions()).isEqualTo(i + 1);
            least = least.multipliedBy(2).compareTo(Duration.ofMillis(320)) > 0
                    ? Duration.ofMillis(320)
                    : least.multipliedBy(2);
        }
        bothName("one");
        runtime.advance(Duration.ofMinutes(1));
        sentinels.ask();
        bothName("one");
        sentinels.ask();
        runtime.advance(PAUSE);
        assertThat(questions()).as("it begins anew").isEqualTo(7);
    }

    /** The next question must not depend on the processing of an answer. */
    @Test
    void aQuestionThatCameToNothingIsNotTheLast() {
        thrown = new IllegalStateException("closed");
        sentinels.ask();
        bothName("one");
        thrown = null;
        sentinels.ask();
        runtime.advance(PAUSE);
        assertThat(questions()).isEqualTo(2);
        driver.fails(2);
        driver.fails(3);
        assertThat(named).containsExactly("one:6379");
        sentinels.ask();
        runtime.advance(PAUSE.multipliedBy(2));
        assertThat(questions()).isEqualTo(3);
    }

    private List<StillDriver.Pushes> watched() {
        sentinels.watch();
        List<StillDriver.Pushes> watches = new ArrayList<>();
        for (StillDriver.Asked<PushConnection> asked : driver.askedForPushes) {
            StillDriver.Pushes made = new StillDriver.Pushes();
            asked.answer().complete(made);
            assertThat(made.begins().subscribed.get(0).channel()).isEqualTo("+switch-master");
            watches.add(made);
        }
        return watches;
    }

    @Test
    void aSwitchThatOneOfThemTellsOfEndsThePause() {
        List<StillDriver.Pushes> watches = watched();
        assertThat(driver.askedForPushes)
                .extracting(one -> one.server().address())
                .containsExactly("a:26379", "b:26379");
        sentinels.ask();
        bothName("one");
        watches.get(1).listener.message("shopping 1.1.1.1 1 2.2.2.2 2");
        assertThat(questions()).as("of another master").isEqualTo(1);
        watches.get(1).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        assertThat(questions()).isEqualTo(2);
        bothName("two");
        sentinels.ask();
        runtime.advance(PAUSE.minus(NANO));
        assertThat(questions()).as("the pause before it was called off").isEqualTo(2);
        runtime.advance(PAUSE.plus(NANO));
        assertThat(questions()).isEqualTo(3);
        bothName("two");
        runtime.advance(Duration.ofMinutes(1));
        watches.get(0).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        assertThat(questions()).as("without any reason before").isEqualTo(4);
    }

    @Test
    void aSwitchDuringAQuestionLeadsToOneMoreAtOnce() {
        List<StillDriver.Pushes> watches = watched();
        sentinels.ask();
        watches.get(0).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        watches.get(1).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        assertThat(questions()).isEqualTo(1);
        bothName("one");
        assertThat(questions()).isEqualTo(2);
        bothName("two");
        assertThat(questions()).as("one for both").isEqualTo(2);
    }

    /** The Sentinel may have reported a switch while the client did not listen. */
    @Test
    void afterASubscriptionThatEndedTheyAreAsked() {
        List<StillDriver.Pushes> watches = watched();
        assertThat(questions()).isZero();
        watches.get(0).ends();
        runtime.advance(Duration.ofMillis(10));
        driver.pushes().begins();
        assertThat(questions()).isEqualTo(1);
    }

    @Test
    void afterTheCloseNothingIsAsked() {
        List<StillDriver.Pushes> watches = watched();
        sentinels.ask();
        watches.get(0).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        sentinels.close();
        bothName("one");
        assertThat(questions()).isEqualTo(1);
        sentinels.ask();
        watches.get(0).listener.message("shop 1.1.1.1 1 2.2.2.2 2");
        watches.get(1).ends();
        runtime.advance(Duration.ofMinutes(1));
        assertThat(questions()).isEqualTo(1);
        assertThat(driver.askedForPushes).hasSize(2);
    }
}
