package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.PlainCommand;
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
 * Tests that a call that throws in place of an answer, even an {@link Error}, counts as failed and ends no duty; only
 * the test advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillThrowsTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration LOOK = Duration.ofMillis(500);
    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://here"));
    private static final List<Throwable> THROWN =
            List.of(new IllegalStateException("made by the test"), new NoClassDefFoundError("made by the test"));

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final RedisErrors errors = new RedisErrors("node");

    @AfterEach
    void close() {
        runtime.close();
    }

    private static void throwing(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) thrown;
    }

    // ---- questions

    /** As if a class that the reading needs were missing. */
    @Test
    void whatTheReadingOfAnAnswerThrowsIsTold() {
        for (Throwable thrown : THROWN) {
            StillDriver.Connection connection = new StillDriver.Connection();
            Link link = new Link(connection, null, HERE, ServerFacts.parse(StillDriver.MASTER), runtime);
            PlainCommand<Object> unreadable = new PlainCommand<>("TIME", new String[0], items -> {
                throwing(thrown);
                return items;
            });
            CompletableFuture<Object> overTheLink = link.ask(unreadable);
            connection.answers("TIME", "5");
            assertThatThrownBy(overTheLink::join).hasCause(thrown);
            CompletableFuture<Object> overTheConnection = connection.ask(unreadable);
            connection.answers("TIME", "5");
            assertThatThrownBy(overTheConnection::join).hasCause(thrown);
        }
    }

    @Test
    void aQuestionThatTheDriverThrowsBackHasFailed() {
        for (Throwable thrown : THROWN) {
            StillDriver.Connection connection = new StillDriver.Connection();
            Link link = new Link(connection, null, HERE, ServerFacts.parse(StillDriver.MASTER), runtime);
            connection.thrown = thrown;
            assertThatThrownBy(() -> link.ask(PlainCommand.TIME).join()).hasCause(thrown);
        }
    }

    /** The first command of a connection, for which the others wait. */
    @Test
    void aLinkWhoseFirstQuestionIsThrownBackIsEndedAndTriedAgain() {
        Connections connections =
                new Connections(driver, Connections.Locator.fixed(HERE), Expectation.SERVER, "node", errors, runtime);
        connections.begin();
        for (Throwable thrown : THROWN) {
            StillDriver.Connection connection = new StillDriver.Connection();
            connection.thrown = thrown;
            int tries = driver.asked.size();
            driver.asked.get(tries - 1).answer().complete(connection);
            assertThat(connection.open).isFalse();
            runtime.advance(FIRST_RETRY.multipliedBy(2));
            assertThat(driver.asked).hasSize(tries + 1);
        }
        driver.made();
        assertThat(connections.current()).isNotNull();
    }

    // ---- subscriptions

    @Test
    void aSubscriptionThatTheDriverThrowsBackIsMadeAgain() {
        List<String> heard = new ArrayList<>();
        Subscriptions subscriptions = new Subscriptions(
                driver, Connections.Locator.fixed(HERE), "channel", "wake-ups", errors, runtime, heard::add);
        CompletableFuture<Boolean> started = subscriptions.started("");
        int tries = 1;
        for (Throwable thrown : THROWN) {
            for (boolean atListening : new boolean[] {true, false}) {
                StillDriver.Pushes refusing = new StillDriver.Pushes();
                if (atListening) {
                    refusing.thrownAtListening = thrown;
                } else {
                    refusing.thrownAtSubscribing = thrown;
                }
                driver.askedForPushes.get(tries - 1).answer().complete(refusing);
                assertThat(started).isCompletedWithValue(false);
                assertThat(refusing.open).isFalse();
                runtime.advance(Duration.ofSeconds(1));
                tries++;
                assertThat(driver.askedForPushes).hasSize(tries);
            }
        }
        driver.pushes().begins();
        assertThat(subscriptions.isLive("")).isTrue();
    }

    /** Otherwise callers that subscribe to one of its channels would wait forever. */
    @Test
    void aNodeWhosePushesCannotBeListenedToIsLost() {
        for (Throwable thrown : THROWN) {
            List<String> ended = new ArrayList<>();
            NodePushes node = new NodePushes(driver, HERE, errors, runtime, message -> {}, new NodePushes.Ends() {
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
            CompletableFuture<Void> subscription = node.subscribe("a");
            StillDriver.Pushes refusing = new StillDriver.Pushes();
            refusing.thrownAtListening = thrown;
            driver.askedForPushes.get(driver.askedForPushes.size() - 1).answer().complete(refusing);
            assertThat(subscription).isCompletedExceptionally();
            assertThat(refusing.open).isFalse();
            assertThat(ended).containsExactly("all");
        }
    }

    // ---- the naming of the master

    @Test
    void aClientThatThrowsNamesNobodyAndIsLookedAtAgain() {
        List<String> named = new ArrayList<>();
        List<Throwable> thrown = new ArrayList<>();
        NamedByClient naming = new NamedByClient(
                () -> {
                    if (!thrown.isEmpty()) {
                        throwing(thrown.get(0));
                    }
                    return RedisUri.given("client", "here", 1, 0, false, KeyLayout.standard());
                },
                runtime,
                server -> named.add(server.address()));
        naming.watch();
        for (Throwable one : THROWN) {
            thrown.add(one);
            assertThatThrownBy(() -> naming.locate().join()).hasCauseInstanceOf(StoreUnavailableException.class);
            naming.ask();
            runtime.advance(LOOK);
            assertThat(named).isEmpty();
            thrown.clear();
            runtime.advance(LOOK.minusNanos(1));
            assertThat(named).isEmpty();
            runtime.advance(Duration.ofNanos(1));
            assertThat(named).containsExactly("here:1");
            named.clear();
        }
    }

    /** After a listener throws, the next notification still reaches all listeners. */
    @Test
    void aListenerThatThrowsIsToldTheNextMasterToo() {
        List<String> named = new ArrayList<>();
        NamedByClient naming = new NamedByClient(
                () -> RedisUri.given("client", "here", 1, 0, false, KeyLayout.standard()), runtime, server -> {
                    named.add(server.address());
                    throw new NoClassDefFoundError("made by the test");
                });
        naming.watch();
        naming.watch();
        runtime.advance(LOOK);
        runtime.advance(LOOK);
        assertThat(named).containsExactly("here:1", "here:1");
        naming.close();
        naming.watch();
        runtime.advance(LOOK.multipliedBy(4));
        assertThat(named).hasSize(2);
    }

    // ---- the table of a Cluster

    /** After the driver throws in a reading, the next reading follows. */
    @Test
    void aLookAtTheTableThatIsThrownBackIsNotTheLast() {
        Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one"));
        ClusterTopology topology = new ClusterTopology(where, driver, where.errors(), runtime);
        topology.open();
        String info = StillDriver.MASTER.replace("cluster_enabled:0", "cluster_enabled:1");
        StillDriver.Connection visit = new StillDriver.Connection();
        driver.asked.get(0).answer().complete(visit);
        visit.answers("INFO", info);
        visit.answers("CLUSTER SLOTS", List.of(0L, 16_383L, List.of("one", 6379L, "id")));
        visit.answers("CLUSTER INFO", "cluster_current_epoch:5");
        StillDriver.Connection master = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(master);
        master.answers("INFO", info);
        for (Throwable thrown : THROWN) {
            master.thrown = thrown;
            int before = master.asked;
            topology.look();
            runtime.advance(Duration.ofMillis(1));
            master.questions.clear();
            // Two readings, each with its limit and that of a visit to the other nodes.
            runtime.advance(Duration.ofSeconds(20));
            assertThat(master.asked - before).as("it is asked again").isGreaterThan(2);
            master.questions.clear();
        }
    }
}
