package io.leasehold.redis.topology;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.wire.RedisErrors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the choice between the views of several nodes and of the wait for the others. */
@Tag("quick")
@Timeout(120)
final class TableReaderTest {

    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    private final RedisErrors errors = new RedisErrors("the Cluster");
    private final List<ScriptedRedis> nodes = new ArrayList<>();
    private final List<Driver> drivers = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        drivers.forEach(Driver::close);
        for (ScriptedRedis node : nodes) {
            node.close();
        }
        runtime.close();
    }

    /** A node that claims to serve this number of slots, starting with the first. */
    private ScriptedRedis node(long epoch, int served) throws Exception {
        ScriptedRedis made = new ScriptedRedis().is("role:master", "cluster_enabled:1");
        nodes.add(made);
        String place = array(List.of(bulk("127.0.0.1"), ":" + made.port() + "\r\n"));
        made.says(
                "CLUSTER SLOTS",
                served == 0 ? "*0\r\n" : array(List.of(array(List.of(":0\r\n", ":" + (served - 1) + "\r\n", place)))));
        return made.says("CLUSTER INFO", bulk("cluster_current_epoch:" + epoch + "\r\n"));
    }

    private static ScriptedRedis refusing(ScriptedRedis node, String words) {
        return node.says("CLUSTER SLOTS", words).says("CLUSTER INFO", words);
    }

    private Driver driver(ScriptedRedis any) {
        Driver driver = new LettuceDriver(any.uri(), new DriverThreads());
        drivers.add(driver);
        return driver;
    }

    private SlotTable read(List<ScriptedRedis> live, List<ScriptedRedis> others, SlotTable known) throws Exception {
        Driver driver = driver(nodes.get(0));
        List<Link> links = new ArrayList<>();
        for (ScriptedRedis node : live) {
            links.add(answer(new Connections(
                            driver,
                            Connections.Locator.fixed(node.uri()),
                            Expectation.CLUSTER_NODE,
                            "node",
                            errors,
                            runtime)
                    .open()));
        }
        return answer(new TableReader(driver, errors, runtime)
                .latest(links, others.stream().map(ScriptedRedis::uri).toList(), known));
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private SlotTable known(long epoch) throws Exception {
        return read(List.of(), List.of(node(epoch, 9)), SlotTable.empty());
    }

    @Test
    void ofSeveralViewsTheLatestCounts() throws Exception {
        runtime.changing(delay -> TimeUnit.MINUTES.toNanos(10));
        ScriptedRedis early = node(4, 10);
        ScriptedRedis late = node(6, 20);
        ScriptedRedis none = node(9, 0);
        for (List<ScriptedRedis> all : List.of(List.of(early, late, none), List.of(none, late, early))) {
            assertThat(read(List.of(), all, SlotTable.empty()).served()).isEqualTo(20);
            assertThat(read(all, List.of(), SlotTable.empty()).served()).isEqualTo(20);
        }
    }

    /** The other nodes get 100 ms after one has answered that knows as much as the client. */
    @Test
    void aNodeThatIsSilentIsNotWaitedFor() throws Exception {
        SlotTable known = known(5);
        ScriptedRedis silent = refusing(node(6, 30), ScriptedRedis.SILENCE);
        runtime.changing(delay -> delay == GRACE_NANOS ? delay : TimeUnit.MINUTES.toNanos(10));
        int before = graces();
        assertThat(read(List.of(), List.of(silent, node(5, 11)), known).served())
                .isEqualTo(11);
        assertThat(graces()).isEqualTo(before + 1);
        assertThat(read(List.of(silent, node(7, 12)), List.of(), known).served())
                .isEqualTo(12);
    }

    private int graces() {
        return (int)
                runtime.delays().stream().filter(delay -> delay == GRACE_NANOS).count();
    }

    @Test
    void anEarlierViewCountsOnlyWhenAllHaveHadTheirTime() throws Exception {
        SlotTable known = known(5);
        int before = graces();
        assertThat(read(List.of(node(4, 13)), List.of(node(3, 14)), known).served())
                .isEqualTo(13);
        assertThat(read(List.of(node(3, 14)), List.of(node(4, 13)), known).served())
                .isEqualTo(13);
        assertThat(graces()).isEqualTo(before);
    }

    @Test
    void aNodeThatRefusesIsMadeUpForByAnother() throws Exception {
        SlotTable known = known(5);
        ScriptedRedis refusing = refusing(node(9, 30), "-LOADING Redis is loading the dataset in memory\r\n");
        assertThat(read(List.of(refusing), List.of(node(5, 15)), known).served())
                .isEqualTo(15);
        assertThat(read(List.of(node(4, 16)), List.of(refusing), known).served())
                .isEqualTo(16);
        assertThatThrownBy(() -> read(List.of(refusing), List.of(refusing), known))
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("has no node that tells which node serves which slot")
                .hasMessageContaining("LOADING");
        ScriptedRedis alone = node(9, 30).is("role:master", "cluster_enabled:0");
        assertThatThrownBy(() -> read(List.of(), List.of(alone, refusing), known))
                .hasCauseInstanceOf(UnsafeStoreException.class);
        assertThatThrownBy(() -> read(List.of(), List.of(), known)).hasMessageContaining("has no node that tells");
    }
}
