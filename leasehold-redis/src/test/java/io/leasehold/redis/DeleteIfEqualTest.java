package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Hold;
import io.leasehold.ReleaseOutcome;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.RedisServer;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that a real Valkey, 9.0 or newer, releases an efficiency lock with its own command DELIFEQ. */
@Tag("full")
final class DeleteIfEqualTest {

    private static final String NAME = "job";
    private static final String KEY = "lock:{job}";

    static List<RedisBinary> servers() {
        return Valkeys.atLeast(9, 0);
    }

    @ParameterizedTest
    @MethodSource("servers")
    void aReleaseIsOneCommandAndNoScript(RedisBinary valkey) throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b.binary(valkey));
                EfficiencyLocks locks = EfficiencyLocks.connect(server.uri())) {
            server.call("CONFIG", "RESETSTAT");
            Hold hold = locks.named(NAME).acquire();
            assertThat(hold.release()).isEqualTo(ReleaseOutcome.RELEASED);

            assertThat(server.call("EXISTS", KEY)).isEqualTo("0");
            assertThat(server.call("INFO", "commandstats"))
                    .contains("cmdstat_delifeq:calls=1,")
                    .doesNotContain("cmdstat_eval");
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void whatBelongsToAnotherIsNotTouched(RedisBinary valkey) throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> b.binary(valkey));
                EfficiencyLocks locks = EfficiencyLocks.connect(server.uri())) {
            Hold hold = locks.named(NAME).acquire();
            server.call("SET", KEY, "another's");
            server.call("CONFIG", "RESETSTAT");

            assertThat(hold.release()).isNotEqualTo(ReleaseOutcome.RELEASED);
            assertThat(server.call("GET", KEY)).isEqualTo("another's");
            assertThat(server.call("INFO", "commandstats")).contains("cmdstat_delifeq:calls=1,");
        }
    }

    /** A missing right or a proxy without the command costs one request but no release. */
    @ParameterizedTest
    @MethodSource("servers")
    void aServerThatRefusesTheCommandIsAskedByScript(RedisBinary valkey) throws Exception {
        try (RedisServer server = RedisUnderTest.start(
                        b -> b.binary(valkey).user("app", "on >secret ~lock:* &* +@all -delifeq"));
                EfficiencyLocks locks = EfficiencyLocks.connect("redis://app:secret@127.0.0.1:" + server.port())) {
            Hold hold = locks.named(NAME).acquire();
            assertThat(hold.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(server.call("EXISTS", KEY)).isEqualTo("0");
            assertThat(server.call("INFO", "commandstats")).contains("cmdstat_eval");
        }
    }
}
