package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the topology with one master for all keys, by kind of deployment; only the test advances the time. */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillMasterTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration REPLICA = Duration.ofSeconds(2);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final String REPLICA_INFO =
            StillDriver.MASTER.replace("role:master", "role:slave\r\nmaster_host:a\r\nmaster_port:6379");
    private static final String KEY = "lock:{x}";

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final AtomicInteger reconnected = new AtomicInteger();

    @AfterEach
    void close() {
        runtime.close();
    }

    private MasterTopology topology(String uri) {
        Deployment where = Deployment.parse(StoreUri.parse(uri));
        MasterTopology made = new MasterTopology(where, driver, where.errors(), runtime);
        made.onReconnected(reconnected::incrementAndGet);
        return made;
    }

    private StillDriver.Connection answered(int number, String info) {
        StillDriver.Connection connection = new StillDriver.Connection();
        driver.asked.get(number).answer().complete(connection);
        connection.answers("INFO", info);
        return connection;
    }

    /** The Sentinel of the last question names this master. */
    private void names(String host) {
        StillDriver.Connection sentinel = new StillDriver.Connection();
        driver.asked.get(driver.asked.size() - 1).answer().complete(sentinel);
        sentinel.answers("SENTINEL", host, "6379");
        sentinel.answers("SENTINEL", "config-epoch", "5");
    }

    private String last() {
        return driver.asked.get(driver.asked.size() - 1).server().host();
    }

    // ---- one server

    @Test
    void oneServerServesAllKeys() {
        MasterTopology one = topology("redis://a");
        assertThatThrownBy(one::everywhere)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("ask the server");
        CompletableFuture<Void> opening = one.open();
        assertThat(opening).isNotDone();
        StillDriver.Connection connection = driver.made();
        assertThat(opening).isCompleted();
        Link link = one.current(KEY);
        assertThat(one.everywhere()).containsExactly(link);
        assertThat(one.connected()).containsExactly(link);
        assertThat(one.failure(KEY)).isNull();
        assertThat(one.detour(KEY, link, "LOADING Redis is loading")).isNull();
        assertThat(link.isOpen()).isTrue();
        link.ask(PlainCommand.TIME);
        runtime.advance(Duration.ofSeconds(3));
        one.unanswered(link);
        assertThat(connection.open).as("nothing was heard").isFalse();
        assertThat(one.current(KEY)).isNull();
        assertThat(one.failure(KEY)).hasMessageContaining("closed the connection");
        runtime.advance(FIRST_RETRY);
        driver.made();
        assertThat(reconnected).hasValue(1);
        one.close();
        assertThat(one.current(KEY)).isNull();
    }

    private static final String READ_ONLY = "READONLY You can't write against a read only replica.";

    /** The next connection to this server, which has these facts. */
    private Link linkedAgain(MasterTopology topology, String info) {
        runtime.advance(FIRST_RETRY);
        answered(driver.asked.size() - 1, info);
        Link link = topology.current(KEY);
        assertThat(link).isNotNull();
        return link;
    }

    /** After a switchover, the name leads to the new master; a connection to the former one may last for ever. */
    @Test
    void aServerThatWasDemotedIsLeftSinceItsNameMayLeadToAnother() {
        for (String uri : List.of("redis://a", "redis-replicated://a,b")) {
            MasterTopology topology = topology(uri);
            topology.open();
            driver.made();
            Link link = topology.current(KEY);
            assertThat(topology.detour(KEY, link, READ_ONLY))
                    .as("no server is named")
                    .isNull();
            assertThat(link.isOpen()).isFalse();
            assertThat(last()).isEqualTo(uri.contains(",") ? "b" : "a");
            Link next = linkedAgain(topology, StillDriver.MASTER);
            assertThat(last()).isEqualTo("a");
            topology.detour(KEY, link, READ_ONLY);
            topology.takesNoWrites(next);
            assertThat(next.isOpen()).as("at most once a second").isTrue();
            runtime.advance(Duration.ofSeconds(1));
            topology.takesNoWrites(next);
            assertThat(next.isOpen()).isFalse();
            linkedAgain(topology, StillDriver.MASTER);
            topology.close();
        }
    }

    @Test
    void aServerThatStaysAReplicaSeesFewConnections() {
        MasterTopology topology = topology("redis://a");
        topology.open();
        driver.made();
        topology.detour(KEY, topology.current(KEY), READ_ONLY);
        for (int seconds : new int[] {1, 2, 4, 8, 8, 8}) {
            Link link = linkedAgain(topology, REPLICA_INFO);
            runtime.advance(Duration.ofSeconds(seconds).minus(FIRST_RETRY).minus(NANO));
            topology.detour(KEY, link, READ_ONLY);
            assertThat(link.isOpen()).as("before %s s", seconds).isTrue();
            runtime.advance(NANO);
            topology.detour(KEY, link, READ_ONLY);
            assertThat(link.isOpen()).as("after %s s", seconds).isFalse();
        }
        Link promoted = linkedAgain(topology, StillDriver.MASTER);
        runtime.advance(Duration.ofSeconds(8));
        topology.detour(KEY, promoted, READ_ONLY);
        assertThat(promoted.isOpen()).isFalse();
        Link next = linkedAgain(topology, StillDriver.MASTER);
        runtime.advance(Duration.ofSeconds(1));
        topology.detour(KEY, next, READ_ONLY);
        assertThat(next.isOpen())
                .as("a server that was a master is left soon again")
                .isFalse();
    }

    @Test
    void whatCouldNotBeOpenedIsTriedAgainIfThatIsWanted() {
        MasterTopology one = topology("redis://a");
        CompletableFuture<Void> opening = one.open();
        driver.fails(0);
        assertThat(opening).isCompletedExceptionally();
        assertThat(one.failure(KEY)).hasMessageContaining("no connection");
        runtime.advance(Duration.ofMinutes(1));
        assertThat(driver.asked).hasSize(1);
        one.keepTrying();
        runtime.advance(FIRST_RETRY);
        driver.made();
        assertThat(reconnected).hasValue(1);
        assertThat(one.current(KEY)).isNotNull();
    }

    // ---- a group

    @Test
    void theReplicasOfAGroupAreAskedAndEndedThen() {
        MasterTopology group = topology("redis-replicated://a,b,c");
        CompletableFuture<Void> opening = group.open();
        assertThat(last()).isEqualTo("a");
        driver.made();
        assertThat(driver.asked).hasSize(3);
        assertThat(opening).isNotDone();
        StillDriver.Connection b = answered(1, REPLICA_INFO);
        assertThat(opening).isNotDone();
        StillDriver.Connection c = answered(2, REPLICA_INFO);
        assertThat(opening).isCompleted();
        assertThat(b.open).isFalse();
        assertThat(c.open).isFalse();
        assertThat(group.current(KEY).address().host()).isEqualTo("a");
        assertThat(runtime.isDueWithin(Duration.ofMinutes(1)))
                .as("limits that are left")
                .isFalse();
    }

    @Test
    void aSecondMasterIsRefused() {
        CompletableFuture<Void> opening = topology("redis-replicated://a,b").open();
        driver.made();
        answered(1, StillDriver.MASTER);
        assertThatThrownBy(opening::join)
                .hasCauseInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("b:6379 is named as a replica of a:6379 and is a master itself");
    }

    @Test
    void aReplicaThatIsAbsentOrSilentOrRefusesIsNoReasonToRefuse() {
        CompletableFuture<Void> absent = topology("redis-replicated://a,b").open();
        driver.made();
        driver.fails(1);
        assertThat(absent).isCompletedWithValue(null);

        CompletableFuture<Void> silent = topology("redis-replicated://a,b").open();
        driver.made(2);
        StillDriver.Connection replica = new StillDriver.Connection();
        driver.asked.get(3).answer().complete(replica);
        runtime.advance(REPLICA.minus(NANO));
        assertThat(silent).isNotDone();
        runtime.advance(NANO);
        assertThat(silent).isCompletedWithValue(null);
        assertThat(replica.open).isFalse();

        for (Throwable why : List.of(new ServerRefusal("NOPERM no", null), new IOException("reset"))) {
            CompletableFuture<Void> refused = topology("redis-replicated://a,b").open();
            driver.made(driver.asked.size() - 1);
            StillDriver.Connection other = new StillDriver.Connection();
            driver.asked.get(driver.asked.size() - 1).answer().complete(other);
            other.fails("INFO", why);
            assertThat(refused).isCompletedWithValue(null);
        }
    }

    // ---- a master that Sentinels name

    @Test
    void sentinelsAreAskedWhereTheMasterIsAndListenedToThen() {
        MasterTopology topology = topology("redis-sentinel://s/shop");
        CompletableFuture<Void> opening = topology.open();
        assertThat(last()).isEqualTo("s");
        assertThat(driver.askedForPushes).isEmpty();
        names("one");
        assertThat(last()).isEqualTo("one");
        driver.made();
        assertThat(opening).isCompletedWithValue(null);
        assertThat(driver.askedForPushes).hasSize(1);
        assertThat(driver.askedForPushes.get(0).server().host()).isEqualTo("s");
        topology.keepTrying();
        assertThat(driver.askedForPushes).as("it is listened to already").hasSize(1);
    }

    @Test
    void whatCouldNotBeOpenedIsFoundByASwitchToo() {
        MasterTopology topology = topology("redis-sentinel://s/shop");
        topology.open();
        driver.fails(0);
        topology.keepTrying();
        assertThat(driver.askedForPushes).hasSize(1);
        runtime.advance(FIRST_RETRY);
        names("one");
        driver.made();
        assertThat(topology.current(KEY).address().host()).isEqualTo("one");
    }

    private MasterTopology namedOne() {
        MasterTopology topology = topology("redis-sentinel://s/shop");
        topology.open();
        names("one");
        driver.made();
        return topology;
    }

    @Test
    void aRequestWithoutAnAnswerHasThemAskedAndTheLinkMoves() {
        MasterTopology topology = namedOne();
        Link link = topology.current(KEY);
        topology.unanswered(link);
        names("one");
        assertThat(link.isOpen()).as("it is the master still").isTrue();
        runtime.advance(Duration.ofMinutes(1));
        topology.unanswered(link);
        names("two");
        assertThat(link.isOpen()).isFalse();
        runtime.advance(FIRST_RETRY);
        names("two");
        driver.made();
        assertThat(topology.current(KEY).address().host()).isEqualTo("two");
        assertThat(reconnected).hasValue(1);
    }

    @Test
    void aMasterThatTakesNoWritesAnyMoreIsLeft() {
        MasterTopology topology = namedOne();
        Link link = topology.current(KEY);
        assertThat(topology.detour(KEY, link, "LOADING Redis is loading")).isNull();
        assertThat(link.isOpen()).isTrue();
        assertThat(topology.detour(KEY, link, "READONLY You can't write")).isNull();
        assertThat(link.isOpen()).isFalse();
    }

    // ---- pushes

    @Test
    void pushesComeFromWhereTheLinkLeads() {
        MasterTopology topology = namedOne();
        List<String> heard = new ArrayList<>();
        WakeUps wakeUps = topology.wakeUps(heard::add);
        CompletableFuture<Boolean> started = wakeUps.started(KEY);
        assertThat(driver.askedForPushes.get(1).server().host()).isEqualTo("one");
        StillDriver.Pushes pushes = driver.pushes().begins();
        assertThat(started).isCompletedWithValue(true);
        pushes.info.complete(StillDriver.MASTER);
        pushes.listener.message("wake");
        assertThat(heard).containsExactly("wake");

        topology.current(KEY).close();
        runtime.advance(FIRST_RETRY);
        names("one");
        driver.made();
        assertThat(reconnected).hasValue(1);
        assertThat(pushes.open).as("it leads there again").isTrue();

        topology.current(KEY).close();
        runtime.advance(FIRST_RETRY);
        names("two");
        assertThat(pushes.open).as("there is no link").isTrue();
        answered(driver.asked.size() - 1, StillDriver.MASTER.replace("run_id:life", "run_id:other"));
        assertThat(reconnected).hasValue(2);
        assertThat(pushes.open).as("the link leads elsewhere").isFalse();
        runtime.advance(FIRST_RETRY);
        assertThat(driver.askedForPushes.get(2).server().host()).isEqualTo("two");
    }

    /** After a switchover behind one name: the connection to the former master may last for ever. */
    @Test
    void pushesOfAnotherServerOfTheSameNameAreLeft() {
        MasterTopology topology = topology("redis://a");
        topology.open();
        driver.made();
        topology.wakeUps(message -> {}).started(KEY);
        StillDriver.Pushes pushes = driver.pushes();
        pushes.info.complete(StillDriver.MASTER);
        pushes.begins();
        for (String life : List.of("life", "other")) {
            topology.current(KEY).close();
            runtime.advance(FIRST_RETRY);
            answered(driver.asked.size() - 1, StillDriver.MASTER.replace("run_id:life", "run_id:" + life));
            assertThat(pushes.open).as("the link leads to %s", life).isEqualTo(life.equals("life"));
        }
        runtime.advance(FIRST_RETRY);
        assertThat(driver.askedForPushes).hasSize(2);
        driver.pushes().begins();
        topology.current(KEY).close();
        runtime.advance(FIRST_RETRY);
        driver.made();
        runtime.advance(FIRST_RETRY);
        assertThat(driver.askedForPushes)
                .as("one that has not told its server is made anew")
                .hasSize(3);
    }

    /** It may have been begun at the server that had the name before. */
    @Test
    void pushesThatAreBeingMadeWhenTheLinkMovesAreMadeAnew() {
        MasterTopology topology = topology("redis://a");
        topology.open();
        driver.made();
        WakeUps wakeUps = topology.wakeUps(message -> {});
        wakeUps.started(KEY);
        topology.current(KEY).close();
        runtime.advance(FIRST_RETRY);
        answered(driver.asked.size() - 1, StillDriver.MASTER.replace("run_id:life", "run_id:other"));
        StillDriver.Pushes late = driver.pushes().begins();
        assertThat(late.open).isFalse();
        runtime.advance(FIRST_RETRY);
        driver.pushes().begins();
        assertThat(wakeUps.isLive(KEY)).isTrue();
    }

    @Test
    void withoutALinkPushesComeFromTheMaster() {
        MasterTopology topology = topology("redis-sentinel://s/shop");
        WakeUps wakeUps = topology.wakeUps(message -> {});
        wakeUps.started(KEY);
        names("one");
        assertThat(driver.askedForPushes.get(0).server().host()).isEqualTo("one");
        driver.pushes().begins();
        assertThat(wakeUps.isLive(KEY)).isTrue();
    }

    @Test
    void afterTheCloseNobodyIsAskedOrConnectedTo() {
        MasterTopology topology = namedOne();
        Link link = topology.current(KEY);
        int before = driver.asked.size();
        topology.close();
        assertThat(driver.closed).isTrue();
        link.close();
        topology.unanswered(link);
        topology.keepTrying();
        runtime.advance(Duration.ofMinutes(1));
        assertThat(driver.asked).hasSize(before);
    }
}
