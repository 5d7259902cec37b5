package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of reading texts of other programs: pushed messages and values of keys. Any other form is ignored. */
@Tag("quick")
final class MessagesTest {

    private static final KeyLayout KEYS = KeyLayout.standard();
    private static final LockName NAME = LockName.exactly("a b");

    @Test
    void eachKindIsReadAsItself() {
        String wake = "wake attempt 17 lock:{a b}";
        assertThat(Messages.wakeUp(wake, KEYS)).contains(NAME);
        assertThat(Messages.takenAway(wake, KEYS)).isEmpty();
        assertThat(Messages.handOver(wake, KEYS)).isEmpty();

        String taken = Messages.taken(NAME, KEYS);
        assertThat(taken).isEqualTo("taken lock:{a b}");
        assertThat(Messages.takenAway(taken, KEYS)).contains(NAME);
        assertThat(Messages.wakeUp(taken, KEYS)).isEmpty();

        String handed = "handed attempt 17 3 5 lock:{a b}";
        assertThat(Messages.handOver(handed, KEYS)).contains(new HandOver(NAME, "attempt", new TokenRange(3, 5), 17));
        assertThat(Messages.wakeUp(handed, KEYS)).isEmpty();
        assertThat(Messages.takenAway(handed, KEYS)).isEmpty();
        assertThat(Messages.writer(handed)).isEmpty();

        String named = "handed@0a1b attempt 17 3 5 lock:{a b}";
        assertThat(Messages.handOver(named, KEYS)).isEqualTo(Messages.handOver(handed, KEYS));
        assertThat(Messages.writer(named)).contains(new Incarnation("0a1b"));
        assertThat(Messages.wakeUp(named, KEYS)).isEmpty();
    }

    private static HandOver handOver(String kind, String key) {
        return Messages.handOver(kind + " attempt 17 3 5 " + key, KEYS).orElseThrow();
    }

    @Test
    void aHandOverOfPermitsNamesTheirSlotsAndTheCount() {
        HandOver permits = handOver("handed@0a1b:0,7,12/20", "permits:{a b}");
        assertThat(permits)
                .isEqualTo(
                        new HandOver(NAME.asPermits(), "attempt", new TokenRange(3, 5), 17).ofSlots(List.of(0, 7, 12)));
        assertThat(permits.name().permitCount()).isEqualTo(20);
        assertThat(Messages.writer("handed@0a1b:0,7,12/20 attempt 17 3 5 permits:{a b}"))
                .contains(new Incarnation("0a1b"));
    }

    /** The thread that reads messages is that of a driver: its stack must not depend on what a message names. */
    @Test
    void aLongListOfSlotsTakesNoStack() throws InterruptedException {
        AtomicReference<List<Integer>> read = new AtomicReference<>();
        String slots = IntStream.range(0, 100_000).mapToObj(slot -> "1").collect(Collectors.joining(","));
        Thread small = new Thread(
                null,
                () -> read.set(
                        handOver("handed@0a1b:" + slots + "/9", "permits:{a b}").slots()),
                "small",
                256 * 1024);
        small.start();
        small.join();
        assertThat(read.get()).hasSize(100_000);
    }

    /** The waiter asks: the message names no slots, or not the server that the waiter knows. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "handed",
                "handed@0a1b",
                "handed@0a1b:",
                "handed@0a1b:/20",
                "handed@0a1b:0,7",
                "handed@0a1b:0,7/",
                "handed@0a1b:0,,7/20",
                "handed@0a1b:-1/20",
                "handed@0a1b:0,7/20/1",
                "handed@0a1b:0,77777777777777777777/20",
                "handed@0a1b:x/20",
            })
    void aHandOverWithoutReadableSlotsIsAWakeUp(String kind) {
        HandOver permits = handOver(kind, "permits:{a b}");
        assertThat(permits.slots()).isEmpty();
        assertThat(permits.name()).isEqualTo(NAME.asPermits());
        if (kind.contains(":")) {
            assertThat(Messages.writer(kind + " attempt 17 3 5 lock:{a b}"))
                    .as("a lock does not begin from a message of a form that is not known")
                    .isNotEqualTo(Optional.of(new Incarnation("0a1b")));
        }
    }

    @Test
    void aCountThatPermitsCannotHaveIsNone() {
        assertThat(handOver("handed@0a1b:0/0", "permits:{a b}").name().permitCount())
                .isZero();
        assertThat(handOver("handed@0a1b:0/1001", "permits:{a b}").name().permitCount())
                .isZero();
        assertThat(handOver("handed@0a1b:0/1000", "permits:{a b}").name().permitCount())
                .isEqualTo(1_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "wake",
                "wake attempt 17",
                "wake attempt 17 other",
                "woken attempt 17 lock:{a b}",
                "taken other",
                "taken",
                "took lock:{a b}",
                "handed attempt 17 3 5",
                "handed attempt 17 3 5 other",
                "handed attempt 17 5 3 lock:{a b}",
                "handed attempt 17 0 3 lock:{a b}",
                "handed attempt x 3 5 lock:{a b}",
                "handed attempt 17 x 5 lock:{a b}",
                "handing attempt 17 3 5 lock:{a b}",
                "handed:0/1 attempt 17 3 5 permits:{a b}",
                "handed@0a1b",
                "handed@0a1b attempt 17 3 5",
            })
    void whatCannotBeReadSaysNothing(String message) {
        assertThat(Messages.wakeUp(message, KEYS)).isEmpty();
        assertThat(Messages.takenAway(message, KEYS)).isEmpty();
        assertThat(Messages.handOver(message, KEYS)).isEmpty();
    }

    @Test
    void aValueIsReadAsItIsWritten() {
        OwnerToken owner = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));
        assertThat(LockValue.of(owner, 5, "host:1")).isEqualTo(owner.hex() + ":5:host:1");
        assertThat(LockValue.holder("lock", "5:host:1", 30))
                .isEqualTo(new Holder("host:1", Duration.ofMillis(30), OptionalLong.of(5)));
        String most = "9".repeat(16);
        assertThat(LockValue.holder("lock", most + ":h", 0).fencingToken()).hasValue(Long.parseLong(most));
        for (String none : List.of("", "9".repeat(17))) {
            assertThat(LockValue.holder("lock", none + ":h", 0).fencingToken()).isEmpty();
        }
        assertThat(LockValue.holder("lock", "h", -1)).isEqualTo(new Holder("h", null, OptionalLong.empty()));
        assertThat(LockValue.holder("foreign", "string", 7))
                .isEqualTo(new Holder("foreign client", Duration.ofMillis(7), OptionalLong.empty()));
    }

    @Test
    void whatOthersWroteIsShownWithoutControlsAndWithAnEnd() {
        assertThat(LockValue.shown("a\u0007b\u001b[31m")).isEqualTo("a?b?[31m");
        assertThat(LockValue.shown("🔒".repeat(201))).isEqualTo("🔒".repeat(200));
        assertThat(LockValue.holder("foreign", "x\u0000", -1).id()).isEqualTo("foreign client (the key holds a x?)");
    }
}
