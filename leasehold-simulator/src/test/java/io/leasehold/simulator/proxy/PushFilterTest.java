package io.leasehold.simulator.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class PushFilterTest {
    private static final String FIRST = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nfirst\r\n";
    private static final String SECOND = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\nsecond\r\n";

    @Test
    void losesOneMessageHoweverTheBytesAreCut() {
        for (int size = 1; size <= 60; size++) {
            ScheduledLoss loss = new ScheduledLoss(ScheduledLoss.Kind.PUSH, message -> message.contains("second"));
            List<ScheduledLoss> scheduled = new ArrayList<>(List.of(loss));
            PushFilter filter = new PushFilter(scheduled);

            assertThat(passing(filter, FIRST + SECOND + FIRST + SECOND, size)).isEqualTo(FIRST + FIRST + SECOND);
            assertThat(loss.happened()).isTrue();
            assertThat(scheduled).isEmpty();
        }
    }

    @Test
    void requestsAreNotLostByALossOfMessages() {
        ScheduledLoss loss = new ScheduledLoss(ScheduledLoss.Kind.PUSH, message -> true);
        RespExchange exchange = new RespExchange(new ArrayList<>(List.of(loss)));
        byte[] ping = "PING\r\n".getBytes(StandardCharsets.US_ASCII);

        assertThat(exchange.requestBytesThatPass(ping)).isEqualTo(ping.length);
        assertThat(loss.happened()).isFalse();
    }

    private static String passing(PushFilter filter, String text, int size) {
        StringBuilder passed = new StringBuilder();
        for (int from = 0; from < text.length(); from += size) {
            String chunk = text.substring(from, Math.min(text.length(), from + size));
            passed.append(new String(
                    filter.passing(chunk.getBytes(StandardCharsets.ISO_8859_1)), StandardCharsets.ISO_8859_1));
        }
        return passed.toString();
    }
}
