package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests of the servers that compare and delete without a script; {@code EfficiencyLockTest} tests the commands
 * themselves.
 */
@Tag("quick")
class CompareAndDeleteTest {

    @ParameterizedTest
    @CsvSource({
        "redis_version:6.2.6,                                            SCRIPT",
        "redis_version:7.0.9,                                            SCRIPT",
        "redis_version:8.2.1,                                            SCRIPT",
        "redis_version:8.4.0,                                            DELEX",
        "redis_version:8.10.0,                                           DELEX",
        "redis_version:9.0.0,                                            DELEX",
        "redis_version:7.2.4|server_name:valkey|valkey_version:8.1.3,    SCRIPT",
        "redis_version:7.2.4|server_name:valkey|valkey_version:9.0.0,    DELIFEQ",
        "redis_version:7.2.4|server_name:valkey|valkey_version:10.1.0,   DELIFEQ",
        "redis_version:8.4.0|server_name:somethingelse,                  SCRIPT",
        "redis_version:8,                                                SCRIPT",
        "redis_version:9,                                                DELEX",
        "redis_version:eight,                                            SCRIPT",
        "'',                                                             SCRIPT"
    })
    void isToldByTheServersVersion(String info, CompareAndDelete expected) {
        assertThat(CompareAndDelete.of(info.replace("|", "\r\n"))).isEqualTo(expected);
    }
}
