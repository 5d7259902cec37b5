package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the readings of a Cluster's table and of the routing of requests; only the test advances the time. */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillClusterTest {

    private static final Duration NANO = Duration.ofNanos(1);
    private static final Duration OPENING = Duration.ofMillis(1_500);
    private static final Duration ANYWAY = Duration.ofSeconds(10);
    /** The upper bound of the pause after a reading; the lower bound is half of it. */
    private static final Duration PAUSE = Duration.ofMillis(40);

    private static final String NODE = "run_id:life\r\nredis_version:7.0.0\r\nrole:master\r\ncluster_enabled:1\r\n";
    private static final String LOW = "lock:{" + SlotTags.of(0) + "}";
    private static final String HIGH = "lock:{" + SlotTags.of(16_383) + "}";

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one"));
    private final ClusterTopology topology = new ClusterTopology(where, driver, where.errors(), runtime);
    private final Map<StillDriver.Connection, String> connections = new LinkedHashMap<>();
    /** The hosts to which no connection succeeds. */
    private final Set<String> silent = new HashSet<>();

    private final AtomicInteger reconnected = new AtomicInteger();
    /** Whether the nodes answer with their table. */
    private boolean tells = true;

    private long epoch = 5;
    private String low = "one";
    private String high = "two";
    private int readings;

    @AfterEach
    void close() {
        runtime.close();
    }

    private List<Object> slots() {
        List<Object> ranges = new ArrayList<>();
        if (!low.isEmpty()) {
            ranges.add(List.of(0L, 8_191L, List.of(low, 6379L, "id")));
        }
        if (!high.isEmpty()) {
            ranges.add(List.of(8_192L, 16_383L, List.of(high, 6379L, "id")));
        }
        return ranges;
    }

    /** Answers all requests except those to silent hosts. */
    private void settle() {
        boolean any;
        do {
            any = false;
            for (StillDriver.Asked<RedisConnection> one : List.copyOf(driver.asked)) {
                if (!one.answer().isDone() && !silent.contains(one.server().host())) {
                    any = true;
                    StillDriver.Connection made = new StillDriver.Connection();
                    connections.put(made, one.server().host());
                    one.answer().complete(made);
                }
            }
            for (StillDriver.Connection one : List.copyOf(connections.keySet())) {
                for (StillDriver.Connection.Question question : List.copyOf(one.questions)) {
                    any |= answer(one, question.command());
                }
            }
        } while (any);
    }

    private boolean answer(StillDriver.Connection connection, String command) {
        switch (command) {
            case "INFO" -> connection.answers(command, NODE);
            case "CLUSTER SLOTS" -> {
                if (!tells) {
                    return false;
                }
                readings++;
                connection.answers(command, slots().toArray());
            }
            case "CLUSTER INFO" -> {
                if (!tells) {
                    return false;
                }
                connection.answers(command, "cluster_current_epoch:" + epoch);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private void passes(Duration span) {
        runtime.advance(span);
        settle();
    }

    private void opened() {
        topology.onReconnected(reconnected::incrementAndGet);
        CompletableFuture<Void> opening = topology.open();
        settle();
        assertThat(opening).isCompletedWithValue(null);
        readings = 0;
    }

    private String host(String key) {
        Link link = topology.current(key);
        return link == null ? "nobody" : link.address().host();
    }

    private StillDriver.Connection of(String host) {
        return connections.keySet().stream()
                .filter(one -> one.open && connections.get(one).equals(host))
                .findFirst()
                .orElseThrow();
    }

    // ---- the opening

    @Test
    void oneNodeTellsWhoServesWhatAndEachMasterIsLinkedTo() {
        opened();
        assertThat(host(LOW)).isEqualTo("one");
        assertThat(host(HIGH)).isEqualTo("two");
        assertThat(topology.part(HIGH)).isEqualTo("two:6379");
        assertThat(topology.everywhere()).hasSize(2);
        assertThat(topology.connected()).hasSize(2);
        assertThat(topology.slotTags()).hasSize(SlotTable.SLOTS);
        assertThat(topology.slotTag(HIGH)).isEqualTo(SlotTags.of(16_383));
        assertThat(topology.isTogether(List.of())).isTrue();
        assertThat(topology.isTogether(List.of(LOW, LOW + "x"))).isTrue();
        assertThat(topology.isTogether(List.of(LOW, HIGH))).isFalse();
        assertThat(connections.keySet().stream().filter(one -> one.open))
                .as("the visit has ended")
                .hasSize(2);
        assertThat(reconnected).hasValue(0);
        assertThat(runtime.isDueWithin(ANYWAY.minus(NANO)))
                .as("limits that are left")
                .isFalse();
        passes(ANYWAY.minus(NANO));
        assertThat(readings).as("there is no reason to look").isZero();
    }

    @Test
    void aClusterWithoutSlotsIsRefused() {
        low = "";
        high = "";
        CompletableFuture<Void> opening = topology.open();
        settle();
        assertThatThrownBy(opening::join)
                .hasCauseInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("whose slots no node serves");
        assertThat(topology.part(LOW)).isEmpty();
        assertThat(topology.failure(LOW)).hasMessageContaining("slot 0 of " + where + " is served by no node");
    }

    @Test
    void aMasterThatIsSilentIsNotWaitedForLongAndTriedAgain() {
        silent.add("two");
        CompletableFuture<Void> opening = topology.open();
        settle();
        passes(OPENING.minus(NANO));
        assertThat(opening).isNotDone();
        readings = 0;
        passes(NANO);
        assertThat(opening).isCompletedWithValue(null);
        assertThat(readings).as("it may have a successor").isEqualTo(1);
        assertThat(host(HIGH)).isEqualTo("nobody");
        int before = driver.asked.size();
        passes(Duration.ofMillis(10));
        assertThat(driver.asked).as("next to the first try, which may hang").hasSize(before + 1);
        silent.clear();
        settle();
        assertThat(host(HIGH)).isEqualTo("two");
    }

    @Test
    void whereNoMasterAnswersTheOpeningFailsAndTheyAreTriedAgain() {
        low = "two";
        silent.add("two");
        CompletableFuture<Void> opening = topology.open();
        settle();
        passes(OPENING);
        assertThatThrownBy(opening::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("no master of " + where + " answers");
        silent.clear();
        passes(Duration.ofMillis(10));
        assertThat(host(LOW)).isEqualTo("two");
    }

    @Test
    void whyNoMasterIsThereIsSaidIfItIsKnown() {
        low = "two";
        silent.add("two");
        CompletableFuture<Void> opening = topology.open();
        settle();
        driver.fails(driver.asked.size() - 1);
        assertThatThrownBy(opening::join).hasMessageContaining("no connection");
        assertThat(topology.failure(LOW)).hasMessageContaining("no connection");
    }

    /** A member of a set keeps trying after a failed opening. */
    @Test
    void whatCouldNotBeOpenedIsLookedForInOneLineOfLooks() {
        silent.add("one");
        topology.open();
        driver.fails(0);
        topology.keepTrying();
        topology.keepTrying();
        assertThat(driver.asked).as("one look at a time").hasSize(2);
        silent.clear();
        settle();
        assertThat(host(LOW)).isEqualTo("one");
        assertThat(host(HIGH)).isEqualTo("two");
        passes(Duration.ofSeconds(1));
        readings = 0;
        passes(ANYWAY.minusSeconds(1));
        assertThat(readings).as("each of the two is asked once").isEqualTo(2);
        passes(ANYWAY);
        assertThat(readings).isEqualTo(4);
    }

    // ---- readings of the table

    @Test
    void itIsReadEveryTenSeconds() {
        opened();
        for (int i = 1; i <= 3; i++) {
            passes(ANYWAY.minus(NANO));
            assertThat(readings).isEqualTo(2 * (i - 1));
            passes(NANO);
            assertThat(readings).isEqualTo(2 * i);
        }
    }

    /** One reading, a moment later, serves all requests of the meantime. */
    @Test
    void whatIsWantedDuringAReadingIsReadOnceAfterIt() {
        opened();
        tells = false;
        topology.look();
        topology.look();
        topology.look();
        tells = true;
        settle();
        assertThat(readings).isEqualTo(2);
        passes(PAUSE.dividedBy(2).minus(NANO));
        assertThat(readings).isEqualTo(2);
        passes(PAUSE.dividedBy(2).plus(NANO));
        assertThat(readings).isEqualTo(4);
        passes(ANYWAY.dividedBy(2));
        assertThat(readings).isEqualTo(4);
    }

    @Test
    void whileSlotsAreMissingItIsReadWithAGrowingPause() {
        high = "";
        opened();
        assertThat(topology.failure(HIGH)).hasMessageContaining("slot 16383 of");
        topology.look();
        settle();
        assertThat(readings).isEqualTo(1);
        Duration least = PAUSE;
        for (int i = 1; i <= 4; i++) {
            passes(least.minus(NANO));
            assertThat(readings).isEqualTo(i);
            passes(least.plus(NANO));
            assertThat(readings).isEqualTo(i + 1);
            least = least.multipliedBy(2).compareTo(Duration.ofMillis(320)) > 0
                    ? Duration.ofMillis(320)
                    : least.multipliedBy(2);
        }
        high = "two";
        epoch = 6;
        passes(Duration.ofMillis(640));
        assertThat(host(HIGH)).isEqualTo("two");
        assertThat(reconnected).hasValue(1);
        passes(Duration.ofSeconds(1));
        int before = readings;
        topology.look();
        topology.look();
        settle();
        passes(PAUSE);
        assertThat(readings).as("the pause has begun anew").isGreaterThanOrEqualTo(before + 4);
    }

    @Test
    void theEndOfALinkHasTheTableReadUntilThereIsAnother() {
        opened();
        silent.add("two");
        of("two").ends();
        settle();
        assertThat(readings).as("of the other one").isEqualTo(1);
        assertThat(host(HIGH)).isEqualTo("nobody");
        assertThat(topology.failure(HIGH)).hasMessageContaining("closed the connection");
        passes(PAUSE.multipliedBy(2));
        assertThat(readings).isEqualTo(2);
        silent.clear();
        passes(Duration.ofSeconds(1));
        assertThat(host(HIGH)).isEqualTo("two");
        assertThat(reconnected).hasValue(1);
        passes(Duration.ofSeconds(1));
        int before = readings;
        passes(Duration.ofSeconds(5));
        assertThat(readings).as("nothing is missing").isEqualTo(before);
    }

    @Test
    void aRequestWithoutAnAnswerHasTheTableRead() {
        opened();
        Link link = topology.current(LOW);
        topology.unanswered(link);
        settle();
        assertThat(readings).isEqualTo(2);
        assertThat(link.isOpen()).isTrue();
        passes(PAUSE);
        link.ask(PlainCommand.TIME);
        runtime.advance(Duration.ofSeconds(3));
        topology.unanswered(link);
        assertThat(link.isOpen()).as("nothing was heard").isFalse();
    }

    /** The next reading must not depend on the success of this one. */
    @Test
    void whyTheTableIsNotKnownIsSaidUntilItIs() {
        opened();
        high = "";
        epoch = 6;
        topology.look();
        settle();
        tells = false;
        passes(Duration.ofSeconds(20));
        assertThat(topology.failure(HIGH)).hasMessageContaining("has no node that tells which node serves which slot");
        tells = true;
        high = "two";
        epoch = 7;
        for (int i = 0; i < 100; i++) {
            passes(Duration.ofMillis(100));
        }
        assertThat(host(HIGH)).isEqualTo("two");
        assertThat(topology.failure(HIGH)).isNull();
        high = "";
        epoch = 8;
        topology.look();
        settle();
        assertThat(topology.failure(HIGH)).hasMessageContaining("is served by no node");
    }

    // ---- where requests go

    @Test
    void whoSaysThatASlotHasMovedIsBelievedAndTheTableRead() {
        opened();
        CompletableFuture<Topology.Detour> way = topology.detour(LOW, topology.current(LOW), "MOVED 0 three:6379");
        assertThat(topology.part(LOW)).isEqualTo("three:6379");
        low = "three";
        epoch = 6;
        settle();
        assertThat(way.join().asking()).isFalse();
        assertThat(way.join().link().address().host()).isEqualTo("three");
        assertThat(readings).isPositive();
        assertThat(host(LOW)).isEqualTo("three");
        assertThat(of("two").open).isTrue();
    }

    /** A node that is named as a master but is not in the next table is not a guest either. */
    @Test
    void whoWasSaidToBeAMasterIsLeftIfItIsNone() {
        opened();
        topology.detour(LOW, topology.current(LOW), "MOVED 0 three:6379");
        epoch = 6;
        settle();
        assertThat(host(LOW)).isEqualTo("one");
        assertThat(connections.keySet().stream()
                        .filter(one -> one.open && connections.get(one).equals("three")))
                .isEmpty();
    }

    @Test
    void aSlotThatIsBeingMovedIsAskedForWhereItGoes() {
        opened();
        CompletableFuture<Topology.Detour> way = topology.detour(LOW, topology.current(LOW), "ASK 0 :7000");
        settle();
        assertThat(way.join().asking()).isTrue();
        assertThat(way.join().link().address().address())
                .as("as a node says it of itself")
                .isEqualTo("one:7000");
        assertThat(host(LOW)).isEqualTo("one");
        assertThat(topology.part(LOW)).isEqualTo("one:6379");
        assertThat(readings).isZero();
    }

    @Test
    void whatLeadsNowhereIsNoDetour() {
        opened();
        for (String words : List.of("ASK 0", "MOVED 0 x", "ERR no", "LOADING no")) {
            assertThat(topology.detour(LOW, topology.current(LOW), words))
                    .as(words)
                    .isNull();
        }
        settle();
        assertThat(readings).isZero();
        for (String words : List.of("READONLY no", "CLUSTERDOWN no", "MASTERDOWN no")) {
            readings = 0;
            assertThat(topology.detour(LOW, topology.current(LOW), words))
                    .as(words)
                    .isNull();
            settle();
            assertThat(readings).as(words).isEqualTo(2);
        }
    }

    @Test
    void subscriptionsFollowTheTable() {
        opened();
        driver.pongs = true;
        WakeUps wakeUps = topology.wakeUps(message -> {});
        wakeUps.started(LOW);
        driver.pushes().begins();
        assertThat(wakeUps.isLive(LOW)).isTrue();
        low = "three";
        epoch = 6;
        topology.look();
        settle();
        assertThat(driver.askedForPushes.get(1).server().host()).isEqualTo("three");
        driver.pushes().refuses(new IllegalStateException("reset"));
        readings = 0;
        settle();
        assertThat(readings).as("one that fails has the table read").isPositive();
    }

    @Test
    void afterTheCloseNothingIsReadOrConnected() {
        opened();
        topology.look();
        topology.close();
        assertThat(driver.closed).isTrue();
        settle();
        int before = readings;
        assertThat(topology.current(LOW)).isNull();
        topology.look();
        topology.keepTrying();
        connections.keySet().forEach(StillDriver.Connection::ends);
        passes(Duration.ofMinutes(1));
        assertThat(readings).isEqualTo(before);
        assertThat(connections).hasSize(3);
    }
}
