package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class DurabilityCheckTest {

    private static final Map<String, String> DURABLE = Map.of(
            "appendonly", "yes",
            "appendfsync", "always",
            "no-appendfsync-on-rewrite", "no",
            "maxmemory", "0",
            "maxmemory-policy", "noeviction");

    private static DurabilityCheck with(String setting, String value) {
        Map<String, String> settings = new HashMap<>(DURABLE);
        settings.put(setting, value);
        return DurabilityCheck.read(settings, SettingsOrigin.START);
    }

    @Test
    void allFourSettingsCount() {
        assertThat(DurabilityCheck.read(DURABLE, SettingsOrigin.START).durable())
                .isTrue();
        assertThat(with("appendonly", "no").durable()).isFalse();
        assertThat(with("appendfsync", "everysec").durable()).isFalse();
        assertThat(with("no-appendfsync-on-rewrite", "yes").durable()).isFalse();
        assertThat(with("maxmemory-policy", "volatile-ttl").durable()).isFalse();
    }

    @Test
    void onlyWhatSurvivesARestartIsDurable() {
        DurabilityCheck changed = DurabilityCheck.read(DURABLE, SettingsOrigin.CHANGED);
        assertThat(changed.durable()).isFalse();
        assertThat(changed.durableNow()).isTrue();
        assertThat(changed.durableUntilRestart()).isTrue();
        DurabilityCheck untouched = DurabilityCheck.read(DURABLE, SettingsOrigin.START);
        assertThat(untouched.weaker(changed).durable()).isFalse();
        assertThat(changed.weaker(untouched).durable()).isFalse();
    }

    @Test
    void onlyALimitedServerEvicts() {
        assertThat(with("maxmemory-policy", "allkeys-lru").evicting()).isNull();
        Map<String, String> limited = new HashMap<>(DURABLE);
        limited.put("maxmemory", "1000000");
        assertThat(DurabilityCheck.read(limited, SettingsOrigin.START).evicting())
                .isNull();
        limited.put("maxmemory-policy", "allkeys-lru");
        assertThat(DurabilityCheck.read(limited, SettingsOrigin.START).evicting())
                .isEqualTo("allkeys-lru");
    }

    @Test
    void anEmptyAnswerIsNone() {
        assertThat(DurabilityCheck.read(Map.of(), SettingsOrigin.START).readable())
                .isFalse();
    }

    @Test
    void ofTwoServersTheWeakerCountsInEachRespect() {
        DurabilityCheck good = DurabilityCheck.read(DURABLE, SettingsOrigin.START);
        DurabilityCheck lossy = with("appendonly", "no");
        Map<String, String> limited = new HashMap<>(DURABLE);
        limited.put("maxmemory", "1000000");
        limited.put("maxmemory-policy", "allkeys-lru");
        DurabilityCheck evicting = DurabilityCheck.read(limited, SettingsOrigin.START);

        assertThat(good.weaker(good)).isEqualTo(good);
        for (DurabilityCheck weak : List.of(lossy, evicting, DurabilityCheck.UNREADABLE)) {
            for (DurabilityCheck both : List.of(good.weaker(weak), weak.weaker(good))) {
                assertThat(both.durableNow()).isFalse();
                assertThat(both.readable()).isEqualTo(weak.readable());
                assertThat(both.evicting()).isEqualTo(weak.evicting());
                assertThat(both.origin()).isEqualTo(weak.origin());
            }
        }
    }

    @Test
    void aLifeHasKeptAllOnlyIfItWasStartedSoOrMayNotBeAsked() {
        assertThat(DurabilityCheck.UNREADABLE.keptAtStart())
                .as("it is believed")
                .isTrue();
        for (SettingsOrigin origin : SettingsOrigin.values()) {
            assertThat(DurabilityCheck.read(DURABLE, origin).keptAtStart())
                    .as("%s", origin)
                    .isEqualTo(origin == SettingsOrigin.START);
            assertThat(DurabilityCheck.read(DURABLE, origin).durableUntilRestart())
                    .as("%s", origin)
                    .isEqualTo(origin != SettingsOrigin.START && origin != SettingsOrigin.REWRITTEN);
        }
        assertThat(with("appendfsync", "everysec").keptAtStart()).isFalse();
        assertThat(with("appendfsync", "everysec").durableUntilRestart()).isFalse();
    }
}
