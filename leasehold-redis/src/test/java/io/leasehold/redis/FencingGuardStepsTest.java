package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the script of a value's guard, of its keys, and of reading its answers; the test is the runner. */
@Tag("quick")
final class FencingGuardStepsTest {

    private final List<String> ran = new ArrayList<>();
    private final List<Admission> told = new ArrayList<>();
    private List<?> answer = List.of("admitted");

    private final RedisFencingGuard guard = RedisFencingGuard.running((script, keys, arguments) -> {
                assertThat(script).contains("redis.call");
                ran.add(keys + " " + arguments);
                return answer;
            })
            .reportingTo(told::add);

    @Test
    void eachUseSaysItsTokenAndWhatItDoes() {
        assertThat(guard.admit("k", 7)).isEqualTo(new Admission.Admitted("k", 7));
        assertThat(guard.read("k", 8)).isEmpty();
        guard.write("k", 9, "v");
        guard.delete("k", 10);
        assertThat(ran)
                .containsExactly(
                        "[k, {k}:fencing-token] [7, admit, ]",
                        "[k, {k}:fencing-token] [8, read, ]",
                        "[k, {k}:fencing-token] [9, write, v]",
                        "[k, {k}:fencing-token] [10, delete, ]");
        assertThat(told).extracting(Admission::toString).hasSize(4).allMatch(text -> text.startsWith("Admitted"));
        answer = List.of("admitted", "the value");
        assertThat(guard.read("k", 11)).contains("the value");
        assertThatThrownBy(() -> guard.write("k", 12, null)).isInstanceOf(NullPointerException.class);
        assertThatIllegalArgumentException().isThrownBy(() -> guard.admit("k", 0));
        assertThat(ran).hasSize(5);
    }

    @Test
    void anOlderTokenIsRejectedInEachUse() {
        answer = List.of("rejected", "12");
        assertThat(guard.admit("k", 7)).isEqualTo(new Admission.Rejected("k", 7, 12));
        assertThatThrownBy(() -> guard.read("k", 7)).isInstanceOf(StaleTokenException.class);
        assertThatThrownBy(() -> guard.write("k", 7, "v")).isInstanceOf(StaleTokenException.class);
        assertThatThrownBy(() -> guard.delete("k", 7)).isInstanceOf(StaleTokenException.class);
        assertThat(told).hasSize(4).containsOnly(new Admission.Rejected("k", 7, 12));
    }

    /** Both are in one slot with any tag of the key. */
    @Test
    void theTokenStandsBesideItsValue() {
        guard.admit("plain", 1);
        guard.admit("a{tag}b", 1);
        guard.admit("{tag}", 1);
        guard.admit("{tag}b", 1);
        guard.admit("a{tag}", 1);
        guard.admit("}b", 1);
        assertThat(ran)
                .extracting(one -> one.substring(one.indexOf(' ') + 1, one.indexOf(']')))
                .containsExactly(
                        "{plain}:fencing-token",
                        "a{tag}b:fencing-token",
                        "{tag}:own-fencing-token",
                        "{tag}b:fencing-token",
                        "a{tag}:fencing-token",
                        "}b:fencing-token");
    }

    @Test
    void anAnswerThatIsNoReplyOfTheScriptIsRefused() {
        for (List<?> other : List.of(List.of(), List.of("OK"), List.of("rejected"))) {
            answer = other;
            assertThatThrownBy(() -> guard.admit("k", 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(other.size() + " elements");
        }
        assertThat(told).isEmpty();
    }
}
