package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.Incarnation;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of refusals in addition to an answer: the client warns of them, for every script. */
@Tag("quick")
final class RefusedBesidesTest {

    @Test
    void whatWasRefusedBesidesIsWarnedOf() {
        String refused = "NOPERM this user has no permissions to run the 'publish' command (at the 'publish' command)";
        PrintStream before = System.err;
        for (int answer = 0; answer < 5; answer++) {
            ReplyDecoder fresh = new ReplyDecoder(new RedisErrors("the server"));
            ByteArrayOutputStream log = new ByteArrayOutputStream();
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            try {
                switch (answer) {
                    case 0 ->
                        fresh.acquire(List.of("yes", "17", "besides", refused), new Incarnation("life"), "acquire");
                    case 1 -> fresh.release(List.of("released", "besides", refused));
                    case 2 -> fresh.forceRelease(List.of("removed", "besides", refused), LockName.exactly("job"));
                    case 3 -> fresh.release(List.of("besides", refused, "released"));
                    default -> fresh.release(List.of("besides", refused));
                }
            } catch (IllegalArgumentException noAnswer) {
                assertThat(answer).isGreaterThanOrEqualTo(3);
            } finally {
                System.setErr(before);
            }
            assertThat(log.toString(StandardCharsets.UTF_8).contains("+publish"))
                    .as("answer %s", answer)
                    .isEqualTo(answer < 3);
        }
    }
}
