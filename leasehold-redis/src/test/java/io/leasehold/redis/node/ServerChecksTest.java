package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.redis.wire.LifeCheck;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the findings that a real server in a test cannot cause: old versions, clocks, uptimes. */
@Tag("quick")
class ServerChecksTest {

    private static final LifeCheck LIFE = LifeCheck.CONNECTION_IF_DIRECT;
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
        return new ServerChecks("redis://a", CONFIG, SettingsOrigin.START, info, skewMillis, true, member, LIFE, true)
                .findings().stream()
                        .filter(finding -> finding.check().equals(check))
                        .map(Finding::grade)
                        .findFirst()
                        .orElseThrow();
    }

    private static Finding life(LifeCheck life, boolean direct) {
        return new ServerChecks(
                        "redis://a",
                        CONFIG,
                        SettingsOrigin.START,
                        info("tcp_port", "6380"),
                        0,
                        true,
                        true,
                        life,
                        direct)
                .findings().stream()
                        .filter(one -> one.check().equals("life"))
                        .findFirst()
                        .orElseThrow();
    }

    @Test
    void aMemberSaysHowItsLifeIsCompared() {
        is(life(LifeCheck.INFO, true), Grade.GOOD, "read the run id of the server (proxy=true)");
        is(life(LifeCheck.CONNECTION, false), Grade.GOOD, "(proxy=false)");
        is(life(LIFE, true), Grade.GOOD, "it reported on each connection, since it sees the same two ends");
        is(life(LIFE, false), Grade.GOOD, "it does not see the two ends of the connection that this client sees");
        is(life(LifeCheck.DURABLE, true), Grade.GOOD, "(durable=true), so no run id is compared");
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

    /** Without a configuration file, CONFIG REWRITE is impossible, so CONFIG SET is not advised. */
    @Test
    void withoutAConfigurationFileTheCommandLineIsAdvised() {
        Finding finding = new ServerChecks(
                        "redis://a", CONFIG, SettingsOrigin.START, info("config_file", ""), 0, true, false, LIFE, true)
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

    private static Finding finding(String check, Map<String, String> config, Map<String, String> info) {
        return finding(check, config, info, SettingsOrigin.START, false);
    }

    private static Finding finding(
            String check, Map<String, String> config, Map<String, String> info, SettingsOrigin origin, boolean member) {
        return new ServerChecks("redis://a", config, origin, info, 0, true, member, LIFE, true)
                .findings().stream()
                        .filter(one -> one.check().equals(check))
                        .findFirst()
                        .orElseThrow();
    }

    private static void is(Finding finding, Grade grade, String text, String... remedy) {
        assertThat(finding.grade()).as("%s", finding).isEqualTo(grade);
        assertThat(finding.reason()).startsWith("redis://a").contains(text);
        if (remedy.length > 0) {
            assertThat(finding.remedy()).contains(remedy);
        }
    }

    private static Map<String, String> config(String... pairs) {
        Map<String, String> config = new HashMap<>(CONFIG);
        for (int i = 0; i < pairs.length; i += 2) {
            config.put(pairs[i], pairs[i + 1]);
        }
        return config;
    }

    private static final String[] DURABLE = {
        "appendonly", "yes", "appendfsync", "always", "no-appendfsync-on-rewrite", "no"
    };

    @Test
    void eachRespectIsGradedOnce() {
        assertThat(new ServerChecks("redis://a", CONFIG, SettingsOrigin.START, info(), 0, true, false, LIFE, true)
                        .findings())
                .extracting(Finding::check)
                .containsExactly(
                        "version",
                        "eviction",
                        "persistence",
                        "replicas",
                        "buffers",
                        "idle",
                        "connections",
                        "restart",
                        "clock",
                        "wake-ups");
        assertThat(new ServerChecks("redis://a", Map.of(), SettingsOrigin.UNSEEN, info(), 0, true, false, LIFE, true)
                        .findings())
                .extracting(Finding::check)
                .containsExactly("version", "config", "connections", "restart", "clock", "wake-ups");
        is(finding("config", Map.of(), info()), Grade.UNKNOWN, "does not let its configuration", "+config|get");
        is(finding("version", CONFIG, info("server_name", "valkey")), Grade.GOOD, "is valkey 7.2.5");
    }

    @Test
    void aServerThatEvictsIsUnsafeAsSoonAsItHasALimit() {
        is(finding("eviction", config("maxmemory", "9"), info()), Grade.GOOD, "evicts nothing");
        is(
                finding("eviction", config("maxmemory-policy", "allkeys-lru", "maxmemory", "9"), info()),
                Grade.UNSAFE,
                "drops held locks when its memory is full (allkeys-lru)",
                "CONFIG SET maxmemory-policy noeviction; CONFIG RESETSTAT; CONFIG REWRITE");
        is(
                finding("eviction", config("maxmemory-policy", "allkeys-lru", "maxmemory", "0"), info()),
                Grade.WARNING,
                "would drop held locks");
    }

    @Test
    void whatKeepsAllNowIsGradedByWhetherARestartKeepsTheSettings() {
        for (SettingsOrigin origin : SettingsOrigin.values()) {
            Grade grade = switch (origin) {
                case START, REWRITTEN -> Grade.GOOD;
                case BEING_WRITTEN -> Grade.WARNING;
                case CHANGED -> Grade.UNSAFE;
                case UNSEEN -> Grade.UNKNOWN;
            };
            for (boolean member : new boolean[] {true, false}) {
                Finding finding = finding("persistence", config(DURABLE), info(), origin, member);
                assertThat(finding.grade()).as("%s", origin).isEqualTo(grade);
            }
        }
        is(
                finding("persistence", config(DURABLE), info(), SettingsOrigin.CHANGED, false),
                Grade.UNSAFE,
                "settings were changed",
                "CONFIG RESETSTAT; CONFIG REWRITE");
        is(
                finding("persistence", config(DURABLE), info("config_file", ""), SettingsOrigin.CHANGED, false),
                Grade.UNSAFE,
                "settings were changed",
                "started without a configuration file: start it with one");
    }

    @Test
    void whatMayBeForgottenIsToldWithWhatWouldKeepIt() {
        Map<String, String> config = config(DURABLE);
        config.put("no-appendfsync-on-rewrite", "yes");
        is(finding("persistence", config, info()), Grade.WARNING, "during a rewrite", "no-appendfsync-on-rewrite no");
        config.put("appendfsync", "everysec");
        is(finding("persistence", config, info()), Grade.WARNING, "(appendfsync everysec)", "appendfsync always");
        config.put("appendonly", "no");
        config.put("appendfsync", "always");
        is(
                finding("persistence", config, info()),
                Grade.UNSAFE,
                "forgets every lock",
                "CONFIG SET appendonly yes; CONFIG SET appendfsync always; ");
    }

    @Test
    void replicasThatNobodyWaitsForAreWarnedOf() {
        is(finding("replicas", CONFIG, info()), Grade.GOOD, "has no replicas");
        is(
                finding("replicas", CONFIG, info("connected_slaves", "2")),
                Grade.WARNING,
                "has 2 replicas",
                "CONFIG SET min-replicas-to-write 1; CONFIG SET min-replicas-max-lag 1; ");
        Map<String, String> waiting = config("min-replicas-to-write", "1");
        is(finding("replicas", waiting, info("connected_slaves", "2")), Grade.GOOD, "fewer than 1");
        is(finding("replicas", waiting, info()), Grade.GOOD, "has 0 replicas");
        is(finding("replicas", CONFIG, info("connected_slaves", "many")), Grade.GOOD, "has no replicas");
    }

    @Test
    void theRoomForWakeUpsHasALeast() {
        String key = "client-output-buffer-limit";
        String rest = " 8388608 60";
        is(finding("buffers", config(key, "normal 0 0 0 pubsub 1048576" + rest), info()), Grade.GOOD, "has room");
        is(
                finding("buffers", config(key, "normal 0 0 0 pubsub 1048575" + rest), info()),
                Grade.WARNING,
                "is 1048575 bytes behind",
                "pubsub 33554432");
        is(finding("buffers", config(key, "pubsub 1" + rest), info()), Grade.WARNING, "is 1 bytes behind");
        is(finding("buffers", config(key, "pubsub 0 0 0"), info()), Grade.GOOD, "has room");
        is(finding("buffers", config(key, "normal 5 5 5 pubsub"), info()), Grade.GOOD, "has room");
        is(finding("buffers", config(key, "pubsub 32mb" + rest), info()), Grade.GOOD, "has room");
    }

    @Test
    void connectionsThatAreSilentMayBeEnded() {
        is(finding("idle", config("timeout", "0"), info()), Grade.GOOD, "keeps silent connections");
        is(finding("idle", config("timeout", "15"), info()), Grade.GOOD, "keeps silent connections");
        is(finding("idle", config("timeout", "14"), info()), Grade.WARNING, "silent for 14 s", "timeout 0");
        is(finding("idle", config("timeout", "1"), info()), Grade.WARNING, "silent for 1 s");
        is(finding("idle", config("timeout", "never"), info()), Grade.GOOD, "keeps silent connections");
    }

    @Test
    void theBoundsOfConnectionsClockAndUptime() {
        is(finding("connections", CONFIG, info("connected_clients", "8000")), Grade.GOOD, "8000 of at most 10000");
        is(
                finding("connections", CONFIG, info("connected_clients", "8001")),
                Grade.WARNING,
                "8001 of at most 10000",
                "maxclients 20000");
        is(finding("connections", CONFIG, info("maxclients", "0")), Grade.GOOD, "10 of at most 0");
        is(finding("restart", CONFIG, info("uptime_in_seconds", "120")), Grade.GOOD, "up for 120 s");
        is(finding("restart", CONFIG, info("uptime_in_seconds", "119")), Grade.WARNING, "it may have forgotten");
        Map<String, String> durable = Map.of("appendonly", "yes", "appendfsync", "always");
        is(finding("restart", durable, info("uptime_in_seconds", "1")), Grade.GOOD, "up for 1 s");
        is(
                finding("restart", durable, info("uptime_in_seconds", "1"), SettingsOrigin.REWRITTEN, false),
                Grade.WARNING,
                "it may have forgotten");
        is(
                finding("restart", Map.of("appendonly", "yes"), info("uptime_in_seconds", "1")),
                Grade.WARNING,
                "it may have forgotten");
        is(
                finding("restart", CONFIG, info("uptime_in_seconds", "1"), SettingsOrigin.START, true),
                Grade.WARNING,
                "grants nothing until its quarantine is over");
        assertThat(grade("clock", info(), 2_000, false)).isEqualTo(Grade.GOOD);
        assertThat(grade("clock", info(), 2_001, false)).isEqualTo(Grade.WARNING);
    }

    @Test
    void aClockIsToldWithItsSide() {
        for (int sign : new int[] {1, -1}) {
            assertThat(new ServerChecks(
                                    "redis://a",
                                    CONFIG,
                                    SettingsOrigin.START,
                                    info(),
                                    sign * 3_000L,
                                    true,
                                    false,
                                    LIFE,
                                    true)
                            .findings())
                    .anySatisfy(one -> assertThat(one.reason())
                            .isEqualTo("the clock of redis://a is 3000 ms " + (sign > 0 ? "ahead of" : "behind")
                                    + " ours; ttls end by its clock"));
        }
    }

    @Test
    void aSubscriptionThatIsNotPermittedIsWarnedOf() {
        is(finding("wake-ups", CONFIG, info()), Grade.GOOD, "lets us subscribe");
        assertThat(new ServerChecks("redis://a", CONFIG, SettingsOrigin.START, info(), 0, false, false, LIFE, true)
                        .findings())
                .anySatisfy(one -> {
                    is(one, Grade.WARNING, "does not let us subscribe", "+subscribe");
                    assertThat(one.remedy())
                            .as("a single server may not know the others")
                            .doesNotContain("ssubscribe");
                });
    }

    /** There, sharded channels have rights of their own, which Redis 6.2 does not know. */
    @Test
    void aNodeOfAClusterNeedsTheRightsOfItsChannels() {
        for (String version : List.of("7.0.0", "6.2.14")) {
            Map<String, String> info = info("cluster_enabled", "1", "redis_version", version);
            assertThat(new ServerChecks("redis://a", CONFIG, SettingsOrigin.START, info, 0, false, false, LIFE, true)
                            .findings())
                    .anySatisfy(one -> assertThat(one.remedy())
                            .isEqualTo("ACL SETUSER <user> &lock:wake:* +subscribe +ping"
                                    + (version.startsWith("7") ? " +ssubscribe +sunsubscribe +spublish" : "")));
        }
    }
}
