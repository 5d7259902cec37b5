package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Finding;
import io.leasehold.Finding.Grade;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The grades that a server in a test cannot be brought to: old versions, clocks, uptimes. */
@Tag("quick")
class ServerChecksTest {

    private static final Map<String, String> CONFIG = Map.of("maxmemory-policy", "noeviction");

    private static Map<String, String> info(String... pairs) {
        Map<String, String> info = new HashMap<>(Map.of(
                "redis_version",
                "7.2.5",
                "uptime_in_seconds",
                "86400",
                "connected_clients",
                "10",
                "maxclients",
                "10000"));
        for (int i = 0; i < pairs.length; i += 2) {
            info.put(pairs[i], pairs[i + 1]);
        }
        return info;
    }

    private static Grade grade(String check, Map<String, String> info, long skewMillis, boolean member) {
        return new ServerChecks("redis://a", CONFIG, SettingsOrigin.START, info, skewMillis, true, member)
                .findings().stream()
                        .filter(finding -> finding.check().equals(check))
                        .map(Finding::grade)
                        .findFirst()
                        .orElseThrow();
    }

    @Test
    void gradesVersions() {
        assertThat(grade("version", info(), 0, false)).isEqualTo(Grade.GOOD);
        assertThat(grade("version", info("redis_version", "6.2.11"), 0, false)).isEqualTo(Grade.WARNING);
    }

    @Test
    void gradesClocks() {
        assertThat(grade("clock", info(), 900, false)).isEqualTo(Grade.GOOD);
        assertThat(grade("clock", info(), -5_000, false)).isEqualTo(Grade.WARNING);
    }

    @Test
    void gradesRestarts() {
        assertThat(grade("restart", info(), 0, true)).isEqualTo(Grade.GOOD);
        assertThat(grade("restart", info("uptime_in_seconds", "7"), 0, true)).isEqualTo(Grade.WARNING);
    }

    @Test
    void gradesConnections() {
        assertThat(grade("connections", info(), 0, false)).isEqualTo(Grade.GOOD);
        assertThat(grade("connections", info("connected_clients", "9000"), 0, false))
                .isEqualTo(Grade.WARNING);
    }

    /** Without a file nothing can be rewritten, and CONFIG SET is no advice. */
    @Test
    void withoutAConfigurationFileTheCommandLineIsAdvised() {
        Finding finding = new ServerChecks(
                        "redis://a", CONFIG, SettingsOrigin.START, info("config_file", ""), 0, true, false)
                .findings().stream()
                        .filter(one -> one.check().equals("persistence"))
                        .findFirst()
                        .orElseThrow();
        assertThat(finding.remedy())
                .contains("--appendonly yes --appendfsync always")
                .doesNotContain("REWRITE");
    }

    @Test
    void aMemberThatForgetsIsCoveredByItsQuarantine() {
        assertThat(grade("persistence", info(), 0, false)).isEqualTo(Grade.UNSAFE);
        assertThat(grade("persistence", info(), 0, true)).isEqualTo(Grade.GOOD);
    }
}
