// Long because routing and subscriptions of a Cluster are tested with the same three scripted nodes.
package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the routing of a Cluster's requests and subscriptions, with scripted nodes. */
@Tag("quick")
@Timeout(120)
final class ClusterRoutingTest {

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long TABLE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Keys of slot 0 and of the last slot, one for each half. */
    private static final String LOW = "lock:{" + SlotTags.of(0) + "}";

    private static final String HIGH = "lock:{" + SlotTags.of(16_383) + "}";

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final List<ScriptedRedis> nodes = new ArrayList<>();
    private ScriptedRedis one;
    private ScriptedRedis two;
    private ScriptedRedis three;
    private ClusterTopology topology;

    @BeforeEach
    void start() throws Exception {
        // No time limits and no regular readings unless a test requires them.
        runtime.hurry(TimeUnit.MILLISECONDS.toNanos(1_500), TimeUnit.MINUTES.toNanos(10));
        for (int i = 0; i < 3; i++) {
            nodes.add(new ScriptedRedis().is("role:master", "cluster_enabled:1"));
        }
        one = nodes.get(0);
        two = nodes.get(1);
        three = nodes.get(2);
        nodes.forEach(node -> sees(node, 5, slots(0, 8_191, one), slots(8_192, 16_383, two)));
    }

    @AfterEach
    void close() throws Exception {
        if (topology != null) {
            topology.close();
        }
        runtime.close();
        for (ScriptedRedis node : nodes) {
            node.close();
        }
    }

    private static String place(ScriptedRedis node) {
        return array(List.of(bulk("127.0.0.1"), ":" + node.port() + "\r\n", bulk("id" + node.port())));
    }

    private static String slots(int from, int to, ScriptedRedis master, ScriptedRedis... replicas) {
        List<String> items = new ArrayList<>(List.of(":" + from + "\r\n", ":" + to + "\r\n", place(master)));
        for (ScriptedRedis replica : replicas) {
            items.add(place(replica));
        }
        return array(items);
    }

    private static void sees(ScriptedRedis node, long epoch, String... ranges) {
        node.says("CLUSTER SLOTS", array(List.of(ranges)));
        node.says("CLUSTER INFO", bulk("cluster_state:ok\r\ncluster_current_epoch:" + epoch + "\r\n"));
    }

    private void allSee(long epoch, String... ranges) {
        nodes.forEach(node -> sees(node, epoch, ranges));
    }

    private ClusterTopology made(ScriptedRedis... named) {
        return made("redis-cluster://", named);
    }

    private ClusterTopology made(String begin, ScriptedRedis... named) {
        Deployment where = Deployment.parse(StoreUri.parse(
                List.of(named).stream().map(ScriptedRedis::address).collect(Collectors.joining(",", begin, ""))));
        topology = new ClusterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
        return topology;
    }

    private ClusterTopology opened() throws Exception {
        return opened(made(one));
    }

    private ClusterTopology opened(ClusterTopology made) throws Exception {
        made.open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        until("both masters are connected", () -> leadsTo(LOW, one) && leadsTo(HIGH, two));
        return made;
    }

    private boolean leadsTo(String key, ScriptedRedis node) {
        Link link = topology.current(key);
        return link != null && link.address().port() == node.port();
    }

