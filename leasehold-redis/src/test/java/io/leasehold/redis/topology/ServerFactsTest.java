package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("quick")
class ServerFactsTest {

    @Test
    void readsWhatMatters() {
        ServerFacts facts = ServerFacts.parse(String.join(
                "\r\n",
                "# Server",
                "redis_version:7.2.4",
                "server_name:valkey",
                "redis_mode:standalone",
                "run_id:0a1b",
                "",
                "# Replication",
                "role:slave"));

        assertThat(facts.incarnation().id()).isEqualTo("0a1b");
        assertThat(facts.version()).isEqualTo("7.2.4");
        assertThat(facts.mode()).isEqualTo("standalone");
        assertThat(facts.replica()).isTrue();
    }

    /** The forms of Redis, of Valkey before 8.0 and of newer Valkey. */
    @ParameterizedTest
    @CsvSource({
        "redis_mode:cluster cluster_enabled:1, cluster",
        "server_mode:cluster cluster_enabled:1, cluster",
        "cluster_enabled:1, cluster",
        "redis_mode:standalone cluster_enabled:0, standalone",
        "server_mode:standalone cluster_enabled:0, standalone",
        "redis_mode:sentinel sentinel_masters:1, sentinel",
        "server_mode:sentinel sentinel_masters:0, sentinel",
        "server_mode:sentinel, sentinel",
        "redis_mode:cluster, cluster",
        "redis_mode:cluster cluster_enabled:0, standalone",
        "role:master, standalone"
    })
    void whatItIsDoesNotHangOnOneName(String fields, String mode) {
        assertThat(ServerFacts.parse("run_id:x\r\n" + fields.replace(" ", "\r\n"))
                        .mode())
                .isEqualTo(mode);
    }

    @Test
    void aServerWithoutRunIdIsNotUnderstood() {
        assertThatThrownBy(() -> ServerFacts.parse("redis_version:7.2.4\r\n")).hasMessageContaining("run_id");
        assertThatThrownBy(() -> ServerFacts.parse("run_id:\r\n")).hasMessageContaining("run_id");
    }

    @ParameterizedTest
    @CsvSource({
        "6.2.0, true",
        "6.2, true",
        "7.0.9, true",
        "8.0.0-rc1, true",
        "255.255.255, true",
        "10.1, true",
        "6.0.16, false",
        "5.0.14, false",
        "6, false",
        "0, false",
        "unknown, false"
    })
    void sixTwoIsTheOldest(String version, boolean fits) {
        assertThat(ServerFacts.parse("run_id:x\r\nredis_version:" + version).isRecentEnough())
                .isEqualTo(fits);
    }
}
