package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the parts of clients in a shared driver; only the test advances the time. */
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

    /** The last requested connection, which answers. */
    private StillDriver.Connection made() {
        StillDriver.Connection made = silent();
        made.answers("INFO", StillDriver.MASTER);
        return made;
    }

    private StillDriver.Connection silent() {
        StillDriver.Connection made = new StillDriver.Connection();
        driver.asked.get(driver.asked.size() - 1).answer().complete(made);
        return made;
    }

    /** The part of a client in an existing connection, which answers. */
    private static RedisConnection joined(Driver client, StillDriver.Connection present) {
        CompletableFuture<RedisConnection> part = client.connectForLink(SERVER);
        present.answers("INFO", StillDriver.MASTER);
        return now(part);
    }

    /** The result that has arrived by now: the test does not wait, so that a broken rule fails it. */
    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    /** A default implementation of the interface would hide the answer of the connection. */
    @Test
    void aPartAnswersEverythingItself() {
        List<String> inherited = Arrays.stream(SharedConnection.class.getMethods())
                .filter(method -> method.getDeclaringClass() == RedisConnection.class)
                .map(Method::getName)
                .toList();
        assertThat(inherited)
                .as("asked through send, and only of connections that are not shared")
                .containsExactlyInAnyOrder("ask", "acknowledging");
    }

    @Test
    void aServerThatIsNoLongerNeededIsNotDoubted() {
        Connections connections = new Connections(
                one,
                Connections.Locator.fixed(SERVER),
                Expectation.SERVER,
                "node",
                Deployment.parse(StoreUri.parse("redis://here")).errors(),
                runtime);
        CompletableFuture<Link> link = connections.open();
        StillDriver.Connection made = made();
        made.answers("INFO", StillDriver.MASTER);
        assertThat(now(link).isOpen()).isTrue();
        assertThat(joined(other, made).isOpen()).isTrue();
        connections.retire();
        assertThat(joined(one, made).isOpen()).as("the same connection").isTrue();
        assertThat(driver.asked).hasSize(1);
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
        assertThat(made.closes).as("a driver keeps what is not closed").isOne();
        assertThat(now(first).isOpen()).isFalse();
        CompletableFuture<RedisConnection> third = one.connectForLink(SERVER);
        CompletableFuture<RedisConnection> fourth = other.connectForLink(SERVER);
        assertThat(driver.asked).as("neither waits for the other's try").hasSize(3);
        StillDriver.Connection early = new StillDriver.Connection();
        StillDriver.Connection late = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(early);
        driver.asked.get(2).answer().complete(late);
        early.answers("INFO", StillDriver.MASTER);
        late.answers("INFO", StillDriver.MASTER);
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
        assertThat(driver.asked).hasSize(1);
        runtime.advance(ANSWER);
        assertThat(driver.asked).hasSize(2);
        StillDriver.Connection made = made();
        ask(now(second), "a");
        assertThat(made.questions).hasSize(1);
        assertThat(now(first).isOpen()).isTrue();
        assertThat(silent.closes).isZero();
    }

    /** The listeners for the end of a part close it again, as those of a link do. */
    @Test
    void aCloseIsNoDoubt() {
        RedisConnection first = first();
        first.onEnd(first::close);
        StillDriver.Connection made = made(0);
        joined(other, made);
        one.close();
        assertThat(joined(new SharedDriver(shared, runtime, () -> {}), made).isOpen())
                .isTrue();
        assertThat(driver.asked).hasSize(1);
    }

    @Test
    void whatIsGivenBackIsNotDoubted() {
        RedisConnection first = first();
        joined(other, made(0));
        first.giveBack();
        assertThat(first.isOpen()).isFalse();
        joined(one, made(0));
        assertThat(driver.asked).hasSize(1);
    }

    /** The first connection of a client, which is made. */
    private RedisConnection first() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        made();
        return now(first);
    }

    private StillDriver.Connection made(int number) {
        return (StillDriver.Connection) driver.asked.get(number).answer().join();
    }

    @Test
    void aListenerThatThrowsKeepsNobodyFromNoticingTheEnd() {
        RedisConnection first = first();
        RedisConnection second = joined(other, made(0));
        for (RedisConnection part : List.of(first, second)) {
            part.onEnd(() -> {
                throw new AssertionError("a listener");
            });
            part.onEnd(() -> heard.add("the end"));
        }
        made(0).ends();
        assertThat(heard).containsExactly("the end", "the end");
        assertThat(made(0).closes).isOne();
    }

    @Test
    void aCallbackThatThrowsKeepsTheCloseFromNothing() {
        RedisConnection first = first();
        ask(first, "a");
        first.run(
                new ScriptCall(LuaScript.RELEASE, new String[] {"b"}, new String[] {}),
                false,
                false,
                (reply, error) -> {
                    throw new AssertionError("a callback");
                });
        ask(first, "c");
        first.onEnd(() -> heard.add("the end"));
        one.close();
        assertThat(heard)
                .containsExactlyInAnyOrder("a the connection was closed", "c the connection was closed", "the end");
        assertThat(closes).hasValue(1);
        assertThat(made(0).closes).isOne();
    }

    /** The caller undoes a request once it has failed: it must not be sent after that. */
    @Test
    void aRequestFailsOnlyOnceTheConnectionHasIt() {
        RedisConnection first = first();
        joined(other, made(0));
        made(0).meanwhile = first::close;
        first.run(
                new ScriptCall(LuaScript.RELEASE, new String[] {"a"}, new String[] {}),
                false,
                false,
                (reply, error) ->
                        heard.add(error + ", after " + made(0).questions.size()));
        assertThat(heard).containsExactly("java.io.IOException: the connection was closed, after 1");
        made(0).answers("EVALSHA", 1L);
        assertThat(heard).hasSize(1);
    }

    @Test
    void aRequestThatIsNotTakenIsNotAnsweredToo() {
        RedisConnection first = first();
        joined(other, made(0));
        made(0).meanwhile = first::close;
        made(0).thrown = new IllegalStateException("not taken");
        assertThatThrownBy(() -> ask(first, "a")).hasMessage("not taken");
        assertThat(heard).isEmpty();
    }

    /** The server does not know the script; the part ends while that answer arrives. */
    @Test
    void aScriptThatCannotBeSentByItsTextIsAnswered() {
        RedisConnection first = first();
        joined(other, made(0));
        Link link = new Link(first, null, SERVER, ServerFacts.parse(StillDriver.MASTER), runtime);
        link.run(
                new ScriptCall(LuaScript.INSPECT, new String[] {"k"}, new String[] {}),
                () -> {
                    first.close();
                    return true;
                },
                (reply, error) -> heard.add(String.valueOf(error)));
        made(0).fails("EVALSHA", new ServerRefusal("NOSCRIPT No matching script.", null));
        assertThat(heard).hasSize(1);
        assertThat(heard.get(0)).contains("NotSentException");
        assertThat(made(0).questions).isEmpty();
    }

    /** A second try next to one that hangs limits the time of a reconnect. */
    @Test
    void aTryThatHangsIsJoinedByNobody() {
        Connections connections = new Connections(
                one, Connections.Locator.fixed(SERVER), Expectation.SERVER, "node", new RedisErrors("node"), runtime);
        connections.begin();
        StillDriver.Connection hanging = silent();
        other.connectForLink(SERVER);
        assertThat(driver.asked).as("nor by another client").hasSize(2);
        runtime.advance(ANSWER);
        assertThat(driver.asked).as("the client's second try").hasSize(3);
        made().answers("INFO", StillDriver.MASTER);
        assertThat(connections.current()).isNotNull();
        hanging.answers("INFO", StillDriver.MASTER);
        joined(other, made(2));
        assertThat(driver.asked).hasSize(3);
        connections.close();
    }

    @Test
    void aConnectionThatDoesNotAnswerInTimeIsTheClientsOwn() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        silent();
        assertThat(first).isNotDone();
        runtime.advance(ANSWER);
        assertThat(now(first).isOpen()).isTrue();
        other.connectForLink(SERVER);
        assertThat(driver.asked).hasSize(2);
    }

    @Test
    void aConnectionThatEndedByItselfIsClosed() {
        CompletableFuture<RedisConnection> first = one.connectForLink(SERVER);
        StillDriver.Connection ended = new StillDriver.Connection();
        ended.ends();
        driver.asked.get(0).answer().complete(ended);
        assertThat(first).isCompletedExceptionally();
        assertThat(ended.closes).isOne();
        CompletableFuture<RedisConnection> question = one.connect(SERVER);
        StillDriver.Connection alsoEnded = new StillDriver.Connection();
        alsoEnded.ends();
        driver.asked.get(1).answer().complete(alsoEnded);
        assertThat(question).isCompleted();
        one.close();
        assertThat(alsoEnded.closes).as("nothing of it is kept").isZero();
    }

    /** The close ends the timers of its client; no later event ends what the client gets after that. */
    @Test
    void aClientThatClosesWhileItAsksHasNothingAfterThat() {
        RedisConnection first = first();
        CompletableFuture<RedisConnection> asking = other.connectForLink(SERVER);
        assertThat(made(0).questions).hasSize(1);
        other.close();
        assertThat(asking).isCompletedExceptionally();
        assertThat(driver.asked).hasSize(1);
        first.close();
        assertThat(made(0).closes).isOne();
    }

    /** A node of a Cluster from which the table was requested is not doubted after that. */
    @Test
    void aNodeThatIsVisitedKeepsItsConnection() {
        first();
        new TableReader(other, new RedisErrors("cluster"), runtime).first(List.of(SERVER), SlotTable.empty());
        assertThat(driver.asked).as("a question").hasSize(2);
        StillDriver.Connection visit = silent();
        visit.answers("INFO", StillDriver.MASTER.replace("cluster_enabled:0", "cluster_enabled:1"));
        visit.answers("CLUSTER SLOTS", List.of(0L, 16_383L, List.of("here", 6379L, "id")));
        visit.answers("CLUSTER INFO", "cluster_current_epoch:5");
        assertThat(visit.open).isFalse();
        joined(other, made(0));
        assertThat(driver.asked).hasSize(2);
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
        StillDriver.Connection question = silent();
        other.connect(SERVER);
        StillDriver.Connection others = silent();
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
        StillDriver.Connection made = silent();
        assertThat(made.closes).isOne();
        assertThat(late).isCompletedExceptionally();
        assertThat(driver.asked).hasSize(1);
        assertThat(one.connectForPushes(SERVER)).isCompletedExceptionally();
        assertThat(driver.askedForPushes).isEmpty();
    }

    /** The server counts the subscribers of a channel: the channels of a closed client must end. */
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
