package io.leasehold.fencing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.leasehold.fencing.Uses.Use;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class TokenPairTest {

    private TokenPair pair = TokenPair.NONE;

    private boolean admits(long token, Access access) {
        boolean admitted = pair.decide("r", token, access).isAdmitted();
        pair = pair.after(token, access);
        return admitted;
    }

    @Test
    void aLateWriterIsRefusedAfterANewerRead() {
        assertThat(admits(5, Access.WRITE)).isTrue();
        assertThat(admits(7, Access.READ)).isTrue();
        assertThat(pair).isEqualTo(new TokenPair(7, 5));
        assertThat(pair.decide("r", 6, Access.WRITE)).isEqualTo(new Admission.Rejected("r", 6, 7));
        assertThat(admits(5, Access.WRITE)).as("the former writer, too").isFalse();
        assertThat(pair).isEqualTo(new TokenPair(7, 5));
    }

    @Test
    void readersNeverRefuseEachOther() {
        assertThat(admits(5, Access.WRITE)).isTrue();
        assertThat(admits(9, Access.READ)).isTrue();
        assertThat(admits(7, Access.READ)).isTrue();
        assertThat(admits(9, Access.READ)).isTrue();
        assertThat(pair).isEqualTo(new TokenPair(9, 5));
    }

    @Test
    void aLateReaderIsRefusedAfterANewerWrite() {
        assertThat(admits(7, Access.READ)).isTrue();
        assertThat(admits(8, Access.WRITE)).isTrue();
        assertThat(pair.decide("r", 7, Access.READ)).isEqualTo(new Admission.Rejected("r", 7, 8));
        assertThat(admits(8, Access.READ)).as("the newest holder").isTrue();
    }

    @Test
    void whatChangesNothingIsTheSamePair() {
        pair = new TokenPair(9, 5);
        assertThat(pair.after(7, Access.READ)).isSameAs(pair);
        assertThat(pair.after(9, Access.READ)).isSameAs(pair);
        assertThat(pair.after(4, Access.READ)).isSameAs(pair);
        assertThat(pair.after(8, Access.WRITE)).isSameAs(pair);
        assertThat(pair.after(9, Access.WRITE)).isEqualTo(TokenPair.of(9));
        assertThat(TokenPair.of(9).after(9, Access.WRITE)).isEqualTo(new TokenPair(9, 9));
    }

    @Test
    void refusesWhatIsNoPairAndNoToken() {
        assertThatIllegalArgumentException().isThrownBy(() -> new TokenPair(4, 5));
        assertThatIllegalArgumentException().isThrownBy(() -> new TokenPair(4, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> TokenPair.of(FencingToken.LARGEST + 1));
        assertThat(TokenPair.of(FencingToken.LARGEST).floor(Access.READ)).isEqualTo(FencingToken.LARGEST);
        assertThatIllegalArgumentException().isThrownBy(() -> pair.decide("r", 0, Access.READ));
        assertThatIllegalArgumentException().isThrownBy(() -> pair.after(0, Access.READ));
        assertThatNullPointerException().isThrownBy(() -> pair.floor(null));
        assertThatNullPointerException().isThrownBy(() -> pair.decide(null, 1, Access.READ));
    }

    /** Every history of seven uses of two writers and two readers, in whatever order their tokens were given. */
    @Test
    void everyUseIsAnsweredByTheNewerUsesThatItConflictsWith() {
        int[] refused = new int[1];
        for (List<Use> leases : Uses.leases()) {
            Uses.sequences(leases.size(), 7, sequence -> {
                Uses expected = new Uses();
                Contents contents = new Contents();
                pair = TokenPair.NONE;
                for (int lease : sequence) {
                    Use use = leases.get(lease);
                    boolean admitted = admits(use.token(), use.access());
                    if (admitted != expected.admits(use)) {
                        throw new AssertionError(
                                "admitted: " + admitted + ", " + use + " after " + expected.admitted());
                    }
                    if (admitted) {
                        contents.use(use);
                    } else {
                        refused[0]++;
                    }
                }
                contents.requireOrderOfTokens();
            });
        }
        assertThat(refused[0]).isPositive();
    }

    /** A resource whose reads return the newest write. A writer replaces what it has read. */
    private static final class Contents {
        private final List<Use> uses = new ArrayList<>();
        private final Map<Integer, Integer> seen = new HashMap<>();
        private int newest = -1;

        void use(Use use) {
            seen.put(uses.size(), newest);
            if (use.access() == Access.WRITE) {
                newest = uses.size();
            }
            uses.add(use);
        }

        /** One holder after the other, by their tokens, would have seen the same. */
        void requireOrderOfTokens() {
            List<Integer> order = new ArrayList<>(seen.keySet());
            order.sort(Comparator.<Integer>comparingLong(use -> uses.get(use).token())
                    .thenComparing(Comparator.naturalOrder()));
            int written = -1;
            for (int use : order) {
                if (seen.get(use) != written) {
                    throw new AssertionError("use " + use + " of " + uses + " has seen " + seen.get(use));
                }
                written = uses.get(use).access() == Access.WRITE ? use : written;
            }
        }
    }
}
