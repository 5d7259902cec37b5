package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of reading an {@code INFO} answer. */
@Tag("quick")
final class InfoTextTest {

    @Test
    void aFieldHasANameAndMayHaveColonsInItsValue() {
        assertThat(InfoText.fields("# Server\r\nrun_id:a1\r\n\r\nmaster_host:::1 \r\nempty:\r\n:nameless\r\n"))
                .containsOnly(
                        java.util.Map.entry("run_id", "a1"),
                        java.util.Map.entry("master_host", "::1"),
                        java.util.Map.entry("empty", ""));
    }
}
