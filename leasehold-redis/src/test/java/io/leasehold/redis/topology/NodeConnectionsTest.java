package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.StoreUri;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the start and the end of the link to one server, and of its moves, with a scripted server. */
@Tag("quick")
@Timeout(120)
final class NodeConnectionsTest {

    private static final long PING_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long MINUTES_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final String NO_SCRIPT = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    private static final String[] KEYS = {"lock:{x}"};

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final RedisErrors errors = new RedisErrors("node");
    private final AtomicInteger reconnected = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private final List<Connections> made = new ArrayList<>();
    private ScriptedRedis server;
    private ScriptedRedis other;
    private Driver driver;
    private volatile RedisUri place;
    /** The replacement of the server's address, unless null. */
    private volatile Supplier<CompletableFuture<RedisUri>> hindrance = () -> null;

    @BeforeEach
    void start() throws Exception {
        // No time limit passes on a busy machine unless a test requires it.
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MINUTES.toNanos(10));
        server = new ScriptedRedis();
        other = new ScriptedRedis();
        place = server.uri();
        driver = new LettuceDriver(place, new DriverThreads());
    }

    @AfterEach
    void close() throws Exception {
        made.forEach(Connections::close);
        driver.close();
        runtime.close();
        server.close();
        other.close();
    }

    private Connections connections(Expectation expectation) {
        Connections connections = new Connections(
                driver,
                () -> {
                    CompletableFuture<RedisUri> hindered = hindrance.get();
                    return hindered == null ? CompletableFuture.completedFuture(place) : hindered;
                },
                expectation,
                "node",
                errors,
                runtime);
        connections.onReconnected(reconnected::incrementAndGet);
        connections.onLost(lost::incrementAndGet);
        made.add(connections);
        return connections;
    }

    private Connections opened() throws Exception {
        Connections connections = connections(Expectation.SERVER);
        Link link = connections.open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(connections.current()).isSameAs(link);
        return connections;
    }

    private static Throwable failure(CompletableFuture<?> future) throws Exception {
        Throwable thrown = future.handle((done, error) -> error).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        while (thrown != null && !(thrown instanceof LockStoreException) && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        return thrown;
    }

    private static RedisUri waiting(ScriptedRedis at, String parameters) {
        return RedisUri.parse(StoreUri.parse("redis://" + at.address() + "?" + parameters));
    }

    // ---- one server

    @Test
    void aLinkThatEndsIsFollowedByAnother() throws Exception {
        Connections connections = opened();
        for (int i = 1; i <= 3; i++) {
            Link link = connections.current();
            server.endAll();
            until("another", () -> connections.current() != null && connections.current() != link);
            int times = i;
            until("it is notified", () -> reconnected.get() == times && lost.get() == times);
            assertThat(connections.failure()).isNull();
            assertThat(connections.next().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                    .isSameAs(connections.current());
        }
        until("none is kept", () -> server.open() == 1);
    }

    /** As with an application's client without time limits, where the number of concurrent tries is limited. */
    @Test
    void aTryThatHangsKeepsNoOtherFromBeingMade() throws Exception {
        Connections connections = opened();
        AtomicInteger tries = new AtomicInteger();
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MILLISECONDS.toNanos(20));
        hindrance = () -> switch (tries.incrementAndGet()) {
            case 1 -> new CompletableFuture<>();
            case 2, 3 -> CompletableFuture.failedFuture(new StoreUnavailableException("too many", null));
            default -> null;
        };
        server.endAll();
        until("there is another", () -> reconnected.get() == 1 && connections.current() != null);
        assertThat(tries).hasValueGreaterThanOrEqualTo(4);
    }

    @Test
    void whoWaitsForTheNextLinkIsToldWhetherItCame() throws Exception {
        Connections connections = opened();
        place = other.uri();
        other.is("role:slave", "master_host:h", "master_port:1");
        other.says("INFO", "-LOADING Redis is loading the dataset in memory\r\n");
        server.endAll();
        until("it is gone", () -> connections.current() == null);
        assertThat(failure(connections.next()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("LOADING");
        assertThat(connections.failure()).hasMessageContaining("LOADING");
        CompletableFuture<Link> next;
        other.is("role:master");
        do {
            next = connections.next();
        } while (failure(next) != null);
        until("it has come", () -> connections.current() != null);
        assertThat(connections.next().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isSameAs(connections.current());
        until("refused connections are ended", () -> other.open() == 1);
        assertThat(connections.failure()).isNull();
    }

    @Test
    void whyThereIsNoLinkIsSaid() throws Exception {
        server.is("role:slave", "master_host:h", "master_port:7");
        Connections connections = connections(Expectation.SERVER);
        assertThat(failure(connections.open()))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("name its primary, h:7");
        assertThat(connections.failure()).hasMessageContaining("name its primary");
        server.says("INFO", bulk("redis_version:7.0.9"));
        assertThat(failure(connections.open()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("does not answer like a Redis server: INFO has no run_id");
        server.says("INFO", "-NOPERM this user has no permissions to run the 'info' command\r\n");
        assertThat(failure(connections.open()))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("read INFO");
        until("refused connections are ended", () -> server.open() == 0);
        server.close();
        assertThat(failure(connections.open()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot be reached: Connection refused")
                .hasMessageContaining("Is a Redis server running there");
        assertThat(lost).hasValue(0);
    }

    @Test
    void aPasswordThatIsRefusedIsSaid() throws Exception {
        server.says("AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
        place = RedisUri.parse(StoreUri.parse("redis://u:s3cret@" + server.address()));
        assertThat(failure(connections(Expectation.SERVER).open()))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("does not accept the user and password")
                .hasMessageNotContaining("s3cret");
    }

    /** As when the kernel accepts for a frozen process: the try counts as failed, and another one follows. */
    @Test
    void whoAcceptsAndSaysNothingIsTriedAgain() throws Exception {
        runtime.hurry(TimeUnit.SECONDS.toNanos(3), TimeUnit.MILLISECONDS.toNanos(100));
        server.says("INFO", ScriptedRedis.SILENCE);
        Connections connections = connections(Expectation.SERVER);
        assertThat(failure(connections.open())).isInstanceOf(StoreUnavailableException.class);
        until("it is ended", () -> server.open() == 0);
        connections.keepTrying();
        long before = server.asked("INFO");
        until("it is asked again", () -> server.asked("INFO") > before);
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MINUTES.toNanos(10));
        server.is("role:master");
        until("it answers", () -> connections.current() != null);
    }

    /** A slow try gets a second one next to it and is not given up: the first success counts, and the others end. */
    @Test
    void aTryThatTakesLongGetsCompany() throws Exception {
        Connections connections = opened();
        runtime.hurry(Connections.PATIENCE_NANOS, TimeUnit.MILLISECONDS.toNanos(20));
        server.says("INFO", ScriptedRedis.SILENCE);
        long before = server.asked("INFO");
        server.endAll();
        until("several are under way", () -> server.asked("INFO") >= before + 3);
        server.is("role:master");
        until("one has come", () -> connections.current() != null);
    }

    /** The slow one of two tries succeeds after the other has made the link. */
    @Test
    void aLinkThatComesWhenAnotherWasMadeIsEnded() throws Exception {
        Connections connections = opened();
        runtime.hurry(Connections.PATIENCE_NANOS, TimeUnit.MILLISECONDS.toNanos(20));
        CompletableFuture<RedisUri> late = new CompletableFuture<>();
        AtomicInteger tries = new AtomicInteger();
        hindrance = () -> tries.incrementAndGet() == 1 ? late : null;
        server.endAll();
        until("its company has come", () -> reconnected.get() == 1);
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MINUTES.toNanos(10));
        Link link = connections.current();
        long before = server.asked("INFO");

        late.complete(server.uri());

        until("it comes, too", () -> server.asked("INFO") > before);
        until("it is ended", () -> server.open() == 1);
        assertThat(connections.current()).isSameAs(link);
        assertThat(reconnected).hasValue(1);
    }

    @Test
    void aLinkToAFormerPlaceIsLeftAndOneToThePresentIsNot() throws Exception {
        Connections connections = opened();
        Link link = connections.current();
        connections.leaveUnlessAt(server.uri());
        assertThat(link.isOpen()).isTrue();
        place = other.uri();

        connections.leaveUnlessAt(other.uri());

        until("it has moved", () -> connections.current() != null && connections.current() != link);
        assertThat(connections.current().address().port()).isEqualTo(other.port());
        until("nothing is left", () -> server.open() == 0);
    }

    /** The try may take as long as one to a machine that has silently gone. */
    @Test
    void aTryAtAFormerPlaceIsGivenUpForTheNewOne() throws Exception {
        Connections connections = opened();
        server.says("INFO", ScriptedRedis.SILENCE);
        long before = server.asked("INFO");
        server.endAll();
        until("it is tried there", () -> server.asked("INFO") > before);
        connections.leaveUnlessAt(server.uri());
        assertThat(connections.current()).isNull();
        place = other.uri();

        connections.leaveUnlessAt(other.uri());

        until("it has moved", () -> connections.current() != null);
        assertThat(connections.current().address().port()).isEqualTo(other.port());
        until("it is notified once", () -> reconnected.get() == 1);
    }

    @Test
    void afterTheCloseNoLinkIsMade() throws Exception {
        Connections connections = opened();
        Link link = connections.current();
        connections.close();
        assertThat(connections.current()).isNull();
        assertThat(link.isOpen()).as("it ends with the driver").isTrue();
        int before = runtime.delays().size();
        server.endAll();
        connections.keepTrying();
        assertThat(runtime.delays()).hasSize(before);
        assertThat(lost).hasValue(0);

        Connections retired = opened();
        Link last = retired.current();
        retired.retire();
        until("it is ended", () -> !last.isOpen());
        assertThat(retired.current()).isNull();
        retired.retire();
    }

    @Test
    void aLinkThatComesAfterTheCloseIsEnded() throws Exception {
        CompletableFuture<RedisUri> late = new CompletableFuture<>();
        Connections connections = new Connections(driver, () -> late, Expectation.SERVER, "node", errors, runtime);
        CompletableFuture<Link> opening = connections.open();
        connections.close();
        late.complete(server.uri());
        Link link = opening.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        until("it is ended", () -> !link.isOpen() && server.open() == 0);
        assertThat(connections.current()).isNull();
    }

    // ---- a link that waits for replicas

    @Test
    void aLinkThatWaitsForReplicasHasASecondConnectionAndEndsWithEither() throws Exception {
        server.says("WAIT", ":2\r\n");
        server.says("EVALSHA", bulks("held", "x"));
        place = waiting(server, "waitReplicas=2&waitTimeout=70ms");
        Connections connections = opened();
        assertThat(server.open()).isEqualTo(2);
        for (int round = 1; round <= 2; round++) {
            Link link = connections.current();
            CompletableFuture<Acknowledged> answer = acknowledged(link);
            assertThat(answer.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(new Acknowledged(List.of("held", "x"), 2));
            assertThat(server.asked("WAIT 2 70")).isEqualTo(round);
            // The second connection is the one that has sent WAIT.
            server.endThoseThatAsked("WAIT");
            until("another link", () -> connections.current() != null && connections.current() != link);
            assertThat(link.isOpen()).isFalse();
            until("both are ended", () -> server.open() == 2);
        }
        Link link = connections.current();
        server.endThoseThatAsked("INFO");
        until("another link", () -> connections.current() != null && connections.current() != link);
        until("both are ended", () -> server.open() == 2);
    }

    @Test
    void ofALinkThatHasEndedBeforeItWasWholeNoConnectionIsLeft() throws Exception {
        AtomicInteger ready = new AtomicInteger();
        server.says("WAIT", command -> {
            if (ready.getAndIncrement() == 0) {
                server.endThoseThatAsked("INFO");
                // Time for the client to receive the end before any listener exists; without it the test proves less.
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            }
            return ":0\r\n";
        });
        place = waiting(server, "waitReplicas=1");
        Connections connections = connections(Expectation.SERVER);
        connections.open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        until("another link", () -> reconnected.get() == 1 && connections.current() != null);
        until("both connections of the first are ended", () -> server.open() == 2);
    }

    private static CompletableFuture<Acknowledged> acknowledged(Link link) {
        return acknowledged(link, () -> true);
    }

    private static CompletableFuture<Acknowledged> acknowledged(Link link, BooleanSupplier wanted) {
        CompletableFuture<Acknowledged> answer = new CompletableFuture<>();
        link.runAcknowledged(new ScriptCall(LuaScript.INSPECT, KEYS, new String[0]), wanted, (reply, error) -> {
            if (error == null) {
                answer.complete(reply);
            } else {
                answer.completeExceptionally(error);
            }
        });
        return answer;
    }

    @Test
    void aServerThatMayNotWaitIsRefusedAndNothingIsLeft() throws Exception {
        server.says("WAIT", "-NOPERM this user has no permissions to run the 'wait' command\r\n");
        place = waiting(server, "waitReplicas=1");
        assertThat(failure(connections(Expectation.SERVER).open()))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("wait for replicas (WAIT)");
        until("both are ended", () -> server.open() == 0);
        server.says("WAIT", ":0\r\n");
        assertThat(failure(connections(Expectation.CLUSTER_NODE).open())).isInstanceOf(UnsafeStoreException.class);
        until("both are ended", () -> server.open() == 0);
    }

    /** While one script waits, the others gather and are sent with one {@code WAIT} for all. */
    @Test
    void whatGathersWhileOneWaitsLeavesTogether() throws Exception {
        List<String> scripts = new CopyOnWriteArrayList<>();
        server.says("EVALSHA", command -> {
            scripts.add(command.get(1));
            return scripts.size() == 3 ? NO_SCRIPT : bulks("free");
        });
        server.says("EVAL", bulks("by text"));
        server.says("WAIT 0", ":0\r\n");
        server.says("WAIT", ScriptedRedis.SILENCE);
        place = waiting(server, "waitReplicas=1&waitTimeout=70ms");
        Link link = opened().current();
        CompletableFuture<Acknowledged> first = acknowledged(link);
        until("it waits", () -> server.asked("WAIT 1 70") == 1);
        List<CompletableFuture<Acknowledged>> gathered =
                List.of(acknowledged(link), acknowledged(link), acknowledged(link));
        assertThat(scripts).hasSize(1);
        server.says("WAIT", ":1\r\n");

        server.say("WAIT", ":3\r\n");

        assertThat(first.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(new Acknowledged(List.of("free"), 3));
        assertThat(gathered.get(0).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(new Acknowledged(List.of("free"), 1));
        assertThat(gathered.get(1).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(new Acknowledged(List.of("by text"), 1));
        assertThat(gathered.get(2).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(new Acknowledged(List.of("free"), 1));
        assertThat(server.asked("WAIT 1 70"))
                .as("one for three, and one for the text")
                .isEqualTo(3);
        assertThat(acknowledged(link)
                        .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)
                        .replicas())
                .isOne();
        server.says("EVALSHA", "-OOM command not allowed\r\n");
        assertThatThrownBy(() -> acknowledged(link).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .hasMessageContaining("OOM");
        assertThatThrownBy(() -> acknowledged(link).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .hasMessageContaining("OOM");
    }

    // ---- one link

    private static CompletableFuture<List<Object>> run(Link link) {
        return run(link, () -> true);
    }

    private static CompletableFuture<List<Object>> run(Link link, BooleanSupplier wanted) {
        CompletableFuture<List<Object>> answer = new CompletableFuture<>();
        link.run(new ScriptCall(LuaScript.INSPECT, KEYS, new String[0]), wanted, (reply, error) -> {
            if (error == null) {
                answer.complete(reply);
            } else {
                answer.completeExceptionally(error);
            }
        });
        return answer;
    }

    @Test
    void aScriptThatIsNotKnownIsSentWhole() throws Exception {
        Link link = opened().current();
        server.says("EVALSHA", NO_SCRIPT);
        server.says("EVAL", bulks("free"));
        assertThat(run(link).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)).isEqualTo(List.of("free"));
        assertThat(run(link.asking()).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(List.of("free"));
        assertThat(server.asked("ASKING")).as("before each of the two").isEqualTo(2);
        server.says("EVAL", "-OOM no\r\n");
        assertThatThrownBy(() -> run(link).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .hasMessageContaining("OOM");
        server.says("EVALSHA", "-READONLY no\r\n");
        assertThatThrownBy(() -> run(link).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .hasMessageContaining("READONLY");
        assertThat(link.incarnation().id()).isEqualTo("life" + server.port());
    }

    // ---- a subscription

    private Subscriptions subscriptions(List<String> heard) {
        return new Subscriptions(
                driver,
                () -> CompletableFuture.completedFuture(place),
                "channel",
                "wake-ups",
                errors,
                runtime,
                heard::add);
    }

    @Test
    void aSubscriptionIsMadeAgainEachTimeItEnds() throws Exception {
        List<String> heard = new CopyOnWriteArrayList<>();
        Subscriptions subscriptions = subscriptions(heard);
        subscriptions.onResubscribed(reconnected::incrementAndGet);
        assertThat(subscriptions.isLive("")).isFalse();
        assertThat(server.open()).as("no client has requested it yet").isZero();
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(server.asked("SUBSCRIBE")).isOne();
        assertThat(subscriptions.channel("")).isEqualTo("channel");
        for (int i = 1; i <= 3; i++) {
            server.endAll();
            int times = i;
            until("it is made again", () -> reconnected.get() == times && subscriptions.isLive(""));
            server.publish("channel", "message " + i);
            until("it is heard", () -> heard.contains("message " + times));
        }
        until("none is kept", () -> server.open() == 1);
        subscriptions.close();
        assertThat(subscriptions.isLive("")).isFalse();
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        int before = runtime.delays().size();
        server.endAll();
        until("it has ended", () -> server.open() == 0);
        assertThat(runtime.delays()).hasSize(before);
    }

    /**
     * The driver keeps a connection that ended by itself until it is closed, and the driver's own close takes longer
     * then.
     */
    @Test
    void aSubscriptionThatIsRefusedIsTriedAfterAMinuteAndOneThatFailsSoon() throws Exception {
        server.says("SUBSCRIBE", "-NOPERM this user has no permissions to access one of the channels\r\n");
        Subscriptions refused = subscriptions(new ArrayList<>());
        assertThat(refused.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("a minute is waited", () -> runtime.delays().contains(TimeUnit.MINUTES.toNanos(1)));
        assertThat(refused.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        assertThat(server.asked("SUBSCRIBE")).isOne();
        until("its connection is ended", () -> server.open() == 0);
        refused.close();

        server.says("SUBSCRIBE", "-LOADING Redis is loading the dataset in memory\r\n");
        Subscriptions failing = subscriptions(new ArrayList<>());
        assertThat(failing.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("it is tried again and again", () -> server.asked("SUBSCRIBE") >= 5);
        failing.close();
        until("its connections are ended", () -> server.open() == 0);
    }

    /** As during a change of the password. */
    @Test
    void aSubscriptionWhoseLoginIsRefusedIsTriedAgainSoon() throws Exception {
        place = RedisUri.parse(StoreUri.parse("redis://:s3cret@" + server.address()));
        server.says("AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
        Subscriptions subscriptions = subscriptions(new ArrayList<>());
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("it is tried again and again", () -> server.asked("AUTH") >= 5);
        assertThat(runtime.delays()).doesNotContain(TimeUnit.MINUTES.toNanos(1));
        server.saysNothingSpecialTo("AUTH");
        until("it is live", () -> subscriptions.isLive(""));
        subscriptions.close();
    }

    @Test
    void aSubscriptionIsPingedAndEndedWhenNoPongComes() throws Exception {
        runtime.hurry(TimeUnit.SECONDS.toNanos(1), TimeUnit.MILLISECONDS.toNanos(300));
        Subscriptions subscriptions = subscriptions(new ArrayList<>());
        subscriptions.onResubscribed(reconnected::incrementAndGet);
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        until("it is pinged again and again", () -> server.asked("PING") >= 3);
        assertThat(runtime.delays()).contains(PING_NANOS);
        server.hearsNoPing(true);
        until("it is made anew", () -> reconnected.get() >= 1);
        server.hearsNoPing(false);
        until("it is live", () -> subscriptions.isLive(""));
        subscriptions.close();
    }

    /** A server that is busy or does not permit PING has answered. */
    @Test
    void aPingThatIsRefusedIsASignOfLife() throws Exception {
        // Every second one is the limit of a ping.
        AtomicInteger number = new AtomicInteger();
        runtime.changing(delay -> delay == PING_NANOS && number.getAndIncrement() % 2 == 0 ? 1_000_000 : delay);
        server.refusesPings();
        Subscriptions subscriptions = subscriptions(new ArrayList<>());
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        until("it is pinged again and again", () -> server.asked("PING") >= 3);
        assertThat(server.asked("SUBSCRIBE")).isOne();
        subscriptions.close();
        long after = server.asked("PING");
        until("at most one more comes", () -> server.asked("PING") <= after + 1);
    }

    @Test
    void aPlaceThatIsNotTheMasterAnyMoreIsLeft() throws Exception {
        Subscriptions subscriptions = new Subscriptions(
                driver,
                new Connections.Locator() {
                    @Override
                    public CompletableFuture<RedisUri> locate() {
                        return CompletableFuture.completedFuture(place);
                    }

                    @Override
                    public boolean isStill(RedisUri where) {
                        return where.address().equals(place.address());
                    }
                },
                "channel",
                "wake-ups",
                errors,
                runtime,
                message -> {});
        subscriptions.leaveUnlessStillThere();
        assertThat(subscriptions.started("").get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        subscriptions.leaveUnlessStillThere();
        assertThat(subscriptions.isLive("")).isTrue();
        place = other.uri();

        subscriptions.leaveUnlessStillThere();

        until("it has moved", () -> other.listening("channel") == 1 && server.open() == 0);
        subscriptions.close();
    }

    // ---- a replicated group

    private MasterTopology group(ScriptedRedis... members) {
        StringBuilder uri = new StringBuilder("redis-replicated://");
        for (ScriptedRedis member : members) {
            uri.append(uri.charAt(uri.length() - 1) == '/' ? "" : ",").append(member.address());
        }
        Deployment where = Deployment.parse(StoreUri.parse(uri.toString()));
        return new MasterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
    }

    @Test
    void aSecondMasterOfAGroupIsRefusedAndAReplicaThatIsAbsentIsNot() throws Exception {
        try (MasterTopology topology = group(server, other)) {
            assertThat(failure(topology.open()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining(other.address() + " is named as a replica of " + server.address()
                            + " and is a master itself");
            until("it is asked once", () -> other.open() == 0);
        }
        other.is("role:slave", "master_host:127.0.0.1", "master_port:" + server.port());
        try (MasterTopology topology = group(server, other)) {
            assertThat(failure(topology.open())).isNull();
            until("it is asked once", () -> other.open() == 0);
            until("no time limit stays armed", () -> runtime.armed() == 0);
            Link demoted = topology.connected().get(0);
            assertThat(topology.detour("x", demoted, "READONLY no")).isNull();
            assertThat(demoted.isOpen())
                    .as("its name may lead to another server")
                    .isFalse();
            until("it is connected again", () -> topology.current("x") != null);
        }
        other.says("INFO", "-NOPERM no\r\n");
        try (MasterTopology topology = group(server, other)) {
            assertThat(failure(topology.open())).isNull();
        }
        runtime.changing(
                delay -> delay == TimeUnit.SECONDS.toNanos(2) ? TimeUnit.MILLISECONDS.toNanos(50) : MINUTES_NANOS);
        other.says("INFO", ScriptedRedis.SILENCE);
        try (MasterTopology topology = group(server, other)) {
            assertThat(failure(topology.open())).isNull();
            until("it is left alone", () -> other.open() == 0);
        }
        other.close();
        try (MasterTopology topology = group(server, other)) {
            assertThat(failure(topology.open())).isNull();
            assertThat(topology.everywhere()).hasSize(1);
            assertThat(topology.failure("")).isNull();
        }
    }

    // ---- the table of a Cluster

    @Test
    void aCommandThatFailsIsToldToItsCaller() throws Exception {
        Link link = opened().current();
        server.says("TIME", "-ERR no\r\n");
        CompletableFuture<Throwable> answered = new CompletableFuture<>();
        link.<List<String>>send(PlainCommand.TIME, (reply, error) -> answered.complete(error));
        assertThat(answered.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)).hasMessageContaining("ERR no");
        link.close();
        until("it is ended", () -> !link.isOpen());
    }
}
