package io.leasehold.engine;

import static io.leasehold.engine.ReadShares.Departure.ABANDONED_REMAIN;
import static io.leasehold.engine.ReadShares.Departure.GONE;
import static io.leasehold.engine.ReadShares.Departure.LAST;
import static io.leasehold.engine.ReadShares.Departure.OTHERS_REMAIN;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the readers that share one hold ({@link ReadShares}). */
@Tag("quick")
final class ReadSharesTest {

    private final ReadShares<String> shares = new ReadShares<>();

    private void with(String... readers) {
        shares.expect(readers.length);
        for (String reader : readers) {
            shares.addExpected(reader);
        }
    }

    @Test
    void theLastReaderEndsTheHold() {
        with("a", "b");
        assertThat(shares.left("a")).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.left("a")).isEqualTo(GONE);
        assertThat(shares.add("c")).isTrue();
        assertThat(shares.left("b")).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.left("c")).isEqualTo(LAST);
        assertThat(shares.add("d")).as("the hold is being released").isFalse();
        assertThat(shares.left("c")).isEqualTo(GONE);
    }

    @Test
    void theHoldOutlastsAReaderThatIsFasterThanTheNextOneIsTold() {
        shares.expect(2);
        shares.addExpected("a");
        assertThat(shares.left("a")).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.add("joins")).isTrue();
        assertThat(shares.left("joins")).isEqualTo(OTHERS_REMAIN);
        shares.addExpected("b");
        assertThat(shares.left("b")).isEqualTo(LAST);
    }

    @Test
    void aReaderThatDoesNotComeEndsTheHoldIfItIsTheLast() {
        shares.expect(2);
        assertThat(shares.expectedNoMore()).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.expectedNoMore()).isEqualTo(LAST);
    }

    @Test
    void nothingIsSharedBeforeTheFirstReader() {
        assertThat(shares.add("a")).isFalse();
    }

    @Test
    void aReaderThatWasAbandonedDoesNotKeepTheHold() {
        with("a", "b", "c");
        assertThat(shares.abandon("a")).isTrue();
        assertThat(shares.abandon("a")).isFalse();
        assertThat(shares.isAbandoned()).isFalse();
        assertThat(shares.left("b")).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.live()).containsExactly("c");
        assertThat(shares.all()).containsExactly("c", "a");
        assertThat(shares.left("c")).isEqualTo(ABANDONED_REMAIN);
        assertThat(shares.add("d")).isFalse();
        assertThat(shares.left("a")).as("it was released after all").isEqualTo(LAST);
    }

    @Test
    void aHoldWhoseOnlyReaderIsAbandonedIsAbandoned() {
        with("a");
        shares.abandon("a");
        assertThat(shares.isAbandoned()).isTrue();
        assertThat(shares.add("b")).isFalse();
    }

    @Test
    void aLostHoldTakesNoMoreReadersThanExpected() {
        with("a");
        shares.expect(1);
        shares.close();
        assertThat(shares.add("b")).isFalse();
        shares.addExpected("c");
        assertThat(shares.left("a")).isEqualTo(OTHERS_REMAIN);
        assertThat(shares.left("c")).isEqualTo(LAST);
    }
}
