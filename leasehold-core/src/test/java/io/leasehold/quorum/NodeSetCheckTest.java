package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the conditions of a valid set and of the arithmetic in the messages. */
@Tag("quick")
final class NodeSetCheckTest {

    private static final QuorumSettings STANDARD = QuorumSettings.standard();

    @Test
    void oddSetsOfThreeAndMoreNeedNoWord() {
        assertThat(NodeSetCheck.check(List.of("a", "b", "c"), STANDARD)).isEmpty();
        assertThat(NodeSetCheck.check(List.of("a", "b", "c", "d", "e"), STANDARD))
                .isEmpty();
    }

    @Test
    void otherSetsAreExplained() {
        assertThat(NodeSetCheck.check(List.of("a"), STANDARD))
                .singleElement()
                .asString()
                .contains("it gains nothing");
        assertThat(NodeSetCheck.check(List.of("a", "b"), STANDARD))
                .singleElement()
                .asString()
                .contains("quorum is 2")
                .contains("with 3 nodes one may fail");
        assertThat(NodeSetCheck.check(List.of("a", "b", "c", "d"), STANDARD))
                .singleElement()
                .asString()
                .contains("the quorum is 3, so 1 may fail, as many as of 3");
    }

    @Test
    void badSetsAreRefused() {
        refused(List.of(), STANDARD, "0 nodes");
        refused(List.of("a", "b", "a"), STANDARD, "node a is named twice");
        refused(List.of("a", "b", "c"), STANDARD.maxTtl(Duration.ofMillis(100)), "maxTtl is 100ms");
        refused(List.of("a", "b", "c"), STANDARD.nodeTimeout(Duration.ofSeconds(10)), "a quarter of maxTtl 30s");
    }

    private static void refused(List<String> names, QuorumSettings settings, String why) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodeSetCheck.check(names, settings))
                .withMessageContaining(why);
    }

    @Test
    void ttlsAreRefusedWithTheArithmetic() {
        long second = Duration.ofSeconds(1).toNanos();
        assertThat(refuse(30 * second, STANDARD)).isEmpty();
        assertThat(refuse(31 * second, STANDARD)).contains("ttl 31s is above maxTtl 30s");
        assertThat(refuse(second, STANDARD.nodeTimeout(Duration.ofMillis(600))))
                .contains("ttl 1000.0 ms less drift 12.0 ms leaves 988.0 ms")
                .contains("2 × node timeout 600.0 ms")
                .contains("use a ttl above 1824.0 ms");
    }

    private static String refuse(long ttlNanos, QuorumSettings settings) {
        return refuse(ttlNanos, 0, settings);
    }

    private static String refuse(long ttlNanos, long ownTimeoutNanos, QuorumSettings settings) {
        return NodeSetCheck.unfit(ttlNanos, ownTimeoutNanos, settings).orElse("");
    }

    @Test
    void spansFollowFromMaxTtl() {
        assertThat(STANDARD.quarantineNanos())
                .isEqualTo(Duration.ofMillis(31_300).toNanos());
        assertThat(STANDARD.boundMicros()).isEqualTo(7_500_000);
        assertThat(STANDARD.maxTtl(Duration.ofSeconds(2)).boundMicros()).isEqualTo(500_000);
        assertThat(STANDARD.nodeTimeoutFor(Duration.ofSeconds(30))).isEqualTo(Duration.ofMillis(50));
        assertThat(STANDARD.nodeTimeoutFor(Duration.ofMillis(500))).isEqualTo(Duration.ofMillis(5));
    }

    private static List<String> names(int count) {
        return java.util.stream.IntStream.range(0, count)
                .mapToObj(node -> "node-" + node)
                .toList();
    }

    @Test
    void setsAndSpansAreAllowedUpToTheirBounds() {
        assertThat(NodeSetCheck.check(names(31), STANDARD)).isEmpty();
        assertThat(NodeSetCheck.check(names(32), STANDARD)).hasSize(1);
        refused(names(33), STANDARD, "33 nodes");
        assertThat(NodeSetCheck.check(names(1), STANDARD))
                .singleElement()
                .asString()
                .contains("1 node");
        assertThat(NodeSetCheck.check(names(3), STANDARD.maxTtl(Duration.ofMillis(200))))
                .isEmpty();
        refused(names(3), STANDARD.maxTtl(Duration.ofMillis(199)), "maxTtl is 199ms");
        assertThat(NodeSetCheck.check(names(3), STANDARD.maxTtl(Duration.ofHours(24))))
                .isEmpty();
        refused(names(3), STANDARD.maxTtl(Duration.ofHours(24).plusNanos(1)), "maxTtl is 24h");
        assertThat(NodeSetCheck.check(names(3), STANDARD.nodeTimeout(Duration.ofMillis(1))))
                .isEmpty();
        refused(names(3), STANDARD.nodeTimeout(Duration.ofNanos(999_999)), "nodeTimeout is 0.999999ms");
        assertThat(NodeSetCheck.check(names(3), STANDARD.nodeTimeout(Duration.ofMillis(7_500))))
                .isEmpty();
        refused(names(3), STANDARD.nodeTimeout(Duration.ofMillis(7_500).plusNanos(1)), "a quarter of maxTtl");
    }

    @Test
    void aTtlLeavesMoreThanTwoNodeTimeouts() {
        long second = Duration.ofSeconds(1).toNanos();
        long validity = QuorumSettings.validityNanos(second);
        assertThat(validity).isEqualTo(988_000_000);
        assertThat(refuse(second, validity / 2 - 1, STANDARD)).isEmpty();
        assertThat(refuse(second, validity / 2, STANDARD))
                .as("a node timeout of the lock's own")
                .contains("2 × node timeout 494.0 ms");
        assertThat(refuse(30 * second + 1, STANDARD)).contains("is above maxTtl");
    }

    @Test
    void aNodeTimeoutIsItsOwnOrTheSetsOrATwoHundredthOfTheTtl() {
        long milli = Duration.ofMillis(1).toNanos();
        assertThat(STANDARD.nodeTimeoutNanos(4_000 * milli)).isEqualTo(20 * milli);
        assertThat(STANDARD.nodeTimeoutNanos(4_000 * milli, 0)).isEqualTo(20 * milli);
        assertThat(STANDARD.nodeTimeoutNanos(4_000 * milli, 1)).isEqualTo(1);
        QuorumSettings patient = STANDARD.nodeTimeout(Duration.ofMillis(90)).maxTtl(Duration.ofSeconds(10));
        assertThat(patient.nodeTimeoutNanos(4_000 * milli)).isEqualTo(90 * milli);
        assertThat(patient.maxTtl()).isEqualTo(Duration.ofSeconds(10));
        assertThat(patient.exclusionNanos()).isEqualTo(10_100 * milli);
        assertThat(patient.quarantineNanos()).isEqualTo(11_100 * milli);
    }
}
