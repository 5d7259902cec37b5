package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the nodes that receive requests for the slot table, of the time limits, and of leftover connections; only
 * the test advances the time.
 */
@Tag("quick")
@Timeout(120)
final class StillReaderTest {

    private static final Duration GRACE = Duration.ofMillis(100);
    private static final Duration ANSWER = Duration.ofSeconds(3);
    private static final Duration VISIT = Duration.ofSeconds(6);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final String NODE = "run_id:life\r\nredis_version:7.0.0\r\nrole:master\r\ncluster_enabled:1\r\n";
    private static final RedisUri ONE = RedisUri.parse(StoreUri.parse("redis://one"));
    private static final RedisUri TWO = RedisUri.parse(StoreUri.parse("redis://two"));

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final TableReader reader = new TableReader(driver, new RedisErrors("cluster"), runtime);

    @AfterEach
    void close() {
        runtime.close();
    }

    private StillDriver.Connection visited(int number) {
        StillDriver.Connection connection = new StillDriver.Connection();
        driver.asked.get(number).answer().complete(connection);
        connection.answers("INFO", NODE);
        return connection;
    }

    private static void tells(StillDriver.Connection node, long epoch, String master) {
        node.answers("CLUSTER SLOTS", List.of(0L, 16_383L, List.of(master, 6379L, "id")));
        node.answers("CLUSTER INFO", "cluster_current_epoch:" + epoch);
    }

    private Link link(StillDriver.Connection connection) {
        return new Link(connection, null, ONE, ServerFacts.parse(NODE), runtime);
    }

    private static SlotTable known(long epoch) {
        return SlotTable.parse(
                "one", List.of(List.of(0L, 16_383L, List.of("known", 6379L, "id"))), "cluster_current_epoch:" + epoch);
    }

    private static String master(CompletableFuture<SlotTable> table) {
        assertThat(table).isDone();
        return String.valueOf(table.join().masterOf(0));
    }

    // ---- nodes that are visited

    @Test
    void whoIsVisitedIsLeftWithItsAnswer() {
        CompletableFuture<SlotTable> table = reader.first(List.of(ONE, TWO), SlotTable.empty());
        StillDriver.Connection one = visited(0);
        StillDriver.Connection two = visited(1);
        tells(one, 5, "former");
        assertThat(one.open).isFalse();
        assertThat(table).as("the other may know more").isNotDone();
        tells(two, 6, "present");
        assertThat(two.open).isFalse();
        assertThat(master(table)).isEqualTo("present:6379");
        assertThat(runtime.isDueWithin(VISIT.minus(GRACE)))
                .as("except the grace")
                .isTrue();
        runtime.advance(GRACE);
        assertThat(runtime.isDueWithin(VISIT)).as("limits that are left").isFalse();
    }

    @Test
    void theOthersHaveATenthOfASecondOnceOneHasAnswered() {
        CompletableFuture<SlotTable> table = reader.first(List.of(ONE, TWO), SlotTable.empty());
        tells(visited(0), 5, "one");
        runtime.advance(GRACE.minus(NANO));
        assertThat(table).isNotDone();
        runtime.advance(NANO);
        assertThat(master(table)).isEqualTo("one:6379");
        StillDriver.Connection late = visited(1);
        runtime.advance(VISIT);
        assertThat(late.open).as("it is not waited for without end").isFalse();
    }