    private static Throwable failure(CompletableFuture<?> future) throws Exception {
        Throwable thrown = future.handle((done, error) -> error).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        while (thrown != null && !(thrown instanceof LockStoreException) && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        return thrown;
    }

    private static long readings(ScriptedRedis node) {
        return node.asked("CLUSTER SLOTS");
    }

    @Test
    void eachKeyLeadsToTheMasterOfItsSlot() throws Exception {
        opened();
        assertThat(topology.part(LOW)).isEqualTo(one.address());
        assertThat(topology.part(HIGH)).isEqualTo(two.address());
        assertThat(topology.slotTag(LOW)).isEqualTo(SlotTags.of(0));
        assertThat(topology.slotTags()).hasSize(SlotTable.SLOTS);
        assertThat(topology.isTogether(List.of(LOW, LOW + ":fence"))).isTrue();
        assertThat(topology.isTogether(List.of(LOW, HIGH))).isFalse();
        assertThat(topology.everywhere()).hasSize(2);
        assertThat(topology.connected()).hasSize(2);
        assertThat(topology.failure(LOW)).isNull();
        assertThat(topology.members().isMember(one.uri())).isTrue();
        assertThat(topology.members().isMember(three.uri())).isFalse();
    }

    @Test
    void aClusterWhoseSlotsNobodyServesIsRefused() throws Exception {
        allSee(5);
        assertThat(failure(made(one).open()))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("whose slots no node serves");
    }

    @Test
    void whatIsNoClusterIsRefusedAndWhatIsAbsentIsNot() throws Exception {
        one.is("role:master", "cluster_enabled:0");
        assertThat(failure(made(one, two).open())).isNull();
        topology.close();
        two.close();
        assertThat(failure(made(two, one).open()))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("is not a node of a Cluster");
        topology.close();
        one.close();
        assertThat(failure(made(one, two).open()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("has no node that tells which node serves which slot")
                .hasMessageContaining("cannot be reached");
        topology.keepTrying();
        until(
                "the last look says why",
                () -> String.valueOf(topology.failure(LOW).getMessage()).contains("has no node that tells"));
    }

    @Test
    void whereNoMasterAnswersTheOpeningFailsAndTheOthersGoOn() throws Exception {
        allSee(5, slots(0, 8_191, two), slots(8_192, 16_383, three));
        two.close();
        three.close();
        assertThat(failure(made(one).open()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot be reached");
        assertThat(topology.current(LOW)).isNull();
        assertThat(topology.failure(LOW)).hasMessageContaining("cannot be reached");
        assertThatThrownBy(topology::connected).isInstanceOf(StoreUnavailableException.class);
        allSee(6, slots(0, 16_383, one));
        topology.keepTrying();
        until("the table was read again", () -> leadsTo(LOW, one) && leadsTo(HIGH, one));
        assertThat(topology.failure(LOW)).isNull();
    }

    /** The table is read repeatedly only while a master is missing. */
    @Test
    void aMasterThatIsMissingIsReplacedOnceTheTableNamesAnother() throws Exception {
        opened();
        AtomicInteger told = new AtomicInteger();
        topology.onReconnected(told::incrementAndGet);
        two.close();
        long before = readings(one);
        until("the table is read again and again", () -> readings(one) >= before + 3);
        assertThat(topology.current(HIGH)).isNull();
        assertThatThrownBy(topology::everywhere).hasMessageContaining("ask the master " + two.address());
        assertThat(topology.connected()).hasSize(1);

        allSee(6, slots(0, 8_191, one), slots(8_192, 16_383, three));

        until("it leads to its successor", () -> leadsTo(HIGH, three));
        until("that is reported", () -> told.get() > 0);
        assertThat(topology.everywhere()).hasSize(2);
        comesToRest();
    }

    private void comesToRest() throws InterruptedException {
        long before;
        do {
            before = nodes.stream().mapToLong(ClusterRoutingTest::readings).sum();
            // This is longer than the pause before another reading of a complete table.
            Thread.sleep(150);
        } while (before
                != nodes.stream().mapToLong(ClusterRoutingTest::readings).sum());
    }

    @Test
    void slotsThatNobodyServesHaveTheTableReadUntilTheyAreServed() throws Exception {
        allSee(5, slots(0, 8_191, one));
        made(one).open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(topology.current(HIGH)).isNull();
        assertThat(topology.part(HIGH)).isEmpty();
        assertThat(topology.failure(HIGH))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("slot 16383 of")
                .hasMessageContaining("is served by no node");
        topology.look();
        long before = readings(one);
        until("it is read again", () -> readings(one) >= before + 3);
        allSee(6, slots(0, 8_191, one), slots(8_192, 16_383, two));
        until("it is served", () -> leadsTo(HIGH, two));
    }

    /** A member of a set keeps trying after a failed opening; its regular readings are then started twice. */
    @Test
    void itIsReadFromTimeToTimeInOneLineOfLooks() throws Exception {
        allSee(5, slots(0, 16_383, two));
        two.close();
        assertThat(failure(made(one).open())).isNotNull();
        topology.keepTrying();
        assertThat(looks()).isOne();
        allSee(6, slots(0, 16_383, one));
        until("it is connected", () -> leadsTo(LOW, one));
        topology.close();
        assertThat(looks()).isOne();
    }

    @Test
    void eachLookIsFollowedByAnother() throws Exception {
        // Only the readings: a connection keeps its time limit, however slow the machine.
        runtime.changing(delay -> delay == TABLE_NANOS ? TimeUnit.MILLISECONDS.toNanos(20) : delay);
        opened();
        long before = readings(one);
        until("it is read again and again", () -> readings(one) >= before + 4);
        topology.close();
        long after = looks();
        assertThat(after).isGreaterThan(3);
    }

    private long looks() {
        return runtime.delays().stream().filter(delay -> delay == TABLE_NANOS).count();
    }

    @Test
    void whoSaysThatASlotHasMovedIsBelievedAtOnce() throws Exception {
        opened();
        Link asked = topology.current(LOW);
        // The table of the node that redirects is read afterwards.
        allSee(6, slots(0, 0, three), slots(1, 8_191, one), slots(8_192, 16_383, two));
        long before = readings(one);

        Topology.Detour way = topology.detour(LOW, asked, "MOVED 0 " + three.address())
                .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);

        assertThat(way.asking()).isFalse();
        assertThat(way.link().address().port()).isEqualTo(three.port());
        assertThat(leadsTo(LOW, three)).isTrue();
        until("the table is read", () -> readings(one) > before);
        assertThat(leadsTo(HIGH, two)).isTrue();
    }

    /** A node that does not know its own host answers like this. */
    @Test
    void aHostThatIsNotToldIsThatOfTheNode() throws Exception {
        opened();
        Link asked = topology.current(LOW);
        assertThat(topology.detour(LOW, asked, "ASK 0 :" + three.port())
                        .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)
                        .link()
                        .address()
                        .address())
                .isEqualTo(three.address());
        assertThat(topology.detour(LOW, asked, "ASK 0 ?:" + two.port())
                        .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)
                        .link()
                        .address()
                        .address())
                .isEqualTo(two.address());
        assertThat(topology.detour(LOW, asked, "ASK 0")).isNull();
        assertThat(topology.detour(LOW, asked, "MOVED 0 x")).isNull();
        comesToRest();
        long before = readings(one);
        assertThat(topology.detour(LOW, asked, "ERR no")).isNull();
        comesToRest();
        assertThat(readings(one)).as("that says nothing of the table").isEqualTo(before);
    }

    /** The keys may be at both nodes; the table does not show that and stays unchanged. */
    @Test
    void aGuestIsKeptForAMinuteAndAskedForAllLocks() throws Exception {
        opened();
        Topology.Detour way = topology.detour(LOW, topology.current(LOW), "ASK 0 " + three.address())
                .get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(way.asking()).isTrue();
        assertThat(leadsTo(LOW, one)).isTrue();
        assertThat(topology.everywhere()).hasSize(3).contains(way.link());
        assertThat(topology.members().anyMaster().port()).isNotEqualTo(three.port());
        topology.look();
        comesToRest();
        assertThat(topology.everywhere()).hasSize(3);
        assertThat(way.link().isOpen()).isTrue();
        runtime.passes(MINUTE_NANOS + 1);
        topology.look();
        until("it is left", () -> !way.link().isOpen() && three.open() == 0);
    }

    @Test
    void whatAServerSaysOfItselfHasTheTableRead() throws Exception {
        opened();
        for (String words : List.of("READONLY you", "CLUSTERDOWN it is", "MASTERDOWN link")) {
            comesToRest();
            long before = readings(one);
            assertThat(topology.detour(LOW, topology.current(LOW), words)).isNull();
            until(words, () -> readings(one) > before);
        }
    }

    @Test
    void aMasterThatTheTableDoesNotNameAnyMoreIsLeft() throws Exception {
        opened();
        allSee(6, slots(0, 16_383, one));
        topology.look();
        until("it is left", () -> two.open() == 0);
        assertThat(leadsTo(HIGH, one)).isTrue();

        allSee(7, slots(0, 8_191, one), slots(8_192, 16_383, two));
        topology.look();
        until("it is a master again", () -> leadsTo(HIGH, two));
    }

    @Test
    void aMasterThatIsAbsentAtTheStartIsTriedAgain() throws Exception {
        String loading = "-LOADING Redis is loading the dataset in memory\r\n";
        two.says("INFO", loading);
        made(one).open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        AtomicInteger told = new AtomicInteger();
        topology.onReconnected(told::incrementAndGet);
        assertThat(topology.current(HIGH)).isNull();
        two.is("role:master", "cluster_enabled:1");
        until("it is there", () -> leadsTo(HIGH, two));
        until("that is reported", () -> told.get() == 1);

        three.says("INFO", loading);
        allSee(6, slots(0, 8_191, one), slots(8_192, 16_383, three));
        topology.look();
        until("its successor is tried", () -> three.asked("INFO") >= 3);
        three.is("role:master", "cluster_enabled:1");
        until("it is there", () -> leadsTo(HIGH, three));
    }

    /** As with a client without time limits, or with a machine that is gone. */
    @Test
    void aFirstConnectionToAMasterThatHangsGetsCompany() throws Exception {
        opened();
        long minutes = TimeUnit.MINUTES.toNanos(10);
        runtime.changing(delay -> delay == Connections.PATIENCE_NANOS
                ? TimeUnit.MILLISECONDS.toNanos(20)
                : delay > Connections.PATIENCE_NANOS ? minutes : delay);
        three.says("INFO", ScriptedRedis.SILENCE);
        allSee(6, slots(0, 8_191, one), slots(8_192, 16_383, three));
        topology.look();
        until("it is tried", () -> three.asked("INFO") >= 1);
        three.is("role:master", "cluster_enabled:1");
        until("it is there", () -> leadsTo(HIGH, three));
    }

    /** Its answer may be lost, and no other one arrives. */
    @Test
    void aMasterThatIsSilentAtTheStartIsTriedAgain() throws Exception {
        long answer = TimeUnit.SECONDS.toNanos(3);
        runtime.changing(delay -> delay == TimeUnit.MILLISECONDS.toNanos(1_500) || delay == answer
                ? TimeUnit.MILLISECONDS.toNanos(200)
                : delay > Connections.PATIENCE_NANOS ? TimeUnit.MINUTES.toNanos(10) : delay);
        one.says("WAIT", ":0\r\n");
        two.says("WAIT", ScriptedRedis.SILENCE);
        Deployment where = Deployment.parse(
                StoreUri.parse("redis-cluster://" + one.address() + "?waitReplicas=1&waitTimeout=70ms"));
        topology = new ClusterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
        topology.open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        until("it is asked", () -> two.asked("WAIT") >= 1);
        two.says("WAIT", ":0\r\n");
        until("it is there", () -> leadsTo(HIGH, two));
    }

    @Test
    void aRequestWithoutAnAnswerHasTheTableReadAndASilentLinkEnded() throws Exception {
        opened();
        comesToRest();
        long before = readings(one);
        Link link = topology.current(HIGH);
        for (String command : List.of("TIME", "CLUSTER SLOTS", "CLUSTER INFO")) {
            two.says(command, ScriptedRedis.SILENCE);
        }
        link.send(PlainCommand.TIME, (time, error) -> {});
        topology.unanswered(link);
        until("the table is read", () -> readings(one) > before);
        assertThat(link.isOpen()).isTrue();
        runtime.passes(TimeUnit.SECONDS.toNanos(3));
        topology.unanswered(link);
        until("it is ended", () -> !link.isOpen());
        until("another is made", () -> leadsTo(HIGH, two));
    }

    /** All linked nodes are on the wrong side of the partition. */
    @Test
    void whereNoLinkedNodeKnowsEnoughTheOthersAreAsked() throws Exception {
        made(one, three).open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        until("both masters are connected", () -> leadsTo(LOW, one) && leadsTo(HIGH, two));
        sees(one, 4, slots(0, 8_191, one), slots(8_192, 16_383, two));
        sees(two, 4, slots(0, 8_191, one), slots(8_192, 16_383, two));
        sees(three, 6, slots(0, 16_383, three));
        topology.look();
        until("the later view counts", () -> leadsTo(HIGH, three) && leadsTo(LOW, three));
    }

    /** Of the views that arrive within a moment, the latest counts, even from a node without a link. */
    @Test
    void anEarlierViewDoesNotReplaceALaterOne() throws Exception {
        opened();
        sees(one, 4, slots(0, 16_383, one));
        sees(two, 5, slots(0, 8_191, one), slots(8_192, 16_383, two));
        topology.look();
        comesToRest();
        assertThat(leadsTo(HIGH, two)).isTrue();
    }

    @Test
    void afterTheCloseNothingIsReadOrConnected() throws Exception {
        opened();
        topology.close();
        until("nothing is left", () -> nodes.stream().allMatch(node -> node.open() == 0));
        long before = readings(one);
        topology.look();
        assertThat(topology.current(LOW)).isNull();
        assertThat(readings(one)).isEqualTo(before);
        int delays = runtime.delays().size();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(150));
        assertThat(runtime.delays()).as("nothing is tried again").hasSize(delays);
    }

    // ---- wake-ups

    private final List<String> heard = new CopyOnWriteArrayList<>();
    private final AtomicInteger resubscribed = new AtomicInteger();

    private ClusterWakeUps listening(String... keys) throws Exception {
        ClusterWakeUps made = (ClusterWakeUps) topology.wakeUps(heard::add);
        made.onResubscribed(resubscribed::incrementAndGet);
        for (String key : keys) {
            assertThat(made.isLive(key)).isFalse();
            assertThat(made.started(key).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(made.isLive(key)).isTrue();
        }
        return made;
    }

    @Test
    void eachSlotHasAChannelAtItsMaster() throws Exception {
        opened();
        ClusterWakeUps wakeUps = listening(LOW, HIGH);
        assertThat(wakeUps.channel(LOW)).startsWith("lock:wake:{" + SlotTags.of(0) + "}");
        assertThat(one.listening(wakeUps.channel(LOW))).isOne();
        assertThat(two.listening(wakeUps.channel(HIGH))).isOne();
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(one.channels()).hasSize(1);
        one.publish(wakeUps.channel(LOW), "wake");
        until("it is heard", () -> heard.contains("wake"));
        assertThat(resubscribed).hasValue(0);
    }

    @Test
    void aSubscriptionThatEndsIsMadeAgainAndThatIsTold() throws Exception {
        opened();
        ClusterWakeUps wakeUps = listening(LOW);
        String channel = wakeUps.channel(LOW);
        one.endListeners();
        until("after its connection", () -> resubscribed.get() == 1 && one.listening(channel) == 1);
        one.endsSubscription(channel);
        until("after the server ended it", () -> resubscribed.get() == 2 && one.listening(channel) == 1);
        until("it is live", () -> wakeUps.isLive(LOW));
        assertThat(one.open()).isEqualTo(2);
    }

    @Test
    void aSubscriptionFollowsItsSlot() throws Exception {
        opened();
        ClusterWakeUps wakeUps = listening(LOW);
        allSee(6, slots(0, 8_191, three), slots(8_192, 16_383, two));
        topology.look();
        until("it is listened to there", () -> three.listening(wakeUps.channel(LOW)) == 1);
        until("it is live", () -> wakeUps.isLive(LOW));
        until("that is reported", () -> resubscribed.get() == 1);
    }

    /** The slot has no master either; both are retried. */
    @Test
    void aSubscriptionThatIsRefusedIsTriedAgainAfterAMinute() throws Exception {
        opened();
        one.says("SSUBSCRIBE", "-NOPERM this user has no permissions\r\n");
        ClusterWakeUps wakeUps = (ClusterWakeUps) topology.wakeUps(heard::add);
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        assertThat(wakeUps.isLive(LOW)).isFalse();
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        assertThat(one.asked("SSUBSCRIBE")).isOne();
        until("a minute is waited", () -> runtime.delays().contains(MINUTE_NANOS));

        one.says("SSUBSCRIBE", "-LOADING Redis is loading the dataset in memory\r\n");
        assertThat(wakeUps.started(HIGH).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
    }

    @Test
    void aSubscriptionThatFailsIsTriedAgainSoon() throws Exception {
        opened();
        AtomicInteger tries = new AtomicInteger();
        one.says("SSUBSCRIBE", command -> {
            tries.incrementAndGet();
            return "-LOADING Redis is loading the dataset in memory\r\n";
        });
        ClusterWakeUps wakeUps = (ClusterWakeUps) topology.wakeUps(heard::add);
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("it is tried again and again", () -> tries.get() >= 4);
        wakeUps.close();
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
    }

    /** Its connection ends with the last channel at its node. */
    @Test
    void whatNobodyHasAskedAboutForTenMinutesIsGivenUp() throws Exception {
        opened();
        long idle = TimeUnit.MINUTES.toNanos(10);
        runtime.changing(delay -> delay == idle ? TimeUnit.MILLISECONDS.toNanos(100) : idle);
        String near = "lock:{" + SlotTags.of(1) + "}";
        ClusterWakeUps wakeUps = listening(LOW, near, HIGH);
        int before = sweeps();
        until("it was looked at twice", () -> sweeps() >= before + 2);
        assertThat(one.channels()).as("it was asked about a moment ago").hasSize(2);

        runtime.passes(idle);

        until("it is given up", () -> {
            wakeUps.isLive(near);
            return one.channels().equals(List.of(wakeUps.channel(near))) && two.open() == 1;
        });
        assertThat(wakeUps.isLive(LOW)).isFalse();
        assertThat(wakeUps.isLive(near)).isTrue();
        runtime.passes(idle);
        until("all is given up", () -> one.open() == 1);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(150));
        int last = sweeps();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(250));
        assertThat(sweeps()).as("there is nothing to look at").isEqualTo(last);
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        until("there is again", () -> sweeps() > last);
    }

    /** The waiter relies on the channel and retries only when its place ends. */
    @Test
    void aChannelIsKeptForAsLongAsAWaiterHasItsPlace() throws Exception {
        opened();
        long idle = TimeUnit.MINUTES.toNanos(10);
        runtime.changing(delay -> delay == idle ? TimeUnit.MILLISECONDS.toNanos(50) : TimeUnit.HOURS.toNanos(1));
        one.says(
                "EVALSHA",
                command -> command.get(1).equals(LuaScript.ACQUIRE_FREE.sha1())
                        ? ":0\r\n"
                        : bulks(
                                command.stream().anyMatch(word -> word.startsWith("lock:wake:")) ? "queued" : "held",
                                "123",
                                "lock",
                                "1:host/2/y",
                                "7200000"));
        RedisNode node = new RedisNode(
                "the node",
                NodeSettings.standard(RedisGuarantees.of(Deployment.Kind.CLUSTER, false)),
                topology,
                new RedisErrors("the node"),
                runtime);
        long hour = TimeUnit.HOURS.toNanos(1);
        // The next waiter, which retries sooner, does not shorten the time of the first.
        for (long recheck : new long[] {hour, TimeUnit.SECONDS.toNanos(1)}) {
            AcquireRequest request = AcquireRequest.exclusive(
                            List.of(LockName.exactly(SlotTags.of(0))), OwnerToken.draw(runtime), "host/1/x", hour, hour)
                    .waiting(recheck);
            assertThat(node.acquire(new Ballot(request, 5_000, 1)).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                    .isInstanceOfSatisfying(
                            NodeReply.Held.class,
                            held -> assertThat(held.queued()).isTrue());
        }
        assertThat(one.channels()).hasSize(1);

        runtime.passes(hour);
        int before = sweeps();
        until(
                "it was looked at twice",
                () -> sweeps() >= before + 2 || one.channels().isEmpty());
        assertThat(one.channels()).as("a fifth more, and 3 s").hasSize(1);

        runtime.passes(hour / 5 + TimeUnit.SECONDS.toNanos(4));
        until("it is given up", () -> one.channels().isEmpty());
    }

    private int sweeps() {
        return (int) runtime.delays().stream()
                .filter(delay -> delay == TimeUnit.MINUTES.toNanos(10))
                .count();
    }

    @Test
    void whoWaitsForASubscriptionIsToldOfTheClose() throws Exception {
        opened();
        one.says("SSUBSCRIBE", ScriptedRedis.SILENCE);
        WakeUps wakeUps = topology.wakeUps(heard::add);
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        until("it is requested", () -> one.asked("SSUBSCRIBE") == 1);
        assertThat(started).isNotDone();
        wakeUps.close();
        assertThat(started.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void aSlotWithoutAMasterIsListenedToOnceItHasOne() throws Exception {
        allSee(5, slots(0, 8_191, one));
        made(one).open().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
        WakeUps wakeUps = topology.wakeUps(heard::add);
        assertThat(wakeUps.started(HIGH).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        allSee(6, slots(0, 8_191, one), slots(8_192, 16_383, two));
        until("it is listened to", () -> wakeUps.isLive(HIGH) && two.listening(wakeUps.channel(HIGH)) == 1);
    }

    /** During the request to the former master. */
    @Test
    void aSlotThatMovesDuringASubscriptionIsListenedToWhereItIsThen() throws Exception {
        opened();
        one.says("SSUBSCRIBE", ScriptedRedis.SILENCE);
        WakeUps wakeUps = topology.wakeUps(heard::add);
        CompletableFuture<Boolean> started = wakeUps.started(LOW);
        until("it is requested", () -> one.asked("SSUBSCRIBE") == 1);
        allSee(6, slots(0, 8_191, three), slots(8_192, 16_383, two));
        topology.look();
        until("it has moved", () -> leadsTo(LOW, three));
        String channel = wakeUps.channel(LOW);
        one.say("SSUBSCRIBE", array(List.of(bulk("ssubscribe"), bulk(channel), ":1\r\n")));
        assertThat(started.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        until("it is listened to there", () -> wakeUps.isLive(LOW) && three.listening(channel) == 1);
    }

    /** As when a machine has silently gone. */
    @Test
    void aConnectionForPushesIsPingedAndMadeAnewWhenNoPongComes() throws Exception {
        opened();
        runtime.changing(delay -> delay == TimeUnit.SECONDS.toNanos(5) ? TimeUnit.MILLISECONDS.toNanos(300) : delay);
        WakeUps wakeUps = listening(LOW);
        until("it is pinged again and again", () -> one.asked("PING") >= 2);
        one.hearsNoPing(true);
        until("it is made anew", () -> resubscribed.get() >= 1);
        one.hearsNoPing(false);
        until("it is live", () -> wakeUps.isLive(LOW));
    }

    @Test
    void aMasterThatTakesNoPushesNowIsTriedAgain() throws Exception {
        opened();
        one.says("SSUBSCRIBE", ScriptedRedis.END);
        WakeUps wakeUps = topology.wakeUps(heard::add);
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("it is tried again and again", () -> one.asked("SSUBSCRIBE") >= 3);
        until("each connection is ended", () -> one.open() <= 2);
        one.saysNothingSpecialTo("SSUBSCRIBE");
        until("it is live", () -> wakeUps.isLive(LOW));
        until("none is left over", () -> one.open() == 2);
    }

    /** Before its subscription, while the server checks its password. */
    @Test
    void aMasterToWhichNoConnectionForPushesCanBeMadeIsTriedAgain() throws Exception {
        opened(made("redis-cluster://:secret@", one));
        AtomicInteger tries = new AtomicInteger();
        one.says("AUTH", command -> {
            tries.incrementAndGet();
            return ScriptedRedis.END;
        });
        WakeUps wakeUps = topology.wakeUps(heard::add);
        assertThat(wakeUps.started(LOW).get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS))
                .isFalse();
        until("it is tried again and again", () -> tries.get() >= 3);
        one.saysNothingSpecialTo("AUTH");
        until("it is live", () -> wakeUps.isLive(LOW) && one.listening(wakeUps.channel(LOW)) == 1);
    }

    /** Servers before Redis 7: one plain channel at any master, which the Cluster broadcasts. */
    @Test
    void whereThereAreNoShardedChannelsOnePlainChannelServesAll() throws Exception {
        for (ScriptedRedis node : nodes) {
            node.says(
                    "INFO",
                    bulk("run_id:old" + node.port()
                            + "\r\nredis_version:6.2.7\r\nrole:master\r\ncluster_enabled:1\r\n"));
        }
        opened();
        assertThat(topology.members().hasShardedChannels()).isFalse();
        ClusterWakeUps wakeUps = listening(LOW);
        wakeUps.onResubscribed(resubscribed::incrementAndGet);
        assertThat(wakeUps.isLive(HIGH)).isTrue();
        assertThat(wakeUps.channel(LOW)).isEqualTo(wakeUps.channel(HIGH)).endsWith("~");
        assertThat(one.channels().size() + two.channels().size()).isOne();
        ScriptedRedis at = one.channels().isEmpty() ? two : one;
        at.publish(wakeUps.channel(LOW), "wake");
        until("it is heard", () -> heard.contains("wake"));
        ScriptedRedis stays = at == one ? two : one;

        allSee(6, slots(0, 16_383, stays));
        topology.look();

        until("it has left with its node", () -> stays.listening(wakeUps.channel(LOW)) == 1);
        until("that is reported", () -> resubscribed.get() == 1);
        wakeUps.close();
        assertThat(wakeUps.isLive(LOW)).isFalse();
    }
}
