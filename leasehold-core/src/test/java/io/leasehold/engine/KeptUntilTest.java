package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.toolkit.KeptUntil;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is kept until a time that moves. */
@Tag("quick")
class KeptUntilTest {

    private final StillRuntime runtime = new StillRuntime();
    private final AtomicInteger over = new AtomicInteger();
    private final KeptUntil kept = new KeptUntil(runtime, over::incrementAndGet);

    private long in(int seconds) {
        return runtime.nanoTime() + Duration.ofSeconds(seconds).toNanos();
    }

    private int afterSeconds(int seconds) {
        runtime.pass(Duration.ofSeconds(seconds));
        return over.get();
    }

    @Test
    void nothingIsOverBeforeATimeIsGiven() {
        assertThat(afterSeconds(1_000)).isZero();
    }

    @Test
    void itIsOverOnceAtItsTime() {
        kept.atLeast(in(5));
        assertThat(afterSeconds(4)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
        kept.atLeast(in(5));
        assertThat(afterSeconds(10)).isEqualTo(1);
    }

    @Test
    void atLeastMakesItLongerAndNeverShorter() {
        kept.atLeast(in(5));
        kept.atLeast(in(10));
        kept.atLeast(in(2));
        assertThat(afterSeconds(9)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
    }

    @Test
    void exactlyMakesItShorter() {
        kept.atLeast(in(100));
        kept.exactly(in(3));
        kept.atLeast(in(2));
        assertThat(afterSeconds(2)).isZero();
        assertThat(afterSeconds(2)).isEqualTo(1);
    }

    @Test
    void anEndIsFinal() {
        kept.atLeast(in(3));
        kept.end();
        kept.atLeast(in(1));
        assertThat(afterSeconds(10)).isZero();
    }
}
