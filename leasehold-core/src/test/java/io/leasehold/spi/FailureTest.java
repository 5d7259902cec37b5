package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The parts of a failure. */
@Tag("quick")
final class FailureTest {

    @Test
    void whatFuturesWrapIsTakenOut() {
        IllegalStateException inner = new IllegalStateException("inner", new RuntimeException("its cause"));
        assertThat(Failure.unwrapped(inner)).isSameAs(inner);
        assertThat(Failure.unwrapped(new CompletionException(inner))).isSameAs(inner);
        assertThat(Failure.unwrapped(new ExecutionException(new CompletionException(inner))))
                .isSameAs(inner);
        CompletionException alone = new CompletionException("alone", null);
        assertThat(Failure.unwrapped(alone)).isSameAs(alone);
    }

    @Test
    void theInnermostMessageIsTheReason() {
        IllegalStateException inner = new IllegalStateException("no certificate", new RuntimeException((String) null));
        assertThat(Failure.reason(new RuntimeException("outer", inner))).isEqualTo("no certificate");
        assertThat(Failure.reason(new RuntimeException("outer"))).isEqualTo("outer");
        assertThat(Failure.reason(new RuntimeException((String) null))).isEqualTo("null");
    }

    @Test
    void aRefusalIsPermanentAndSilenceIsAsItsCallerSays() {
        RuntimeException cause = new RuntimeException("cause");
        Failure refused = Failure.access("no right", cause);
        assertThat(refused.kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(refused.error())
                .isInstanceOf(StoreAccessException.class)
                .hasMessage("no right")
                .hasCause(cause);
        Failure away = Failure.unavailable(FailureKind.UNKNOWN, "away", null);
        assertThat(away.kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(away.error())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("away")
                .hasNoCause();
    }

    @Test
    void bothPartsAreNeeded() {
        StoreUnavailableException error = new StoreUnavailableException("down", null);
        assertThat(new Failure(FailureKind.UNKNOWN, error).error()).isSameAs(error);
        assertThatNullPointerException().isThrownBy(() -> new Failure(null, error));
        assertThatNullPointerException().isThrownBy(() -> new Failure(FailureKind.UNKNOWN, null));
    }
}
