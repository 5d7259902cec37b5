package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.toolkit.PlainName;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The names of nodes, and their order in a queue. */
@Tag("quick")
class ZnodesTest {

    @Test
    void namesSurviveTheirEscaping() {
        for (String name :
                "a|A|.|..|a/b|a%2Fb|%|\u00e4|\ud83d\ude00|@tokens|_c_x-lock-0000000001| a |*".split("\\|", -1)) {
            LockName lock = LockName.exactly(name);
            assertThat(PlainName.read(PlainName.of(lock))).contains(lock);
            assertThat(PlainName.of(lock))
                    .matches("[A-Za-z0-9._:%-]+")
                    .isNotEqualTo(".")
                    .isNotEqualTo("..");
        }
        assertThat(PlainName.read(Znodes.TOKENS)).isEmpty();
    }

    @Test
    void aNodeBelongsToTheIdInItsName() {
        String node = Znodes.prefixFor("abc") + "0000000007";
        assertThat(node).isEqualTo("_c_abc-lock-0000000007");
        assertThat(Znodes.belongsTo(node, "abc")).isTrue();
        assertThat(Znodes.belongsTo(node, "ab")).isFalse();
        assertThat(Znodes.belongsTo(node, "bc")).isFalse();
        assertThat(Znodes.belongsTo("x" + node, "abc")).isFalse();
    }

    @Test
    void theQueueIsInTheOrderOfItsSequences() {
        assertThat(Znodes.inOrder(List.of(
                        "_c_a-lock-0000000010", "_c_c-lock-0000000002", "_c_b-lock-0000000009", "lease-0000000001")))
                .containsExactly("_c_c-lock-0000000002", "_c_b-lock-0000000009", "_c_a-lock-0000000010");
        assertThat(Znodes.inOrder(List.of())).isEmpty();
    }

    @Test
    void queuesAreInOrderAlsoWhenTheirCounterOverflows() {
        assertThat(Znodes.inOrder(
                        List.of("_c_b-lock--2147483648", "_c_a-lock-2147483647", "other", "_c_d-lock--2147483647")))
                .containsExactly("_c_a-lock-2147483647", "_c_b-lock--2147483648", "_c_d-lock--2147483647");
    }

    /** Curator makes a read-write lock and similar locks below the same path, and users make notes there. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "_c_a-lock-",
                "_c_a-lock-123456789",
                "_c_a-lock-123456789012",
                "_c_a-lock-00000000x1",
                "_c_a-lock-0000000001x",
                "_c_a-0000000001",
                "0000000001"
            })
    void whatHasNoSequenceStandsInNoQueue(String node) {
        assertThat(Znodes.inOrder(List.of(node, "_c_b-lock-0000000002"))).containsExactly("_c_b-lock-0000000002");
    }

    @Test
    void aMutexWithoutAnIdStandsInTheQueue() {
        assertThat(Znodes.inOrder(List.of("_c_b-lock-0000000002", "-lock-0000000001", "x-lock-y-lock-0000000003")))
                .containsExactly("-lock-0000000001", "_c_b-lock-0000000002", "x-lock-y-lock-0000000003");
    }
}
