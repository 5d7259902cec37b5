package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of single steps of connections: the time limits, the requests that are not sent again, and the ends. */
@Tag("quick")
@Timeout(120)
final class ConnectionStepsTest {

    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(3);
    private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(15);
    private static final long PING_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final String NO_SCRIPT = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    private static final String LOADING = "-LOADING Redis is loading the dataset in memory\r\n";
    private static final String LOCK = KeyLayout.standard().lock(LockName.of("x"));
    private static final ScriptCall CALL = new ScriptCall(LuaScript.INSPECT, new String[] {LOCK}, new String[0]);

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final RedisErrors errors = new RedisErrors("node");
    private final AtomicInteger texts = new AtomicInteger();
    private ScriptedRedis server;
    private LettuceDriver driver;
    private @Nullable MasterTopology topology;

    @BeforeEach
    void start() throws Exception {
        // No time limit passes on a busy machine unless a test requires it.
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MINUTES.toNanos(10));
        server = new ScriptedRedis();
        server.says("EVAL", command -> {
            texts.incrementAndGet();
            return bulks("by text");
        });
        driver = new LettuceDriver(server.uri(), new DriverThreads());
    }

    @AfterEach
    void close() throws Exception {
        if (topology != null) {
            topology.close();
        }
        driver.close();
        runtime.close();
        server.close();
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    /** Shortens only this delay; timers of more than a second do not fire. */
    private void soon(long delayNanos) {
        runtime.changing(delay -> delay == delayNanos
                ? SOON_NANOS
                : delay >= TimeUnit.SECONDS.toNanos(1) ? TimeUnit.MINUTES.toNanos(10) : delay);
    }

    private Connections connections(Driver over, RedisUri place) {
        return new Connections(over, Connections.Locator.fixed(place), Expectation.SERVER, "node", errors, runtime);
    }

    private Link link(RedisUri place) throws Exception {
        return answer(connections(driver, place).open());
    }

    private RedisUri waiting() {
        return RedisUri.parse(StoreUri.parse("redis://" + server.address() + "?waitReplicas=1&waitTimeout=70ms"));
    }

    private interface Step {
        @Nullable
        CompletableFuture<?> of(Driver real) throws Throwable;
    }

    /** The driver, unless this step replaces the call. */
    private Driver before(String method, Step step) {
        return (Driver) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Driver.class}, (self, called, given) -> {
                    boolean isThis = called.getName().equals(method)
                            || (method.equals("connect") && called.getName().equals("connectForLink"));
                    CompletableFuture<?> instead = isThis ? step.of(driver) : null;
                    if (instead != null) {
                        return instead;
                    }
                    try {
                        return called.invoke(driver, given);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    // ---- time limits

    /** The server has answered the previous question; the steps after it have a time limit, too. */
    @Test
    void aServerThatIsSilentToTheFirstWaitIsGivenUp() throws Exception {
        server.says("WAIT", ScriptedRedis.SILENCE);
        soon(ANSWER_NANOS);
        assertThatThrownBy(() -> link(waiting()))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("did not answer the request to wait for replicas (WAIT) in time");
        until("nothing is left", () -> server.open() == 0);
    }

    /** As with an application's client without a time limit. */
    @Test
    void aConnectionThatDoesNotComeIsGivenUpAndEndedShouldItComeLater() throws Exception {
        CompletableFuture<RedisConnection> late = new CompletableFuture<>();
        soon(CONNECT_NANOS);
        Connections connections = connections(before("connect", real -> late), server.uri());
        assertThatThrownBy(() -> answer(connections.open()))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("could not be connected to in time");
        RedisConnection connection = answer(driver.connect(server.uri()));
        late.complete(connection);
        until("it is ended", () -> !connection.isOpen());
    }

    /** As with a member of a set whose opening took too long: one of the two links is left. */
    @Test
    void aFirstLinkThatComesBesideAnotherIsEnded() throws Exception {
        CompletableFuture<RedisConnection> late = new CompletableFuture<>();
        AtomicInteger tries = new AtomicInteger();
        Connections connections =
                connections(before("connect", real -> tries.incrementAndGet() == 1 ? late : null), server.uri());
        CompletableFuture<Link> first = connections.open();
        connections.keepTrying();
        until("another is there", () -> connections.current() != null);
        Link link = connections.current();
        late.complete(answer(driver.connect(server.uri())));
        answer(first);
        until("one is left", () -> server.open() == 1);
        assertThat(connections.current()).isSameAs(link);
        assertThat(link.isOpen()).isTrue();
    }

    /** As if the system had no more threads. */
    @Test
    void aDriverThatThrowsHasFailed() throws Exception {
        for (Throwable thrown : List.of(new IllegalStateException("no way"), new InternalError("no thread"))) {
            Connections connections = connections(
                    before("connect", real -> {
                        throw thrown;
                    }),
                    server.uri());
            assertThatThrownBy(() -> answer(connections.open()))
                    .hasCauseInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining(thrown.getMessage());
        }
        assertThat(runtime.armed()).as("limits that are armed").isZero();
    }

    /** The provider of the credentials may never answer. */
    @Test
    void aConnectionForPushesThatDoesNotComeIsTriedAgain() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        soon(ANSWER_NANOS);
        Subscriptions subscriptions = new Subscriptions(
                before("connectForPushes", real -> tries.incrementAndGet() == 1 ? new CompletableFuture<>() : null),
                Connections.Locator.fixed(server.uri()),
                "channel",
                "wake-ups",
                errors,
                runtime,
                message -> {});
        assertThat(answer(subscriptions.started(""))).isFalse();
        assertThat(runtime.delays()).contains(ANSWER_NANOS);
        until("it is tried again", () -> subscriptions.isLive(""));
        assertThat(tries.get())
                .as("on a busy machine the second may be late, too")
                .isGreaterThanOrEqualTo(2);
        subscriptions.close();
    }

    @Test
    void aPongInTimeKeepsTheConnection() throws Exception {
        // Every second one is the limit of a ping.
        AtomicInteger number = new AtomicInteger();
        runtime.changing(delay -> delay != PING_NANOS
                ? delay
                : number.getAndIncrement() % 2 == 0 ? TimeUnit.MILLISECONDS.toNanos(20) : TimeUnit.SECONDS.toNanos(2));
        Subscriptions subscriptions = new Subscriptions(
                driver, Connections.Locator.fixed(server.uri()), "channel", "wake-ups", errors, runtime, message -> {});
        assertThat(answer(subscriptions.started(""))).isTrue();
        until("it is pinged again and again", () -> server.asked("PING") >= 3);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2_500));
        assertThat(server.asked("SUBSCRIBE")).isOne();
        subscriptions.close();
    }

    /** With its own options, the library would count from the moment at which a command is written. */
    @Test
    void theTimeLimitsOfABroughtClientAreNotThoseOfRequests() throws Exception {
        server.says("TIME", command -> {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
            return bulks("5", "6");
        });
        RedisClient client = RedisClient.create();
        client.setOptions(ClientOptions.builder()
                .timeoutOptions(TimeoutOptions.enabled(Duration.ofMillis(50)))
                .build());
        RedisUri place = LettuceUris.read(RedisURI.create("127.0.0.1", server.port()), KeyLayout.standard());
        LettuceDriver over = LettuceDriver.over(client, Deployment.of(place));
        try {
            assertThat(answer(answer(over.connect(place)).ask(PlainCommand.TIME)))
                    .containsExactly("5", "6");
        } finally {
            over.close();
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    @Test
    void theThreadsOfSeveralDriversEndWithTheLast() throws Exception {
        server.says("TIME", bulks("5", "6"));
        DriverThreads threads = new DriverThreads();
        LettuceDriver first = new LettuceDriver(server.uri(), threads);
        LettuceDriver second = new LettuceDriver(server.uri(), threads);
        RedisConnection connection = answer(second.connect(server.uri()));
        first.close();
        assertThat(answer(connection.ask(PlainCommand.TIME))).containsExactly("5", "6");
        second.close();
        assertThat(connection.isOpen()).isFalse();
    }

    // ---- what is sent

    @Test
    void onlyAConnectionThatTakesNoCommandYetIsAskedOnceMore() {
        server.says("INFO", "-NOPERM this user has no permissions to run the 'info' command\r\n");
        assertThatThrownBy(() -> link(server.uri())).hasCauseInstanceOf(StoreAccessException.class);
        assertThat(server.asked("INFO")).isOne();
    }

    private static CompletableFuture<List<Object>> run(Link link, BooleanSupplier wanted) {
        CompletableFuture<List<Object>> answer = new CompletableFuture<>();
        link.run(CALL, wanted, (reply, error) -> settle(answer, reply, error));
        return answer;
    }

    private static CompletableFuture<Acknowledged> acknowledged(Link link, BooleanSupplier wanted) {
        CompletableFuture<Acknowledged> answer = new CompletableFuture<>();
        link.runAcknowledged(CALL, wanted, (reply, error) -> settle(answer, reply, error));
        return answer;
    }

    private static <T> void settle(CompletableFuture<T> answer, @Nullable T reply, @Nullable Throwable error) {
        if (error == null) {
            answer.complete(reply);
        } else {
            answer.completeExceptionally(error);
        }
    }

    /** After the time limit, its undo may have been sent. */
    @Test
    void whatWasGivenUpIsNotSentByItsText() throws Exception {
        server.says("EVALSHA", NO_SCRIPT);
        Link link = link(server.uri());
        for (Link one : List.of(link, link.asking())) {
            assertThat(answer(run(one, () -> true))).containsExactly("by text");
            texts.set(0);
            CompletableFuture<List<Object>> givenUp = run(one, () -> false);
            assertThatThrownBy(() -> answer(givenUp)).isInstanceOf(CancellationException.class);
            assertThat(answer(run(one, () -> true))).containsExactly("by text");
            assertThat(texts).as("of two").hasValue(1);
        }
    }

    @Test
    void whatWasGivenUpIsNotSentByItsTextWhereReplicasAreWaitedFor() throws Exception {
        server.says("EVALSHA", NO_SCRIPT);
        server.says("WAIT", ":1\r\n");
        Link link = link(waiting());
        CompletableFuture<Acknowledged> givenUp = acknowledged(link, () -> false);
        assertThatThrownBy(() -> answer(givenUp)).isInstanceOf(CancellationException.class);
        assertThat(texts).hasValue(0);
        assertThat(answer(acknowledged(link, () -> true))).isEqualTo(new Acknowledged(List.of("by text"), 1));
        assertThat(texts).hasValue(1);
    }

    /** The call has waited for the replicas of the previous one. */
    @Test
    void whatWasGivenUpBeforeItLeftDoesNotLeave() throws Exception {
        server.says("EVALSHA", bulks("held"));
        server.says("WAIT 0", ":0\r\n");
        server.says("WAIT", ScriptedRedis.SILENCE);
        Link link = link(waiting());
        CompletableFuture<Acknowledged> first = acknowledged(link, () -> true);
        until("it waits", () -> server.asked("WAIT 1 70") == 1);
        CompletableFuture<Acknowledged> givenUp = acknowledged(link, () -> false);
        server.says("WAIT", ":1\r\n");
        server.say("WAIT", ":1\r\n");
        assertThat(answer(first).replicas()).isOne();
        assertThatThrownBy(() -> answer(givenUp)).isInstanceOf(CancellationException.class);
        assertThat(answer(acknowledged(link, () -> true)).replicas()).isOne();
        assertThat(server.asked("EVALSHA")).as("without the one").isEqualTo(2);
    }

    @Test
    void aWaitThatIsRefusedCountsForNoReplica() throws Exception {
        server.says("EVALSHA", bulks("held"));
        server.says("WAIT", ":0\r\n");
        Link link = link(waiting());
        server.says("WAIT", "-NOPERM this user has no permissions to run the 'wait' command\r\n");
        assertThat(answer(acknowledged(link, () -> true))).isEqualTo(new Acknowledged(List.of("held"), 0));
    }

    /** The first call discovers that the common case does not apply, and the second one knows it. */
    @Test
    void aLockThatAnotherHoldsIsAskedForWholeFromThenOn() throws Exception {
        List<String> ran = new CopyOnWriteArrayList<>();
        server.says("EVALSHA", command -> {
            ran.add(command.get(1));
            return command.get(1).equals(LuaScript.ACQUIRE.sha1())
                    ? bulks("held", "123", "lock", "1:host/2/y", "900")
                    : ":0\r\n";
        });
        Link link = link(server.uri());
        String[] few = {"value", "30000", "5000"};
        ScriptCall call = new ScriptCall(LuaScript.ACQUIRE, KeyLayout.allOf(LOCK), few)
                .orCommonly(new ScriptCall.CommonCase(
                        LuaScript.ACQUIRE_FREE, LuaScript.ACQUIRE_MANY, KeyLayout.grantKeys(LOCK), few));
        for (int i = 0; i < 2; i++) {
            CompletableFuture<List<Object>> held = new CompletableFuture<>();
            link.run(call, () -> true, (reply, error) -> settle(held, reply, error));
            assertThat(answer(held).get(0)).isEqualTo("held");
        }
        assertThat(ran)
                .containsExactly(LuaScript.ACQUIRE_FREE.sha1(), LuaScript.ACQUIRE.sha1(), LuaScript.ACQUIRE.sha1());
    }

    /** A later call for the same lock must not be sent before it. */
    @Test
    void aCallThatLeavesAloneTellsThoseThatLeaveTogether() {
        List<String> steps = new CopyOnWriteArrayList<>();
        RedisConnection.Joint joint = new RedisConnection.Joint() {
            @Override
            public void run(
                    ScriptCall call,
                    ScriptCall.CommonCase common,
                    BooleanSupplier wanted,
                    BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
                steps.add("together");
            }

            @Override
            public void haveLeft(String... keys) {
                steps.add("has left: " + String.join(" ", keys));
            }
        };
        RedisConnection connection = (RedisConnection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {RedisConnection.class}, (self, method, given) -> {
                    if (method.getName().equals("joint")) {
                        return joint;
                    }
                    steps.add(method.getName());
                    return null;
                });
        ServerFacts facts = ServerFacts.parse("run_id:life\r\nredis_version:7.0.9\r\nrole:master\r\n");
        new Link(connection, null, server.uri(), facts, runtime).run(CALL, () -> true, (reply, error) -> {});
        assertThat(steps).containsExactly("run", "has left: " + LOCK);
    }

    // ---- the order of steps

    /** Without a link, the source of pushes does not depend on it. */
    @Test
    void whileThereIsNoLinkASubscriptionStaysWhereItIs() throws Exception {
        Deployment where = Deployment.parse(StoreUri.parse("redis://" + server.address()));
        topology = new MasterTopology(where, LettuceDriver.of(where, new DriverThreads()), errors, runtime);
        answer(topology.open());
        WakeUps wakeUps = topology.wakeUps(message -> {});
        assertThat(answer(wakeUps.started(LOCK))).isTrue();
        long before = server.asked("SUBSCRIBE");
        server.says("INFO", LOADING);
        server.endAll();
        until("it is made again", () -> server.asked("SUBSCRIBE") > before && wakeUps.isLive(LOCK));
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
        assertThat(server.asked("SUBSCRIBE")).isEqualTo(before + 1);
        assertThat(topology.current(LOCK)).isNull();
    }
}
