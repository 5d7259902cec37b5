package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the origin of messages: the server whose clock the time of a hand-over shows, as far as the client can know
 * it.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillOriginTest {

    private static final String MESSAGE = "handed@one id 5 6 7 lock:{x}";

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final List<WakeUps.@Nullable Origin> origins = new ArrayList<>();
    private final List<HandOver> handOvers = new ArrayList<>();

    private final Subscriptions subscriptions = new Subscriptions(
            driver,
            Connections.Locator.fixed(RedisUri.parse(StoreUri.parse("redis://here"))),
            "channel!",
            "wake-ups",
            new RedisErrors("node"),
            runtime,
            new WakeUps.Listener() {
                @Override
                public void message(String message) {
                    throw new AssertionError("without its connection");
                }

                @Override
                public void message(String message, WakeUps.@Nullable Origin origin) {
                    origins.add(origin);
                }
            });

    @AfterEach
    void close() {
        runtime.close();
    }

    private static String info(String runId) {
        return "# Server\r\nredis_version:7.0.0\r\nrun_id:" + runId + "\r\n";
    }

    private StillDriver.Pushes subscribed(String runId) {
        subscriptions.started("");
        StillDriver.Pushes pushes = driver.pushes();
        pushes.info.complete(info(runId));
        return pushes.begins();
    }

    private WakeUps.@Nullable Origin originOf(StillDriver.Pushes pushes) {
        pushes.listener.message(MESSAGE);
        return origins.get(origins.size() - 1);
    }

    // ---- the connection

    @Test
    void aMessageNamesTheServerAndTheBeginningOfItsConnection() {
        StillDriver.Pushes pushes = subscribed("one");
        long beganAtNanos = runtime.nanoTime();
        runtime.advance(Duration.ofSeconds(1));
        assertThat(originOf(pushes)).isEqualTo(new WakeUps.Origin(new Incarnation("one"), beganAtNanos));
    }

    @Test
    void aServerThatDoesNotTellWhoItIsWakesWaitersAllTheSame() {
        subscriptions.started("");
        StillDriver.Pushes silent = driver.pushes().begins();
        assertThat(subscriptions.isLive("")).isTrue();
        assertThat(originOf(silent)).as("no answer").isNull();
        silent.info.completeExceptionally(new ServerRefusal("NOPERM no permissions to run 'info'", null));
        assertThat(originOf(silent)).as("a refusal").isNull();
    }

    @Test
    void aServerWithoutARunIdIsUnknown() {
        assertThat(originOf(subscribed(""))).isNull();
    }

    @Test
    void aDriverThatCannotAskSubscribesAllTheSame() {
        subscriptions.started("");
        StillDriver.Pushes pushes = new StillDriver.Pushes();
        pushes.thrownAtAsking = new IllegalStateException("made by the test");
        driver.askedForPushes.get(0).answer().complete(pushes);
        pushes.begins();
        assertThat(subscriptions.isLive("")).isTrue();
        assertThat(originOf(pushes)).isNull();
    }

    /** Sentinels and servers of a Cluster may refuse INFO, and log each refusal. */
    @Test
    void aServerWhoseMessagesNameNoWriterIsNotAsked() {
        Subscriptions other = new Subscriptions(
                driver,
                Connections.Locator.fixed(RedisUri.parse(StoreUri.parse("redis://there"))),
                "+switch-master",
                "changes",
                new RedisErrors("node"),
                runtime,
                message -> {});
        other.started("");
        StillDriver.Pushes pushes = driver.pushes().begins();
        assertThat(other.isLive("")).isTrue();
        assertThat(pushes.asked).isZero();
    }

    /** The next server at the same address has another clock. */
    @Test
    void eachConnectionHasAnOriginOfItsOwn() {
        StillDriver.Pushes first = subscribed("one");
        first.ends();
        assertThat(originOf(first)).as("a broken connection").isNull();
        runtime.advance(Duration.ofSeconds(1));
        long beganAtNanos = runtime.nanoTime();
        StillDriver.Pushes second = subscribed("two");
        assertThat(originOf(second)).isEqualTo(new WakeUps.Origin(new Incarnation("two"), beganAtNanos));
        assertThat(originOf(first)).isNull();
    }

    @Test
    void aConnectionWhoseServerIsUnknownDoesNotTakeTheOriginOfTheLast() {
        subscribed("one").ends();
        runtime.advance(Duration.ofSeconds(1));
        assertThat(originOf(driver.pushes().begins())).isNull();
    }

    // ---- the node

    /** A topology whose messages are those of the test. */
    private static final class Heard implements InvocationHandler {
        private final Topology topology;
        private WakeUps.@Nullable Listener listener;

        Heard(Topology topology) {
            this.topology = topology;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
            if (method.getName().equals("wakeUps") && arguments != null) {
                listener = (WakeUps.Listener) arguments[0];
            }
            return method.invoke(topology, arguments);
        }
    }

    private Heard heard(NodeSettings settings) {
        Deployment where = Deployment.parse(StoreUri.parse("redis://here"));
        Topology topology = new MasterTopology(where, driver, where.errors(), runtime);
        Heard heard = new Heard(topology);
        topology.open();
        Class<?>[] one = {Topology.class};
        Topology told = (Topology) Proxy.newProxyInstance(Topology.class.getClassLoader(), one, heard);
        new RedisNode("the node", settings, told, new RedisErrors("server"), runtime).listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void handedOver(HandOver handOver) {
                handOvers.add(handOver);
            }

            @Override
            public void lost(OwnerToken of, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        return heard;
    }

    private static NodeSettings settings() {
        return NodeSettings.standard(RedisGuarantees.single(false));
    }

    /** The link for requests, to a server with this run id. */
    private StillDriver.Connection linked(String runId) {
        StillDriver.Connection link = new StillDriver.Connection();
        driver.asked.get(driver.asked.size() - 1).answer().complete(link);
        link.answers("INFO", info(runId) + "role:master\r\n");
        return link;
    }

    private HandOver.@Nullable Channel channel(Heard heard, WakeUps.@Nullable Origin origin) {
        return channel(heard, MESSAGE, origin);
    }

    private HandOver.@Nullable Channel channel(Heard heard, String message, WakeUps.@Nullable Origin origin) {
        Objects.requireNonNull(heard.listener).message(message, origin);
        return handOvers.get(handOvers.size() - 1).channel();
    }

    private WakeUps.Origin origin(String runId) {
        return new WakeUps.Origin(new Incarnation(runId), runtime.nanoTime());
    }

    @Test
    void theChannelIsThatOfTheServerOfTheRequests() {
        Heard heard = heard(settings());
        linked("one");
        runtime.advance(Duration.ofSeconds(1));
        WakeUps.Origin origin = origin("one");
        assertThat(channel(heard, origin))
                .isEqualTo(new HandOver.Channel(new Incarnation("one"), origin.sinceAtNanos()));
        assertThat(channel(heard, null)).isNull();
    }

    @Test
    void aMessageOfAnotherServerThanThatOfTheRequestsHasNoChannel() {
        Heard heard = heard(settings());
        linked("one");
        assertThat(channel(heard, origin("two"))).isNull();
        assertThat(channel(heard, "handed@two id 5 6 7 lock:{x}", origin("two")))
                .isNull();
    }

    /** A replica delivers the messages of its primary: a demoted server delivers the hand-overs of its successor. */
    @Test
    void aMessageThatAnotherServerWroteHasNoChannel() {
        Heard heard = heard(settings());
        linked("one");
        assertThat(channel(heard, "handed@two id 5 6 7 lock:{x}", origin("one")))
                .isNull();
    }

    /** Scripts of older clients do not name the writer, nor does a server that refuses INFO to the releasing client. */
    @Test
    void aMessageThatDoesNotNameItsWriterHasNoChannel() {
        Heard heard = heard(settings());
        linked("one");
        assertThat(channel(heard, "handed id 5 6 7 lock:{x}", origin("one"))).isNull();
        assertThat(channel(heard, "handed@ id 5 6 7 lock:{x}", origin("one"))).isNull();
        assertThat(handOvers).hasSize(2);
    }

    @Test
    void theChannelIsAsYoungAsTheLinkOfTheRequests() {
        Heard heard = heard(settings());
        WakeUps.Origin origin = origin("one");
        assertThat(channel(heard, origin)).as("no link yet").isNull();
        runtime.advance(Duration.ofSeconds(1));
        long linkedAtNanos = runtime.nanoTime();
        StillDriver.Connection link = linked("one");
        assertThat(channel(heard, origin)).isEqualTo(new HandOver.Channel(new Incarnation("one"), linkedAtNanos));
        link.ends();
        assertThat(channel(heard, origin)).as("a broken link").isNull();
    }

    /** The replicas that must acknowledge a grant have not acknowledged the hand-over. */
    @Test
    void aNodeThatWaitsForReplicasGivesNoChannel() {
        Heard heard = heard(settings().acknowledged(new Acknowledgement(1, 100)));
        linked("one");
        assertThat(channel(heard, origin("one"))).isNull();
    }

    @Test
    void aMemberOfASetGivesNoChannel() {
        Heard heard = heard(NodeSettings.ofMember(settings().guarantees()));
        linked("one");
        assertThat(channel(heard, origin("one"))).isNull();
    }
}
