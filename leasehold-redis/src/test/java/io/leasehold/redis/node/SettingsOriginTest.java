package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class SettingsOriginTest {

    private static final String GET = count("get", 2, 0);

    private static String count(String command, int calls, int failed) {
        return "cmdstat_config|" + command + ":calls=" + calls
                + ",usec=11,usec_per_call=11.00,rejected_calls=0,failed_calls=" + failed + "\r\n";
    }

    private static SettingsOrigin of(String... counts) {
        return SettingsOrigin.of("# Commandstats\r\n" + String.join("", counts), "aof_rewrites:1\r\n");
    }

    @Test
    void untouchedSettingsAreThoseOfTheStart() {
        assertThat(of(GET)).isEqualTo(SettingsOrigin.START);
        assertThat(of(GET, count("set", 2, 2)))
                .as("what was refused changed nothing")
                .isEqualTo(SettingsOrigin.START);
        assertThat(of(GET, count("rewrite", 1, 0))).isEqualTo(SettingsOrigin.START);
    }

    @Test
    void aRewriteProvesNothingWhileChangesAreCounted() {
        assertThat(of(GET, count("set", 1, 0))).isEqualTo(SettingsOrigin.CHANGED);
        assertThat(of(GET, count("set", 1, 0), count("rewrite", 1, 0)))
                .as("it may have come before the change")
                .isEqualTo(SettingsOrigin.CHANGED);
    }

    @Test
    void aRewriteAfterTheCountsBeganAnewProvesThatAllIsInTheFile() {
        String reset = count("resetstat", 1, 0);
        assertThat(of(reset, GET, count("rewrite", 1, 0))).isEqualTo(SettingsOrigin.REWRITTEN);
        assertThat(of(reset, GET))
                .as("changes before the reset are not counted any more")
                .isEqualTo(SettingsOrigin.CHANGED);
        assertThat(of(reset, GET, count("rewrite", 1, 1)))
                .as("without a configuration file it fails")
                .isEqualTo(SettingsOrigin.CHANGED);
        assertThat(of(reset, GET, count("rewrite", 1, 0), count("set", 1, 0))).isEqualTo(SettingsOrigin.CHANGED);
    }

    @Test
    void theFirstFileHasToBeWritten() {
        String commands = count("resetstat", 1, 0) + GET + count("rewrite", 1, 0);
        assertThat(SettingsOrigin.of(commands, "aof_rewrites:0\r\naof_rewrite_in_progress:1\r\n"))
                .isEqualTo(SettingsOrigin.BEING_WRITTEN);
        assertThat(SettingsOrigin.of(commands, "aof_rewrites:0\r\naof_rewrite_scheduled:1\r\n"))
                .isEqualTo(SettingsOrigin.BEING_WRITTEN);
        assertThat(SettingsOrigin.of(commands, "aof_last_bgrewrite_status:err\r\n"))
                .isEqualTo(SettingsOrigin.BEING_WRITTEN);
        assertThat(SettingsOrigin.of(commands, "aof_rewrites:3\r\naof_rewrite_in_progress:1\r\n"))
                .as("a later one")
                .isEqualTo(SettingsOrigin.REWRITTEN);
        assertThat(SettingsOrigin.of(commands, "aof_rewrites:0\r\n"))
                .as("none is under way")
                .isEqualTo(SettingsOrigin.REWRITTEN);
    }

    @Test
    void olderServersDoNotTell() {
        assertThat(of("cmdstat_config:calls=7,usec=11,usec_per_call=11.00,rejected_calls=0,failed_calls=0\r\n"))
                .isEqualTo(SettingsOrigin.UNSEEN);
        assertThat(of()).isEqualTo(SettingsOrigin.UNSEEN);
    }
}