    /** The limit includes the connection, whose credentials may never arrive. */
    @Test
    void whoIsSilentIsLeftAfterSixSecondsAndNamed() {
        CompletableFuture<SlotTable> table = reader.first(List.of(ONE, TWO), SlotTable.empty());
        StillDriver.Connection silent = visited(0);
        runtime.advance(VISIT.minus(NANO));
        assertThat(table).isNotDone();
        runtime.advance(NANO);
        assertThat(table).isDone();
        assertThatThrownBy(table::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cluster has no node that tells which node serves which slot")
                .hasMessageContaining("redis://one:6379 did not tell in time which node serves which slot")
                .hasMessageContaining("redis://two:6379 did not tell in time which node serves which slot");
        assertThat(silent.open).isFalse();
        StillDriver.Connection late = visited(1);
        assertThat(late.open).as("it came when no client waited any more").isFalse();
    }

    @Test
    void whoRefusesOrFailsIsLeftAndNamed() {
        CompletableFuture<SlotTable> table = reader.first(List.of(ONE, TWO), SlotTable.empty());
        StillDriver.Connection refusing = visited(0);
        refusing.fails("CLUSTER SLOTS", new ServerRefusal("LOADING Redis is loading", null));
        refusing.fails("CLUSTER INFO", new ServerRefusal("LOADING Redis is loading", null));
        assertThat(refusing.open).isFalse();
        driver.fails(1);
        assertThat(table).isDone();
        assertThatThrownBy(table::join)
                .hasMessageContaining(
                        "redis://one:6379 cannot read CLUSTER SLOTS and CLUSTER INFO now: LOADING Redis is loading")
                .hasMessageContaining("redis://two:6379 cannot be reached: no connection");
    }

    // ---- nodes that are linked to

    @Test
    void whereALinkedNodeKnowsEnoughNobodyElseIsAsked() {
        StillDriver.Connection linked = new StillDriver.Connection();
        CompletableFuture<SlotTable> table = reader.latest(List.of(link(linked)), List.of(TWO), known(5));
        tells(linked, 5, "one");
        assertThat(master(table)).isEqualTo("one:6379");
        assertThat(driver.asked).isEmpty();
        assertThat(linked.open).as("it is a link").isTrue();
    }

    @Test
    void aLinkedNodeHasThreeSecondsAndThenTheOthersAreAsked() {
        StillDriver.Connection linked = new StillDriver.Connection();
        CompletableFuture<SlotTable> table = reader.latest(List.of(link(linked)), List.of(TWO), known(5));
        runtime.advance(ANSWER.minus(NANO));
        assertThat(driver.asked).isEmpty();
        runtime.advance(NANO);
        tells(visited(0), 6, "two");
        assertThat(master(table)).isEqualTo("two:6379");
    }

    @Test
    void ofTwoEarlierViewsTheLaterCounts() {
        for (long other : new long[] {3, 1}) {
            StillDriver.Connection linked = new StillDriver.Connection();
            CompletableFuture<SlotTable> table = reader.latest(List.of(link(linked)), List.of(TWO), known(5));
            tells(linked, 2, "one");
            tells(visited(driver.asked.size() - 1), other, "two");
            assertThat(master(table)).isEqualTo(other == 3 ? "two:6379" : "one:6379");
        }
    }

    @Test
    void whyNobodyTellsIsSaidByThoseThatWereAskedLast() {
        StillDriver.Connection linked = new StillDriver.Connection();
        CompletableFuture<SlotTable> table = reader.latest(List.of(link(linked)), List.of(TWO), known(5));
        linked.fails("CLUSTER SLOTS", new IOException("the link is gone"));
        linked.fails("CLUSTER INFO", new IOException("the link is gone"));
        driver.fails(0);
        assertThat(table).isDone();
        assertThatThrownBy(table::join)
                .hasMessageContaining("redis://two:6379 cannot be reached")
                .hasMessageNotContaining("the link is gone");
        CompletableFuture<SlotTable> alone = reader.latest(List.of(), List.of(TWO), known(5));
        assertThat(driver.asked).hasSize(2);
        tells(visited(1), 5, "two");
        assertThat(master(alone)).isEqualTo("two:6379");
    }

    /** The linked node's earlier view counts if the others do not answer. */
    @Test
    void anEarlierViewIsAllThatIsKnownWhereTheOthersAreAbsent() {
        StillDriver.Connection linked = new StillDriver.Connection();
        CompletableFuture<SlotTable> table = reader.latest(List.of(link(linked)), List.of(TWO), known(5));
        tells(linked, 2, "one");
        driver.fails(0);
        assertThat(master(table)).isEqualTo("one:6379");
    }
}
