package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.toolkit.Sending;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The age of a request by two clocks, one of which may stop. */
@Tag("quick")
final class SendingTest {

    private static final long MILLI = 1_000_000L;

    private long nanos = Long.MAX_VALUE - 5 * MILLI;
    private long wallMillis = 1_800_000_000_000L;
    private final LockRuntime clocks = (LockRuntime) Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {LockRuntime.class},
            (proxy, method, arguments) -> method.getName().equals("nanoTime") ? nanos : wallMillis);
    private final Sending sent = Sending.now(clocks);

    private void pass(long awakeMillis, long asleepMillis) {
        nanos += awakeMillis * MILLI;
        wallMillis += awakeMillis + asleepMillis;
    }

    @Test
    void itIsAsOldAsTheMonotonicClockSaysWhereBothAgree() {
        pass(1_000, 0);
        assertThat(sent.ageNanos(clocks)).isEqualTo(1_000 * MILLI);
        assertThat(sent.countedFromNanos(clocks)).isEqualTo(sent.nanos());
        wallMillis++; // The other edge of a millisecond.
        assertThat(sent.countedFromNanos(clocks)).isEqualTo(sent.nanos());
    }

    @Test
    void aSleepMakesItOlder() {
        pass(10, 3_600_000);
        assertThat(sent.ageNanos(clocks)).isEqualTo((3_600_010 - 1) * MILLI);
        assertThat(sent.countedFromNanos(clocks)).isEqualTo(nanos - (3_600_010 - 1) * MILLI);
    }

    @Test
    void aWallClockThatIsSetBackMakesItNoYounger() {
        pass(10, -3_600_000);
        assertThat(sent.ageNanos(clocks)).isEqualTo(10 * MILLI);
    }

    @Test
    void theLaterOfTwoIsToldByTheMonotonicClockAlsoWhereThatOverflows() {
        pass(10, -3_600_000);
        Sending later = Sending.now(clocks);
        assertThat(later.isAfter(sent)).isTrue();
        assertThat(sent.isAfter(later)).isFalse();
        assertThat(sent.isAfter(new Sending(sent.nanos(), 0))).isFalse();
    }
}
