package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
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
}
