package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the slot of a key is that of the driver and that of the specification. */
@Tag("quick")
final class SlotsTest {

    private static int byTheDriver(String key) {
        return SlotHash.getSlot(key.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void theCheckValueOfTheSpecification() {
        assertThat(Slots.of("123456789")).isEqualTo(0x31C3);
        assertThat(Slots.COUNT).isEqualTo(SlotHash.SLOT_COUNT);
    }

    @Test
    void onlyWhatStandsInTheFirstBracesCounts() {
        for (String key : List.of(
                "",
                "{",
                "}",
                "{}",
                "{}x",
                "x{}",
                "x{y}z",
                "{x}",
                "{{x}}",
                "x}{y}",
                "x{y",
                "}{",
                "{x}{y}",
                "{}{x}",
                "lock:{ü}:fence")) {
            assertThat(Slots.of(key)).as(key).isEqualTo(byTheDriver(key));
        }
        assertThat(Slots.of("lock:{order:1}:fence")).isEqualTo(Slots.of("order:1"));
    }

    @Test
    void anyKeyIsWhereADriverLooksForIt() {
        Random random = new Random(16_384);
        String letters = "ab{}:ü锁\uD83D\uDD12 ";
        for (int i = 0; i < 20_000; i++) {
            StringBuilder key = new StringBuilder();
            for (int length = random.nextInt(12); length > 0; length--) {
                key.append(letters.charAt(random.nextInt(letters.length())));
            }
            assertThat(Slots.of(key.toString())).as(key.toString()).isEqualTo(byTheDriver(key.toString()));
        }
    }
}
