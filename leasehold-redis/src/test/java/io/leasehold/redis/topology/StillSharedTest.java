package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ScriptCall;
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

/** Tests of what clients have of a driver that they share; only the test advances the time. */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillSharedTest {

    private static final Duration ANSWER = Duration.ofSeconds(1);
    private static final RedisUri SERVER = RedisUri.parse(StoreUri.parse("redis://here"));

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final SharedDriver.Shared shared = new SharedDriver.Shared(driver);
    private final AtomicInteger closes = new AtomicInteger();
    private final Driver one = new SharedDriver(shared, runtime, closes::incrementAndGet);
    private final Driver other = new SharedDriver(shared, runtime, closes::incrementAndGet);
    private final List<String> heard = new ArrayList<>();

    @AfterEach
    void close() {
        runtime.close();
    }

    private StillDriver.Connection made() {
        StillDriver.Connection made = new StillDriver.Connection();
        driver.asked.get(driver.asked.size() - 1).answer().complete(made);
        return made;
    }

    /** The part of a client on a connection that is there, which answers. */
    private static RedisConnection joined(Driver client, StillDriver.Connection present) {
        CompletableFuture<RedisConnection> part = client.connectForLink(SERVER);
        present.answers("INFO", StillDriver.MASTER);
        return now(part);
    }

    /** What has come by now: nothing waits here, so that a broken rule fails the test. */
    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private void ask(RedisConnection connection, String name) {
        connection.run(
                new ScriptCall(LuaScript.RELEASE, new String[] {name}, new String[] {}),
                false,
                false,
                (reply, error) -> heard.add(name + " " + (error == null ? reply : error.getMessage())));
    }

    @Test
    void twoClientsHaveOneConnectionWhichEndsWithTheLast() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection made = made();
        RedisConnection second = joined(other, made);
        assertThat(driver.asked).hasSize(1);
        one.close();
        assertThat(now(first).isOpen()).isFalse();
        assertThat(second.isOpen()).isTrue();
        assertThat(made.closes).isZero();
        assertThat(closes).hasValue(1);
        other.close();
        assertThat(made.closes).isOne();
        assertThat(closes).hasValue(2);
    }

    @Test
    void theRequestsOfAClientThatClosesFailAndThoseOfTheOtherAreAnswered() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection made = made();
        RedisConnection second = joined(other, made);
        ask(now(first), "a");
        ask(second, "b");
        ask(now(first), "c");
        ask(second, "d");
        one.close();
        assertThat(heard).containsExactlyInAnyOrder("a the connection was closed", "c the connection was closed");
        heard.clear();
        for (int answer = 1; answer <= 4; answer++) {
            made.answers("EVALSHA", (long) answer);
        }
        assertThat(heard).as("late answers are dropped").containsExactly("b [2]", "d [4]");
        assertThatThrownBy(() -> ask(now(first), "e")).isInstanceOf(NotSentException.class);
        assertThat(made.questions).isEmpty();
    }

    @Test
    void aDoubtOfOneClientEndsOnlyItsPartAndNoFurtherClientGetsTheConnection() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection made = made();
        RedisConnection second = joined(other, made);
        AtomicInteger ends = new AtomicInteger();
        now(first).onEnd(ends::incrementAndGet);
        second.onEnd(() -> ends.addAndGet(100));
        now(first).close();
        now(first).close();
        assertThat(ends).hasValue(1);
        assertThat(second.isOpen()).isTrue();
        one.connectForLink(SERVER);
        assertThat(driver.asked).as("a new one for the client that doubts").hasSize(2);
        StillDriver.Connection next = made();
        second.close();
        assertThat(made.closes).isOne();
        assertThat(ends).hasValue(101);
        joined(other, next);
        assertThat(driver.asked).hasSize(2);
    }

    @Test
    void theEndOfTheConnectionIsToldToAllAndTheNextIsSharedAgain() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection made = made();
        RedisConnection second = joined(other, made);
        AtomicInteger ends = new AtomicInteger();
        now(first).onEnd(ends::incrementAndGet);
        second.onEnd(ends::incrementAndGet);
        made.ends();
        assertThat(ends).hasValue(2);
        assertThat(now(first).isOpen()).isFalse();
        CompletableFuture<RedisConnection> third = one.connectForLink(SERVER);
        CompletableFuture<RedisConnection> fourth = other.connectForLink(SERVER);
        assertThat(driver.asked).as("neither waits for the other's try").hasSize(3);
        StillDriver.Connection early = new StillDriver.Connection();
        StillDriver.Connection late = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(early);
        driver.asked.get(2).answer().complete(late);
        early.answers("INFO", StillDriver.MASTER);
        assertThat(late.closes).isOne();
        ask(now(third), "a");
        ask(now(fourth), "b");
        assertThat(early.questions).hasSize(2);
    }

    @Test
    void aConnectionThatDoesNotAnswerIsNotSharedFurther() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection silent = made();
        CompletableFuture<RedisConnection> second = other.connectForLink(SERVER);
        runtime.advance(ANSWER);
        assertThat(driver.asked).hasSize(2);
        StillDriver.Connection made = made();
        ask(now(second), "a");
        assertThat(made.questions).hasSize(1);
        assertThat(now(first).isOpen()).isTrue();
        assertThat(silent.closes).isZero();
    }

    @Test
    void aRefusalIsAnAnswer() {
        one.connectForLink(SERVER);
        StillDriver.Connection made = made();
        CompletableFuture<RedisConnection> second = other.connectForLink(SERVER);
        made.fails("INFO", new ServerRefusal("NOPERM", null));
        assertThat(now(second).isOpen()).isTrue();
        assertThat(driver.asked).hasSize(1);
    }

    @Test
    void questionsHaveConnectionsOfTheirOwnWhichEndWithTheirClient() {
        one.connect(SERVER);
        StillDriver.Connection question = made();
        other.connect(SERVER);
        StillDriver.Connection others = made();
        other.connectForLink(SERVER);
        assertThat(driver.asked).hasSize(3);
        one.close();
        assertThat(question.closes).isOne();
        assertThat(others.closes).isZero();
    }

    @Test
    void whatComesAfterTheCloseOfItsClientIsEnded() {
        CompletableFuture<RedisConnection> late = one.connectForLink(SERVER);
        one.close();
        StillDriver.Connection made = made();
        assertThat(made.closes).isOne();
        assertThat(late).isCompletedExceptionally();
        assertThat(one.connectForPushes(SERVER)).isCompletedExceptionally();
        assertThat(driver.askedForPushes).isEmpty();
    }

    /** The server counts the listeners to a channel: the channels of a closed client must end. */
    @Test
    void subscriptionsHaveConnectionsOfTheirOwn() {
        one.connectForPushes(SERVER);
        StillDriver.Pushes first = driver.pushes();
        other.connectForPushes(SERVER);
        StillDriver.Pushes second = driver.pushes();
        one.close();
        assertThat(first.closes).isOne();
        assertThat(second.closes).isZero();
    }

    @Test
    void settingsThatDifferAreNotShared() {
        for (String uri : List.of(
                "redis://here:1",
                "redis://there",
                "redis://:secret@here",
                "redis://user:secret@here",
                "redis://here/1",
                "rediss://here",
                "redis://here?waitReplicas=1",
                "redis://here?toldAtOnce=true")) {
            RedisUri different = RedisUri.parse(StoreUri.parse(uri));
            assertThat(SERVER.connectsLike(different)).as(uri).isFalse();
            assertThat(different.connectsLike(SERVER)).as(uri).isFalse();
            assertThat(different.connectsLike(RedisUri.parse(StoreUri.parse(uri))))
                    .isTrue();
        }
        RedisUri secure = RedisUri.parse(StoreUri.parse("rediss://here?ca=one"));
        assertThat(secure.connectsLike(RedisUri.parse(StoreUri.parse("rediss://here?ca=other"))))
                .isFalse();
        assertThat(SERVER.connectsLike(RedisUri.parse(StoreUri.parse("redis://here?keys=*"))))
                .isTrue();
        assertThat(SERVER.askingForLogin().connectsLike(SERVER.askingForLogin()))
                .isFalse();
    }

    @Test
    void deploymentsAreSharedIfAllTheirServersAreAlike() {
        Deployment shop = deployment("redis-sentinel://a,b/shop");
        assertThat(shop.connectsLike(deployment("redis-sentinel://a,b/shop"))).isTrue();
        for (String different : List.of(
                "redis-sentinel://a,b/stock",
                "redis-sentinel://a,c/shop",
                "redis-sentinel://a/shop",
                "redis-sentinel://:secret@a,b/shop",
                "redis-sentinel://a,b/shop?sentinelPassword=secret",
                "redis-cluster://a,b",
                "redis://a")) {
            assertThat(shop.connectsLike(deployment(different))).as(different).isFalse();
        }
        Deployment single = deployment("redis://a");
        assertThat(Deployment.connectLike(List.of(shop, single), List.of(shop, single)))
                .isTrue();
        assertThat(Deployment.connectLike(List.of(shop, single), List.of(single, shop)))
                .isFalse();
        assertThat(Deployment.connectLike(List.of(shop), List.of(shop, single))).isFalse();
    }

    private static Deployment deployment(String uri) {
        return Deployment.parse(StoreUri.parse(uri));
    }
}
