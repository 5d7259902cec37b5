package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the connected nodes of a Cluster and of the masters in the table; only the test advances the time. */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillMembersTest {

    private static final Duration FIRST_RETRY = Duration.ofMillis(10);
    private static final Duration GUEST = Duration.ofMinutes(1);
    private static final String NODE = "run_id:life\r\nredis_version:7.0.0\r\nrole:master\r\ncluster_enabled:1\r\n";
    private static final String ONE = "one:6379";
    private static final String TWO = "two:6379";
    private static final String THREE = "three:6379";

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final AtomicInteger lost = new AtomicInteger();
    private final AtomicInteger reconnected = new AtomicInteger();
    private final Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one,two/0?tls=true"));
    private final ClusterMembers members =
            new ClusterMembers(where, driver, new RedisErrors("cluster"), runtime, lost::incrementAndGet);

    @AfterEach
    void close() {
        runtime.close();
    }

    private static SlotTable table(long epoch, String low, String high) {
        List<Object> ranges = new ArrayList<>();
        ranges.add(List.of(0L, 8_191L, List.of(low, 6379L, "id"), List.of("replica", 6379L, "id")));
        ranges.add(List.of(8_192L, 16_383L, List.of(high, 6379L, "id")));
        return SlotTable.parse("one", ranges, "cluster_current_epoch:" + epoch);
    }

    private StillDriver.Connection linked(String master) {
        return linked(master, NODE);
    }

    private StillDriver.Connection linked(String master, String info) {
        int number = driver.asked.size();
        members.connect(master);
        assertThat(driver.asked).hasSize(number + 1);
        return answered(number, info);
    }

    private StillDriver.Connection answered(int number, String info) {
        StillDriver.Connection link = new StillDriver.Connection();
        driver.asked.get(number).answer().complete(link);
        link.answers("INFO", info);
        return link;
    }

    private List<String> live() {
        return members.live().stream().map(link -> link.address().address()).toList();
    }

    // ---- the table

    @Test
    void beforeAnythingIsKnownThereIsNobody() {
        assertThat(members.all()).isEmpty();
        assertThat(members.serving("x")).isNull();
        assertThat(members.masterOf(0)).isNull();
        assertThat(members.isInDoubt()).isFalse();
        assertThat(members.isAnyMasterMissing()).isFalse();
        assertThat(members.hasShardedChannels()).isTrue();
        assertThatThrownBy(members::connected)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("ask any master");
        assertThatThrownBy(members::anyMaster).isInstanceOf(StoreUnavailableException.class);
        members.connect(ONE);
        assertThat(driver.asked).isEmpty();
    }

    @Test
    void aTableNamesTheMastersThatAreNew() {
        assertThat(members.adopt(table(5, "one", "two"))).isEqualTo(Set.of(ONE, TWO));
        assertThat(members.adopt(table(6, "one", "two"))).isEmpty();
        assertThat(members.adopt(table(7, "one", "three"))).isEqualTo(Set.of(THREE));
        assertThat(members.masterOf(16_383)).isEqualTo(THREE);
        assertThat(members.adopt(table(5, "two", "two"))).as("an earlier view").isEmpty();
        assertThat(members.masterOf(0)).isEqualTo(ONE);
        assertThat(members.all()).hasSize(2);
    }

    @Test
    void whoSaysThatASlotHasMovedIsBelieved() {
        members.adopt(table(5, "one", "two"));
        assertThat(members.adopt(0, THREE)).isEqualTo(Set.of(THREE));
        assertThat(members.masterOf(0)).isEqualTo(THREE);
        assertThat(members.masterOf(1)).isEqualTo(ONE);
        assertThat(members.adopt(1, THREE)).isEmpty();
    }

    /**
     * All answering nodes know only an earlier epoch: for a second the table is in doubt, and then the Cluster counts
     * as created anew.
     */
    @Test
    void aTableOfAnEarlierEpochCountsOnceNobodyKnowsTheLaterOne() {
        members.adopt(table(5, "one", "two"));
        assertThat(members.adopt(table(4, "three", "two"))).isEmpty();
        assertThat(members.isInDoubt()).isTrue();
        runtime.advance(Duration.ofSeconds(2));
        assertThat(members.adopt(table(4, "three", "two"))).isEqualTo(Set.of(THREE));
        assertThat(members.isInDoubt()).isFalse();
        assertThat(members.masterOf(0)).isEqualTo(THREE);
    }

    @Test
    void whoIsNotNamedAnyMoreIsLeft() {
        members.adopt(table(5, "one", "two"));
        StillDriver.Connection two = linked(TWO);
        members.adopt(table(6, "one", "one"));
        assertThat(two.open).isFalse();
        assertThat(lost).as("it was meant to end").hasValue(0);
        runtime.advance(Duration.ofMinutes(1));
        assertThat(driver.asked).hasSize(1);
        assertThat(members.all()).hasSize(1);
    }

    @Test
    void addressesAreThoseOfTheDeploymentElsewhere() {
        assertThat(members.at("[::1]:7")).hasToString("rediss://[::1]:7");
        assertThat(members.at("h:6379")).hasToString("rediss://h:6379");
        members.adopt(table(5, "one", "two"));
        assertThat(members.others()).extracting(RedisUri::address).containsExactly(ONE, TWO, "replica:6379", ONE, TWO);
        assertThat(members.isMember(members.at("replica:6379"))).isTrue();
        assertThat(members.isMember(members.at(THREE))).isFalse();
    }

    // ---- links

    @Test
    void aLinkIsToldOfWhenItComesAndWhenItEnds() {
        members.onReconnected(reconnected::incrementAndGet);
        members.adopt(table(5, "one", "two"));
        assertThat(members.isAnyMasterMissing()).isTrue();
        StillDriver.Connection one = linked(ONE);
        assertThat(reconnected).hasValue(1);
        assertThat(live()).containsExactly(ONE);
        assertThat(members.isAnyMasterMissing()).isTrue();
        linked(TWO);
        assertThat(members.isAnyMasterMissing()).isFalse();
        assertThat(members.serving("lock:{" + SlotTags.of(0) + "}")
                        .current()
                        .address()
                        .address())
                .isEqualTo(ONE);
        assertThat(members.everywhere()).hasSize(2);
        one.ends();
        assertThat(lost).hasValue(1);
        assertThat(members.isAnyMasterMissing()).isTrue();
        assertThat(live()).containsExactly(TWO);
        assertThat(members.connected()).hasSize(1);
        assertThatThrownBy(members::everywhere)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("ask the master " + ONE)
                .hasMessageContaining("closed the connection");
    }

    @Test
    void whyTheTableIsNotKnownIsSaidUntilItIs() {
        StoreUnavailableException reason = new StoreUnavailableException("nobody tells", null);
        assertThat(members.failure()).isNull();
        members.failure(reason);
        assertThat(members.failure()).isSameAs(reason);
        assertThatThrownBy(members::connected).hasMessageContaining("nobody tells");
        members.failure(null);
        assertThat(members.failure()).isNull();
    }

    @Test
    void aNodeToWhichAnAnswerLeadsIsConnectedToOnce() {
        members.adopt(table(5, "one", "two"));
        CompletableFuture<Link> asked = members.linkTo(THREE, true);
        assertThat(driver.asked).hasSize(1);
        CompletableFuture<Link> again = members.linkTo(THREE, true);
        assertThat(driver.asked).as("it is under way").hasSize(1);
        StillDriver.Connection guest = answered(0, NODE);
        assertThat(asked.join().address().address()).isEqualTo(THREE);
        assertThat(again.join()).isSameAs(asked.join());
        assertThat(members.linkTo(THREE, false).join()).isSameAs(asked.join());
        assertThat(driver.asked).hasSize(1);
        guest.ends();
        assertThat(lost).hasValue(1);
        CompletableFuture<Link> failing = members.linkTo(THREE, true);
        runtime.advance(FIRST_RETRY);
        driver.fails(1);
        assertThatThrownBy(failing::join).hasCauseInstanceOf(StoreUnavailableException.class);
    }

    @Test
    void aGuestIsKeptForAMinuteAfterTheLastTimeThatItWasLedTo() {
        members.adopt(table(5, "one", "two"));
        members.linkTo(THREE, true);
        StillDriver.Connection guest = answered(0, NODE);
        runtime.advance(GUEST.dividedBy(2));
        members.linkTo(THREE, true);
        runtime.advance(GUEST);
        members.adopt(table(6, "one", "two"));
        assertThat(guest.open).isTrue();
        runtime.advance(Duration.ofNanos(1));
        members.adopt(table(7, "one", "two"));
        assertThat(guest.open).isFalse();
        assertThat(members.all()).hasSize(2);
    }

    /** It is not a guest, since the next table should name it. */
    @Test
    void whoIsSaidToBeTheMasterIsNoGuest() {
        members.adopt(table(5, "one", "two"));
        members.linkTo(THREE, false);
        StillDriver.Connection node = answered(0, NODE);
        members.adopt(table(6, "one", "two"));
        assertThat(node.open).isFalse();
    }

    @Test
    void aGuestIsAskedForAllLocksAndIsNotPreferredForPushes() {
        members.adopt(table(5, "one", "two"));
        linked(ONE);
        linked(TWO);
        assertThat(members.everywhere()).hasSize(2);
        CompletableFuture<Link> guest = members.linkTo(THREE, true);
        assertThat(members.everywhere()).as("it may not be there").hasSize(2);
        StillDriver.Connection connection = answered(2, NODE);
        assertThat(members.everywhere()).hasSize(3).contains(guest.join());
        for (int i = 0; i < 3; i++) {
            assertThat(members.anyMaster().address()).isIn(ONE, TWO);
        }
        members.all().stream()
                .map(Connections::current)
                .filter(link -> !link.address().address().equals(THREE))
                .forEach(Link::close);
        assertThat(members.anyMaster().address()).as("no other one exists").isEqualTo(THREE);
        assertThat(connection.open).isTrue();
    }

    @Test
    void amongManyGuestsTheMasterIsFound() {
        members.adopt(table(5, "one", "one"));
        for (int i = 0; i < 20; i++) {
            members.linkTo("guest" + i + ":6379", true);
            answered(i, NODE);
        }
        linked(ONE);
        assertThat(members.connected()).hasSize(21);
        assertThat(members.anyMaster().address()).isEqualTo(ONE);
    }

    @Test
    void oneOldServerHasNoShardedChannels() {
        members.adopt(table(5, "one", "two"));
        linked(ONE);
        assertThat(members.hasShardedChannels())
                .as("of the other nothing is known")
                .isTrue();
        linked(TWO, NODE.replace("7.0.0", "6.2.9"));
        assertThat(members.hasShardedChannels()).isFalse();
        members.adopt(table(6, "one", "one"));
        assertThat(members.hasShardedChannels()).isTrue();
    }

    @Test
    void afterTheCloseNothingIsAdoptedOrConnected() {
        members.adopt(table(5, "one", "two"));
        StillDriver.Connection one = linked(ONE);
        members.close();
        assertThat(live()).isEmpty();
        one.ends();
        runtime.advance(Duration.ofMinutes(1));
        assertThat(driver.asked).hasSize(1);
        assertThat(lost).hasValue(0);
        assertThat(members.adopt(table(6, "three", "three"))).isEmpty();
        assertThat(members.masterOf(0)).isEqualTo(ONE);
    }
}
