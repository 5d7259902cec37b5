package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of reading a node's view of the slots, and of the choice between two views. */
@Tag("quick")
final class SlotTableTest {

    private static final List<?> FIRST = node("10.0.0.1", 7001);
    private static final List<?> SECOND = node("10.0.0.2", 7002);

    private static List<Object> node(String host, int port) {
        return List.of(host, (long) port, "id", List.of());
    }

    private static List<Object> range(int from, int to, List<?>... nodes) {
        List<Object> range = new ArrayList<>(List.of((long) from, (long) to));
        range.addAll(List.of(nodes));
        return range;
    }

    private static SlotTable table(long epoch, List<?>... ranges) {
        return SlotTable.parse("asked", List.of(ranges), "cluster_state:ok\r\ncluster_current_epoch:" + epoch + "\r\n");
    }

    private static SlotTable whole(long epoch) {
        return table(epoch, range(0, SlotTable.SLOTS - 1, FIRST));
    }

    @Test
    void rangesIncludeTheirEnds() {
        SlotTable table = table(
                3, range(0, 0, FIRST), range(2, 99, SECOND, node("10.0.0.3", 7003)), range(16_383, 16_383, FIRST));
        assertThat(table.masterOf(0)).isEqualTo("10.0.0.1:7001");
        assertThat(table.masterOf(1)).isNull();
        assertThat(table.masterOf(2)).isEqualTo("10.0.0.2:7002");
        assertThat(table.masterOf(99)).isEqualTo("10.0.0.2:7002");
        assertThat(table.masterOf(100)).isNull();
        assertThat(table.masterOf(16_383)).isEqualTo("10.0.0.1:7001");
        assertThat(table.served()).isEqualTo(100);
        assertThat(table.masters()).containsExactlyInAnyOrder("10.0.0.1:7001", "10.0.0.2:7002");
        assertThat(table.everybody()).containsExactlyInAnyOrder("10.0.0.1:7001", "10.0.0.2:7002", "10.0.0.3:7003");
        assertThat(table.isAny()).isTrue();
        assertThat(whole(1).served()).isEqualTo(SlotTable.SLOTS);
    }

    @Test
    void aNodeThatDoesNotKnowItsHostIsWhereItWasAsked() {
        for (Object host : new Object[] {"", "?"}) {
            assertThat(table(1, range(0, 1, node(host.toString(), 7001))).masterOf(0))
                    .isEqualTo("asked:7001");
        }
        List<Object> nameless = new ArrayList<>();
        nameless.add(null);
        nameless.add(7001L);
        assertThat(table(1, range(0, 1, nameless)).masterOf(0)).isEqualTo("asked:7001");
    }

    @Test
    void anAddressOfColonsIsBracketed() {
        assertThat(SlotTable.address("::1", 7001)).isEqualTo("[::1]:7001");
        assertThat(SlotTable.address(":", 1)).isEqualTo("[:]:1");
        assertThat(SlotTable.address("redis-1", 7001)).isEqualTo("redis-1:7001");
        assertThat(SlotTable.host("redis-1", "asked")).isEqualTo("redis-1");
    }

    @Test
    void nothingIsKnownAtFirst() {
        SlotTable empty = SlotTable.empty();
        assertThat(empty.isAny()).isFalse();
        assertThat(empty.masters()).isEmpty();
        assertThat(table(0).isAsNewAs(empty)).isTrue();
        assertThat(table(0, range(7, 7, FIRST)).isAny()).isTrue();
        assertThat(SlotTable.parse("asked", List.of(), "").isAsNewAs(table(0)))
                .as("without an epoch it is the first")
                .isTrue();
    }

    @Test
    void aViewIsAsNewAsOneOfItsOwnEpoch() {
        assertThat(whole(4).isAsNewAs(whole(4))).isTrue();
        assertThat(whole(5).isAsNewAs(whole(4))).isTrue();
        assertThat(whole(3).isAsNewAs(whole(4))).isFalse();
    }

    @Test
    void ofTwoViewsTheLaterCountsUnlessItKnowsOfNoSlots() {
        SlotTable part = table(9, range(0, 99, FIRST));
        assertThat(part.isPreferredTo(whole(8))).as("later").isTrue();
        assertThat(whole(8).isPreferredTo(part)).as("earlier").isFalse();
        assertThat(table(9).isPreferredTo(whole(8))).as("later, and none").isFalse();
        assertThat(whole(8).isPreferredTo(table(9))).as("than none").isTrue();
        assertThat(whole(9).isPreferredTo(part)).as("of one epoch, more").isTrue();
        assertThat(part.isPreferredTo(whole(9))).as("of one epoch, less").isFalse();
        assertThat(part.isPreferredTo(part)).as("the same").isFalse();
        assertThat(table(9).isPreferredTo(table(8))).as("none and none").isFalse();
    }

    @Test
    void everyReplicaOfARangeCanBeAsked() {
        SlotTable table = table(3, range(0, 99, FIRST, SECOND, node("10.0.0.3", 7003)));
        assertThat(table.everybody()).containsExactly("10.0.0.1:7001", "10.0.0.2:7002", "10.0.0.3:7003");
        assertThat(table.masters()).containsExactly("10.0.0.1:7001");
    }

    @Test
    void whatIsHeardOfOneSlotChangesThatOne() {
        SlotTable before = table(3, range(0, 99, FIRST, SECOND));
        SlotTable after = before.with(50, "10.0.0.9:7009");
        assertThat(after.masterOf(50)).isEqualTo("10.0.0.9:7009");
        assertThat(after.masterOf(49)).isEqualTo("10.0.0.1:7001");
        assertThat(before.masterOf(50)).isEqualTo("10.0.0.1:7001");
        assertThat(after.isAsNewAs(before) && before.isAsNewAs(after)).isTrue();
        assertThat(after.everybody()).contains("10.0.0.2:7002");
    }
}
