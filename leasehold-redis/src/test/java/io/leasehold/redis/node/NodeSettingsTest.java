package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantees;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the durations that all clients of a lock share: they are part of the wire format. */
@Tag("quick")
final class NodeSettingsTest {

    private static final Guarantees GUARANTEES = RedisGuarantees.single(true);

    @Test
    void theSpansAreAsDocumented() {
        NodeSettings standard = NodeSettings.standard(GUARANTEES);
        assertThat(standard)
                .isEqualTo(new NodeSettings(
                        60_000_000,
                        7_500_000,
                        3_000,
                        3_000_000,
                        GUARANTEES,
                        false,
                        KeyLayout.standard(),
                        Acknowledgement.NONE,
                        LifeCheck.CONNECTION_IF_DIRECT));
        NodeSettings member = NodeSettings.ofMember(GUARANTEES);
        assertThat(member)
                .isEqualTo(new NodeSettings(
                        60_000_000,
                        7_500_000,
                        3_000,
                        3_000_000,
                        GUARANTEES,
                        true,
                        KeyLayout.standard(),
                        Acknowledgement.NONE,
                        LifeCheck.CONNECTION_IF_DIRECT));
        KeyLayout elsewhere = KeyLayout.of("app:{*}");
        Acknowledgement wanted = new Acknowledgement(1, 100);
        assertThat(member.checking(LifeCheck.INFO).keys(elsewhere).acknowledged(wanted))
                .isEqualTo(new NodeSettings(
                        60_000_000, 7_500_000, 3_000, 3_000_000, GUARANTEES, true, elsewhere, wanted, LifeCheck.INFO));
    }

    /** A life that has kept all is known by its check. What all lives were taken for would hide a life that has not. */
    @Test
    void noServerIsDurableByItsSettings() {
        NodeSettings member = NodeSettings.ofMember(GUARANTEES);
        assertThatThrownBy(() -> member.checking(LifeCheck.DURABLE)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void nothingAtTheServerEndsBeforeItsTtl() {
        assertThat(NodeSettings.ceilMillis(0)).isZero();
        assertThat(NodeSettings.ceilMillis(1)).isEqualTo(1);
        assertThat(NodeSettings.ceilMillis(1_000_000)).isEqualTo(1);
        assertThat(NodeSettings.ceilMillis(1_000_001)).isEqualTo(2);
    }

    /** A waiter retries after its silence, plus up to a fifth of it for the spread. */
    @Test
    void aPlaceOutlivesTheSilenceThatItsWaiterAnnounced() {
        assertThat(NodeSettings.standard(GUARANTEES).placeMillis(10_000_000_000L))
                .isEqualTo(3_000 + 12_000);
        assertThat(NodeSettings.standard(GUARANTEES).placeMillis(5)).isEqualTo(3_001);
    }
}
